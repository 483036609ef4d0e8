//! Types that are advised on if the user names none, and reasons for which one is skipped.

use relayout_advice::{SearchRequest, gather_types};
use relayout_profile::RangeKind;
use relayout_testprofile::Step;

use crate::advice::fixture::address_of;
use crate::advice::recording::{
    HEAP, Recording, add, hot_turns, in_function, load, made_profile, range, store, turns,
};

/// Two contexts add to two words of a variable in turn.
fn variable_turns(variable: &str, distance: u64, rounds: usize) -> Vec<Step> {
    let start = address_of(variable);
    turns([start, start + distance], rounds)
}

/// Names of the gathered types, and of the skipped ones with the reasons.
fn gathered(recording: &Recording, request: &SearchRequest) -> (Vec<String>, Vec<String>) {
    let resolved = recording.resolved();
    let (gathered, skipped) = gather_types(&resolved, request).expect("the names are known");
    let skipped = skipped.into_iter().map(|contended| {
        let reason = contended.skip_reason.unwrap_or_default();
        format!("{} ({}): {reason}", contended.name, contended.transfers)
    });
    (
        gathered.into_iter().map(|gathered| gathered.name).collect(),
        skipped.collect(),
    )
}

/// Tests what is gathered and what is skipped if no type is named.
#[track_caller]
fn check(recording: &Recording, expect: &[&str], expect_skipped: &[&str]) {
    let (found, skipped) = gathered(recording, &SearchRequest::default());
    assert_eq!(found, expect);
    assert_eq!(skipped, expect_skipped);
}

#[test]
fn the_three_types_with_the_most_transfers_are_advised_on() {
    let steps = [
        variable_turns("workers", 16, 30),
        variable_turns("ports", 16, 10),
        hot_turns(40),
        variable_turns("stats", 16, 20),
    ];
    let recording = Recording::of_kernel(steps.concat());
    check(&recording, &["hot", "worker", "cache_stats"], &[]);
}

#[test]
fn upgrades_do_not_rank_a_type() {
    // One transfer and one upgrade in each round, beside two transfers.
    let hot = address_of("hot");
    let told = [store(0, hot), load(1, hot)].repeat(20);
    let steps = [told, variable_turns("workers", 16, 15)].concat();
    check(&Recording::of_kernel(steps), &["worker", "hot"], &[]);
}

#[test]
fn a_type_that_one_context_uses_is_not_contended() {
    let alone = vec![add(0, address_of("hot")); 40];
    let steps = [alone, variable_turns("workers", 16, 15)].concat();
    check(&Recording::of_kernel(steps), &["worker"], &[]);
}

#[test]
fn what_has_no_order_to_change_is_skipped_with_the_reason() {
    let check = |variable: &str, reason: &str| {
        let start = address_of(variable);
        let recording = Recording::of_kernel(turns([start, start], 20));
        check(&recording, &[], &[reason]);
    };
    check("served", "served (39): not a struct but long int");
    check("single", "single (39): it has one member and no neighbours");
    check(
        "ticket",
        "std::wrapper<long> (39): a type of the standard library",
    );
    check(
        "frame",
        "frame (39): frame is packed: its layout is a format that others read",
    );
    check(
        "usage",
        "usage (39): usage is declared in include/uapi/linux/usage.h: user programs depend on its layout",
    );
}

#[test]
fn skipped_types_do_not_count_among_the_three() {
    let steps = [
        variable_turns("single", 0, 50),
        hot_turns(40),
        variable_turns("workers", 16, 30),
        variable_turns("stats", 16, 20),
    ];
    let recording = Recording::of_kernel(steps.concat());
    check(
        &recording,
        &["hot", "worker", "cache_stats"],
        &["single (99): it has one member and no neighbours"],
    );
}

#[test]
fn neighbours_and_elements_are_something_to_lay_out() {
    // One member, with neighbours; one member that is an array.
    check(
        &Recording::of_kernel(variable_turns("counters", 8, 20)),
        &["counters"],
        &[],
    );
    check(
        &Recording::of_kernel(variable_turns("slots", 8, 20)),
        &["slot"],
        &[],
    );
}

#[test]
fn a_type_that_was_not_logged_in_order_is_skipped() {
    let mut profile = made_profile("kernel", &[hot_turns(20)]);
    profile.bursts.clear();
    let reason = "hot (39): no accesses to hot were recorded in order, so no layout can be judged";
    check(&Recording::resolve(profile), &[], &[reason]);
}

/// Memory that half of the accesses take for a `queue` and half for a `job`.
fn uncertain_recording() -> Recording {
    let accesses = [
        in_function("load_head", load(0, HEAP)),
        in_function("load_state", load(0, HEAP)),
        store(1, HEAP + 8),
    ];
    let mut profile = made_profile("program", &[accesses.repeat(60)]);
    profile.ranges = vec![range(RangeKind::Heap, HEAP, 16, "")];
    Recording::resolve(profile)
}

#[test]
fn an_uncertain_type_is_skipped_unless_the_user_insists() {
    let recording = uncertain_recording();
    let (found, skipped) = gathered(&recording, &SearchRequest::default());
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert!(skipped[0].contains("type"), "{skipped:?}");
    let forced = SearchRequest {
        force: true,
        ..SearchRequest::default()
    };
    let (found, skipped) = gathered(&recording, &forced);
    assert_eq!((found.len(), skipped.len()), (1, 0), "{found:?}");
}

#[test]
fn the_user_may_name_what_is_not_advised_on_otherwise() {
    let steps = [hot_turns(40), variable_turns("single", 0, 20)].concat();
    let recording = Recording::of_kernel(steps);
    let named = |names: &[&str]| {
        let types = names.iter().map(|name| (*name).to_owned());
        let request = SearchRequest {
            types: types.collect(),
            ..SearchRequest::default()
        };
        gathered(&recording, &request)
    };
    assert_eq!(named(&["single"]).0, ["single"]);
    assert_eq!(named(&["single", "hot"]).0, ["single", "hot"]);
}

#[test]
fn a_number_without_neighbours_is_skipped_even_by_its_name() {
    let steps = [hot_turns(40), variable_turns("served", 0, 20)].concat();
    let recording = Recording::of_kernel(steps);
    let request = SearchRequest {
        types: vec!["served".to_owned(), "hot".to_owned()],
        ..SearchRequest::default()
    };
    let (found, skipped) = gathered(&recording, &request);
    assert_eq!(found, ["hot"]);
    assert_eq!(skipped, ["served (39): not a struct but long int"]);
}

#[test]
fn an_unknown_name_is_an_error() {
    let recording = Recording::of_kernel(hot_turns(20));
    let request = SearchRequest {
        types: vec!["cold".to_owned()],
        ..SearchRequest::default()
    };
    let resolved = recording.resolved();
    let error = gather_types(&resolved, &request).map(|(gathered, _)| gathered.len());
    let message = error.expect_err("unknown").to_string();
    assert!(
        message.starts_with("no object of struct cold is in the profile"),
        "{message}"
    );
}
