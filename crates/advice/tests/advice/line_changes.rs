//! Members that a layout takes off each other's cache line.

use relayout_advice::{
    LayoutEdits, LineChange, MemberMove, NamedUses, ProbedMachine, SearchedType, line_changes,
    placement_reason, score_given_layouts,
};
use relayout_testprofile::Step;

use crate::advice::fixture::address_of;
use crate::advice::recording::{Recording, add, hot_turns, load, store};

/// Calls `check` with the layout of a type after a move.
fn with_move(
    variable: &str,
    steps: Vec<Step>,
    member_move: &str,
    check: impl FnOnce(&SearchedType<'_>),
) {
    let recording = Recording::of_kernel(steps);
    let edits = LayoutEdits {
        moves: vec![MemberMove::parse(member_move).expect("a move")],
        ..LayoutEdits::default()
    };
    let machine = ProbedMachine::default();
    let scored = score_given_layouts(&recording.resolved(), variable, &[], &edits, &machine);
    check(&scored.expect("members").0);
}

/// Changes of the cache lines by a move.
fn changes(variable: &str, steps: Vec<Step>, member_move: &str) -> Vec<LineChange> {
    let mut found = Vec::new();
    with_move(variable, steps, member_move, |searched| {
        let advice = searched.outcome.as_ref().expect("scored");
        found = line_changes(&searched.gathered, advice, &advice.user_layouts[0], 64);
    });
    found
}

/// The comment that a member gets with a move.
fn reason(variable: &str, steps: Vec<Step>, member_move: &str, member: &str) -> Option<String> {
    let mut found = None;
    with_move(variable, steps, member_move, |searched| {
        let advice = searched.outcome.as_ref().expect("scored");
        let scored = &advice.user_layouts[0];
        found = placement_reason(&searched.gathered, advice, scored, 64, member);
    });
    found
}

fn uses(name: &str, is_written: bool, count: u64) -> NamedUses {
    NamedUses {
        name: name.to_owned(),
        is_written,
        count,
    }
}

#[test]
fn the_part_with_fewer_accesses_leaves_the_line() {
    let more = vec![load(1, address_of("hot") + 8)];
    let steps = [hot_turns(10), more].concat();
    let change = LineChange {
        accesses: 10,
        leaving: vec![uses("first", true, 10)],
        staying: vec![uses("second", true, 11)],
        joined: vec![],
    };
    let found = changes("hot", steps, "first:after:unused");
    assert_eq!(found, std::slice::from_ref(&change));
}

#[test]
fn members_that_stay_together_are_no_change() {
    assert_eq!(changes("hot", hot_turns(10), "second:first"), []);
}

#[test]
fn a_line_that_nobody_stores_to_has_no_change() {
    let hot = address_of("hot");
    let loads = [load(0, hot), load(1, hot + 8)].repeat(10);
    assert_eq!(changes("hot", loads, "first:after:unused"), []);
}

#[test]
fn members_that_are_joined_are_named() {
    let board = address_of("board");
    // `trace` lies on both lines; its last word is on the second.
    let steps = [
        vec![add(0, board); 5],
        vec![add(1, board + 8); 9],
        vec![load(1, board + 88); 3],
    ];
    let found = changes("board", steps.concat(), "pending:after:trace");
    let change = LineChange {
        accesses: 5,
        leaving: vec![uses("pending", true, 5)],
        staying: vec![uses("enabled", true, 9)],
        joined: vec![uses("trace", false, 3)],
    };
    assert_eq!(found, std::slice::from_ref(&change));
}

#[test]
fn changes_are_sorted_by_accesses_and_members_too() {
    let progress = address_of("embedded");
    let words = |offset: u64, count: usize| vec![store(0, progress + offset); count];
    // Members are `inner`, `total` and `rest`.
    let steps = [words(0, 4), words(8, 3), words(16, 2), words(24, 9)].concat();
    let found = changes("embedded", steps, "rest:first");
    let names = |uses: &[NamedUses]| -> Vec<(String, u64)> {
        uses.iter()
            .map(|uses| (uses.name.clone(), uses.count))
            .collect()
    };
    let change = &found[0];
    assert_eq!(change.accesses, 9);
    assert_eq!(
        names(&change.leaving),
        [("inner".to_owned(), 7), ("total".to_owned(), 2)]
    );
    assert_eq!(names(&change.staying), [("rest".to_owned(), 9)]);
}

#[test]
fn a_comment_names_the_written_members_of_the_line_that_is_left() {
    let parted = |member: &str| reason("hot", hot_turns(10), "first:after:unused", member);
    let first = "Kept off the cache line of second, which is written.";
    assert_eq!(parted("first").as_deref(), Some(first));
    let second = "Kept off the cache line of first, which is written.";
    assert_eq!(parted("second").as_deref(), Some(second));
    assert_eq!(parted("unused"), None);
}

#[test]
fn a_written_member_is_kept_off_those_that_are_read() {
    let hot = address_of("hot");
    let steps = [store(0, hot), load(1, hot + 8)].repeat(10);
    let found = reason("hot", steps.clone(), "first:after:unused", "first");
    let words = "Written: kept off the cache line of second.";
    assert_eq!(found.as_deref(), Some(words));
    // Nobody writes.
    let loads = [load(0, hot), load(1, hot + 8)].repeat(10);
    assert_eq!(reason("hot", loads, "first:after:unused", "first"), None);
    // They stay together.
    assert_eq!(reason("hot", steps, "second:first", "first"), None);
}

#[test]
fn several_written_members_are_named_by_their_accesses() {
    let embedded = address_of("embedded");
    let words = |offset: u64, count: usize| vec![store(0, embedded + offset); count];
    let steps = [words(0, 2), words(16, 5), words(24, 1)].concat();
    let found = reason("embedded", steps, "rest:first", "rest");
    let words = "Kept off the cache line of total and inner, which are written.";
    assert_eq!(found.as_deref(), Some(words));
}
