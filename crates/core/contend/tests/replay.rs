//! Replay against a slow reading of the definitions, and the known cases.

use proptest::prelude::*;
use relayout_contend::{
    BytePlacement, CoherenceTally, LineScores, ObjectTrace, PreparedTrace, RecordedPlacement,
    TraceAccess, replay, replay_lines,
};
use relayout_profile::{AccessKind, Addr, ContextId, SiteId};

/// The bytes of one access on one line.
struct Touch {
    context: u16,
    bytes: Vec<u32>,
    store: bool,
    silent: bool,
}

/// Counts one line by looking back and forth over its whole history at every access.
fn reference_line(history: &[Touch]) -> CoherenceTally {
    let mut tally = CoherenceTally::default();
    let stores_by_others = |context: u16, from: usize, to: usize| {
        (from..to).filter(move |&i| history[i].store && history[i].context != context)
    };
    // The context's copy at `at`, if it has one, dates from its last access before.
    let last_own = |context: u16, at: usize| (0..at).rev().find(|&i| history[i].context == context);
    let valid = |context: u16, at: usize| {
        last_own(context, at).is_some_and(|own| stores_by_others(context, own, at).next().is_none())
    };
    for (at, touch) in history.iter().enumerate() {
        let me = touch.context;
        if valid(me, at) {
            let shared = history
                .iter()
                .any(|other| other.context != me && valid(other.context, at));
            tally.upgrades += u64::from(touch.store && shared);
            continue;
        }
        if stores_by_others(me, 0, at).next().is_none() {
            continue;
        }
        if touch.store {
            tally.write_transfers += 1;
        } else {
            tally.read_transfers += 1;
        }
        let lost = last_own(me, at).map_or(0, |own| {
            stores_by_others(me, own, at)
                .next()
                .expect("not valid, so another stored")
        });
        let news: Vec<u32> = stores_by_others(me, lost, at)
            .filter(|&i| !history[i].silent)
            .flat_map(|i| history[i].bytes.iter().copied())
            .collect();
        let uses = |i: usize| history[i].bytes.iter().any(|byte| news.contains(byte));
        let lost_again = stores_by_others(me, at, history.len())
            .next()
            .unwrap_or(history.len());
        tally.false_first_touch += u64::from(!uses(at));
        tally.false_lifetime +=
            u64::from(!(at..lost_again).any(|i| history[i].context == me && uses(i)));
    }
    tally
}

fn reference(
    trace: &ObjectTrace,
    phase: u32,
    placement: &impl BytePlacement,
    line_bytes: u32,
) -> Vec<(u32, CoherenceTally)> {
    let address = |offset| placement.place(offset) + phase % line_bytes;
    let bytes = |access: &TraceAccess| access.offset..access.offset + u32::from(access.size);
    let mut lines: Vec<u32> = trace
        .accesses
        .iter()
        .flat_map(bytes)
        .map(|offset| address(offset) / line_bytes)
        .collect();
    lines.sort_unstable();
    lines.dedup();
    let history = |line: u32| {
        trace
            .accesses
            .iter()
            .map(|access| Touch {
                context: access.context.0,
                bytes: bytes(access)
                    .map(address)
                    .filter(|at| at / line_bytes == line)
                    .collect(),
                store: access.access != AccessKind::Read,
                silent: access.silent == Some(true),
            })
            .filter(|touch| !touch.bytes.is_empty())
            .collect::<Vec<_>>()
    };
    lines
        .into_iter()
        .map(|line| (line, reference_line(&history(line))))
        .collect()
}

fn any_access(contexts: u16) -> impl Strategy<Value = TraceAccess> {
    let kind = prop_oneof![
        Just(AccessKind::Read),
        Just(AccessKind::Write),
        Just(AccessKind::ReadWrite)
    ];
    let silent = prop_oneof![Just(None), Just(Some(false)), Just(Some(true))];
    (
        0..contexts,
        0..150u32,
        prop_oneof![Just(1u8), Just(4), Just(8), Just(33)],
        kind,
        silent,
    )
        .prop_map(|(context, offset, size, access, silent)| TraceAccess {
            context: ContextId(context * 7),
            offset,
            size,
            access,
            silent,
            site: SiteId(0),
        })
}

fn any_trace() -> impl Strategy<Value = ObjectTrace> {
    // Few offsets, so that accesses meet; runs of one context, so that the shortcut is taken.
    let burst = |contexts| {
        (
            0..contexts,
            prop::collection::vec(any_access(contexts), 1..8),
        )
            .prop_map(|(context, mut accesses): (u16, Vec<TraceAccess>)| {
                for access in accesses.iter_mut().skip(1) {
                    access.offset %= 24;
                    access.context = ContextId(context);
                }
                accesses
            })
    };
    prop_oneof![Just(2u16), Just(4), Just(70)]
        .prop_flat_map(move |contexts| prop::collection::vec(burst(contexts), 0..25))
        .prop_map(|bursts| ObjectTrace {
            base: Addr(0xffff_8880_0000_1040),
            accesses: bursts.into_iter().flatten().collect(),
            operations: 0,
            covered: std::iter::once(0..256).collect(),
        })
}

proptest! {
    #[test]
    fn agrees_with_the_definitions(
        trace in any_trace(),
        phase in 0..256u32,
        line_bytes in prop_oneof![Just(16u32), Just(64), Just(128), Just(256)],
        stride in prop_oneof![Just(1u32), Just(5), Just(77)],
    ) {
        // 77 and 5 are coprime with 256: a permutation that takes neighbours apart.
        let placement = |offset: u32| if offset < 256 { offset * stride % 256 } else { offset };
        let found: Vec<_> = replay_lines(&trace, phase, &placement, line_bytes)
            .into_iter()
            .map(|line| (line.line, line.tally))
            .collect();
        prop_assert_eq!(&found, &reference(&trace, phase, &placement, line_bytes));
        let total: CoherenceTally = found.iter().map(|(_, tally)| *tally).sum();
        prop_assert_eq!(total, replay(&trace, phase, &placement, line_bytes));
        prop_assert!(total.false_lifetime <= total.false_first_touch);
        prop_assert!(total.false_first_touch <= total.transfers());
    }

    #[test]
    fn whole_lines_may_move(trace in any_trace(), lines in 1..5u32) {
        let moved = |offset: u32| offset + lines * 64;
        prop_assert_eq!(replay(&trace, 0, &RecordedPlacement, 64), replay(&trace, 0, &moved, 64));
        prop_assert_eq!(replay(&trace, 24, &RecordedPlacement, 64), replay(&trace, 24 + 64, &RecordedPlacement, 64));
    }
}

/// Builds a trace from `(context, access, offset, size)`.
fn trace(accesses: impl IntoIterator<Item = (u16, AccessKind, u32, u8)>) -> ObjectTrace {
    let accesses = accesses
        .into_iter()
        .map(|(context, access, offset, size)| TraceAccess {
            context: ContextId(context),
            offset,
            size,
            access,
            silent: None,
            site: SiteId(0),
        });
    ObjectTrace {
        accesses: accesses.collect(),
        ..ObjectTrace::default()
    }
}

const FREE_BYTES: u32 = 16;
const BASE_ADDR: u32 = 56;

/// pcpu_chunk as accepted: `base_addr` at 64, on the line after `free_bytes`.
fn base_addr_apart(offset: u32) -> u32 {
    if offset < BASE_ADDR {
        offset
    } else {
        offset - BASE_ADDR + 64
    }
}

#[test]
fn readers_of_base_addr_are_freed() {
    let one_round = |_| {
        let reads = (1..4).map(|cpu| (cpu, AccessKind::Read, BASE_ADDR, 8));
        std::iter::once((0, AccessKind::Write, FREE_BYTES, 4)).chain(reads)
    };
    let trace = trace((0..1000).flat_map(one_round));
    let today = replay(&trace, 0, &RecordedPlacement, 64);
    assert_eq!(today.read_transfers, 3000);
    assert_eq!(today.upgrades + today.write_transfers, 999);
    assert_eq!(
        (today.false_first_touch, today.false_lifetime),
        (3000, 3000)
    );
    assert_eq!(
        replay(&trace, 0, &base_addr_apart, 64),
        CoherenceTally::default()
    );
}

#[test]
fn under_the_lock_the_transfer_only_moves() {
    // free_percpu on 6.1: read base_addr, then write free_bytes, on one CPU after the other.
    let free = |i: u32| {
        let cpu = (i % 4) as u16;
        [
            (cpu, AccessKind::Read, BASE_ADDR, 8),
            (cpu, AccessKind::ReadWrite, FREE_BYTES, 4),
        ]
    };
    let trace = trace((0..1000).flat_map(free));
    let today = replay(&trace, 0, &RecordedPlacement, 64);
    assert_eq!(
        (today.read_transfers, today.write_transfers, today.upgrades),
        (999, 0, 999)
    );
    assert_eq!((today.false_first_touch, today.false_lifetime), (999, 0));
    let apart = replay(&trace, 0, &base_addr_apart, 64);
    assert_eq!((apart.read_transfers, apart.write_transfers), (0, 999));
    assert_eq!((apart.false_first_touch, apart.false_lifetime), (0, 0));
}

/// osq_lock: each CPU stores its number (the same every time) and links itself; the next reads it.
fn osq(checked: bool) -> ObjectTrace {
    const NEXT: u32 = 0;
    const CPU: u32 = 20;
    let mut accesses = Vec::new();
    for _ in 0..1000 {
        let access = |context, access, offset, silent| TraceAccess {
            context,
            offset,
            size: 4,
            access,
            silent: Some(silent),
            site: SiteId(0),
        };
        let store = if checked {
            AccessKind::Read
        } else {
            AccessKind::Write
        };
        accesses.push(access(ContextId(0), store, CPU, !checked));
        accesses.push(access(ContextId(0), AccessKind::Write, NEXT, false));
        accesses.push(access(ContextId(1), AccessKind::Read, CPU, false));
    }
    ObjectTrace {
        accesses,
        ..ObjectTrace::default()
    }
}

#[test]
fn own_line_without_the_check_gains_little() {
    let own_line = |offset: u32| {
        if offset >= 20 {
            offset - 20 + 64
        } else {
            offset
        }
    };
    let today = replay(&osq(false), 0, &RecordedPlacement, 64);
    assert_eq!((today.read_transfers, today.upgrades), (1000, 999));
    // Nobody needs the new value of a silent store.
    assert_eq!(today.false_lifetime, 1000);
    let moved = replay(&osq(false), 0, &own_line, 64);
    assert_eq!((moved.read_transfers, moved.upgrades), (1000, 999));
    assert_eq!(
        replay(&osq(true), 0, &own_line, 64),
        CoherenceTally::default()
    );
}

#[test]
fn rwsem_words_together_or_apart() {
    // count at +0, owner at +8 of the lock; phases as with mmap_lock at 112, 120 and 128.
    let at = |lock: u32| move |offset: u32| offset + lock;
    let roles = trace((0..100).flat_map(|_| {
        [
            (0, AccessKind::ReadWrite, 0, 8),
            (1, AccessKind::Read, 8, 8),
            (2, AccessKind::Write, 8, 8),
        ]
    }));
    let [low, split, high] = [112, 120, 128].map(|lock| replay(&roles, 0, &at(lock), 64));
    assert_eq!(low, high);
    assert!(split.transfers() < low.transfers());
    let both = trace((0..300).flat_map(|i| {
        let cpu = (i % 3) as u16;
        [
            (cpu, AccessKind::ReadWrite, 0, 8),
            (cpu, AccessKind::Write, 8, 8),
        ]
    }));
    let [low, split] = [112, 120].map(|lock| replay(&both, 0, &at(lock), 64));
    assert_eq!(split.transfers(), 2 * low.transfers());
}

#[test]
fn an_access_across_lines_touches_both() {
    let swing = trace((0..100).map(|i| ((i % 2) as u16, AccessKind::Write, 0, 8)));
    assert_eq!(
        replay(&swing, 0, &RecordedPlacement, 64).write_transfers,
        99
    );
    assert_eq!(
        replay(&swing, 60, &RecordedPlacement, 64).write_transfers,
        198
    );
    assert_eq!(
        replay(&swing, 60, &RecordedPlacement, 128).write_transfers,
        99
    );
}

#[test]
fn odd_input_is_survived() {
    let odd = trace([
        (u16::MAX, AccessKind::Write, u32::MAX, 255),
        (0, AccessKind::Read, 0, 0),
    ]);
    for line_bytes in [0, 1, 48, 64, 1 << 31, u32::MAX] {
        assert_eq!(
            replay(&odd, u32::MAX, &RecordedPlacement, line_bytes),
            CoherenceTally::default()
        );
    }
    assert_eq!(PreparedTrace::new(&ObjectTrace::default()).steps(), 0);
}

proptest! {
    /// Scores of several placements one after the other, with what is known of lines, are replays.
    #[test]
    fn lines_that_are_known_cost_what_a_replay_says(
        trace in any_trace(),
        moves in prop::collection::vec((0..192u32, 0..192u32, 0..64u32), 1..8),
        line_bytes in prop_oneof![Just(64u32), Just(256)],
    ) {
        let replay = PreparedTrace::new(&trace);
        let scores = LineScores::new(&replay, line_bytes);
        for (from, to, phase) in moves {
            let exchange = |offset: u32| match offset {
                _ if offset == from => to,
                _ if offset == to => from,
                _ => offset,
            };
            let found = scores.lines(phase, &exchange);
            prop_assert_eq!(&found, &replay.lines(phase, &exchange, line_bytes));
            let before = scores.replayed_accesses();
            prop_assert_eq!(&scores.lines(phase, &exchange), &found);
            prop_assert_eq!(scores.replayed_accesses(), before);
        }
    }

    #[test]
    fn who_waits_adds_up(trace in any_trace(), phase in 0..64u32) {
        let replay = PreparedTrace::new(&trace);
        let lines = replay.lines(phase, &RecordedPlacement, 64);
        for (line, waits) in lines.iter().zip(replay.waits(phase, &RecordedPlacement, 64)) {
            prop_assert_eq!(line.line, waits.line);
            let all: u64 = waits.contexts.iter().map(|context_waits| context_waits.waits).sum();
            prop_assert_eq!(all, line.tally.transfers() + line.tally.upgrades);
            prop_assert!(waits.contexts.iter().all(|context_waits| context_waits.waits <= context_waits.accesses.total()));
        }
    }
}

/// A word that moves to another line changes two lines; the rest is known.
#[test]
fn a_move_replays_two_lines() {
    let round = |_| {
        [0, 64, 128, 192, 256]
            .map(|at| [(0, AccessKind::Write, at, 8), (1, AccessKind::Read, at, 8)])
    };
    let trace = trace((0..100).flat_map(round).flatten());
    let replay = PreparedTrace::new(&trace);
    let scores = LineScores::new(&replay, 64);
    scores.tally(0, &RecordedPlacement);
    let all = scores.replayed_accesses();
    let moved = |offset: u32| if offset < 8 { offset + 72 } else { offset };
    scores.tally(0, &moved);
    assert_eq!(scores.replayed_accesses() - all, all * 2 / 5);
}
