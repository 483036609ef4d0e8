//! Discovery of objects: from the accesses of a profile to the objects that they fall into.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::{TypeId, is_standard_scope};
use relayout_profile::{Addr, RangeKind, RunId, SiteId};
use rustc_hash::FxHashMap;

use super::ballot::{Learned, ObjectBallot};
use super::cache::{self, CacheType, StoreShapes};
use super::finder::ObjectFinder;
use super::fixed::CertainObjects;
use super::heap::{self, AllocationContents, TypedAllocation};
use super::ranges::ObjectCell;
use super::vote::{ElectedType, Votes, elect};
use super::{ArrayExtent, ObjectKind, ResolvedObject, VoteCounts};
use crate::evidence::{EvidenceTrust, TypeEvidence};

/// Fraction of a site's typed accesses that must have the same member before the site counts as
/// evidence.
const LEARNED_MIN: f64 = 0.9;

/// Elements of an array, at most, that is one object if its elements are shorter than a line. Such
/// arrays often belong to a few threads, which share the lines. In longer arrays each element is an
/// object.
const SMALL_ARRAY_MAX: u64 = 64;
/// Trust that is left in a type of a standard library that fills only a part of an allocation. The
/// program allocated the type that holds it: a node of `std::map`, of which only the base is seen, or
/// what an `Arc` counts for. Of 90 such objects in `benches/types`, none was what was allocated.
const STANDARD_PART_TRUST: f32 = 0.1;
/// Bytes of a line, close enough to recognise small elements.
const LINE_BYTES: u64 = 64;

impl ObjectFinder<'_, '_, '_> {
    /// Finds all objects, by run and base, without overlaps.
    pub fn find_objects(&self) -> Vec<ResolvedObject> {
        let fixed = self.certain_objects();
        let voting = self.voting_accesses(&fixed);
        let with_elected = |learned: &Learned| {
            let ballot = self.collect_votes(&voting, learned);
            let mut objects = fixed.clone();
            self.hold_election(&ballot, &mut objects);
            objects
        };
        let objects = with_elected(&Learned::default());
        // The objects found so far give evidence to sites without their own, which then vote, too.
        let learned = self.learn_sites(&objects);
        if learned.is_empty() {
            return objects;
        }
        with_elected(&learned)
    }

    /// Finds the objects that need no vote.
    fn certain_objects(&self) -> Vec<ResolvedObject> {
        let fixed = CertainObjects {
            program: self.program,
            images: self.images,
            page: self.program.store.find_named("page"),
        };
        let stack = self.find_stack_variables();
        let mut found: BTreeMap<(RunId, Addr), ResolvedObject> = BTreeMap::new();
        for (run, addr, _) in self.accesses_by_address() {
            let before = found.range(..=(run, addr)).next_back();
            if before.is_some_and(|(_, object)| object.holds(run, addr)) {
                continue;
            }
            let range = self.ranges.find_range(run, addr);
            let range = range.map(|n| self.ranges.row(n));
            let object = fixed.object_at(run, addr, range).or_else(|| {
                let row = range.filter(|row| row.kind == RangeKind::Stack)?;
                stack.object_at(run, addr, &row.owner)
            });
            if let Some(object) = object {
                found.insert((object.run, object.base), object);
            }
        }
        found.into_values().collect()
    }

    /// Elects types: per cache if the cache has one purpose, else per cell.
    fn hold_election(&self, ballot: &ObjectBallot, objects: &mut Vec<ResolvedObject>) {
        let mut shapes = StoreShapes::new(self.program, ballot.longer_owners.clone());
        let caches = self.elect_caches(ballot, &mut shapes);
        self.add_allocations(ballot, &mut shapes, objects);
        self.add_units(ballot, &mut shapes, objects);
        for (cell, votes) in &ballot.cells {
            if self.is_allocation(cell) || self.units_of(cell).is_some() {
                continue;
            }
            let slab = self
                .range_row(cell)
                .filter(|row| row.kind == RangeKind::Slab);
            let cache = slab.map(|row| (row.owner.clone(), row.object_bytes));
            if let Some(known) = cache.and_then(|cache| caches.get(&cache)) {
                objects.push(self.cache_object(cell, known));
                continue;
            }
            for winner in elect(&mut shapes, cell.start.0, cell.end.0, votes) {
                objects.push(self.elected_object(cell, &winner));
            }
        }
        objects.sort_by_key(|o| (o.run, o.base));
    }

    /// Adds the objects in allocations, by what the allocations have in common.
    fn add_allocations(
        &self,
        ballot: &ObjectBallot,
        shapes: &mut StoreShapes<'_, '_, '_>,
        objects: &mut Vec<ResolvedObject>,
    ) {
        if ballot.touched.is_empty() {
            return;
        }
        let mut stacks = self.caller_stacks(ballot);
        let no_votes = Votes::default();
        let allocations: Vec<TypedAllocation<'_>> = { ballot.touched.iter() }
            .map(|(cell, touched)| {
                let row = self.range_row(cell);
                let row_of_kind = |kind| row.filter(|row| row.kind == kind);
                let callers = row_of_kind(RangeKind::Heap)
                    .map(|row| stacks.read(cell.run, &row.owner).clone())
                    .unwrap_or_default();
                TypedAllocation {
                    cell: *cell,
                    votes: ballot.cells.get(cell).unwrap_or(&no_votes),
                    scalars: ballot.scalars.get(cell).unwrap_or(&no_votes),
                    touched,
                    exact: row_of_kind(RangeKind::Slab).is_none() && !callers.is_aligned,
                    callers,
                }
            })
            .collect();
        let contents = heap::find_contents(shapes, &allocations);
        for ((allocation, touched), contents) in allocations
            .iter()
            .zip(ballot.touched.values())
            .zip(contents)
        {
            if self.add_text(allocation, objects) {
                continue;
            }
            if let Some(table) = self.stated_table(allocation) {
                let buckets = TypedAllocation {
                    cell: table.buckets,
                    ..allocation.clone()
                };
                let holder = self.holder_words(ballot, &allocation.cell, &table.contents);
                self.add_held(&buckets, touched, &table.contents, &holder, objects);
                self.add_control_bytes(allocation, table.control, objects);
                continue;
            }
            let stated = self.stated_contents(allocation, contents.as_ref());
            let Some(contents) = stated.or(contents) else {
                continue;
            };
            let first = objects.len();
            let holder = self.holder_words(ballot, &allocation.cell, &contents);
            self.add_held(allocation, touched, &contents, &holder, objects);
            if matches!(contents, AllocationContents::Objects(_)) && self.is_heap(&allocation.cell)
            {
                let mut inside = objects.split_off(first);
                self.add_text_between(allocation, touched, &mut inside);
                objects.append(&mut inside);
            }
            let numbers = matches!(contents, AllocationContents::Scalars { .. });
            if numbers && !self.is_heap(&allocation.cell) {
                self.name_numbers(ballot, &allocation.cell, objects, first);
            }
        }
    }

    /// Adds the objects in one allocation, with the member that holds them in words.
    fn add_held(
        &self,
        allocation: &TypedAllocation<'_>,
        touched: &BTreeSet<Addr>,
        contents: &AllocationContents,
        holder: &str,
        objects: &mut Vec<ResolvedObject>,
    ) {
        let first = objects.len();
        self.add_allocation(allocation, touched, contents, objects);
        for object in &mut objects[first..] {
            if let ObjectKind::Heap { holder: words, .. } = &mut object.kind {
                holder.clone_into(words);
            }
        }
    }

    /// Returns true for an elected type of a standard library that fills only a part of the memory.
    fn is_standard_part(&self, cell: &ObjectCell, object: &ResolvedObject) -> bool {
        let types = self.program.store.types();
        let scope = types
            .aggregate(object.ty)
            .and_then(|aggregate| aggregate.scope.as_deref());
        object.votes.support > 0.0
            && object.bytes < cell.end - cell.start
            && scope.is_some_and(is_standard_scope)
    }

    /// Adds the objects in one allocation. Of an array only the accessed elements are added.
    fn add_allocation(
        &self,
        allocation: &TypedAllocation<'_>,
        touched: &BTreeSet<Addr>,
        contents: &AllocationContents,
        objects: &mut Vec<ResolvedObject>,
    ) {
        let cell = &allocation.cell;
        let mut add = |base: Addr, winner: &ElectedType, array: Option<ArrayExtent>| {
            let bytes = winner.bytes.min(cell.end.saturating_sub(base));
            let winner = ElectedType {
                base: base.0,
                bytes,
                ..*winner
            };
            let mut object = self.elected_object(cell, &winner);
            if let ObjectKind::Heap { site, .. } = &mut object.kind {
                site.clone_from(&allocation.callers.description);
            }
            object.array = array.or(object.array);
            let may_be_part = matches!(contents, AllocationContents::Objects(_));
            if may_be_part && allocation.exact && self.is_standard_part(cell, &object) {
                object.confidence *= STANDARD_PART_TRUST;
            }
            objects.push(object);
        };
        match contents {
            AllocationContents::Objects(winners) => {
                for winner in winners {
                    add(cell.start + winner.base, winner, None);
                }
            }
            AllocationContents::Elements(first) => {
                let start = cell.start + first.base;
                let count = (cell.end - start) / first.bytes;
                if count <= SMALL_ARRAY_MAX && first.bytes < LINE_BYTES {
                    let array = ElectedType {
                        bytes: count * first.bytes,
                        ty: self.program.store.array_of(first.ty, count),
                        ..*first
                    };
                    return add(start, &array, None);
                }
                let array = ArrayExtent::of_elements(start, first.bytes, cell.end - start);
                let number = |addr: &Addr| Some(addr.checked_sub(start)? / first.bytes);
                let numbers: BTreeSet<u64> = touched.iter().filter_map(number).collect();
                for number in numbers.range(..count) {
                    add(start + number * first.bytes, first, array);
                }
            }
            AllocationContents::Scalars {
                ty,
                bytes,
                support,
                against,
            } => {
                let count = (cell.end - cell.start) / bytes;
                let part = if count <= SMALL_ARRAY_MAX { count } else { 1 };
                let element = ElectedType {
                    base: cell.start.0,
                    bytes: part * bytes,
                    ty: self.program.store.array_of(*ty, part),
                    support: *support,
                    against: *against,
                    rival: None,
                };
                let number = |addr: &Addr| Some(addr.checked_sub(cell.start)? / element.bytes);
                let numbers: BTreeSet<u64> = touched.iter().filter_map(number).collect();
                let array = ArrayExtent::of_elements(cell.start, *bytes, cell.end - cell.start);
                for number in numbers {
                    add(cell.start + number * element.bytes, &element, array);
                }
            }
        }
    }

    pub(super) fn is_heap(&self, cell: &ObjectCell) -> bool {
        self.range_row(cell)
            .is_some_and(|row| row.kind == RangeKind::Heap)
    }

    /// Returns true if the cell is one allocation of a kind that does not tell the type.
    pub(super) fn is_allocation(&self, cell: &ObjectCell) -> bool {
        self.range_row(cell).is_some_and(|row| match row.kind {
            RangeKind::Heap => true,
            RangeKind::Slab => cache::is_general_purpose(&row.owner),
            RangeKind::Vmalloc | RangeKind::DirectMap => !row.owner.is_empty(),
            _ => false,
        })
    }

    fn elect_caches(
        &self,
        ballot: &ObjectBallot,
        shapes: &mut StoreShapes<'_, '_, '_>,
    ) -> FxHashMap<(String, u32), CacheType> {
        let mut votes: BTreeMap<(String, u32), Votes> = BTreeMap::new();
        for (cell, own) in &ballot.cells {
            let Some(row) = self.range_row(cell) else {
                continue;
            };
            if row.kind != RangeKind::Slab || cache::is_general_purpose(&row.owner) {
                continue;
            }
            let cache_votes = votes
                .entry((row.owner.clone(), row.object_bytes))
                .or_default();
            for (&(base, ty), weight) in own {
                if let Some(offset) = base.checked_sub(cell.start.0) {
                    *cache_votes.entry((offset, ty)).or_default() += weight;
                }
            }
        }
        let types = votes.into_iter().filter_map(|(key, votes)| {
            let bytes = u64::from(key.1);
            let ty = cache::cache_type(self.program, shapes, &key.0, bytes, &votes)?;
            Some((key, ty))
        });
        types.collect()
    }

    fn cache_object(&self, cell: &ObjectCell, known: &CacheType) -> ResolvedObject {
        let elected = known.elected.map(|w| VoteCounts {
            support: w.support,
            against: w.against,
        });
        let base = cell.start + known.offset;
        let bytes = match known.elected {
            Some(winner) => winner.bytes.min(cell.end - base),
            None => cell.end - base,
        };
        self.cell_object(cell, base, bytes, known.ty, elected)
    }

    fn learn_sites(&self, objects: &[ResolvedObject]) -> Learned {
        let mut seen: FxHashMap<(SiteId, bool), FxHashMap<(TypeId, i64), u64>> =
            FxHashMap::default();
        let mut passed = 0;
        for (run, addr, accesses) in self.accesses_by_address() {
            // Both ascend, so that no search is needed.
            let next = objects[passed..].iter();
            passed += next.take_while(|o| (o.run, o.base) <= (run, addr)).count();
            let before = objects[..passed].last();
            let Some(object) = before.filter(|o| o.holds(run, addr)) else {
                continue;
            };
            let offset = (addr - object.base) as i64;
            for (key, _) in accesses.iter().filter(|(key, _)| !key.inferred) {
                let site = self.sites.evidence(run, key.site);
                if !site.string && site.evidence(key.writes).is_none() {
                    let places = seen.entry((key.site, key.writes)).or_default();
                    *places.entry((object.ty, offset)).or_default() += 1;
                }
            }
        }
        let mut learned = Learned::default();
        for (site, places) in seen {
            let total: u64 = places.values().sum();
            let best = places
                .into_iter()
                .max_by_key(|&((ty, offset), n)| (n, ty, offset));
            if let Some(((ty, offset), n)) = best
                && n as f64 >= LEARNED_MIN * total as f64
            {
                learned.insert(
                    site,
                    TypeEvidence {
                        ty,
                        offset,
                        trust: EvidenceTrust::Guessed,
                        via: None,
                    },
                );
            }
        }
        learned
    }
}

/// Returns the index of the object that holds an address, in `objects` sorted by run and base.
pub fn object_index_at(objects: &[ResolvedObject], run: RunId, addr: Addr) -> Option<usize> {
    let after = objects.partition_point(|o| (o.run, o.base) <= (run, addr));
    let n = after.checked_sub(1)?;
    objects[n].holds(run, addr).then_some(n)
}
