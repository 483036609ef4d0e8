//! Case 5: a check before a store that changes nothing, by itself and with layouts.

use relayout_contend::TraceAccess;
use relayout_layout::abi::AbiEngine;
use relayout_profile::AccessKind::{self, Read, Write};
use relayout_search::{
    AccessingCode, AdviceVerdict, GuardedAdvice, LayoutAdvice, ObjectHome, Options,
    RecordedInstance, UserLayout, advise, advise_with_guards,
};

use crate::common::{access, instance, structure, subject};

const LOCKED: u32 = 16;
const CPU: u32 = 20;

/// Accesses of the owner of a node each time, and then of the spinner behind it.
fn rounds(is_silent: bool) -> Vec<RecordedInstance> {
    let word = |context, offset, access: AccessKind| access_of(context, offset, access, false);
    let round = |_| {
        [
            word(0, LOCKED, Write),
            access_of(0, CPU, Write, is_silent),
            word(1, CPU, Read),
            word(0, LOCKED, Read),
            word(1, CPU, Read),
        ]
    };
    let accesses: Vec<TraceAccess> = (0..400).flat_map(round).collect();
    vec![instance(0x1000, ObjectHome::Fixed, 0..24, accesses)]
}

fn access_of(context: u16, offset: u32, kind: AccessKind, silent: bool) -> TraceAccess {
    TraceAccess {
        silent: (kind == Write).then_some(silent),
        ..access(context, offset, 4, kind)
    }
}

fn checked(instances: &[RecordedInstance], member: u32) -> (u64, Option<GuardedAdvice>) {
    checked_set(instances, &[member], &Options::default())
}

fn checked_set(
    instances: &[RecordedInstance],
    offsets: &[u32],
    options: &Options,
) -> (u64, Option<GuardedAdvice>) {
    let members = [
        ("next", 8, 0),
        ("prev", 8, 8),
        ("locked", 4, 16),
        ("cpu", 4, 20),
    ];
    let (types, aggregate) = structure("optimistic_spin_node", 24, &members);
    let shape = AbiEngine::new(&types).shape(&aggregate).unwrap();
    let subject = subject(&aggregate, &shape, instances, 0);
    let plain = advise(subject, &[], options).unwrap();
    let found = relayout_search::guard_stores(instances, |access| offsets.contains(&access.offset));
    let found = found.map(|then| {
        let code = AccessingCode::with_guards(subject, &then);
        advise_with_guards(code, &[], (subject.into(), &plain), options)
    });
    let least = plain
        .candidates
        .iter()
        .map(|candidate| candidate.tally.transfers())
        .min();
    (least.unwrap(), found)
}

/// Neither the line of its own nor the check saves a transfer; both together save all.
#[test]
fn both_belong_together() {
    let (layout, found) = checked(&rounds(true), CPU);
    let found = found.unwrap();
    let today = found.advice.current.tally.transfers();
    let alone = found.guards_alone().unwrap().tally.transfers();
    let best = &found.advice.candidates[0];
    assert!(layout * 10 > today * 9 && alone * 10 > today * 9);
    assert!(best.tally.transfers() * 100 < today, "{best:?}");
    assert!(best.guarded && !best.changes.is_empty() && !found.advice.current.guarded);
    assert_eq!(found.advice.verdict, AdviceVerdict::Better);
    assert!(found.is_better());
    // Change and intervals are from today's layout without the check, and from the best without it.
    for interval in [best.interval, found.gain_over_fewer, found.advice.held_out] {
        assert!(interval.unwrap().high < -0.9, "{interval:?}");
    }
}

#[test]
fn a_check_that_changes_nothing_is_none() {
    assert_eq!(checked(&rounds(false), CPU).1, None);
    assert_eq!(checked(&rounds(true), LOCKED).1, None);
}

/// A member that nobody else reads, on a line that moves anyway: the check is no better than a
/// layout.
#[test]
fn a_check_that_saves_nothing_is_not_better() {
    let word = |context, offset, kind| access_of(context, offset, kind, offset == CPU);
    let round = |nth: u32| {
        let context = (nth % 2) as u16;
        [word(context, LOCKED, Write), word(context, CPU, Write)]
    };
    let accesses: Vec<TraceAccess> = (0..800).flat_map(round).collect();
    let instances = [instance(0x1000, ObjectHome::Fixed, 0..24, accesses)];
    let (_, found) = checked(&instances, CPU);
    assert!(!found.unwrap().is_better());
}

/// Both are set each time to what they are, and read by another: each store takes the line.
#[test]
fn two_stores_to_a_line_are_checked_both() {
    let word = |context, offset, kind| access_of(context, offset, kind, true);
    let round = |_| {
        [
            word(0, LOCKED, Write),
            word(0, CPU, Write),
            word(1, CPU, Read),
            word(1, LOCKED, Read),
        ]
    };
    let accesses: Vec<TraceAccess> = (0..400).flat_map(round).collect();
    let instances = [instance(0x1000, ObjectHome::Fixed, 0..24, accesses)];
    let options = Options {
        keep: vec!["locked".into(), "cpu".into()],
        ..Options::default()
    };
    let guarded = |offsets: &[u32]| checked_set(&instances, offsets, &options).1.unwrap();
    for offsets in [&[LOCKED][..], &[CPU]] {
        assert!(!guarded(offsets).is_better(), "{offsets:?}");
    }
    let both = guarded(&[LOCKED, CPU]);
    assert!(both.is_better());
    assert_eq!(both.guards_alone().unwrap().tally.transfers(), 0);
}

/// User layouts are scored with the guards, and today's layout without.
#[test]
fn given_layouts_are_scored_with_the_checks() {
    let instances = rounds(true);
    let members = [("rest", 16, 0), ("locked", 4, 16), ("cpu", 4, 20)];
    let (types, aggregate) = structure("node", 24, &members);
    let shape = AbiEngine::new(&types).shape(&aggregate).unwrap();
    let subject = subject(&aggregate, &shape, &instances, 0);
    let options = Options {
        budget_accesses: 0,
        ..Options::default()
    };
    let order = relayout_search::order::parse("locked\nrest\ncpu @64\n", &shape).unwrap();
    let given = [UserLayout {
        name: "apart".into(),
        order,
    }];
    let plain = advise(subject, &given, &options).unwrap();
    let then = relayout_search::guard_stores(&instances, |access| access.offset == CPU).unwrap();
    let code = AccessingCode::with_guards(subject, &then);
    let found = advise_with_guards(code, &given, (subject.into(), &plain), &options).advice;
    assert_eq!(found.current, plain.current);
    let transfers = |advice: &LayoutAdvice| advice.user_layouts[0].tally.transfers();
    assert!(transfers(&found) * 10 < transfers(&plain));
    assert!(found.user_layouts[0].interval.unwrap().high < -0.9);
}
