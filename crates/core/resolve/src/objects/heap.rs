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
use relayout_profile::Addr;
use rustc_hash::FxHashMap;

use super::ranges::ObjectCell;
use super::vote::{ElectedType, ScalarFit, TypeShapes, Votes, elect};
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
    /// Votes for numbers and pointers, by address and type.
    pub scalars: &'s Votes,
    /// Accessed addresses.
    pub touched: &'s BTreeSet<Addr>,
    /// Callers of the allocating function.
    pub callers: AllocationCallers,
    /// The size is that of the objects. A slab slot has only the next larger one, and programs round the
    /// sizes of aligned memory up.
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

    /// Returns true if an access is to an object of the contents, or there are no accesses.
    fn uses(&self, contents: &AllocationContents) -> bool {
        let mut offsets = self.touched.iter().map(|addr| addr.0 - self.cell.start.0);
        self.touched.is_empty() || offsets.any(|at| contents.holds(at))
    }

    /// Returns the frames up to the function that needed the memory.
    fn near_frames(&self) -> &[Option<LinkedAddress>] {
        &self.callers.frames[..self.callers.near.min(self.callers.frames.len())]
    }
}

/// Votes about one allocation, or several of one kind, by offset from its start.
#[derive(Debug, Default)]
struct AllocationVotes {
    /// For structs, unions and classes.
    objects: Votes,
    /// For numbers and pointers.
    scalars: Votes,
}

impl AllocationVotes {
    fn add(&mut self, allocation: &TypedAllocation<'_>) {
        add_relative(&mut self.objects, allocation.votes, &allocation.cell);
        add_relative(&mut self.scalars, allocation.scalars, &allocation.cell);
    }
}

fn add_relative(sums: &mut Votes, votes: &Votes, cell: &ObjectCell) {
    for (&(base, ty), weight) in votes {
        // Votes for objects that begin before the allocation are wrong, but count as disagreement.
        let offset = base.wrapping_sub(cell.start.0);
        *sums.entry((offset, ty)).or_default() += weight;
    }
}

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

    /// Returns the object at an offset, and the offset in it; of an array, the first element.
    fn winner_at(&self, at: u64) -> Option<(&ElectedType, u64)> {
        match self {
            Self::Objects(winners) => {
                let after = winners.partition_point(|winner| winner.base <= at);
                let winner = winners.get(after.checked_sub(1)?)?;
                let offset = at - winner.base;
                (offset < winner.bytes).then_some((winner, offset))
            }
            Self::Elements(first) => Some((first, at.checked_sub(first.base)? % first.bytes)),
            Self::Scalars { .. } => None,
        }
    }

    /// Returns true if an object is at an offset.
    fn holds(&self, at: u64) -> bool {
        matches!(self, Self::Scalars { .. }) || self.winner_at(at).is_some()
    }

    /// Counts a vote for a scalar against the object that it lies in.
    fn add_contradiction(&mut self, at: u64, ty: TypeId, weight: f64) {
        let winner = match self {
            Self::Objects(winners) => {
                let after = winners.partition_point(|winner| winner.base <= at);
                after.checked_sub(1).map(|n| &mut winners[n])
            }
            Self::Elements(first) => Some(first),
            Self::Scalars { .. } => None,
        };
        if let Some(winner) = winner {
            let is_stronger = weight > winner.against;
            winner.rival = winner.rival.filter(|_| !is_stronger).or(Some(ty));
            winner.against += weight;
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
                .filter(|c| fits_bytes(c, allocations[n].room().bytes) && allocations[n].uses(c))
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
/// that agree. An allocation is left out if most votes from its whole call stack disagree, or all its
/// accesses are outside of the objects, because a helper allocates for many callers.
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
        let mut votes = AllocationVotes::default();
        members.iter().for_each(|&n| votes.add(&allocations[n]));
        let Some(contents) = agreed_contents(shapes, key.room, &votes) else {
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
            let mut own = AllocationVotes::default();
            members.iter().for_each(|&n| own.add(&allocations[n]));
            let is_used = members.iter().any(|&n| allocations[n].uses(&contents));
            if is_used && are_of_contents(shapes, &contents, &own) {
                members
                    .into_iter()
                    .for_each(|n| found[n] = Some(contents.clone()));
            }
        }
    }
}

/// Returns true if most votes agree with the contents, or there are none.
fn are_of_contents(
    shapes: &mut dyn TypeShapes,
    contents: &AllocationContents,
    votes: &AllocationVotes,
) -> bool {
    let total: f64 = votes.objects.values().sum();
    let (agreeing, total) = match contents {
        AllocationContents::Scalars { ty, .. } => {
            let scalars = { votes.scalars.iter() }.filter(|((_, other), _)| other == ty);
            let agreeing: f64 = scalars.map(|(_, weight)| weight).sum();
            (agreeing, agreeing + total)
        }
        _ => {
            let contradicting = scalar_weights(shapes, contents, &votes.scalars).contradicting;
            let agreeing = agreeing_weight(shapes, contents, &votes.objects);
            (agreeing, total + contradicting.values().sum::<f64>())
        }
    };
    agreeing >= AGREEMENT_MIN * total
}

/// Returns the weight of the votes for objects that agree with the contents.
fn agreeing_weight(
    shapes: &mut dyn TypeShapes,
    contents: &AllocationContents,
    votes: &Votes,
) -> f64 {
    let mut agrees = |at: u64, ty: TypeId| {
        contents.winner_at(at).is_some_and(|(winner, at)| {
            (winner.ty == ty && at == 0) || shapes.contains(winner.ty, at, ty)
        })
    };
    { votes.iter() }
        .filter(|((at, ty), _)| agrees(*at, *ty))
        .map(|(_, weight)| weight)
        .sum()
}

/// Weights of votes for scalars, compared with objects in the same memory.
#[derive(Debug, Default)]
struct ScalarWeights {
    /// Votes for scalars that the objects have there.
    agreeing: f64,
    /// Votes for scalars that cannot be there, by offset and type.
    contradicting: Votes,
}

fn scalar_weights(
    shapes: &mut dyn TypeShapes,
    contents: &AllocationContents,
    scalars: &Votes,
) -> ScalarWeights {
    let mut weights = ScalarWeights::default();
    for (&(at, ty), &weight) in scalars {
        let Some((winner, offset)) = contents.winner_at(at) else {
            continue;
        };
        match shapes.scalar_fit(winner.ty, offset, ty) {
            ScalarFit::Member => weights.agreeing += weight,
            ScalarFit::Possible => {}
            ScalarFit::Contradiction => {
                weights.contradicting.insert((at, ty), weight);
            }
        }
    }
    weights
}

/// Returns the contents that most of the votes agree on: objects, or numbers and pointers if these have
/// more votes than the objects and the scalars in them.
fn agreed_contents(
    shapes: &mut dyn TypeShapes,
    room: AllocationRoom,
    votes: &AllocationVotes,
) -> Option<AllocationContents> {
    let numbers = array_of_scalars(shapes, room.bytes, votes);
    let objects = agreed_objects(shapes, room, &votes.objects);
    match objects {
        Some(objects) => {
            let numbers = numbers.filter(|numbers| is_seen_array(numbers, room.bytes, votes));
            Some(outvoted(shapes, objects, numbers, votes))
        }
        None => {
            let total: f64 = votes.objects.values().sum();
            numbers.filter(|numbers| numbers.support() > total)
        }
    }
}

/// Returns true if numbers fill the memory, or were accessed at several places of it. A number at one
/// place of a longer object is a member, which code may access without naming the object.
fn is_seen_array(numbers: &AllocationContents, bytes: u64, votes: &AllocationVotes) -> bool {
    let AllocationContents::Scalars {
        ty, bytes: size, ..
    } = numbers
    else {
        return false;
    };
    let mut places = votes.scalars.keys().filter(|(_, other)| other == ty);
    *size == bytes || places.nth(1).is_some()
}

/// Returns the objects, with the votes for scalars that contradict them, or the numbers that have more
/// votes.
fn outvoted(
    shapes: &mut dyn TypeShapes,
    mut objects: AllocationContents,
    numbers: Option<AllocationContents>,
    votes: &AllocationVotes,
) -> AllocationContents {
    let weights = scalar_weights(shapes, &objects, &votes.scalars);
    let support = objects.support() + weights.agreeing;
    if let Some(numbers) = numbers.filter(|numbers| numbers.support() > support) {
        return numbers;
    }
    let mut contradicting: Vec<_> = weights.contradicting.into_iter().collect();
    contradicting.sort_by(|((at, ty), a), ((other_at, other), b)| {
        b.total_cmp(a)
            .then_with(|| (at, shapes.rank(*ty)).cmp(&(other_at, shapes.rank(*other))))
    });
    for ((at, ty), weight) in contradicting {
        objects.add_contradiction(at, ty, weight);
    }
    objects
}

fn agreed_objects(
    shapes: &mut dyn TypeShapes,
    room: AllocationRoom,
    votes: &Votes,
) -> Option<AllocationContents> {
    let total: f64 = votes.values().sum();
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
    // Votes for other types may be for a header.
    let mut is_of_element = |&(base, other): &(u64, TypeId)| {
        let inside = (first..bytes).contains(&base);
        let at = base.wrapping_sub(first) % size;
        inside && ((at, other) == (0, ty) || shapes.contains(ty, at, other))
    };
    let seen: BTreeSet<u64> = { votes.keys() }
        .filter(|vote| is_of_element(vote))
        .map(|(base, _)| (base - first) / size)
        .collect();
    // A header may be as long as the one object behind it.
    let may_be_header = count == 2 && !seen.contains(&0);
    let fills = exact && (bytes - first).is_multiple_of(size) && !may_be_header;
    let is_array = count > 1 && (seen.len() > 1 || fills);
    if !is_array || shapes.is_open_ended(ty, bytes) {
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
    votes: &AllocationVotes,
) -> Option<AllocationContents> {
    let mut by_type: BTreeMap<TypeId, f64> = BTreeMap::new();
    for (&(at, ty), weight) in &votes.scalars {
        let is_aligned = |size: u64| size > 0 && at.is_multiple_of(size);
        let counted = shapes.size_of(ty).filter(|&size| is_aligned(size));
        *by_type.entry(ty).or_default() += counted.map_or(0.0, |_| *weight);
    }
    let total: f64 = votes.scalars.values().sum();
    let (ty, support) = by_type.into_iter().max_by(|a, b| {
        a.1.total_cmp(&b.1)
            .then_with(|| shapes.rank(a.0).cmp(&shapes.rank(b.0)))
    })?;
    let size = shapes.size_of(ty).filter(|&size| size > 1)?;
    let whole = bytes.is_multiple_of(size) && support > 0.0 && support >= AGREEMENT_MIN * total;
    let objects: f64 = votes.objects.values().sum();
    whole.then_some(AllocationContents::Scalars {
        ty,
        bytes: size,
        support,
        against: total - support + objects,
    })
}

/// Returns the contents by the votes of one allocation, without a majority, since its parts may be
/// different objects.
fn own_contents(
    shapes: &mut dyn TypeShapes,
    allocation: &TypedAllocation<'_>,
) -> Option<AllocationContents> {
    let mut votes = AllocationVotes::default();
    votes.add(allocation);
    let room = allocation.room();
    if let Some(agreed) = agreed_contents(shapes, room, &votes) {
        return Some(agreed);
    }
    let winners = elect(shapes, 0, room.bytes, &votes.objects);
    let parts = AllocationContents::Objects(winners);
    (parts.support() > 0.0).then(|| outvoted(shapes, parts, None, &votes))
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

        fn is_open_ended(&self, _: TypeId, _: u64) -> bool {
            false
        }

        fn scalar_fit(&mut self, outer: TypeId, offset: u64, _: TypeId) -> ScalarFit {
            match outer {
                ITEM if offset == 0 => ScalarFit::Member,
                ITEM => ScalarFit::Contradiction,
                _ => ScalarFit::Possible,
            }
        }
    }

    /// Allocation for tests: address, bytes, call stack, votes by offset and type, evidence of
    /// `LONG`.
    type AllocationInput<'g> = (u64, u64, &'g [u64], &'g [(u64, TypeId)], f64);

    fn linked_address(address: u64) -> Option<LinkedAddress> {
        Some(LinkedAddress {
            file: FileId::MAIN,
            address,
        })
    }

    /// Compares the contents: `None`, or type, offset of the first object, and true for an array.
    fn check(inputs: &[AllocationInput<'_>], expect: &[Option<(TypeId, u64, bool)>]) {
        let vote = |&(start, _, _, votes, _): &AllocationInput<'_>| -> Votes {
            { votes.iter() }
                .map(|&(offset, ty)| ((start.wrapping_add(offset), ty), 4.0))
                .collect()
        };
        let votes: Vec<Votes> = inputs.iter().map(vote).collect();
        let touched: Vec<BTreeSet<Addr>> = { votes.iter() }
            .map(|votes| votes.keys().map(|(base, _)| Addr(*base)).collect())
            .collect();
        let scalars: Vec<Votes> = { inputs.iter() }
            .map(|g| Votes::from_iter((g.4 > 0.0).then_some(((g.0, LONG), g.4))))
            .collect();
        let allocations: Vec<TypedAllocation<'_>> =
            { inputs.iter().zip(votes.iter().zip(&scalars).zip(&touched)) }
                .map(
                    |(&(start, bytes, stack, _, _), ((votes, scalars), touched))| TypedAllocation {
                        cell: ObjectCell {
                            run: RunId(0),
                            start: Addr(start),
                            end: Addr(start + bytes),
                            range: None,
                        },
                        votes,
                        scalars,
                        touched,
                        exact: true,
                        callers: AllocationCallers {
                            frames: stack.iter().copied().map(linked_address).collect(),
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

    /// Compares the type of 80 bytes with a vote for `OTHER` and votes for numbers at some offsets.
    fn check_numbers(numbers: &[(u64, f64)], expect: TypeId) {
        let votes = AllocationVotes {
            objects: Votes::from_iter([((0, OTHER), 4.0)]),
            scalars: { numbers.iter() }
                .map(|&(at, weight)| ((at, LONG), weight))
                .collect(),
        };
        let room = AllocationRoom {
            bytes: 80,
            exact: true,
        };
        let found = match agreed_contents(&mut Fixed, room, &votes) {
            Some(AllocationContents::Scalars { ty, .. }) => Some(ty),
            Some(AllocationContents::Elements(first)) => Some(first.ty),
            Some(AllocationContents::Objects(winners)) => Some(winners[0].ty),
            None => None,
        };
        assert_eq!(found, Some(expect), "{numbers:?}");
    }

    #[test]
    fn numbers_win_by_their_votes() {
        check_numbers(&[(0, 50.0), (8, 50.0)], LONG);
        check_numbers(&[(0, 1.0), (8, 1.0)], OTHER);
    }

    #[test]
    fn a_number_at_one_place_is_a_member() {
        check_numbers(&[(8, 100.0)], OTHER);
    }

    #[test]
    fn numbers_that_a_struct_has_are_for_it() {
        let counted = (0x1000, 24, &[1][..], &[(0, ITEM)][..], 100.0);
        check(&[counted], &[Some((ITEM, 0, false))]);
    }

    #[test]
    fn one_object_behind_a_header_of_its_size_is_no_array() {
        let shared = (0x1000, 48, &[1][..], &[(24, ITEM)][..], 0.0);
        check(&[shared], &[Some((ITEM, 24, false))]);
    }

    #[test]
    fn a_vote_for_another_type_is_no_element() {
        let inputs: [AllocationInput<'_>; 2] = [
            (0x1000, 48, &[1], &[(24, ITEM), (0, OTHER)], 0.0),
            (0x2000, 48, &[1], &[(24, ITEM)], 0.0),
        ];
        let item = Some((ITEM, 24, false));
        check(&inputs, &[item, item]);
    }

    #[test]
    fn memory_of_a_rounded_size_is_an_array_only_if_several_elements_are_seen() {
        let objects_of = |offsets: &[u64], exact: bool| {
            let votes = Votes::from_iter(offsets.iter().map(|&at| ((at, ITEM), 4.0)));
            agreed_objects(&mut Fixed, AllocationRoom { bytes: 48, exact }, &votes)
        };
        let is_array = |offsets: &[u64], exact: bool| {
            matches!(
                objects_of(offsets, exact),
                Some(AllocationContents::Elements(_))
            )
        };
        assert!(is_array(&[0], true));
        assert!(!is_array(&[0], false));
        assert!(is_array(&[0, 24], false));
    }

    #[test]
    fn memory_that_is_accessed_outside_of_the_objects_has_others() {
        let far = Votes::from_iter([((0x1000 + 40, ITEM), 4.0)]);
        let (none, scalars) = (Votes::default(), Votes::default());
        let touched = [0x1000 + 40, 0x2000].map(|addr| BTreeSet::from([Addr(addr)]));
        let allocation = |start: u64, votes, touched| TypedAllocation {
            cell: ObjectCell {
                run: RunId(0),
                start: Addr(start),
                end: Addr(start + 256),
                range: None,
            },
            votes,
            scalars: &scalars,
            touched,
            exact: false,
            callers: AllocationCallers {
                frames: [1, start].map(linked_address).to_vec(),
                near: 1,
                ..AllocationCallers::default()
            },
        };
        let cut = allocation(0x1000, &far, &touched[0]);
        let other = allocation(0x2000, &none, &touched[1]);
        let found = find_contents(&mut Fixed, &[cut, other]);
        assert!(found[0].is_some());
        assert_eq!(found[1], None);
    }

    #[test]
    fn numbers_alone_are_an_array_of_them() {
        check(&[(0x1000, 64, &[1], &[], 3.0)], &[Some((LONG, 0, true))]);
        check(&[(0x1000, 60, &[1], &[], 3.0)], &[None]);
    }
}
