//! Layouts that the user gives as edits of today's.

use relayout_advice::{LayoutEdits, MemberBytes, MemberMove, MovePosition};
use relayout_layout::abi::PaddingMember;

use crate::advice::recording::loaded;

fn moves(text: &[&str]) -> Vec<MemberMove> {
    let parse = |text: &&str| MemberMove::parse(text).expect("a move");
    text.iter().map(parse).collect()
}

fn bytes(member: &str, bytes: u64) -> MemberBytes {
    MemberBytes {
        member: member.to_owned(),
        bytes,
    }
}

/// Tests the order of the members of a type after moves.
#[track_caller]
fn check_moves(variable: &str, text: &[&str], expect: &[usize]) {
    let recording = loaded(variable);
    let edits = LayoutEdits {
        moves: moves(text),
        ..LayoutEdits::default()
    };
    let layout = edits
        .apply(&recording.gather(variable).shape)
        .expect("members");
    assert_eq!(layout.order.arrangement.order, expect, "{text:?}");
    assert_eq!(layout.name, "given");
}

#[test]
fn members_move_one_after_the_other() {
    check_moves("hot", &[], &[0, 1, 2]);
    check_moves("hot", &["unused:first"], &[2, 0, 1]);
    check_moves("hot", &["first:after:second"], &[1, 0, 2]);
    check_moves("hot", &["unused:before:second"], &[0, 2, 1]);
    check_moves("hot", &["unused:first", "first:after:second"], &[2, 1, 0]);
    // A member is where it is beside itself.
    check_moves("hot", &["second:after:second"], &[0, 1, 2]);
    check_moves("hot", &["second:before:second"], &[0, 1, 2]);
}

#[test]
fn a_move_names_its_member() {
    assert!(MemberMove::parse(":first").is_err());
    assert!(MemberMove::parse(" :before:second").is_err());
}

#[test]
fn a_flexible_array_stays_last() {
    check_moves("packet", &["payload:first"], &[0, 1, 2]);
    check_moves("packet", &["used:after:payload"], &[1, 0, 2]);
}

#[test]
fn alignments_and_paddings_are_of_their_members() {
    let recording = loaded("hot");
    let edits = LayoutEdits {
        moves: moves(&["unused:before:second"]),
        alignments: vec![bytes("second", 64)],
        paddings: vec![bytes("second", 40), bytes("first", 8)],
        checks: Vec::new(),
    };
    assert!(!edits.is_empty());
    let layout = edits
        .apply(&recording.gather("hot").shape)
        .expect("members");
    assert_eq!(layout.order.arrangement.align, [1, 64, 1]);
    let pad = |position: usize, size: u64| PaddingMember {
        position,
        size,
        align: 1,
    };
    // `second` is the last one now.
    assert_eq!(layout.order.pads, [pad(0, 8), pad(2, 40)]);
}

#[test]
fn checks_are_of_bytes_of_todays_layout() {
    let recording = loaded("hot");
    let shape = recording.gather("hot").shape;
    let today = shape.lay_out(&shape.current_arrangement());
    let checks = |members: &[&str]| {
        let edits = LayoutEdits {
            checks: members.iter().map(|member| (*member).to_owned()).collect(),
            ..LayoutEdits::default()
        };
        assert!(!edits.is_empty());
        edits.checked_bytes(&shape, &today)
    };
    let found = checks(&["second", "first", "second"]).expect("members");
    assert_eq!(found, [0..8, 8..16]);
    let error = checks(&["secnd"]).expect_err("no member").chain_text();
    assert!(error.contains("secnd"), "{error}");
}

#[test]
fn edits_are_empty_without_any() {
    assert!(LayoutEdits::default().is_empty());
    let moves = LayoutEdits {
        moves: moves(&["first:first"]),
        ..LayoutEdits::default()
    };
    let alignments = LayoutEdits {
        alignments: vec![bytes("first", 64)],
        ..LayoutEdits::default()
    };
    let paddings = LayoutEdits {
        paddings: vec![bytes("first", 8)],
        ..LayoutEdits::default()
    };
    assert!(
        [moves, alignments, paddings]
            .iter()
            .all(|edits| !edits.is_empty())
    );
}

#[test]
fn an_edit_of_an_unknown_member_is_an_error() {
    let shape = loaded("hot").gather("hot").shape;
    let message = |edits: LayoutEdits| {
        let error = edits.apply(&shape).expect_err("unknown");
        error.to_string()
    };
    let unknown = "struct hot has no member 'cold'";
    let anchor = MemberMove {
        member: "first".to_owned(),
        to: MovePosition::After("cold".to_owned()),
    };
    for member_move in [moves(&["cold:first"]).remove(0), anchor] {
        let edits = LayoutEdits {
            moves: vec![member_move],
            ..LayoutEdits::default()
        };
        assert!(message(edits).starts_with(unknown));
    }
    let edits = LayoutEdits {
        paddings: vec![bytes("cold", 8)],
        ..LayoutEdits::default()
    };
    assert!(message(edits).starts_with(unknown));
    let edits = LayoutEdits {
        alignments: vec![bytes("_vptr.hot", 8)],
        ..LayoutEdits::default()
    };
    let says = "struct hot: the compiler places '_vptr.hot', no order of members moves it";
    assert_eq!(message(edits), says);
}

#[test]
fn the_largest_alignment_and_padding_are_accepted() {
    assert!(MemberBytes::parse_alignment("first=4096").is_ok());
    assert!(MemberBytes::parse_alignment("first=1").is_ok());
    assert!(MemberBytes::parse_padding("first=1048576").is_ok());
    assert!(MemberBytes::parse_padding("first=1048577").is_err());
    assert!(MemberBytes::parse_padding("first=1").is_ok());
}
