//! Savings of layouts for findings: the judgement that `advise` and `report` share.

use relayout_advice::{
    FindingSaving, InnerType, LayoutOutlook, TypeJudgement, TypeJudgements, deciding_type,
    finding_saving, judged_type_name, layout_outlook, rank_findings, sort_by_saving,
};
use relayout_contend::Findings;

use crate::advice::fixture::address_of;
use crate::advice::recording::{HEAP, Recording, hot_turns, made_profile, named_objects, turns};

pub fn findings(recording: &Recording) -> Findings {
    recording.with_names(|names| rank_findings(&recording.resolved(), names, None))
}

/// A thorough search that found nothing.
pub fn exhausted(type_name: &str) -> TypeJudgement {
    TypeJudgement {
        type_name: type_name.to_owned(),
        change: None,
        moved: 0,
        reason: "no layout found has fewer transfers".to_owned(),
        is_thorough: true,
        finds_nothing: true,
        inner: Vec::new(),
    }
}

/// A thorough search that found a layout with half of the transfers.
fn saving(type_name: &str) -> TypeJudgement {
    TypeJudgement {
        change: Some(-0.5),
        moved: 1,
        reason: String::new(),
        finds_nothing: false,
        ..exhausted(type_name)
    }
}

pub fn by_name(judged: &[TypeJudgement]) -> TypeJudgements {
    let named = judged
        .iter()
        .map(|judged| (judged.type_name.clone(), judged.clone()));
    named.collect()
}

pub fn inner(member: &str, type_name: &str) -> InnerType {
    InnerType {
        member: Some(member.to_owned()),
        type_name: type_name.to_owned(),
    }
}

/// A recording of objects of `struct embedded` that are no variables: two contexts use `inner`.
pub fn embedded() -> Recording {
    let mut profile = made_profile("kernel", &[turns([HEAP, HEAP + 8], 100)]);
    profile.ranges = vec![named_objects("struct embedded", HEAP, 128, 0)];
    Recording::resolve(profile)
}

#[test]
fn what_has_no_members_is_not_judged() {
    let served = address_of("served");
    let recording = Recording::of_kernel(turns([served, served], 100));
    let all = findings(&recording);
    assert_eq!(judged_type_name(&all.findings[0]), None);
    let outlook = layout_outlook(&all.findings[0], &all, &TypeJudgements::new());
    assert_eq!(outlook, LayoutOutlook::NoMembers);
    let all = findings(&Recording::of_kernel(hot_turns(100)));
    assert_eq!(judged_type_name(&all.findings[0]), Some("hot"));
}

#[test]
fn elements_of_an_array_of_numbers_are_judged() {
    let counters = address_of("counters");
    let recording = Recording::of_kernel(turns([counters, counters + 8], 100));
    let all = findings(&recording);
    assert!(all.findings[0].elements.is_some());
    assert_eq!(judged_type_name(&all.findings[0]), Some("counters"));
}

/// Tests what is known of other layouts for the first finding of a recording.
#[track_caller]
fn check_outlook(recording: &Recording, judged: &[TypeJudgement], expect: &LayoutOutlook) {
    let all = findings(recording);
    let outlook = layout_outlook(&all.findings[0], &all, &by_name(judged));
    assert_eq!(outlook, *expect);
}

#[test]
fn only_an_exhausted_search_denies_that_layouts_help() {
    let recording = Recording::of_kernel(hot_turns(100));
    let type_name = || "hot".to_owned();
    let not_searched = LayoutOutlook::NotSearched {
        type_name: type_name(),
    };
    check_outlook(&recording, &[], &not_searched);
    check_outlook(&recording, &[exhausted("worker")], &not_searched);
    let reason = || exhausted("hot").reason;
    let nothing_helps = LayoutOutlook::NothingHelps {
        type_name: type_name(),
        reason: reason(),
    };
    check_outlook(&recording, &[exhausted("hot")], &nothing_helps);
    for is_thorough in [false, true] {
        let judged = TypeJudgement {
            is_thorough,
            finds_nothing: !is_thorough,
            ..exhausted("hot")
        };
        let nothing_recommended = LayoutOutlook::NothingRecommended {
            type_name: type_name(),
            reason: reason(),
            is_thorough,
        };
        check_outlook(&recording, &[judged], &nothing_recommended);
    }
}

#[test]
fn a_saving_is_a_part_of_the_transfers_on_the_type() {
    let workers = address_of("workers");
    let steps = [hot_turns(100), turns([workers, workers + 16], 100)].concat();
    let recording = Recording::of_kernel(steps);
    let all = findings(&recording);
    let [first, second] = all.findings.as_slice() else {
        panic!("two lines");
    };
    let (hot, worker) = match first.is_about("hot") {
        true => (first, second),
        false => (second, first),
    };
    let judgements = by_name(&[saving("hot"), exhausted("worker")]);
    let expect = FindingSaving {
        type_name: "hot".to_owned(),
        transfers: 99.5,
        share: 0.25,
        change: -0.5,
        moved: 1,
        is_thorough: true,
    };
    assert_eq!(finding_saving(hot, &all, &judgements), Some(expect.clone()));
    assert_eq!(finding_saving(worker, &all, &judgements), None);
    assert_eq!(finding_saving(hot, &all, &TypeJudgements::new()), None);
    let outlook = layout_outlook(hot, &all, &judgements);
    assert_eq!(outlook, LayoutOutlook::Saves(expect));
}

#[test]
fn findings_are_sorted_by_what_is_saved() {
    let workers = address_of("workers");
    let steps = [hot_turns(100), turns([workers, workers + 16], 60)].concat();
    let mut all = findings(&Recording::of_kernel(steps));
    let names = |all: &Findings| -> Vec<(String, u32)> {
        let named = all.findings.iter();
        named
            .map(|finding| (finding.subject.type_name().to_owned(), finding.rank))
            .collect()
    };
    let by_transfers = [("hot".to_owned(), 1), ("worker".to_owned(), 2)];
    assert_eq!(names(&all), by_transfers);
    sort_by_saving(&mut all, &by_name(&[exhausted("hot"), exhausted("worker")]));
    assert_eq!(names(&all), by_transfers);
    sort_by_saving(&mut all, &by_name(&[exhausted("hot"), saving("worker")]));
    let by_saving = [("worker".to_owned(), 2), ("hot".to_owned(), 1)];
    assert_eq!(names(&all), by_saving);
    sort_by_saving(&mut all, &by_name(&[saving("hot"), saving("worker")]));
    assert_eq!(names(&all), by_transfers);
}

#[test]
fn a_struct_in_it_decides_where_no_order_of_its_members_helps() {
    let all = findings(&embedded());
    let finding = &all.findings[0];
    assert_eq!(finding.subject.type_name(), "embedded");
    let decides = |judged: &[TypeJudgement]| {
        let judgements = by_name(judged);
        deciding_type(finding, &judgements).map(str::to_owned)
    };
    let holding = TypeJudgement {
        inner: vec![inner("rest", "other"), inner("inner", "worker")],
        ..exhausted("embedded")
    };
    assert_eq!(decides(&[]).as_deref(), Some("embedded"));
    assert_eq!(
        decides(&[exhausted("embedded")]).as_deref(),
        Some("embedded")
    );
    assert_eq!(
        decides(std::slice::from_ref(&holding)).as_deref(),
        Some("worker")
    );
    let saves = TypeJudgement {
        inner: holding.inner.clone(),
        ..saving("embedded")
    };
    assert_eq!(decides(&[saves]).as_deref(), Some("embedded"));
    // A better layout is known of a struct on the way to the member with most transfers.
    let known = [exhausted("embedded"), saving("worker")];
    assert_eq!(decides(&known).as_deref(), Some("worker"));
    let known = [exhausted("embedded"), exhausted("worker")];
    assert_eq!(decides(&known).as_deref(), Some("embedded"));
}

#[test]
fn structs_on_the_way_to_the_member_have_to_be_exhausted_too() {
    let recording = embedded();
    let outlook = |judged: &[TypeJudgement]| {
        let all = findings(&recording);
        layout_outlook(&all.findings[0], &all, &by_name(judged))
    };
    let denies = |outlook: LayoutOutlook| matches!(outlook, LayoutOutlook::NothingHelps { .. });
    assert!(!denies(outlook(&[exhausted("embedded")])));
    assert!(denies(outlook(&[
        exhausted("embedded"),
        exhausted("worker")
    ])));
}
