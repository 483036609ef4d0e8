//! Throughput of small recordings whose outcome is known.

use std::collections::BTreeMap;

use relayout_contend::throughput::{
    GuardCounts, MachineCosts, RecordedLoad, ReplayedStretch, StretchLine, ThroughputInputs,
};
use relayout_contend::{AccessCounts, ContextWaits, ObjectExtent, TraceAccess};
use relayout_profile::{
    AccessKind, Addr, CoherenceEvent, ConflictRow, ContextGaps, ContextId, LineRow, Profile,
    ProfileMeta, RecordedRun, RunId, SiteId,
};

/// Two that fight keep a line for 20 ns, and wait for 40 ns: a third of the time is work.
const COSTS: MachineCosts = MachineCosts {
    transfer_ns: 24.0,
    alone_ns: [1.0, 1.0, 1.0, 5.0],
    contended_ns: [[3.0; 4], [3.0; 4], [3.0; 4], [15.0; 4]],
};
const LINE: u64 = 0x1000;
const SUBJECT: ObjectExtent = ObjectExtent {
    run: RunId(0),
    base: Addr(LINE),
    bytes: 64,
};

/// Two contexts of 1,000 stores each, of which so many wait on the subject's line and on another.
fn load(subject: u64, other: u64) -> RecordedLoad {
    load_with(subject, other, &[])
}

/// The same with code of so many nanoseconds between accesses, measured to such an error, by run.
fn load_with(subject: u64, other: u64, code: &[(u64, u64)]) -> RecordedLoad {
    let gaps = |(ns, error_ns): &(u64, u64)| {
        let of = |context| ContextGaps {
            context,
            samples: 100,
            mean_ps: 1000 * ns,
            error_ps: 1000 * error_ns,
        };
        RecordedRun {
            gaps: vec![of(0), of(1)],
            ..RecordedRun::default()
        }
    };
    let line = |context, at| LineRow {
        run: RunId(0),
        line: at,
        context,
        reads: 0,
        writes: 500,
        read_transfers: 0,
        first_reads: None,
        write_transfers: 0,
        upgrades: 0,
        order_errors: None,
    };
    let conflict = |context, addr, count| ConflictRow {
        run: RunId(0),
        transfer: CoherenceEvent::Write,
        context,
        addr,
        size: 8,
        site: SiteId(0),
        access: AccessKind::Write,
        other_context: ContextId(1 - context.0),
        other_addr: addr,
        other_size: 8,
        other_site: SiteId(0),
        other_access: AccessKind::Write,
        count,
        first_reads: None,
        false_first_touch: 0,
        false_lifetime: 0,
    };
    let both = [LINE, 2 * LINE];
    let profile = Profile {
        meta: ProfileMeta {
            line_bytes: 64,
            runs: code.iter().map(gaps).collect(),
            ..ProfileMeta::default()
        },
        lines: both
            .iter()
            .flat_map(|at| [line(ContextId(0), Addr(*at)), line(ContextId(1), Addr(*at))])
            .collect(),
        conflicts: [(LINE, subject), (2 * LINE, other)]
            .iter()
            .flat_map(|(at, count)| {
                [
                    conflict(ContextId(0), Addr(*at), *count),
                    conflict(ContextId(1), Addr(*at), *count),
                ]
            })
            .collect(),
        ..Profile::default()
    };
    RecordedLoad::new(&profile, &[SUBJECT])
}

fn waits(each: u64) -> Vec<StretchLine> {
    let context = |context| ContextWaits {
        context,
        waits: each,
        accesses: AccessCounts {
            stores: 50,
            ..AccessCounts::default()
        },
    };
    vec![StretchLine {
        object: 0,
        line: 0,
        contexts: vec![context(ContextId(0)), context(ContextId(1))],
    }]
}

fn stretches(today: u64, changed: u64) -> Vec<ReplayedStretch> {
    let stretch = ReplayedStretch {
        run: RunId(0),
        today: waits(today),
        changed: waits(changed),
        guards: BTreeMap::new(),
    };
    vec![stretch; 10]
}

fn question<'a>(load: &'a RecordedLoad, contexts: Option<u32>) -> ThroughputInputs<'a> {
    ThroughputInputs {
        load,
        costs: &COSTS,
        contexts,
    }
}

/// If contexts use a line all the time and each access waits in the recording, the prediction is
/// the gain in the probe's loops.
#[test]
fn contexts_that_fight_all_the_time_gain_what_loops_do() {
    let load = load(1000, 0);
    let gain = question(&load, None).gain(&stretches(100, 0)).unwrap();
    assert!((2.95..3.05).contains(&gain.ratio.value), "{gain:?}");
    assert!((2.1..2.4).contains(&gain.ratio.low), "{gain:?}");
    assert!((3.9..4.4).contains(&gain.ratio.high), "{gain:?}");
    assert_eq!(gain.contexts, 2);
    let [(ContextId(0), a), (ContextId(1), b)] = &gain.by_context[..] else {
        panic!("{gain:?}");
    };
    assert!((a.value - b.value).abs() < 1e-6);
}

#[test]
fn what_else_is_waited_for_stays() {
    let load = load(1000, 1000);
    let gain = question(&load, None).gain(&stretches(100, 0)).unwrap();
    assert!((1.3..2.1).contains(&gain.ratio.value), "{gain:?}");
}

#[test]
fn more_waits_are_a_loss_and_the_same_ones_nothing() {
    let load = load(50, 10);
    let loss = question(&load, None).gain(&stretches(50, 80)).unwrap();
    assert!(loss.ratio.value < 0.95 && loss.ratio.high < 1.0, "{loss:?}");
    let same = question(&load, None).gain(&stretches(50, 50)).unwrap();
    assert_eq!(same.ratio.value, 1.0);
}

#[test]
fn a_gain_grows_with_the_contexts_that_fight() {
    let load = load(30, 0);
    let at = |contexts| {
        let gain = question(&load, Some(contexts))
            .gain(&stretches(3, 0))
            .unwrap();
        assert_eq!(gain.contexts, contexts);
        gain.ratio.value
    };
    assert!(
        at(2) < at(8) && at(8) < at(64),
        "{} {} {}",
        at(2),
        at(8),
        at(64)
    );
}

#[test]
fn an_uneven_change_has_a_wide_interval() {
    let load = load(50, 0);
    let mut uneven = stretches(50, 50);
    for stretch in uneven.iter_mut().step_by(3) {
        stretch.changed = waits(0);
    }
    let gain = question(&load, None).gain(&uneven).unwrap();
    assert!(
        gain.ratio.low < gain.ratio.value && gain.ratio.value < gain.ratio.high,
        "{gain:?}"
    );
}

#[test]
fn nobody_waits_nothing_is_predicted() {
    let load = load(0, 100);
    assert_eq!(question(&load, None).gain(&stretches(0, 0)), None);
    assert_eq!(question(&load, None).gain(&[]), None);
}

/// A change that gains in one recording and loses in another is unstable, whatever the sum is.
#[test]
fn a_sign_that_changes_over_recordings_is_unstable() {
    let load = load(50, 0);
    let mut both = stretches(50, 10);
    let loss = ReplayedStretch {
        run: RunId(1),
        ..stretches(50, 80)[0].clone()
    };
    both.extend(vec![loss; 3]);
    let gain = question(&load, None).gain(&both).unwrap();
    assert!(gain.ratio.value > 1.0 && gain.is_unstable(), "{gain:?}");
    both.truncate(10);
    let gain = question(&load, None).gain(&both).unwrap();
    assert!(gain.by_run.is_empty() && !gain.is_unstable(), "{gain:?}");
}

/// Contention that the probe's loops hardly feel costs hardly anything, however often contexts met
/// in the recording.
#[test]
fn who_keeps_a_line_for_long_seldom_waits() {
    let load = load(1000, 0);
    let costs = MachineCosts {
        contended_ns: [[1.2; 4]; 4],
        ..COSTS
    };
    let question = ThroughputInputs {
        load: &load,
        costs: &costs,
        contexts: None,
    };
    let gain = question.gain(&stretches(100, 0)).unwrap();
    assert!((1.1..1.3).contains(&gain.ratio.value), "{gain:?}");
    // And half as many recorded waits are nearly as many native ones.
    let half = question.gain(&stretches(100, 50)).unwrap();
    assert!((1.0..1.05).contains(&half.ratio.value), "{half:?}");
}

/// Gain of both contexts if none of them waits any more.
fn gain_with(code: &[(u64, u64)], waits: u64) -> relayout_contend::throughput::GainRatio {
    let load = load_with(waits, 0, code);
    let gain = question(&load, None).gain(&stretches(100, 0));
    gain.expect("they wait").ratio
}

#[test]
fn timed_code_takes_the_place_of_what_is_assumed() {
    // Waits are the same, the time between them is longer.
    let mut last = gain_with(&[], 1000);
    for ns in [1, 100, 300, 1000, 10_000] {
        let next = gain_with(&[(ns, 0)], 1000);
        assert!(
            next.value < last.value && next.value >= 1.0,
            "{ns}: {next:?}"
        );
        last = next;
    }
    assert!(last.high < 1.01, "{last:?}");
    // Several runs: their mean.
    let mean = gain_with(&[(100, 0), (300, 0)], 1000);
    assert_eq!(mean, gain_with(&[(200, 0)], 1000));
}

#[test]
fn an_uncertain_time_has_a_wide_interval() {
    let (certain, not) = (gain_with(&[(300, 0)], 1000), gain_with(&[(300, 200)], 1000));
    assert!(
        not.low < certain.low && certain.high < not.high,
        "{certain:?} {not:?}"
    );
}

#[test]
fn what_cannot_be_told_from_nothing_is_as_assumed() {
    assert_eq!(gain_with(&[(3, 3)], 1000), gain_with(&[], 1000));
    // And a little more than that is a little.
    let (least, most) = (gain_with(&[(301, 300)], 1000), gain_with(&[(301, 0)], 1000));
    assert!(least.value > most.value, "{least:?} {most:?}");
}

/// Waits that are shorter than the code after them, and than the processor looks ahead, cost
/// nothing.
#[test]
fn code_hides_in_waits() {
    // Each of 100 waits is for 24 ns and for the other's, by chance.
    let gain = gain_with(&[(100, 0)], 100);
    assert!((1.0..1.01).contains(&gain.value), "{gain:?}");
    assert!(gain.high > 1.02, "{gain:?}");
}

/// Stores that do not happen for a check are loads: where these cost as much, and waits are the
/// same, that gains nothing; where a load costs less, what it costs less; and a check before a
/// store that stays costs its load.
#[test]
fn a_check_costs_a_load_and_saves_the_store() {
    let load = load(50, 0);
    let gain = |load_ns: f64, left_out: u64| {
        let costs = MachineCosts {
            alone_ns: [load_ns, 1.0, 1.0, 5.0],
            ..COSTS
        };
        let stores = |stores| AccessCounts {
            stores,
            ..AccessCounts::default()
        };
        let checks = GuardCounts {
            all: stores(50),
            guarded: stores(50),
            left_out: stores(left_out),
        };
        let mut checked = stretches(50, 50);
        for stretch in &mut checked {
            stretch.guards = [(ContextId(0), checks)].into();
        }
        let question = ThroughputInputs {
            load: &load,
            costs: &costs,
            contexts: None,
        };
        let gain = question.gain(&checked).expect("they wait");
        // The other has no checks.
        assert!((gain.by_context[1].1.value - 1.0).abs() < 0.05, "{gain:?}");
        gain.by_context[0].1.value
    };
    assert!((gain(1.0, 50) - 1.0).abs() < 1e-3, "{}", gain(1.0, 50));
    assert!(gain(0.2, 50) > 1.05);
    assert!(gain(1.0, 0) < 0.95);
    assert!(gain(1.0, 25) < 1.0 && gain(1.0, 25) > gain(1.0, 0));
}

/// Half of the stores change nothing: they do not happen, and each of the others follows the load
/// of its check.
#[test]
fn checks_are_made_where_they_are_asked_for() {
    let store = |nth: u32| TraceAccess {
        context: ContextId((nth % 2) as u16),
        offset: 8 * (nth % 4),
        size: 8,
        access: AccessKind::Write,
        silent: [Some(true), Some(false), None][nth as usize % 3],
        site: SiteId(0),
    };
    let accesses: Vec<TraceAccess> = (0..12).map(store).collect();
    let guarded = |access: &TraceAccess| access.offset < 16;
    let made = GuardCounts::guarded_accesses(&accesses, guarded);
    let count = |kind| made.iter().filter(|access| access.access == kind).count() as u64;
    let found = GuardCounts::by_context(&accesses, guarded);
    let sum = |counter: fn(&GuardCounts) -> u64| found.values().map(counter).sum::<u64>();
    assert_eq!(sum(|counts| counts.all.stores), 12);
    assert_eq!(sum(|counts| counts.guarded.stores), 6);
    assert_eq!(count(AccessKind::Read), 6);
    assert_eq!(sum(|counts| counts.left_out.stores), 2);
    assert_eq!(count(AccessKind::Write), 10);
    for (nth, access) in made.iter().enumerate() {
        if access.is_store() && guarded(access) {
            let check = &made[nth - 1];
            assert_eq!(
                (check.access, check.offset),
                (AccessKind::Read, access.offset)
            );
        }
    }
}
