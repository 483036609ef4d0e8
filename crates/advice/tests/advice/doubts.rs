//! Reasons for which a gain may not hold in another recording.

use relayout_advice::AdviceDoubt;
use relayout_contend::TypeConfidence;
use relayout_profile::{OrderCounts, Profile, RecordingSetting, SimulatedOrder};
use relayout_search::{JudgedPart, JudgedParts, LayoutChange};

use crate::advice::fixture::address_of;
use crate::advice::recording::{
    HEAP, Recording, add, hot_turns, made_profile, named_objects, turns,
};

/// Bytes of `struct hot`.
const HOT_BYTES: u64 = 128;

/// Tests the doubts about all layouts of `struct hot`.
#[track_caller]
fn check(profile: Profile, expect: &[AdviceDoubt]) {
    let recording = Recording::resolve(profile);
    assert_eq!(recording.advise("hot").doubts, expect);
}

/// A recording of a program with enough transfers.
fn program() -> Profile {
    made_profile("program", &[hot_turns(100)])
}

#[test]
fn a_judgement_needs_a_hundred_transfers() {
    // The first access of all takes the line from nobody.
    let transfers = AdviceDoubt::FewTransfers { transfers: 99 };
    check(made_profile("kernel", &[hot_turns(50)]), &[transfers]);
    let mut enough = hot_turns(50);
    enough.push(add(0, address_of("hot")));
    check(made_profile("kernel", &[enough]), &[]);
}

/// Objects of `struct hot` with transfers, of which the first ones were logged in order.
fn logged_objects(contended: u64, logged: u64) -> Profile {
    let object = |index: u64| HEAP + index * HOT_BYTES;
    let steps = (0..contended).flat_map(|index| turns([object(index), object(index) + 8], 60));
    let mut profile = made_profile("kernel", &[steps.collect()]);
    let bytes = contended * HOT_BYTES;
    profile.ranges = vec![named_objects("struct hot", HEAP, bytes, HOT_BYTES as u32)];
    profile.bursts.retain(|row| row.addr.0 < object(logged));
    profile
}

#[test]
fn few_objects_stand_for_all_if_they_are_more_than_half_or_eight() {
    let few = |replayed: usize, contended: usize| AdviceDoubt::FewObjects {
        replayed,
        contended,
    };
    check(logged_objects(6, 3), &[few(3, 6)]);
    check(logged_objects(7, 4), &[]);
    check(logged_objects(14, 7), &[few(7, 14)]);
    check(logged_objects(16, 8), &[]);
    check(logged_objects(1, 1), &[]);
}

#[test]
fn more_threads_of_a_program_than_cpus_make_the_order() {
    let with_cpus = |target: &str, cpus: &str| {
        let mut profile = made_profile(target, &[hot_turns(100)]);
        profile.meta.settings = vec![RecordingSetting::new("cpus", cpus)];
        profile
    };
    let doubt = AdviceDoubt::MoreThreadsThanCpus {
        threads: 2,
        cpus: 1,
    };
    check(with_cpus("program", "1"), &[doubt]);
    check(with_cpus("program", "2"), &[]);
    check(with_cpus("program", "many"), &[]);
    check(program(), &[]);
    // CPUs of an emulator take turns by themselves.
    check(with_cpus("kernel", "1"), &[]);
}

/// A profile of so many recordings, in which others took this share of the CPU time.
fn busy(recordings: usize, lost_share: f64) -> Profile {
    let mut profile = made_profile("program", &vec![hot_turns(100); recordings]);
    for run in &mut profile.meta.runs {
        run.lost_share = Some(lost_share);
    }
    profile
}

#[test]
fn a_host_that_was_busy_with_others_is_a_doubt() {
    let doubt = |lost_percent| AdviceDoubt::BusyHost { lost_percent };
    check(busy(1, 0.4), &[doubt(40)]);
    check(busy(1, 0.25), &[]);
    let mut second_worse = busy(2, 0.3);
    second_worse.meta.runs[1].lost_share = Some(0.6);
    check(second_worse, &[doubt(60)]);
}

#[test]
fn an_order_that_was_not_kept_is_a_doubt() {
    let simulated = |ordered, unordered, misplaced| {
        let mut profile = made_profile("program", &[hot_turns(100)]);
        profile.meta.runs[0].simulated = Some(SimulatedOrder {
            counts: OrderCounts {
                ordered,
                unordered,
                misplaced,
                ..OrderCounts::default()
            },
            ..SimulatedOrder::default()
        });
        profile
    };
    check(simulated(900, 100, 0), &[]);
    check(simulated(0, 0, 0), &[]);
    check(
        simulated(1, 99, 0),
        &[AdviceDoubt::OutOfOrder { percent: 99 }],
    );
    check(
        simulated(80, 0, 20),
        &[AdviceDoubt::OutOfOrder { percent: 25 }],
    );
}

#[test]
fn three_recordings_settle_the_doubts_about_threads_and_host() {
    let circumstances = |recordings| {
        let mut profile = busy(recordings, 0.4);
        profile.meta.settings = vec![RecordingSetting::new("cpus", "1")];
        Recording::resolve(profile).advise("hot").doubts.len()
    };
    assert_eq!(circumstances(1), 2);
    assert_eq!(circumstances(2), 2);
    assert_eq!(circumstances(3), 0);
}

#[test]
fn a_layout_without_a_gain_on_a_part_is_in_doubt() {
    let recording = Recording::resolve(program());
    let advised = recording.advise("hot");
    let best = advised.best_candidate().expect("a better layout");
    let doubts = |change: f64, are_recordings: bool| {
        let mut ranked = best.clone();
        let part = JudgedPart {
            change,
            change_of_others_choice: -0.5,
        };
        ranked.parts = JudgedParts {
            are_recordings,
            parts: vec![part],
        };
        advised.doubts_about(&ranked)
    };
    let no_gain = |change_percent, are_recordings| AdviceDoubt::NoGainInPart {
        change_percent,
        are_recordings,
    };
    assert_eq!(doubts(0.25, true), [no_gain(25.0, true)]);
    assert_eq!(doubts(0.0, false), [no_gain(0.0, false)]);
    assert_eq!(doubts(-0.01, true), []);
}

#[test]
fn a_gain_at_some_places_of_the_allocator_is_luck() {
    // `h` and `i` are neighbours. With `h` behind `b` they are 48 bytes apart, and share a line at one place
    // of the four that an allocator can give.
    let mut profile = made_profile("program", &[turns([HEAP + 56, HEAP + 64], 100)]);
    profile.ranges = vec![named_objects("struct many", HEAP, 80, 0)];
    let recording = Recording::resolve(profile);
    let advised = recording.advise("many");
    let candidates = &advised.advice().expect("searched").candidates;
    let (certain, others): (Vec<_>, Vec<_>) =
        { candidates.iter() }.partition(|candidate| candidate.tally.transfers() == 0);
    for candidate in certain {
        assert_eq!(advised.doubts_about(candidate), []);
    }
    let behind_b = LayoutChange::Move {
        atom: 7,
        after: Some(1),
    };
    let mut others = others.into_iter();
    let lucky = others.find(|candidate| candidate.changes == [behind_b.clone()]);
    let doubts = advised.doubts_about(lucky.expect("a candidate"));
    let [doubt @ AdviceDoubt::NoGainAtPlace(places)] = doubts.as_slice() else {
        panic!("{doubts:?}");
    };
    assert_eq!((places.count, places.without_gain), (4, 1));
    assert_eq!(doubt.key(), "no-gain-at-place");
    let says = "the allocator decides where in a line an object begins, and at 1 of the 4 places that it can give \
                nothing is saved (at worst transfers change by +0.0%)";
    assert_eq!(doubt.to_string(), says);
}

#[test]
fn a_doubt_about_all_layouts_is_one_about_each() {
    let recording = Recording::resolve(made_profile("kernel", &[hot_turns(50)]));
    let advised = recording.advise("hot");
    let best = advised.best_candidate().expect("a better layout");
    let transfers = AdviceDoubt::FewTransfers { transfers: 99 };
    assert_eq!(advised.doubts_about(best), [transfers]);
}

#[test]
fn each_doubt_has_a_key_and_a_sentence_with_its_numbers() {
    let check = |doubt: AdviceDoubt, key: &str, sentence: &str| {
        assert_eq!(doubt.key(), key);
        assert_eq!(doubt.to_string(), sentence);
    };
    check(
        AdviceDoubt::FewTransfers { transfers: 99 },
        "few-transfers",
        "99 transfers were replayed, of 100 that a judgement needs",
    );
    check(
        AdviceDoubt::FewObjects {
            replayed: 3,
            contended: 6,
        },
        "few-objects",
        "3 of 6 objects with transfers were recorded in order",
    );
    let confidence = TypeConfidence {
        objects: 5,
        uncertain: 2,
        least_percent: 40,
    };
    check(
        AdviceDoubt::UncertainType(confidence),
        "uncertain-type",
        "the type of 2 of 5 objects was elected, with a confidence from 40% (below 75%)",
    );
    check(
        AdviceDoubt::MoreThreadsThanCpus {
            threads: 8,
            cpus: 2,
        },
        "more-threads-than-cpus",
        "8 threads shared 2 CPUs, so that the scheduler made the order",
    );
    check(
        AdviceDoubt::BusyHost { lost_percent: 40 },
        "busy-host",
        "the host was busy: others took 40% of the CPU time",
    );
    check(
        AdviceDoubt::OutOfOrder { percent: 98 },
        "out-of-order",
        "98% of the accesses to contended lines were out of order",
    );
    let no_gain = |are_recordings| AdviceDoubt::NoGainInPart {
        change_percent: 3.06,
        are_recordings,
    };
    check(
        no_gain(true),
        "no-gain-in-part",
        "in one of the recordings transfers change by +3.1%",
    );
    check(
        no_gain(false),
        "no-gain-in-part",
        "in a third of the recording transfers change by +3.1%",
    );
}
