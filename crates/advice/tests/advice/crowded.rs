//! Layouts that would move transfers to the variables beside an object.

use relayout_search::LayoutAdvice;
use relayout_testprofile::Step;

use crate::advice::fixture::address_of;
use crate::advice::recording::{Recording, add, load};

/// Context 0 adds to `pending`; context 1 loads `enabled` beside it, and adds to a variable behind
/// the object if `neighbour` is given.
fn board_turns(neighbour: Option<u64>) -> Vec<Step> {
    let board = address_of("board");
    let turn = [add(0, board), load(1, board + 8)];
    let own = { neighbour.into_iter() }.map(|address| add(1, address));
    turn.into_iter().chain(own).collect::<Vec<_>>().repeat(100)
}

/// Indices of the candidates of today's size that move `pending` to the second line, and save transfers
/// of the object alone.
fn with_pending_on_second_line(advice: &LayoutAdvice) -> Vec<usize> {
    let candidates = advice.candidates.iter().enumerate();
    let is_behind = |(_, candidate): &(usize, &relayout_search::RankedLayout)| {
        candidate.layout.size == advice.current.layout.size
            && candidate.layout.align == advice.current.layout.align
            && candidate.layout.places[0].offset >= 64
            && candidate.tally.transfers() < advice.current.tally.transfers()
    };
    candidates
        .filter(is_behind)
        .map(|(index, _)| index)
        .collect()
}

#[test]
fn a_member_that_moves_to_the_line_of_the_next_variable_saves_nothing() {
    let recording = Recording::of_program(board_turns(Some(address_of("rounds"))));
    let advised = recording.advise("board");
    let crowded = &advised.searched.crowded;
    let advice = advised.advice().expect("searched");
    let behind = with_pending_on_second_line(advice);
    assert!(!behind.is_empty());
    let found: Vec<usize> = crowded.candidates.iter().copied().collect();
    assert_eq!(found, behind);
    assert_eq!(Vec::from_iter(&crowded.variables), ["rounds"]);
    let found = advised.recommended(None).expect("another layout");
    assert!(!behind.contains(&found.index));
}

#[test]
fn nothing_is_crowded_where_the_next_variable_is_not_used() {
    let check = |recording: &Recording| {
        let advised = recording.advise("board");
        let advice = advised.advice().expect("searched");
        assert!(!with_pending_on_second_line(advice).is_empty());
        assert_eq!(advised.searched.crowded, Default::default());
    };
    check(&Recording::of_program(board_turns(None)));
    // Of another variable, on a line of its own.
    let elsewhere = address_of("counters");
    check(&Recording::of_program(board_turns(Some(elsewhere))));
    // Other objects of a kernel are members of a larger one.
    let next = board_turns(Some(address_of("rounds")));
    check(&Recording::of_kernel(next));
}

/// Tells whether a layout with `pending` beside `rounds` is crowded if contexts use both in turn, after the
/// hundred transfers that it saves.
#[track_caller]
fn check_crowded(turns: usize, more: &[Step], expect: bool) {
    let steps = [add(0, address_of("board")), add(1, address_of("rounds"))].repeat(turns);
    let steps = [board_turns(None), steps, more.to_vec()].concat();
    let recording = Recording::of_program(steps);
    let advised = recording.advise("board");
    let advice = advised.advice().expect("searched");
    assert_eq!(advice.current.tally.transfers(), 100);
    assert_eq!(advised.searched.crowded.candidates.is_empty(), !expect);
}

#[test]
fn a_candidate_that_keeps_half_of_its_gain_is_not_crowded() {
    // The first turn takes the line once, each other one twice.
    check_crowded(25, &[], false);
    check_crowded(25, &[add(0, address_of("board"))], false);
    check_crowded(26, &[], true);
}
