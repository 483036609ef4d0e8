//! Behaviour when a resource runs out, and at the ends of the address space.

use crate::common::input::PAGE;
use crate::common::{Machine, Memory};
use relayout_shadow::wire::LineRecord;
use relayout_shadow::{
    AccessKind, AccessValue, CollectorHost, PAGE_BYTES, ShadowConfig, ShadowContext, ShadowMemory,
};

fn small(contexts: usize) -> ShadowConfig {
    ShadowConfig {
        page_table_bits: 8,
        ..ShadowConfig::new(contexts)
    }
}

fn total(lines: &[(u16, LineRecord)], of: impl Fn(&LineRecord) -> u64) -> u64 {
    lines.iter().map(|(_, line)| of(line)).sum()
}

#[test]
fn a_full_page_table_loses_what_has_no_place() {
    const PAGES: u64 = 300;
    let mut machine = Machine::new(small(2));
    let Machine { shadow, contexts } = &mut machine;
    for round in 0..3 {
        for cx in contexts.iter_mut() {
            for page in 0..PAGES {
                let addr = PAGE + page * PAGE_BYTES as u64;
                shadow.access(cx, addr, 8, AccessKind::Write, round, || None);
            }
        }
    }
    let lost: Vec<u64> = contexts.iter().map(|cx| cx.lost).collect();
    // Seven of eight places are used, and the one that is just over.
    let followed = 256 * 7 / 8;
    assert_eq!(lost, [3 * (PAGES - followed); 2]);
    let records = machine.finish();
    assert_eq!(total(&records.lines, |line| line.writes), 6 * followed);
}

/// Two contexts fight over many lines; the host has `bytes` to give from the start.
fn starve(bytes: usize) -> Option<(u64, u64, u64)> {
    let shadow = ShadowMemory::new(small(2), Memory::limited(bytes))?;
    let mut contexts = [
        ShadowContext::new(0, &shadow.host)?,
        ShadowContext::new(1, &shadow.host)?,
    ];
    fight(&shadow, &mut contexts);
    Some(end(&shadow, &mut contexts))
}

fn fight(shadow: &ShadowMemory<Memory>, contexts: &mut [ShadowContext; 2]) {
    for n in 0..20_000 {
        let cx = &mut contexts[n % 2];
        let addr = PAGE + (n as u64 / 40) * 4160 + n as u64 % 3;
        shadow.access(cx, addr, 8, AccessKind::Write, 1, || None);
    }
}

/// Ends it; accesses made, found in the totals, and lost.
fn end(shadow: &ShadowMemory<Memory>, contexts: &mut [ShadowContext; 2]) -> (u64, u64, u64) {
    contexts.iter_mut().for_each(|cx| shadow.finish(cx));
    let found = total(&shadow.host.records().lines, |line| line.writes);
    let made = contexts.iter().map(|cx| cx.accesses).sum();
    (made, found, contexts.iter().map(|cx| cx.lost).sum())
}

#[test]
fn a_host_without_memory_is_survived() {
    assert_eq!(starve(0), None);
    let plenty = 16 << 20;
    let (made, found, lost) = starve(plenty).expect("enough to begin");
    assert!(
        made == found + lost && lost > 0,
        "the page table is full: {lost}"
    );
    let begun = (0..plenty).step_by(300_000).filter_map(starve);
    let losses: Vec<u64> = begun
        .inspect(|&(made, found, lost)| assert!(found + lost >= made, "{found} + {lost} < {made}"))
        .map(|(_, _, lost)| lost)
        .collect();
    assert!(
        losses.len() > 5 && losses.is_sorted_by(|more, less| more >= less),
        "{losses:?}"
    );
}

#[test]
fn a_line_that_no_memory_is_left_for_counts_as_lost() {
    let shadow = ShadowMemory::new(small(2), Memory::new()).expect("memory");
    let mut contexts = [0, 1].map(|n| ShadowContext::new(n, &shadow.host).expect("memory"));
    let [a, b] = &mut contexts;
    // The second context has no memory for its own part of the page.
    shadow.access(a, PAGE, 8, AccessKind::Write, 1, || None);
    shadow.host.leave(0);
    shadow.access(b, PAGE, 8, AccessKind::Write, 1, || None);
    assert_eq!((a.lost, b.lost), (0, 1));
    shadow.host.leave(usize::MAX);
    shadow.access(b, PAGE, 8, AccessKind::Write, 1, || None);
    shadow.access(b, PAGE + 64, 8, AccessKind::Write, 1, || None);
    assert_eq!((b.lost, b.transfers), (1, 1));
    assert_eq!(end(&shadow, &mut contexts), (4, 3, 1));
}

/// Two contexts take `rounds` turns to store `size` bytes at `addr`.
fn swing(addr: u64, size: u8, rounds: u32) -> crate::common::Records {
    let mut machine = Machine::new(ShadowConfig {
        burst_from: 2,
        ..small(2)
    });
    for _ in 0..rounds {
        for cx in &mut machine.contexts {
            machine
                .shadow
                .access(cx, addr, size, AccessKind::Write, 1, || None);
        }
    }
    machine.finish()
}

#[test]
fn the_ends_of_the_address_space_are_lines_like_others() {
    for addr in [0, 8, 600, u64::MAX - 7, u64::MAX - 600] {
        let records = swing(addr, 8, 100);
        assert_eq!(total(&records.lines, |l| l.writes), 200, "{addr:#x}");
        assert_eq!(
            total(&records.lines, |l| l.write_transfers.into()),
            199,
            "{addr:#x}"
        );
        assert!(
            records.regions.iter().any(|r| r.start == addr & !511),
            "{addr:#x}"
        );
    }
    // The last bytes and the first.
    let records = swing(u64::MAX - 3, 8, 1);
    assert_eq!(total(&records.lines, |l| l.writes), 4);
}

#[test]
fn sizes_that_no_instruction_has() {
    assert!(swing(PAGE, 0, 10).lines.is_empty());
    for (size, lines) in [(64, 1), (65, 2), (128, 2), (129, 3), (255, 4)] {
        let records = swing(PAGE, size, 1);
        assert_eq!(total(&records.lines, |l| l.writes), 2 * lines, "{size}");
    }
}

#[test]
fn vector_accesses_are_compared_only_as_far_as_values_go() {
    let mut machine = Machine::new(ShadowConfig {
        values_from: 0,
        count_from: 0,
        ..small(2)
    });
    for _ in 0..10 {
        for cx in &mut machine.contexts {
            let value = || {
                Some(AccessValue::Seen {
                    bytes: [1; 16],
                    certain: true,
                })
            };
            machine
                .shadow
                .access(cx, PAGE, 32, AccessKind::Write, 1, value);
        }
    }
    let records = machine.finish();
    assert!(
        records.counts.iter().all(|(_, count)| count.silent == 0),
        "half was not seen"
    );
}

#[test]
fn vector_accesses_to_neighbouring_bytes_are_both_logged() {
    let mut machine = Machine::new(ShadowConfig {
        burst_from: 1,
        ..small(2)
    });
    let Machine { shadow, contexts } = &mut machine;
    for cx in contexts.iter_mut() {
        shadow.access(cx, PAGE, 8, AccessKind::Write, 1, || None);
    }
    shadow.access(&mut contexts[0], PAGE, 32, AccessKind::Write, 1, || None);
    shadow.access(&mut contexts[0], PAGE + 1, 32, AccessKind::Write, 2, || {
        None
    });
    assert_eq!(machine.finish().bursts.len(), 2);
}

#[test]
fn totals_leave_before_they_overflow() {
    let mut machine = Machine::new(small(1));
    let Machine { shadow, contexts } = &mut machine;
    let cx = &mut contexts[0];
    shadow.access(cx, PAGE, 8, AccessKind::Read, 1, || None);
    cx.flush(&shadow.host);
    assert!(shadow.host.records().lines.is_empty());
    cx.accesses += 1 << 31;
    cx.flush(&shadow.host);
    assert_eq!(total(&shadow.host.records().lines, |line| line.reads), 1);
    cx.flush(&shadow.host);
    assert_eq!(total(&machine.finish().lines, |line| line.reads), 1);
}

#[test]
fn too_many_contexts_are_refused() {
    for contexts in [0, 1025] {
        assert!(ShadowMemory::new(small(contexts), Memory::new()).is_none());
    }
    let host = Memory::new();
    assert!(
        host.zeroed(4096)
            .is_some_and(|at| (at as usize).is_multiple_of(4096))
    );
}

/// Memory that is reserved in one piece may be larger than what a walk over its pages could ever
/// visit.
#[test]
fn events_of_stretches_of_any_size_are_those_of_their_pages() {
    let mut machine = Machine::new(small(2));
    let Machine { shadow, contexts } = &mut machine;
    let far = [0, 1, 2, 70, 1 << 20, 1 << 33, 1 << 34];
    let lines: Vec<u64> = { far.iter() }
        .map(|page| PAGE + page * PAGE_BYTES as u64 + 128)
        .chain([u64::MAX - 4000])
        .collect();
    for round in 0..50 {
        for (n, &line) in lines.iter().enumerate() {
            for cx in contexts.iter_mut().filter(|_| n <= round) {
                shadow.access(cx, line, 8, AccessKind::Write, 1, || None);
            }
        }
    }
    let of_line: Vec<u64> = { lines.iter() }
        .map(|&line| shadow.events_in(line, 8))
        .collect();
    assert!(of_line.iter().all(|&events| events > 0), "{of_line:?}");
    for (first, &start) in lines.iter().enumerate() {
        for (last, &end) in lines.iter().enumerate().skip(first) {
            let expect: u64 = of_line[first..=last].iter().sum();
            assert_eq!(shadow.events_in(start, end - start + 1), expect);
            assert_eq!(
                shadow.events_in(start - 64, end - start),
                expect - of_line[last]
            );
        }
    }
    assert_eq!(shadow.events_in(0, u64::MAX), of_line.iter().sum::<u64>());
    assert_eq!(shadow.events_in(PAGE + (1 << 13), 0), 0);
}
