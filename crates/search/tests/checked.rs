//! Case 5: a check before a store that changes nothing, by itself and with layouts.

mod common;

use relayout_contend::TraceAccess;
use relayout_layout::abi::Abi;
use relayout_profile::Access::{self, Read, Write};
use relayout_search::{Checked, Home, Instance, Options, Verdict, advise, with_check};

use common::{access, instance, structure, subject};

const LOCKED: u32 = 16;
const CPU: u32 = 20;

/// What the owner of a node does each time, and then the spinner behind it.
fn rounds(is_silent: bool) -> Vec<Instance> {
    let word = |context, offset, access: Access| access_of(context, offset, access, false);
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
    vec![instance(0x1000, Home::Fixed, 0..24, accesses)]
}

fn access_of(context: u16, offset: u32, kind: Access, silent: bool) -> TraceAccess {
    TraceAccess {
        silent: (kind == Write).then_some(silent),
        ..access(context, offset, 4, kind)
    }
}

fn checked(instances: &[Instance], member: u32) -> (u64, Option<Checked>) {
    let members = [
        ("next", 8, 0),
        ("prev", 8, 8),
        ("locked", 4, 16),
        ("cpu", 4, 20),
    ];
    let (types, aggregate) = structure("optimistic_spin_node", 24, &members);
    let shape = Abi::new(&types).shape(&aggregate).unwrap();
    let subject = subject(&aggregate, &shape, instances, 0);
    let plain = advise(subject, &[], &Options::default()).unwrap();
    let check = |access: &TraceAccess| access.offset == member;
    let found = with_check(subject, &plain, &Options::default(), check);
    let least = plain
        .candidates
        .iter()
        .map(|one| one.tally.transfers())
        .min();
    (least.unwrap(), found)
}

/// Neither the line of its own nor the check saves a transfer; both together save all.
#[test]
fn both_belong_together() {
    let (layout, found) = checked(&rounds(true), CPU);
    let found = found.unwrap();
    let today = found.advice.current.tally.transfers();
    let alone = found.alone().unwrap().tally.transfers();
    let best = &found.advice.candidates[0];
    assert!(layout * 10 > today * 9 && alone * 10 > today * 9);
    assert!(best.tally.transfers() * 100 < today, "{best:?}");
    assert!(best.checked && !best.changes.is_empty() && !found.advice.current.checked);
    assert_eq!(found.advice.verdict, Verdict::Better);
    assert!(found.is_better());
    // Change and intervals are from today's layout without the check, and from the best without it.
    for interval in [best.interval, found.beside, found.advice.held_out] {
        assert!(interval.unwrap().high < -0.9, "{interval:?}");
    }
}

#[test]
fn a_check_that_changes_nothing_is_none() {
    assert_eq!(checked(&rounds(false), CPU).1, None);
    assert_eq!(checked(&rounds(true), LOCKED).1, None);
}

/// A member that nobody else reads, on a line that moves anyway: the check is no better than a layout.
#[test]
fn a_check_that_saves_nothing_is_not_better() {
    let word = |context, offset, kind| access_of(context, offset, kind, offset == CPU);
    let round = |nth: u32| {
        let context = (nth % 2) as u16;
        [word(context, LOCKED, Write), word(context, CPU, Write)]
    };
    let accesses: Vec<TraceAccess> = (0..800).flat_map(round).collect();
    let instances = [instance(0x1000, Home::Fixed, 0..24, accesses)];
    let (_, found) = checked(&instances, CPU);
    assert!(!found.unwrap().is_better());
}
