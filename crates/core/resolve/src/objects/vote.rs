//! Election of the objects that best explain the evidence in one cell.
//!
//! Every piece of evidence votes for a type at a base. A vote also supports each candidate that has
//! the type as a member at that offset, so a container wins over its members. Candidates are
//! elected in the order of their support unless they overlap an elected one.

use relayout_layout::TypeId;
use rustc_hash::FxHashMap;

/// Longest object and deepest nesting that are searched, in bytes; `struct pglist_data` has about
/// 170 KiB.
const OBJECT_BYTES_MAX: u64 = 256 << 10;
/// Longest object with a flexible array at its end, if nothing bounds it.
const OPEN_ENDED_BYTES_MAX: u64 = 16 << 10;
/// Candidates before another one that are tried as its container, at most.
const CONTAINERS_MAX: usize = 256;

/// Knowledge about types that an election asks for.
pub trait TypeShapes {
    /// Returns the size in bytes.
    fn size_of(&self, ty: TypeId) -> Option<u64>;
    /// Returns true if an `inner` lies at `offset` of `outer`.
    fn contains(&mut self, outer: TypeId, offset: u64, inner: TypeId) -> bool;
    /// Returns a number that orders types that nothing else tells apart. It does not depend on the
    /// order in which types are loaded.
    fn rank(&mut self, ty: TypeId) -> u64;
    /// Returns true if the type is only an array, of which objects may use a part (`struct
    /// cpumask`).
    fn is_mere_array(&self, ty: TypeId) -> bool;
    /// Returns true if an object of the type, at the start of memory of `bytes`, may be longer than its
    /// size.
    fn is_open_ended(&self, ty: TypeId, bytes: u64) -> bool;
    /// Returns the agreement of an access to a `scalar` with an `outer` that begins `offset` bytes before.
    fn scalar_fit(&mut self, outer: TypeId, offset: u64, scalar: TypeId) -> ScalarFit;
}

/// Agreement of an access to a number or a pointer with the type around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarFit {
    /// The type has such a scalar there.
    Member,
    /// The type has a scalar of that size there, bytes, or nothing that is described; or the access is to
    /// a byte.
    Possible,
    /// The type has a scalar of another size there, or begins one elsewhere.
    Contradiction,
}

/// Votes by base and type. A weight is a sum over accesses.
pub type Votes = FxHashMap<(u64, TypeId), f64>;

/// Support of a type that needs no votes, since what made the object tells it.
pub const CERTAIN_SUPPORT: f64 = 0.0;

/// Elected object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElectedType {
    /// Address of the first byte.
    pub base: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Type of the object.
    pub ty: TypeId,
    /// Weight of the votes that agree, or [`CERTAIN_SUPPORT`].
    pub support: f64,
    /// Weight of the votes for bases inside the object that disagree.
    pub against: f64,
    /// Type with the most weight among them: other code takes the same memory for it.
    pub rival: Option<TypeId>,
}

#[derive(Clone, Copy)]
struct TypeCandidate {
    base: u64,
    bytes: u64,
    ty: TypeId,
    rank: u64,
    weight: f64,
    support: f64,
    open_ended: bool,
}

/// Elects the objects of `[start, end)`. The result is sorted by base and does not overlap.
pub fn elect(shapes: &mut dyn TypeShapes, start: u64, end: u64, votes: &Votes) -> Vec<ElectedType> {
    let mut candidates = collect_candidates(shapes, start, end, votes);
    add_nested(shapes, &mut candidates);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&candidates[a], &candidates[b]);
        let key = |c: &TypeCandidate| (c.bytes, std::cmp::Reverse((c.base, c.rank)));
        b.support
            .total_cmp(&a.support)
            .then_with(|| key(b).cmp(&key(a)))
    });
    let mut taken: std::collections::BTreeMap<u64, usize> = std::collections::BTreeMap::new();
    for n in order {
        let c = &candidates[n];
        let before = taken.range(..c.base + c.bytes).next_back();
        let free = before.is_none_or(|(base, &other)| base + candidates[other].bytes <= c.base);
        if free {
            taken.insert(c.base, n);
        }
    }
    collect_winners(shapes, &candidates, &taken, end)
}

fn collect_candidates(
    shapes: &mut dyn TypeShapes,
    start: u64,
    end: u64,
    votes: &Votes,
) -> Vec<TypeCandidate> {
    let candidate = |(&(base, ty), &weight): (&(u64, TypeId), &f64)| {
        let bytes = shapes
            .size_of(ty)
            .filter(|&b| b > 0 && b <= OBJECT_BYTES_MAX)?;
        let cut = base == start && shapes.is_mere_array(ty);
        let bytes = if cut { bytes.min(end - start) } else { bytes };
        let fits = base >= start && base.checked_add(bytes)? <= end;
        let room = if base == start { end - start } else { 0 };
        let open_ended = shapes.is_open_ended(ty, room);
        fits.then_some(TypeCandidate {
            base,
            bytes,
            ty,
            rank: shapes.rank(ty),
            weight,
            support: weight,
            open_ended,
        })
    };
    let mut candidates: Vec<TypeCandidate> = votes.iter().filter_map(candidate).collect();
    // An array without a length goes on to the end of the memory, if the object fills it, so elements
    // are parts of the object. Where other objects follow after all, the object itself remains.
    let fills = |c: &&TypeCandidate| c.open_ended && c.base == start && c.bytes < end - start;
    let longer: Vec<TypeCandidate> = { candidates.iter().filter(fills) }
        .map(|c| TypeCandidate {
            bytes: (end - start).min(OBJECT_BYTES_MAX),
            weight: 0.0,
            ..*c
        })
        .collect();
    candidates.extend(longer);
    candidates.sort_by_key(|c| (c.base, std::cmp::Reverse(c.bytes), c.rank));
    candidates
}

/// Adds to each candidate the weight of the candidates that it holds as members.
fn add_nested(shapes: &mut dyn TypeShapes, candidates: &mut [TypeCandidate]) {
    for inner in 0..candidates.len() {
        let (base, bytes, ty, weight) = {
            let c = &candidates[inner];
            (c.base, c.bytes, c.ty, c.weight)
        };
        let first = inner.saturating_sub(CONTAINERS_MAX);
        let same = |c: &&TypeCandidate| (c.base, c.bytes) == (base, bytes);
        let end = inner + candidates[inner..].iter().take_while(same).count();
        for (n, outer) in candidates[first..end].iter_mut().enumerate().rev() {
            if base - outer.base > OBJECT_BYTES_MAX {
                break;
            }
            if first + n == inner {
                continue;
            }
            let inside = base + bytes <= outer.base + outer.bytes;
            if inside && shapes.contains(outer.ty, base - outer.base, ty) {
                outer.support += weight;
            }
        }
    }
}

fn collect_winners(
    shapes: &mut dyn TypeShapes,
    candidates: &[TypeCandidate],
    taken: &std::collections::BTreeMap<u64, usize>,
    end: u64,
) -> Vec<ElectedType> {
    let mut winners = Vec::with_capacity(taken.len());
    let mut bases = taken.keys().copied().skip(1);
    for &n in taken.values() {
        let c = &candidates[n];
        let limit = bases.next().unwrap_or(end);
        let bytes = if c.open_ended {
            (limit - c.base).min(OPEN_ENDED_BYTES_MAX).max(c.bytes)
        } else {
            c.bytes
        };
        let first = candidates.partition_point(|o| o.base < c.base);
        let inside = candidates[first..]
            .iter()
            .take_while(|o| o.base < c.base + bytes);
        let inside_weight: f64 = inside.clone().map(|o| o.weight).sum();
        let against = (inside_weight - c.support).max(0.0);
        let rivals = inside
            .filter(|o| against > 0.0 && o.ty != c.ty && o.weight > 0.0)
            .filter(|o| !shapes.contains(c.ty, o.base - c.base, o.ty));
        let rival = rivals.max_by(|a, b| a.weight.total_cmp(&b.weight));
        winners.push(ElectedType {
            base: c.base,
            bytes,
            ty: c.ty,
            support: c.support,
            against,
            rival: rival.map(|o| o.ty),
        });
    }
    winners
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OUTER: TypeId = TypeId(1);
    const INNER: TypeId = TypeId(2);
    const OTHER: TypeId = TypeId(3);

    const OPEN: TypeId = TypeId(4);

    /// Shapes for tests: `OUTER` has 64 bytes with an `INNER` of 16 at 32; `OTHER` has 24; `OPEN` has 8, and
    /// ends in an array of `INNER`.
    struct Fixed;

    impl TypeShapes for Fixed {
        fn size_of(&self, ty: TypeId) -> Option<u64> {
            [None, Some(64), Some(16), Some(24), Some(8)]
                .get(ty.0 as usize)
                .copied()
                .flatten()
        }

        fn contains(&mut self, outer: TypeId, offset: u64, inner: TypeId) -> bool {
            let is_element = outer == OPEN && offset % 16 == 8;
            inner == INNER && (is_element || outer == OUTER && offset == 32)
        }

        fn rank(&mut self, ty: TypeId) -> u64 {
            ty.0.into()
        }

        fn is_mere_array(&self, _: TypeId) -> bool {
            false
        }

        fn is_open_ended(&self, ty: TypeId, _: u64) -> bool {
            ty == OPEN
        }

        fn scalar_fit(&mut self, _: TypeId, _: u64, _: TypeId) -> ScalarFit {
            ScalarFit::Possible
        }
    }

    fn check(votes: &[(u64, TypeId, f64)], expect: &[(u64, TypeId)]) {
        let votes = votes
            .iter()
            .map(|&(base, ty, weight)| ((base, ty), weight))
            .collect();
        let won: Vec<_> = elect(&mut Fixed, 1000, 2000, &votes)
            .iter()
            .map(|w| (w.base, w.ty))
            .collect();
        assert_eq!(won, expect);
    }

    #[test]
    fn the_container_wins() {
        check(&[(1032, INNER, 9.0), (1000, OUTER, 1.0)], &[(1000, OUTER)]);
    }

    #[test]
    fn an_embedded_type_elsewhere_does_not_count_for_the_container() {
        check(&[(1040, INNER, 9.0), (1000, OUTER, 1.0)], &[(1040, INNER)]);
    }

    #[test]
    fn the_rival_is_what_other_code_takes_the_memory_for() {
        let rival = |votes: &[(u64, TypeId, f64)]| {
            let votes = votes
                .iter()
                .map(|&(base, ty, weight)| ((base, ty), weight))
                .collect();
            elect(&mut Fixed, 1000, 2000, &votes)[0].rival
        };
        let disputed = [(1000, OUTER, 9.0), (1032, INNER, 4.0), (1008, OTHER, 3.0)];
        assert_eq!(rival(&disputed), Some(OTHER));
        assert_eq!(rival(&disputed[..2]), None);
    }

    #[test]
    fn elements_of_an_array_without_a_length_are_parts_of_its_owner() {
        let elements = [(1008, INNER, 9.0), (1040, INNER, 9.0)];
        let with_owner = [(1000, OPEN, 1.0), elements[0], elements[1]];
        check(&with_owner, &[(1000, OPEN)]);
        let with_other = [(1000, OPEN, 1.0), (1008, OTHER, 9.0), (1040, OTHER, 9.0)];
        check(&with_other, &[(1000, OPEN), (1008, OTHER), (1040, OTHER)]);
        // The owner does not begin the memory.
        check(
            &[(1016, OPEN, 1.0), (1024, INNER, 9.0)],
            &[(1016, OPEN), (1024, INNER)],
        );
    }

    #[test]
    fn neighbours_stand_side_by_side() {
        check(
            &[(1000, OTHER, 1.0), (1024, OTHER, 1.0)],
            &[(1000, OTHER), (1024, OTHER)],
        );
    }

    #[test]
    fn what_reaches_out_of_the_stretch_is_no_candidate() {
        check(&[(1960, OUTER, 5.0), (990, OTHER, 5.0)], &[]);
    }

    proptest! {
        #[test]
        fn winners_never_overlap(votes in proptest::collection::vec((900u64..2100, 0u32..6, 0.1f64..9.0), 0..60)) {
            let votes: Votes = votes.into_iter().map(|(b, t, w)| ((b, TypeId(t)), w)).collect();
            let won = elect(&mut Fixed, 1000, 2000, &votes);
            for pair in won.windows(2) {
                prop_assert!(pair[0].base + pair[0].bytes <= pair[1].base);
            }
            for w in &won {
                prop_assert!(w.base >= 1000 && w.base + w.bytes <= 2000);
                prop_assert!(w.support > 0.0 && w.against >= 0.0);
            }
        }
    }
}
