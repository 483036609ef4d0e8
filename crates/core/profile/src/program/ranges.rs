//! Memory ranges of a program: modules, stacks, thread-local storage, and what it allocated and
//! named.

use std::collections::BTreeMap;

use relayout_shadow::wire::AllocRecord;
use rustc_hash::FxHashMap;

use super::map::{ProgramMap, ThreadArea};
use crate::ids::{Addr, RunId};
use crate::model::{LoadedModule, RangeKind, RangeRow};

/// Allocations that are in no row, because another with more coherence events had some of the same
/// memory at another time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmittedAllocations {
    /// Number of allocations.
    pub allocations: u64,
    /// Coherence events on their lines.
    pub events: u64,
}

/// All ranges of run number `run`, and what there is no room for.
pub(super) fn range_rows(
    map: &ProgramMap,
    allocs: &[AllocRecord],
    run: RunId,
) -> (Vec<RangeRow>, OmittedAllocations) {
    let mut rows: Vec<RangeRow> = Vec::new();
    for module in &map.modules {
        let bytes = module.end - module.start;
        let owner = module.path.clone();
        rows.push(range_row(
            run,
            RangeKind::Image,
            Addr(module.start),
            bytes,
            owner,
        ));
    }
    rows.extend(latest_of_overlapping(stack_rows(map, run)));
    rows.extend(latest_of_overlapping(tls_rows(map, run)));
    let mut left_out = OmittedAllocations::default();
    let (named, heap): (Vec<_>, Vec<_>) = allocs.iter().partition(|alloc| alloc.name != 0);
    let heap = busiest_allocations(heap, &mut left_out, |_, _| false);
    rows.extend(heap.iter().map(|alloc| heap_row(alloc, run)));
    // Named objects may be parts of others, alive at the same time.
    let named = busiest_allocations(named, &mut left_out, |a, b| {
        a.first_ticket < b.end_ticket && b.first_ticket < a.end_ticket
    });
    rows.extend(named.iter().filter_map(|alloc| named_row(alloc, map, run)));
    (rows, left_out)
}

fn range_row(run: RunId, kind: RangeKind, start: Addr, bytes: u64, owner: String) -> RangeRow {
    RangeRow {
        run,
        kind,
        start,
        bytes,
        owner,
        id: 0,
        first: Addr(0),
        stride: 0,
        object_bytes: 0,
    }
}

fn stack_rows(map: &ProgramMap, run: RunId) -> impl Iterator<Item = RangeRow> {
    map.stacks.iter().map(
        move |&ThreadArea {
                  context,
                  start,
                  bytes,
              }| {
            // They are in the order of contexts.
            let behind = map.threads.partition_point(|t| t.context <= context);
            let last = map.threads[..behind].last();
            let name = last.filter(|t| t.context == context);
            let owner = name.map(|t| t.name.clone()).unwrap_or_default();
            RangeRow {
                id: context.into(),
                ..range_row(run, RangeKind::Stack, Addr(start), bytes, owner)
            }
        },
    )
}

/// Blocks of modules that are gone have no name to say, and are left to what else is there.
fn tls_rows(map: &ProgramMap, run: RunId) -> impl Iterator<Item = RangeRow> {
    let modules = map.modules.iter().map(|m| (m.bias, m));
    let modules: FxHashMap<u64, &LoadedModule> = modules.collect();
    map.tls.iter().filter_map(move |block| {
        let module = modules.get(&block.bias)?;
        let ThreadArea {
            context,
            start,
            bytes,
        } = block.area;
        Some(RangeRow {
            id: context.into(),
            first: Addr(start),
            ..range_row(run, RangeKind::Tls, Addr(start), bytes, module.path.clone())
        })
    })
}

/// Of rows that overlap, those that came last; by start.
fn latest_of_overlapping(rows: impl Iterator<Item = RangeRow>) -> impl Iterator<Item = RangeRow> {
    let mut kept: BTreeMap<Addr, RangeRow> = BTreeMap::new();
    for row in rows.filter(|row| row.bytes > 0) {
        let end = row.start.saturating_add(row.bytes);
        while let Some((&start, _)) = kept
            .range(..end)
            .next_back()
            .filter(|(_, before)| before.start.saturating_add(before.bytes) > row.start)
        {
            kept.remove(&start);
        }
        kept.insert(row.start, row);
    }
    kept.into_values()
}

/// Lives of equal memory with an equal description, as one.
fn join_lives(mut allocs: Vec<&AllocRecord>) -> Vec<AllocRecord> {
    let key = |a: &AllocRecord| (a.start, a.bytes, a.frames, a.name, a.stride);
    allocs.sort_unstable_by_key(|a| (key(a), a.first_ticket, a.end_ticket));
    let mut joined: Vec<AllocRecord> = Vec::new();
    for alloc in allocs {
        match joined.last_mut().filter(|last| key(last) == key(alloc)) {
            Some(last) => {
                last.events = last.events.saturating_add(alloc.events);
                last.end_ticket = last.end_ticket.max(alloc.end_ticket);
            }
            None => joined.push(*alloc),
        }
    }
    joined
}

/// Those with most events, of which none share memory, except that one may be within another where
/// `together` says so; by start.
fn busiest_allocations(
    allocs: Vec<&AllocRecord>,
    left_out: &mut OmittedAllocations,
    may_nest: impl Fn(&AllocRecord, &AllocRecord) -> bool,
) -> Vec<AllocRecord> {
    let mut allocs = join_lives(allocs);
    allocs.retain(|alloc| alloc.bytes > 0);
    allocs.sort_by_key(|alloc| (std::cmp::Reverse(alloc.events), alloc.start, alloc.bytes));
    let mut kept = DisjointAllocations::default();
    let mut nested = Vec::new();
    for alloc in allocs {
        match kept.overlapping(&alloc) {
            None => kept.insert(alloc),
            Some(other) if within_one_another(&alloc, &other) && may_nest(&alloc, &other) => {
                nested.push(alloc);
            }
            Some(_) => {
                left_out.allocations += 1;
                left_out.events = left_out.events.saturating_add(alloc.events);
            }
        }
    }
    let mut allocations: Vec<_> = kept.0.into_values().chain(nested).collect();
    allocations.sort_by_key(|alloc| (alloc.start, std::cmp::Reverse(alloc.bytes)));
    allocations
}

/// Allocations that share no memory, by start.
#[derive(Default)]
struct DisjointAllocations(BTreeMap<u64, AllocRecord>);

impl DisjointAllocations {
    fn overlapping(&self, alloc: &AllocRecord) -> Option<AllocRecord> {
        let (_, before) = self.0.range(..end_address(alloc)).next_back()?;
        (end_address(before) > alloc.start).then_some(*before)
    }

    fn insert(&mut self, alloc: AllocRecord) {
        self.0.insert(alloc.start, alloc);
    }
}

fn end_address(alloc: &AllocRecord) -> u64 {
    alloc.start.saturating_add(alloc.bytes)
}

fn within_one_another(a: &AllocRecord, b: &AllocRecord) -> bool {
    let within =
        |a: &AllocRecord, b: &AllocRecord| a.start >= b.start && end_address(a) <= end_address(b);
    within(a, b) || within(b, a)
}

fn heap_row(alloc: &AllocRecord, run: RunId) -> RangeRow {
    let frames = alloc.frames.iter().take_while(|&&frame| frame != 0);
    let owner: Vec<String> = frames.map(|frame| format!("{frame:x}")).collect();
    range_row(
        run,
        RangeKind::Heap,
        Addr(alloc.start),
        alloc.bytes,
        owner.join(" "),
    )
}

/// `None` where the line with its name was lost.
fn named_row(alloc: &AllocRecord, map: &ProgramMap, run: RunId) -> Option<RangeRow> {
    let owner = map.names.get(&alloc.name)?.clone();
    Some(RangeRow {
        stride: alloc.stride,
        ..range_row(run, RangeKind::Named, Addr(alloc.start), alloc.bytes, owner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alloc(start: u64, bytes: u64, events: u64, lived: std::ops::Range<u64>) -> AllocRecord {
        AllocRecord {
            start,
            bytes,
            events,
            first_ticket: lived.start,
            end_ticket: lived.end,
            frames: [0x401_234, 0x401_abc, 0, 0, 0, 0, 0, 0],
            name: 0,
            stride: 0,
        }
    }

    fn check(allocs: &[AllocRecord], expect: &[(u64, u64)], left_out: OmittedAllocations) {
        let map = ProgramMap::parse(b"name 1 struct pool\n");
        let (rows, left) = range_rows(&map, allocs, RunId(3));
        let found: Vec<_> = rows.iter().map(|row| (row.start.0, row.bytes)).collect();
        assert_eq!((&found[..], left), (expect, left_out), "{allocs:?}");
        assert!(rows.iter().all(|row| row.run == RunId(3)));
    }

    const NONE: OmittedAllocations = OmittedAllocations {
        allocations: 0,
        events: 0,
    };

    #[test]
    fn memory_that_was_used_twice_is_what_had_more_events() {
        let small = alloc(0x1000, 64, 10, 0..5);
        let large = alloc(0x1020, 640, 30, 6..9);
        let left_out = OmittedAllocations {
            allocations: 1,
            events: 10,
        };
        check(&[small, large], &[(0x1020, 640)], left_out);
        // Lives of one call site and size are no contradiction, and count together.
        let again = alloc(0x1000, 64, 25, 9..u64::MAX);
        let left_out = OmittedAllocations {
            allocations: 1,
            events: 30,
        };
        check(&[small, large, again], &[(0x1000, 64)], left_out);
        check(
            &[small, alloc(0x1040, 8, 1, 0..9)],
            &[(0x1000, 64), (0x1040, 8)],
            NONE,
        );
    }

    #[test]
    fn named_objects_may_be_parts_of_others() {
        let named = |alloc| AllocRecord { name: 1, ..alloc };
        let pool = named(alloc(0x1000, 4096, 10, 0..9));
        let part = named(alloc(0x1100, 64, 30, 3..9));
        check(&[pool, part], &[(0x1000, 4096), (0x1100, 64)], NONE);
        let later = named(alloc(0x1100, 128, 5, 9..10));
        let left_out = OmittedAllocations {
            allocations: 1,
            events: 5,
        };
        check(
            &[pool, part, later],
            &[(0x1000, 4096), (0x1100, 64)],
            left_out,
        );
        // Within the heap object that it is in, which is another kind of range.
        let heap = alloc(0x1100, 64, 30, 0..9);
        check(&[heap, part], &[(0x1100, 64), (0x1100, 64)], NONE);
    }

    #[test]
    fn call_stacks_are_hex() {
        let (rows, _) = range_rows(
            &ProgramMap::default(),
            &[alloc(0x1000, 64, 1, 0..1)],
            RunId(0),
        );
        assert_eq!(rows[0].owner, "401234 401abc");
    }

    #[test]
    fn stacks_and_tls_name_their_thread_and_module() {
        let map = ProgramMap::parse(
            b"module 1000 2000 400 /bin/prog\nthread 1 7 worker\n\
              stack 1 9000 1000\nstack 1 8800 1000\ntls 1 7000 40 400\ntls 1 6000 40 500\n",
        );
        let (rows, _) = range_rows(&map, &[], RunId(0));
        let rows: Vec<_> = rows
            .iter()
            .map(|r| (r.kind, r.start.0, r.bytes, &*r.owner, r.id, r.first.0))
            .collect();
        let expect = [
            (RangeKind::Image, 0x1000, 0x1000, "/bin/prog", 0, 0),
            (RangeKind::Stack, 0x8800, 0x1000, "worker", 1, 0),
            (RangeKind::Tls, 0x7000, 0x40, "/bin/prog", 1, 0x7000),
        ];
        assert_eq!(rows, expect);
    }
}
