//! Contents of allocations. All allocations by the same code and of the same size hold the same
//! type. Kernel allocations (slots of general-purpose caches, areas of vmalloc space, page tables)
//! are typed one by one.
//!
//! The votes of such allocations are added up, relative to their starts. If most votes agree on one
//! type, every allocation has that type, even without votes of its own. If they agree on one type
//! at several offsets, the allocation is an array. If they do not agree, allocations are grouped by
//! their whole call stacks rather than the inner frames, because a helper may allocate for many
//! callers. The last resort is each allocation alone.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::TypeId;
use rustc_hash::FxHashMap;

use super::ranges::ObjectCell;
use super::vote::{ElectedType, TypeShapes, Votes, elect};
use crate::callers::AllocationCallers;
use crate::images::LinkedAddress;

/// Fraction of the votes that must agree before allocations count as the same.
const AGREEMENT_MIN: f64 = 0.5;

/// Allocation that was accessed.
#[derive(Clone, Debug)]
pub struct TypedAllocation<'s> {
    /// Memory of the allocation.
    pub cell: ObjectCell,
    /// Votes by address and type.
    pub votes: &'s Votes,
    /// Weight of the evidence for scalars anywhere in the allocation, by type.
    pub scalars: &'s Scalars,
    /// Callers of the allocating function.
    pub callers: AllocationCallers,
    /// The size is the requested one. A slab slot has only the next larger one.
    pub exact: bool,
}

impl TypedAllocation<'_> {
    fn room(&self) -> AllocationRoom {
        AllocationRoom {
            bytes: self.cell.end - self.cell.start,
            exact: self.exact,
        }
    }

    fn key<'s>(&self, frames: &'s [Option<LinkedAddress>]) -> Option<AllocationKey<'s>> {
        let known = frames.iter().any(Option::is_some);
        known.then(|| AllocationKey {
            frames,
            room: self.room(),
        })
    }

    fn key_of_any_size(&self) -> Option<AllocationKey<'_>> {
        let key = self.key(self.near_frames())?;
        let room = AllocationRoom {
            bytes: 0,
            ..key.room
        };
        Some(AllocationKey { room, ..key })
    }

    /// Returns the frames up to the function that needed the memory.
    fn near_frames(&self) -> &[Option<LinkedAddress>] {
        &self.callers.frames[..self.callers.near.min(self.callers.frames.len())]
    }
}

/// Weight of the evidence for types that are no aggregates.
pub type Scalars = BTreeMap<TypeId, f64>;

/// Contents of allocations of one kind. Offsets count from their starts.
#[derive(Clone, Debug, PartialEq)]
pub enum AllocationContents {
    /// Objects, side by side.
    Objects(Vec<ElectedType>),
    /// Array of objects. The elected type is that of the first element, with the votes of all.
    Elements(ElectedType),
    /// Array of scalars.
    Scalars {
        /// Type of the scalars.
        ty: TypeId,
        /// Bytes of one scalar.
        bytes: u64,
        /// Weight of the evidence for the type.
        support: f64,
        /// Weight of the evidence for other types.
        against: f64,
    },
}

impl AllocationContents {
    /// Returns the weight of the evidence that agrees.
    fn support(&self) -> f64 {
        match self {
            Self::Objects(winners) => winners.iter().map(|w| w.support).sum(),
            Self::Elements(winner) => winner.support,
            Self::Scalars { support, .. } => *support,
        }
    }
}

/// Returns the contents of each allocation, in the order of `allocations`; `None` if nothing is
/// known.
pub fn find_contents(
    shapes: &mut dyn TypeShapes,
    allocations: &[TypedAllocation<'_>],
) -> Vec<Option<AllocationContents>> {
    let mut found: Vec<Option<AllocationContents>> = vec![None; allocations.len()];
    settle_groups(shapes, allocations, &mut found, |a| a.key(a.near_frames()));
    settle_groups(shapes, allocations, &mut found, |a| {
        a.key(&a.callers.frames)
    });
    for (allocation, found) in allocations.iter().zip(&mut found) {
        if found.is_none() {
            *found = own_contents(shapes, allocation);
        }
    }
    // Memory that grows is allocated repeatedly in other sizes.
    let mut by_place: BTreeMap<AllocationKey<'_>, AllocationContents> = BTreeMap::new();
    for (n, contents) in found.iter().enumerate() {
        let (Some(key), Some(contents)) = (allocations[n].key_of_any_size(), contents) else {
            continue;
        };
        let best = by_place.entry(key).or_insert_with(|| contents.clone());
        if contents.support() > best.support() {
            *best = contents.clone();
        }
    }
    for n in 0..allocations.len() {
        if found[n].is_none() {
            let other = allocations[n]
                .key_of_any_size()
                .and_then(|key| by_place.get(&key));
            found[n] = other
                .filter(|c| fits_bytes(c, allocations[n].room().bytes))
                .cloned();
        }
    }
    found
}

/// Size of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AllocationRoom {
    bytes: u64,
    /// See [`TypedAllocation::exact`].
    exact: bool,
}

/// Properties that group allocations. The size is 0 if it does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AllocationKey<'s> {
    frames: &'s [Option<LinkedAddress>],
    room: AllocationRoom,
}

/// Groups the allocations that have no contents yet by their keys, and gives contents to the groups
/// that agree. An allocation is left out if most votes from its whole call stack disagree, because
/// a helper allocates for many callers.
fn settle_groups<'s>(
    shapes: &mut dyn TypeShapes,
    allocations: &'s [TypedAllocation<'s>],
    found: &mut [Option<AllocationContents>],
    key: impl Fn(&'s TypedAllocation<'s>) -> Option<AllocationKey<'s>>,
) {
    let mut groups: BTreeMap<AllocationKey<'_>, Vec<usize>> = BTreeMap::new();
    for (n, allocation) in allocations.iter().enumerate() {
        if found[n].is_none()
            && let Some(key) = key(allocation)
        {
            groups.entry(key).or_default().push(n);
        }
    }
    for (key, members) in groups {
        let mut votes = Votes::default();
        let mut scalars = Scalars::default();
        for &n in &members {
            add_relative(&mut votes, &allocations[n]);
            for (&ty, weight) in allocations[n].scalars {
                *scalars.entry(ty).or_default() += weight;
            }
        }
        let Some(contents) = agreed_contents(shapes, key.room, &votes, &scalars) else {
            continue;
        };
        let mut stacks: BTreeMap<&[Option<LinkedAddress>], Vec<usize>> = BTreeMap::new();
        for n in members {
            stacks
                .entry(&allocations[n].callers.frames)
                .or_default()
                .push(n);
        }
        for members in stacks.into_values() {
            let mut own = Votes::default();
            members
                .iter()
                .for_each(|&n| add_relative(&mut own, &allocations[n]));
            let total: f64 = own.values().sum();
            if agreeing_weight(shapes, &contents, &own) >= AGREEMENT_MIN * total {
                members
                    .into_iter()
                    .for_each(|n| found[n] = Some(contents.clone()));
            }
        }
    }
}

/// Returns the weight of the votes that agree with the contents.
fn agreeing_weight(
    shapes: &mut dyn TypeShapes,
    contents: &AllocationContents,
    votes: &Votes,
) -> f64 {
    let mut is_there = |winner: &ElectedType, at: u64, ty: TypeId| {
        (winner.ty == ty && at == 0) || shapes.contains(winner.ty, at, ty)
    };
    let mut agrees = |at: u64, ty: TypeId| match contents {
        AllocationContents::Objects(winners) => { winners.iter() }
            .filter(|w| (w.base..w.base + w.bytes).contains(&at))
            .any(|w| is_there(w, at - w.base, ty)),
        AllocationContents::Elements(first) => at
            .checked_sub(first.base)
            .is_some_and(|from_first| is_there(first, from_first % first.bytes, ty)),
        AllocationContents::Scalars { .. } => true,
    };
    { votes.iter() }
        .filter(|((at, ty), _)| agrees(*at, *ty))
        .map(|(_, weight)| weight)
        .sum()
}

fn add_relative(votes: &mut Votes, allocation: &TypedAllocation<'_>) {
    for (&(base, ty), weight) in allocation.votes {
        // Votes for objects that begin before the allocation are wrong, but count as disagreement.
        let offset = base.wrapping_sub(allocation.cell.start.0);
        *votes.entry((offset, ty)).or_default() += weight;
    }
}

/// Returns the contents that most of the votes agree on.
fn agreed_contents(
    shapes: &mut dyn TypeShapes,
    room: AllocationRoom,
    votes: &Votes,
    scalars: &Scalars,
) -> Option<AllocationContents> {
    let total: f64 = votes.values().sum();
    if total == 0.0 {
        return array_of_scalars(shapes, room.bytes, scalars);
    }
    let winners = elect(shapes, 0, room.bytes, votes);
    let support: f64 = winners.iter().map(|w| w.support).sum();
    let elements = array_element(shapes, room, votes, &winners);
    let best = match elements {
        Some(first) if first.support >= support => AllocationContents::Elements(first),
        _ => AllocationContents::Objects(winners),
    };
    (best.support() >= AGREEMENT_MIN * total && best.support() > 0.0).then_some(best)
}

/// Returns the first element of an array, if the votes are for one type at distances of its size.
fn array_element(
    shapes: &mut dyn TypeShapes,
    AllocationRoom { bytes, exact }: AllocationRoom,
    votes: &Votes,
    winners: &[ElectedType],
) -> Option<ElectedType> {
    let mut by_type: FxHashMap<(TypeId, u64), f64> = FxHashMap::default();
    for winner in winners {
        let size = shapes.size_of(winner.ty).filter(|&size| size > 0)?;
        *by_type.entry((winner.ty, winner.base % size)).or_default() += winner.support;
    }
    let ((ty, first), _) = by_type.into_iter().max_by(|(a, x), (b, y)| {
        let mut key = |place: &(TypeId, u64)| (place.1, shapes.rank(place.0));
        x.total_cmp(y).then_with(|| key(b).cmp(&key(a)))
    })?;
    let size = shapes.size_of(ty)?;
    let count = bytes.checked_sub(first)? / size;
    let seen: BTreeSet<u64> = { votes.iter() }
        .filter(|((base, _), _)| (first..bytes).contains(base))
        .map(|((base, _), _)| (base - first) / size)
        .collect();
    let fills = exact && (bytes - first).is_multiple_of(size);
    let is_array = count > 1 && (seen.len() > 1 || fills);
    if !is_array || shapes.is_open_ended(ty) {
        return None;
    }
    let mut folded = Votes::default();
    for (&(base, ty), weight) in votes {
        let inside = (first..bytes).contains(&base);
        let offset = if inside { (base - first) % size } else { size };
        *folded.entry((offset, ty)).or_default() += weight;
    }
    let whole = elect(shapes, 0, size, &folded);
    let whole = whole.into_iter().find(|w| w.base == 0 && w.ty == ty)?;
    Some(ElectedType {
        base: first,
        bytes: size,
        ..whole
    })
}

/// Returns an array of numbers or pointers. Bytes are not taken for an array, since memory of any
/// type is accessed by bytes.
fn array_of_scalars(
    shapes: &mut dyn TypeShapes,
    bytes: u64,
    scalars: &Scalars,
) -> Option<AllocationContents> {
    let total: f64 = scalars.values().sum();
    let (&ty, &support) = { scalars.iter() }.max_by(|a, b| {
        a.1.total_cmp(b.1)
            .then_with(|| shapes.rank(*a.0).cmp(&shapes.rank(*b.0)))
    })?;
    let size = shapes.size_of(ty).filter(|&size| size > 1)?;
    let whole = bytes.is_multiple_of(size) && support >= AGREEMENT_MIN * total;
    whole.then_some(AllocationContents::Scalars {
        ty,
        bytes: size,
        support,
        against: total - support,
    })
}

/// Returns the contents by the votes of one allocation, without a majority, since its parts may be
/// different objects.
fn own_contents(
    shapes: &mut dyn TypeShapes,
    allocation: &TypedAllocation<'_>,
) -> Option<AllocationContents> {
    let mut votes = Votes::default();
    add_relative(&mut votes, allocation);
    let room = allocation.room();
    if let Some(agreed) = agreed_contents(shapes, room, &votes, allocation.scalars) {
        return Some(agreed);
    }
    let winners = elect(shapes, 0, room.bytes, &votes);
    (!winners.is_empty()).then_some(AllocationContents::Objects(winners))
}

fn fits_bytes(contents: &AllocationContents, bytes: u64) -> bool {
    match contents {
        AllocationContents::Objects(winners) => winners.iter().all(|w| w.base + w.bytes <= bytes),
        AllocationContents::Elements(first) => first.base + first.bytes <= bytes,
        AllocationContents::Scalars {
            bytes: element_bytes,
            ..
        } => bytes.is_multiple_of(*element_bytes),
    }
}

#[cfg(test)]
mod tests {
    use relayout_profile::{Addr, RunId};

    use super::*;
    use crate::images::FileId;

    const ITEM: TypeId = TypeId(1);
    const OTHER: TypeId = TypeId(2);
    const LONG: TypeId = TypeId(3);

    /// Shapes for tests: `ITEM` has 24 bytes, `OTHER` 40; `LONG` is no aggregate and has 8.
    struct Fixed;

    impl TypeShapes for Fixed {
        fn size_of(&self, ty: TypeId) -> Option<u64> {
            [None, Some(24), Some(40), Some(8)][ty.0 as usize]
        }

        fn contains(&mut self, _: TypeId, _: u64, _: TypeId) -> bool {
            false
        }

        fn rank(&mut self, ty: TypeId) -> u64 {
            ty.0.into()
        }

        fn is_mere_array(&self, _: TypeId) -> bool {
            false
        }

        fn is_open_ended(&self, _: TypeId) -> bool {
            false
        }
    }

    /// Allocation for tests: address, bytes, call stack, votes by offset and type, evidence of
    /// `LONG`.
    type AllocationInput<'g> = (u64, u64, &'g [u64], &'g [(u64, TypeId)], f64);

    /// Compares the contents: `None`, or type, offset of the first object, and true for an array.
    fn check(inputs: &[AllocationInput<'_>], expect: &[Option<(TypeId, u64, bool)>]) {
        let vote = |&(start, _, _, votes, _): &AllocationInput<'_>| -> Votes {
            { votes.iter() }
                .map(|&(offset, ty)| ((start.wrapping_add(offset), ty), 4.0))
                .collect()
        };
        let votes: Vec<Votes> = inputs.iter().map(vote).collect();
        let scalars: Vec<Scalars> = { inputs.iter() }
            .map(|g| Scalars::from_iter((g.4 > 0.0).then_some((LONG, g.4))))
            .collect();
        let linked = |&address: &u64| {
            Some(LinkedAddress {
                file: FileId::MAIN,
                address,
            })
        };
        let allocations: Vec<TypedAllocation<'_>> =
            { inputs.iter().zip(votes.iter().zip(&scalars)) }
                .map(
                    |(&(start, bytes, stack, _, _), (votes, scalars))| TypedAllocation {
                        cell: ObjectCell {
                            run: RunId(0),
                            start: Addr(start),
                            end: Addr(start + bytes),
                            range: None,
                        },
                        votes,
                        scalars,
                        exact: true,
                        callers: AllocationCallers {
                            frames: stack.iter().map(linked).collect(),
                            near: 1,
                            ..AllocationCallers::default()
                        },
                    },
                )
                .collect();
        let found = find_contents(&mut Fixed, &allocations);
        let found: Vec<_> = { found.iter() }
            .map(|contents| match contents.as_ref()? {
                AllocationContents::Objects(winners) => {
                    Some((winners[0].ty, winners[0].base, false))
                }
                AllocationContents::Elements(first) => Some((first.ty, first.base, true)),
                AllocationContents::Scalars { ty, .. } => Some((*ty, 0, true)),
            })
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn one_place_and_size_is_one_type() {
        let inputs: [AllocationInput<'_>; 3] = [
            (0x1000, 24, &[1, 9], &[(0, ITEM)], 0.0),
            (0x2000, 24, &[1, 8], &[], 0.0),
            (0x3000, 24, &[2, 9], &[], 0.0),
        ];
        check(
            &inputs,
            &[Some((ITEM, 0, false)), Some((ITEM, 0, false)), None],
        );
    }

    #[test]
    fn a_helper_that_allocates_for_many_is_told_apart_by_its_callers() {
        let inputs: [AllocationInput<'_>; 4] = [
            (0x1000, 40, &[1, 9], &[(0, OTHER)], 0.0),
            (0x2000, 40, &[1, 8], &[(16, ITEM)], 0.0),
            (0x3000, 40, &[1, 8], &[(16, ITEM)], 0.0),
            (0x4000, 40, &[1, 8], &[], 0.0),
        ];
        let item = Some((ITEM, 16, false));
        check(&inputs, &[Some((OTHER, 0, false)), item, item, item]);
    }

    #[test]
    fn what_is_wrong_of_one_among_many_from_one_call_is_outvoted() {
        let inputs: [AllocationInput<'_>; 3] = [
            (0x1000, 40, &[1, 8], &[(0, OTHER)], 0.0),
            (0x2000, 40, &[1, 8], &[(16, ITEM)], 0.0),
            (0x3000, 40, &[1, 8], &[(16, ITEM)], 0.0),
        ];
        let item = Some((ITEM, 16, false));
        check(&inputs, &[item, item, item]);
    }

    #[test]
    fn elements_are_an_array() {
        let inputs: [AllocationInput<'_>; 2] = [
            (0x1000, 8 * 24, &[1], &[(24, ITEM), (72, ITEM)], 0.0),
            (0x2000, 16 + 3 * 40, &[2], &[(16, OTHER), (96, OTHER)], 0.0),
        ];
        check(&inputs, &[Some((ITEM, 0, true)), Some((OTHER, 16, true))]);
    }

    #[test]
    fn what_grows_is_known_by_its_other_sizes() {
        let inputs: [AllocationInput<'_>; 2] = [
            (0x1000, 4 * 24, &[1], &[(0, ITEM), (48, ITEM)], 0.0),
            (0x2000, 8 * 24, &[1], &[], 0.0),
        ];
        check(&inputs, &[Some((ITEM, 0, true)), Some((ITEM, 0, true))]);
    }

    #[test]
    fn numbers_alone_are_an_array_of_them() {
        check(&[(0x1000, 64, &[1], &[], 3.0)], &[Some((LONG, 0, true))]);
        check(&[(0x1000, 60, &[1], &[], 3.0)], &[None]);
    }
}
