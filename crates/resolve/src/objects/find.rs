//! From the accesses of a profile to the objects they fall into.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::TypeId;
use relayout_profile::{RangeKind, RangeRow};
use rustc_hash::FxHashMap;

use super::cache::{self, CacheType, StoreShapes};
use super::fixed::{self, Fixed};
use super::heap::{self, Allocation, Contents, Scalars};
use super::ranges::{Cell, Ranges};
use super::vote::{Votes, Winner, elect};
use super::{Object, ObjectKind, VoteCounts};
use crate::access::AccessKey;
use crate::callers::Stacks;
use crate::evidence::{Evidence, Program, Sites, Trust, Via};
use crate::images::Images;

/// Part of a site's typed accesses that must name one place before the site counts as evidence.
const LEARNED_MIN: f64 = 0.9;

/// Allocated arrays of at most so many elements are one object if an element is shorter than a line:
/// those of a few threads, say, which share lines with each other. Of longer ones, each is one.
const SMALL_ARRAY_MAX: u64 = 64;
/// Bytes of a line, near enough to tell small elements.
const LINE_BYTES: u64 = 64;

/// A site's evidence by what its other accesses hit, for sites whose instruction tells nothing.
type Learned = FxHashMap<(u32, bool), Evidence>;

/// What finding objects rests on.
pub struct Finder<'p, 'f, 'a> {
    /// The debug files.
    pub program: &'p Program<'f, 'a>,
    /// Where the files were.
    pub images: &'p Images<'f, 'a>,
    /// What memory was.
    pub ranges: &'p Ranges,
    /// Distinct accesses, ascending.
    pub accesses: &'p [(AccessKey, u64)],
    /// What instructions say.
    pub sites: &'p Sites,
}

impl Finder<'_, '_, '_> {
    /// All objects, by run and base, without overlaps.
    pub fn objects(&self) -> Vec<Object> {
        let fixed = self.fixed();
        let objects = self.with_elected(&fixed, &Learned::default());
        // What objects were hit tells of sites that say nothing themselves; those vote once more.
        let learned = self.learn(&objects);
        if learned.is_empty() {
            return objects;
        }
        self.with_elected(&fixed, &learned)
    }

    fn with_elected(&self, fixed: &[Object], learned: &Learned) -> Vec<Object> {
        let mut ballot = Ballot::default();
        self.collect(fixed, learned, &mut ballot);
        let mut objects = fixed.to_vec();
        self.hold(&ballot, &mut objects);
        objects
    }

    /// Objects that need no vote.
    fn fixed(&self) -> Vec<Object> {
        let fixed = Fixed {
            program: self.program,
            images: self.images,
            page: self.program.store.named("page"),
        };
        let mut found: BTreeMap<(u16, u64), Object> = BTreeMap::new();
        for (key, _) in self.accesses {
            let before = found.range(..=(key.run, key.addr)).next_back();
            if before.is_some_and(|(&(run, base), o)| run == key.run && key.addr - base < o.bytes) {
                continue;
            }
            let range = self
                .ranges
                .find(key.run, key.addr)
                .map(|n| self.ranges.get(n));
            if let Some(object) = fixed.object(key.run, key.addr, range) {
                found.insert((object.run, object.base), object);
            }
        }
        found.into_values().collect()
    }

    /// Counts the votes of all accesses outside `objects`.
    fn collect(&self, objects: &[Object], learned: &Learned, ballot: &mut Ballot) {
        for &(key, count) in self.accesses {
            if at(objects, key.run, key.addr).is_some() {
                continue;
            }
            let Some(cell) = self.ranges.cell(key.run, key.addr) else {
                continue;
            };
            let is_allocation = self.is_allocation(&cell);
            if is_allocation {
                ballot.touched.entry(cell).or_default().insert(key.addr);
            }
            let votes = ballot.cells.entry(cell).or_default();
            let site = self.sites.evidence(key.run, key.site);
            let evidence = site
                .of_access(key.writes, key.size)
                .or_else(|| learned.get(&(key.site, key.writes)).copied());
            let Some(evidence) = evidence else { continue };
            let weight = weight(evidence.trust, count);
            if self.program.store.types().aggregate(evidence.ty).is_none() {
                if is_allocation {
                    let scalars = ballot.scalars.entry(cell).or_default();
                    *scalars.entry(evidence.ty).or_default() += weight;
                    if let Some(via) = evidence.via {
                        let vias = ballot.vias.entry(cell).or_default();
                        *vias.entry(via).or_default() += weight;
                    }
                }
                if self.units_of(&cell).is_none() {
                    continue;
                }
            }
            let Some(base) = key.addr.checked_add_signed(evidence.offset.wrapping_neg()) else {
                continue;
            };
            *votes.entry((base, evidence.ty)).or_default() += weight;
        }
    }

    /// Holds the elections: per cache where a cache has one purpose, else per cell.
    fn hold(&self, ballot: &Ballot, objects: &mut Vec<Object>) {
        let mut shapes = StoreShapes::new(self.program);
        let caches = self.caches(ballot, &mut shapes);
        self.hold_allocations(ballot, &mut shapes, objects);
        self.hold_units(ballot, &mut shapes, objects);
        for (cell, votes) in &ballot.cells {
            if self.is_allocation(cell) || self.units_of(cell).is_some() {
                continue;
            }
            let slab = self.row(cell).filter(|row| row.kind == RangeKind::Slab);
            let cache = slab.map(|row| (row.owner.clone(), row.object_bytes));
            if let Some(known) = cache.and_then(|cache| caches.get(&cache)) {
                objects.push(self.of_cache(cell, known));
                continue;
            }
            for winner in elect(&mut shapes, cell.start, cell.end, votes) {
                objects.push(self.elected(cell, &winner));
            }
        }
        objects.sort_by_key(|o| (o.run, o.base));
    }

    /// What allocations hold, by what they have in common.
    fn hold_allocations(
        &self,
        ballot: &Ballot,
        shapes: &mut StoreShapes<'_, '_, '_>,
        objects: &mut Vec<Object>,
    ) {
        if ballot.touched.is_empty() {
            return;
        }
        let mut stacks = Stacks::new(self.program, self.images);
        let (no_votes, no_scalars) = (Votes::default(), Scalars::default());
        let all: Vec<Allocation<'_>> = { ballot.touched.keys() }
            .map(|cell| {
                let row = self.row(cell);
                let of = |kind| row.filter(|row| row.kind == kind);
                let callers =
                    of(RangeKind::Heap).map(|row| stacks.read(cell.run, &row.owner).clone());
                Allocation {
                    cell: *cell,
                    votes: ballot.cells.get(cell).unwrap_or(&no_votes),
                    scalars: ballot.scalars.get(cell).unwrap_or(&no_scalars),
                    callers: callers.unwrap_or_default(),
                    exact: of(RangeKind::Slab).is_none(),
                }
            })
            .collect();
        let contents = heap::contents(shapes, &all);
        for ((allocation, touched), contents) in
            all.iter().zip(ballot.touched.values()).zip(contents)
        {
            let Some(contents) = contents else { continue };
            let first = objects.len();
            self.allocated(allocation, touched, &contents, objects);
            let numbers = matches!(contents, Contents::Scalars { .. });
            if numbers && !self.is_heap(&allocation.cell) {
                self.name_numbers(ballot, &allocation.cell, objects, first);
            }
        }
    }

    /// The objects in one allocation; of an array the elements that were accessed.
    fn allocated(
        &self,
        allocation: &Allocation<'_>,
        touched: &BTreeSet<u64>,
        contents: &Contents,
        objects: &mut Vec<Object>,
    ) {
        let cell = &allocation.cell;
        let mut add = |base: u64, winner: &Winner| {
            let bytes = winner.bytes.min(cell.end.saturating_sub(base));
            let winner = Winner {
                base,
                bytes,
                ..*winner
            };
            let mut object = self.elected(cell, &winner);
            if let ObjectKind::Heap { site } = &mut object.kind {
                site.clone_from(&allocation.callers.words);
            }
            objects.push(object);
        };
        match contents {
            Contents::Objects(winners) => {
                for winner in winners {
                    add(cell.start + winner.base, winner);
                }
            }
            Contents::Elements(first) => {
                let start = cell.start + first.base;
                let count = (cell.end - start) / first.bytes;
                if count <= SMALL_ARRAY_MAX && first.bytes < LINE_BYTES {
                    let array = Winner {
                        bytes: count * first.bytes,
                        ty: self.program.store.array(first.ty, count),
                        ..*first
                    };
                    return add(start, &array);
                }
                let number = |addr: &u64| Some(addr.checked_sub(start)? / first.bytes);
                let numbers: BTreeSet<u64> = touched.iter().filter_map(number).collect();
                for number in numbers.range(..count) {
                    add(start + number * first.bytes, first);
                }
            }
            Contents::Scalars {
                ty,
                bytes,
                support,
                against,
            } => {
                let count = (cell.end - cell.start) / bytes;
                let part = if count <= SMALL_ARRAY_MAX { count } else { 1 };
                let one = Winner {
                    base: cell.start,
                    bytes: part * bytes,
                    ty: self.program.store.array(*ty, part),
                    support: *support,
                    against: *against,
                };
                let number = |addr: &u64| Some(addr.checked_sub(cell.start)? / one.bytes);
                let numbers: BTreeSet<u64> = touched.iter().filter_map(number).collect();
                for number in numbers {
                    add(cell.start + number * one.bytes, &one);
                }
            }
        }
    }

    fn is_heap(&self, cell: &Cell) -> bool {
        self.row(cell)
            .is_some_and(|row| row.kind == RangeKind::Heap)
    }

    /// It is one allocation of no kind that tells the type.
    fn is_allocation(&self, cell: &Cell) -> bool {
        self.row(cell).is_some_and(|row| match row.kind {
            RangeKind::Heap => true,
            RangeKind::Slab => cache::is_general_purpose(&row.owner),
            RangeKind::Vmalloc | RangeKind::DirectMap => !row.owner.is_empty(),
            _ => false,
        })
    }

    fn caches(
        &self,
        ballot: &Ballot,
        shapes: &mut StoreShapes<'_, '_, '_>,
    ) -> FxHashMap<(String, u32), CacheType> {
        let mut votes: BTreeMap<(String, u32), Votes> = BTreeMap::new();
        for (cell, own) in &ballot.cells {
            let Some(row) = self.row(cell) else { continue };
            if row.kind != RangeKind::Slab || cache::is_general_purpose(&row.owner) {
                continue;
            }
            let all = votes
                .entry((row.owner.clone(), row.object_bytes))
                .or_default();
            for (&(base, ty), weight) in own {
                if let Some(offset) = base.checked_sub(cell.start) {
                    *all.entry((offset, ty)).or_default() += weight;
                }
            }
        }
        let types = votes.into_iter().filter_map(|(key, votes)| {
            let bytes = u64::from(key.1);
            let ty = cache::type_of(self.program, shapes, &key.0, bytes, &votes)?;
            Some((key, ty))
        });
        types.collect()
    }

    fn of_cache(&self, cell: &Cell, known: &CacheType) -> Object {
        let elected = known.elected.map(|w| VoteCounts {
            support: w.support,
            against: w.against,
        });
        let base = cell.start + known.offset;
        let bytes = match known.elected {
            Some(winner) => winner.bytes.min(cell.end - base),
            None => cell.end - base,
        };
        self.object(cell, base, bytes, known.ty, elected)
    }

    pub(super) fn elected(&self, cell: &Cell, winner: &Winner) -> Object {
        let votes = VoteCounts {
            support: winner.support,
            against: winner.against,
        };
        self.object(cell, winner.base, winner.bytes, winner.ty, Some(votes))
    }

    fn object(
        &self,
        cell: &Cell,
        base: u64,
        bytes: u64,
        ty: TypeId,
        votes: Option<VoteCounts>,
    ) -> Object {
        let owner = || {
            self.row(cell)
                .map(|row| row.owner.clone())
                .unwrap_or_default()
        };
        let kind = match self.row(cell).map(|row| row.kind) {
            Some(RangeKind::Slab) => ObjectKind::Slab { cache: owner() },
            Some(RangeKind::Stack) => ObjectKind::Stack { task: owner() },
            Some(RangeKind::Heap) => ObjectKind::Heap {
                site: String::new(),
            },
            _ => ObjectKind::Memory,
        };
        let type_name = fixed::name(&self.program.store.types(), ty);
        let confidence = votes.map_or(1.0, VoteCounts::confidence);
        let votes = votes.unwrap_or_default();
        Object {
            run: cell.run,
            base,
            bytes,
            type_name,
            ty,
            kind,
            confidence,
            votes,
        }
    }

    pub(super) fn row(&self, cell: &Cell) -> Option<&RangeRow> {
        cell.range.map(|n| self.ranges.get(n))
    }

    fn learn(&self, objects: &[Object]) -> Learned {
        let mut seen: FxHashMap<(u32, bool), FxHashMap<(TypeId, i64), u64>> = FxHashMap::default();
        for &(key, _) in self.accesses {
            let site = self.sites.evidence(key.run, key.site);
            if site.string || site.of(key.writes).is_some() {
                continue;
            }
            let Some(object) = at(objects, key.run, key.addr).map(|n| &objects[n]) else {
                continue;
            };
            let offset = (key.addr - object.base) as i64;
            let places = seen.entry((key.site, key.writes)).or_default();
            *places.entry((object.ty, offset)).or_default() += 1;
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
                    Evidence {
                        ty,
                        offset,
                        trust: Trust::Guessed,
                        via: None,
                    },
                );
            }
        }
        learned
    }
}

/// Votes by stretch of memory; a stretch without votes was accessed all the same.
#[derive(Default)]
pub(super) struct Ballot {
    pub(super) cells: BTreeMap<Cell, Votes>,
    /// Addresses that were accessed in allocations.
    touched: BTreeMap<Cell, BTreeSet<u64>>,
    /// Evidence of scalars in allocations.
    scalars: BTreeMap<Cell, Scalars>,
    /// Members whose pointers led to those.
    pub(super) vias: BTreeMap<Cell, BTreeMap<Via, f64>>,
}

fn weight(trust: Trust, count: u64) -> f64 {
    let one = match trust {
        Trust::Stated => 4.0,
        Trust::Followed => 3.0,
        Trust::Guessed => 1.0,
    };
    // In whole 1024ths, so that sums are exact: the same in whatever order.
    const PARTS: f64 = 1024.0;
    (one * (1.0 + count as f64).log2() * PARTS).round() / PARTS
}

/// Index of the object that holds an address, in `objects` sorted by run and base.
pub fn at(objects: &[Object], run: u16, addr: u64) -> Option<usize> {
    let after = objects.partition_point(|o| (o.run, o.base) <= (run, addr));
    let n = after.checked_sub(1)?;
    let object = &objects[n];
    (object.run == run && addr - object.base < object.bytes).then_some(n)
}
