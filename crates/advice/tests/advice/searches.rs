//! Judgements that searches make: quick ones for a report, and those of advice.

use relayout_advice::{
    InnerType, TypeJudgement, TypeJudgements, advised_judgements, judge_findings, judged_type_name,
};
use relayout_testprofile::Step;

use crate::advice::fixture::address_of;
use crate::advice::judgements::{by_name, embedded, exhausted, findings, inner};
use crate::advice::recording::{
    HEAP, Recording, add, hot_turns, load, made_profile, named_objects, turns,
};

/// The judgement of a quick search, by the name of the first finding's type.
fn quick(steps: Vec<Step>) -> TypeJudgement {
    let recording = Recording::of_kernel(steps);
    let all = findings(&recording);
    let mut judgements = TypeJudgements::new();
    judge_findings(&recording.resolved(), &all, &mut judgements);
    let name = judged_type_name(&all.findings[0]).expect("members");
    judgements.remove(name).expect("judged")
}

#[test]
fn a_quick_search_finds_a_saving() {
    let judged = quick(hot_turns(100));
    assert_eq!(judged.change, Some(-1.0));
    assert_eq!((judged.moved, judged.reason.as_str()), (1, ""));
    assert!(!judged.is_thorough);
}

#[test]
fn a_quick_search_that_finds_nothing_denies_nothing() {
    let hot = address_of("hot");
    let both = |context| [add(context, hot), add(context, hot + 8)];
    let judged = quick([both(0), both(1)].concat().repeat(100));
    assert_eq!(judged.change, None);
    assert_eq!(judged.reason, "no layout found has fewer transfers");
    assert!(judged.finds_nothing && !judged.is_thorough);
}

#[test]
fn what_cannot_be_laid_out_is_judged_for_good() {
    let frame = address_of("frame");
    let judged = quick(turns([frame, frame], 100));
    assert_eq!(judged.change, None);
    assert_eq!(
        judged.reason,
        "frame is packed: its layout is a format that others read"
    );
    assert!(judged.is_thorough && !judged.finds_nothing);
}

#[test]
fn a_wrapper_is_judged_by_what_it_holds() {
    let budget = address_of("budget");
    let judged = quick(turns([budget, budget + 8], 100));
    let reason = "the standard library lays it out; `relayout advise` is about Budget in it";
    assert_eq!(judged.reason, reason);
    assert!(!judged.is_thorough);
}

#[test]
fn no_more_than_twelve_types_are_searched() {
    let variables = [
        "hot",
        "workers",
        "stats",
        "ports",
        "slots",
        "board",
        "embedded",
        "embedded_later",
        "marked",
        "packet",
        "progress",
        "pool",
        "bitmap",
        "many",
        "frame",
        "queue",
        "usage",
    ];
    let steps = variables.map(|variable| {
        let start = address_of(variable);
        turns([start, start + 8], 3)
    });
    let recording = Recording::of_kernel(steps.concat());
    let all = findings(&recording);
    assert!(all.findings.len() > 12);
    let mut judgements = TypeJudgements::new();
    judge_findings(&recording.resolved(), &all, &mut judgements);
    assert_eq!(judgements.len(), 12);
}

#[test]
fn known_judgements_stay() {
    let recording = Recording::of_kernel(hot_turns(100));
    let all = findings(&recording);
    let mut judgements = by_name(&[exhausted("hot")]);
    judge_findings(&recording.resolved(), &all, &mut judgements);
    assert_eq!(judgements, by_name(&[exhausted("hot")]));
}

#[test]
fn a_search_is_kept_by_all_names_of_its_type() {
    let workers = address_of("workers");
    let recording = Recording::of_kernel(turns([workers, workers + 16], 100));
    let advised = recording.advise("workers");
    let judgements = advised_judgements(&recording.resolved(), [&advised], true);
    assert_eq!(Vec::from_iter(judgements.keys()), ["worker", "workers"]);
    let judged = &judgements["workers"];
    assert_eq!(judged.type_name, "worker");
    assert!(judged.is_thorough);
    assert!(
        judged.change.is_some_and(|change| change < -0.9),
        "{judged:?}"
    );
}

#[test]
fn a_variable_that_is_called_like_another_struct_is_no_name_of_its_own() {
    // The variable `bits` is a `struct job`, and there is a `struct bits` in another.
    let bits = address_of("bits");
    let names = |steps: Vec<Step>| {
        let recording = Recording::of_kernel(steps);
        let advised = recording.advise("job");
        let judgements = advised_judgements(&recording.resolved(), [&advised], true);
        judgements.into_keys().collect::<Vec<_>>()
    };
    let steps = turns([bits, bits + 8], 100);
    assert_eq!(names(steps.clone()), ["bits", "job"]);
    let other = vec![load(0, address_of("bitmap"))];
    assert_eq!(names([steps, other].concat()), ["job"]);
}

#[test]
fn structs_in_a_type_are_named_where_nothing_helps() {
    let recording = embedded();
    let judge = |recording: &Recording| {
        let advised = recording.advise("embedded");
        let judgements = advised_judgements(&recording.resolved(), [&advised], true);
        judgements["embedded"].clone()
    };
    let judged = judge(&recording);
    assert_eq!(judged.change, None);
    assert!(judged.finds_nothing);
    assert_eq!(judged.inner, [inner("inner", "worker")]);
    assert_eq!(judged.inner[0].words(), "'inner' (worker)");
    let base = InnerType {
        member: None,
        type_name: "Meter".to_owned(),
    };
    assert_eq!(base.words(), "its base class (Meter)");
    // A struct that holds an array only has no order.
    let both = |context| [add(context, HEAP), add(context, HEAP + 8)];
    let steps = [both(0), both(1)].concat().repeat(100);
    let mut profile = made_profile("kernel", &[steps]);
    profile.ranges = vec![named_objects("struct bitmap", HEAP, 40, 0)];
    let recording = Recording::resolve(profile);
    let advised = recording.advise("bitmap");
    let judgements = advised_judgements(&recording.resolved(), [&advised], true);
    assert!(judgements["bitmap"].finds_nothing);
    assert_eq!(judgements["bitmap"].inner, []);
    // Of the struct in it, one member was accessed.
    let mut profile = made_profile("kernel", &[turns([HEAP, HEAP], 100)]);
    profile.ranges = vec![named_objects("struct embedded", HEAP, 128, 0)];
    assert_eq!(judge(&Recording::resolve(profile)).inner, []);
}
