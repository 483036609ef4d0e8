//! Contexts on threads of their own: nothing hangs, nothing is counted twice or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::common::input::PAGE;
use crate::common::{Machine, Records};
use relayout_shadow::{AccessKind, AccessValue, ShadowConfig};

const THREADS: usize = 4;

/// Runs `accesses` of `access(context, n)` (address, kind) on each thread.
fn hammer(
    config: ShadowConfig,
    accesses: u64,
    access: fn(u64, u64) -> (u64, AccessKind),
) -> Records {
    let mut machine = Machine::new(config);
    let Machine { shadow, contexts } = &mut machine;
    let shadow = &*shadow;
    // Context is plain data of one thread at a time, but holds pointers.
    struct Moved<'a>(&'a mut relayout_shadow::ShadowContext);
    // SAFETY: each context goes to one thread, and comes back before it is used again.
    unsafe impl Send for Moved<'_> {}
    impl Moved<'_> {
        fn get(&mut self) -> &mut relayout_shadow::ShadowContext {
            self.0
        }
    }
    std::thread::scope(|scope| {
        for cx in contexts.iter_mut().map(Moved) {
            scope.spawn(move || {
                let mut cx = cx;
                let cx = cx.get();
                for n in 0..accesses {
                    let (addr, kind) = access(cx.id.into(), n);
                    let value = || {
                        Some(AccessValue::Seen {
                            bytes: [n as u8 / 16; 16],
                            certain: n % 5 > 0,
                        })
                    };
                    shadow.access(cx, addr, 8, kind, cx.id.into(), value);
                    shadow.pass_accesses(cx, 1, addr);
                }
            });
        }
    });
    for cx in contexts.iter() {
        assert_eq!((cx.accesses, cx.lost), (accesses, 0));
    }
    machine.finish()
}

#[test]
fn nothing_hangs_and_all_is_counted() {
    const ACCESSES: u64 = if cfg!(miri) { 200 } else { 100_000 };
    let config = ShadowConfig {
        burst_region_max: 5000,
        pair_period: 3,
        page_table_bits: 10,
        ..ShadowConfig::new(THREADS)
    };
    let records = hammer(config, ACCESSES, |context, n| {
        let mixed = (n * 4 + context).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let kind = if mixed % 3 == 0 {
            AccessKind::Write
        } else {
            AccessKind::Read
        };
        (PAGE + mixed % 40 * 40, kind)
    });
    let accesses: u64 = records
        .lines
        .iter()
        .map(|(_, line)| line.reads + line.writes)
        .sum();
    // Every address is a multiple of 8, and none straddles.
    assert_eq!(accesses, THREADS as u64 * ACCESSES);
    let events = |line: &relayout_shadow::wire::LineRecord| {
        line.first_reads + line.later_reads + line.write_transfers + line.upgrades
    };
    let by_line: u32 = records.lines.iter().map(|(_, line)| events(line)).sum();
    let by_pair: u32 = records
        .conflicts
        .iter()
        .map(|(_, conflict)| conflict.count)
        .sum();
    assert_eq!(by_line, by_pair);
    assert!(records.conflicts.iter().all(|(n, c)| *n != c.other_context));
    assert!(
        records.bursts.is_sorted_by(|a, b| a.1.ticket < b.1.ticket),
        "no ticket twice"
    );
}

#[test]
fn every_hot_line_is_logged() {
    const LINES: u64 = if cfg!(miri) { 10 } else { 3_000 };
    const EACH: u64 = 16;
    static ARRIVED: AtomicU64 = AtomicU64::new(0);
    let config = ShadowConfig {
        burst_from: 8,
        burst_reach: 0,
        page_table_bits: 13,
        ..ShadowConfig::new(2)
    };
    // One line after another, each in a region of its own; both threads store at the same time.
    let records = hammer(config, LINES * EACH, |_, n| {
        ARRIVED.fetch_add(1, Relaxed);
        for spins in 1u32.. {
            if ARRIVED.load(Relaxed) > n * 2 + 1 {
                break;
            }
            if spins.is_multiple_of(1000) {
                std::thread::yield_now();
            }
        }
        (PAGE + n / EACH * 512, AccessKind::Write)
    });
    let mut events = BTreeMap::new();
    for (_, line) in &records.lines {
        *events.entry(line.line).or_insert(0) += line.write_transfers + line.upgrades;
    }
    let regions: BTreeSet<u64> = records.regions.iter().map(|region| region.start).collect();
    let hot = events.iter().filter(|&(_, &n)| n >= config.burst_from);
    let (hot, missed) = hot.fold((0, 0), |(hot, missed), (line, _)| {
        (hot + 1, missed + u64::from(!regions.contains(line)))
    });
    assert_eq!(missed, 0, "of {hot} hot lines");
    assert!(hot > 0, "the threads never met");
}
