//! Layouts that the user gives as files.

use std::path::Path;

use relayout_advice::{
    LayoutEdits, LayoutFile, MemberMove, ProbedMachine, is_standard_input, score_given_layouts,
    verify_layout_files,
};
use relayout_resolve::DebugImages;

use crate::advice::fixture::PROGRAM;
use crate::advice::recording::{Recording, hot_turns, loaded};

fn layout_file(name: &str, text: &str, tag: &str) -> LayoutFile {
    let parsed = LayoutFile::parse(Path::new(name), text.as_bytes().to_vec(), tag);
    parsed.expect("a layout")
}

/// Order and alignments of the members, and sizes of the paddings.
type GivenLayout = (Vec<usize>, Vec<u64>, Vec<u64>);

/// The layout that a file gives, or the message of the error.
fn fitted(variable: &str, name: &str, text: &str) -> Result<GivenLayout, String> {
    let recording = loaded(variable);
    let machine = ProbedMachine::default();
    let files = [layout_file(name, text, variable)];
    let edits = LayoutEdits::default();
    let resolved = recording.resolved();
    let (searched, _) = score_given_layouts(&resolved, variable, &files, &edits, &machine)
        .map_err(|error| error.chain_text())?;
    let given = &searched.user_layouts[0].order;
    let pads = given.pads.iter().map(|pad| pad.size).collect();
    Ok((
        given.arrangement.order.clone(),
        given.arrangement.align.clone(),
        pads,
    ))
}

#[test]
fn a_file_lists_members_or_declares_the_struct() {
    let list = fitted("hot", "a.txt", "unused\nfirst @64\nsecond\n");
    assert_eq!(list, Ok((vec![2, 0, 1], vec![64, 1, 1], vec![])));
    let text = "struct hot { long unused[14]; long first; long second; };";
    assert_eq!(
        fitted("hot", "a.h", text),
        Ok((vec![2, 0, 1], vec![1; 3], vec![]))
    );
    // A member that the type does not have is padding.
    let text = "struct hot { long first; char pad[40]; long second; long unused[14]; };";
    assert_eq!(
        fitted("hot", "a.h", text),
        Ok((vec![0, 1, 2], vec![1; 3], vec![40]))
    );
    let text = "struct hot { long first; long second ____cacheline_aligned; long unused[14]; };";
    assert_eq!(
        fitted("hot", "a.h", text),
        Ok((vec![0, 1, 2], vec![1, 64, 1], vec![]))
    );
    let text =
        "struct hot { long first; long second __attribute__((aligned(32))); long unused[14]; };";
    assert_eq!(
        fitted("hot", "a.h", text),
        Ok((vec![0, 1, 2], vec![1, 32, 1], vec![]))
    );
}

#[test]
fn a_file_that_does_not_fit_is_refused_with_the_line() {
    let check = |text: &str, says: &str| {
        let message = fitted("hot", "a.h", text).expect_err("refused");
        assert!(message.starts_with("a.h: "), "{message}");
        assert!(message.contains(says), "{message}");
    };
    check(
        "first\nsecond\n",
        "these members of struct hot are not in the list: unused",
    );
    check(
        "struct hot {\nlong first;\nint second;\nlong unused[14]; };",
        "line 3: 'second' has 4 bytes here and 8 where it was recorded: only order and alignment can be judged",
    );
    check(
        "struct hot {\nlong first;\nlong second;\nlong unused[14];\nstruct other news; };",
        "line 5: 'news' is new, and the size of its type 'struct other' is not known: declare it as an array of char",
    );
    check(
        "struct hot {\nlong first;\nlong second;\nlong unused[14];\nchar news[SIZE]; };",
        "line 5: 'news' is new, and its length 'SIZE' is no number: write one",
    );
    check(
        "struct hot {\nlong first;\nlong second;\nlong unused[14];\nlong news[1000000000]; };",
        "line 5: larger than 4 GB",
    );
    let many = "long news[4294967296][4294967296]";
    check(
        &format!("struct hot {{\nlong first;\nlong second;\nlong unused[14];\n{many}; }};"),
        "line 5: '4294967296' elements are too many",
    );
}

#[test]
fn the_length_of_a_known_array_need_not_be_a_number() {
    let text = "struct hot { long first; long unused[REST]; long second; };";
    assert_eq!(
        fitted("hot", "a.h", text),
        Ok((vec![0, 2, 1], vec![1; 3], vec![]))
    );
    let text = "struct packet { long size; long used; int payload[3]; };";
    let order = fitted("packet", "a.h", text).map(|(order, ..)| order);
    assert_eq!(order, Ok(vec![1, 0, 2]));
}

#[test]
fn a_layout_is_called_like_its_file() {
    let recording = loaded("hot");
    let name = |file: &str| {
        let files = [layout_file(file, "first\nsecond\nunused\n", "hot")];
        let machine = ProbedMachine::default();
        let edits = LayoutEdits::default();
        let scored = score_given_layouts(&recording.resolved(), "hot", &files, &edits, &machine);
        let (searched, _) = scored.expect("a layout");
        searched.user_layouts[0].name.clone()
    };
    assert_eq!(name("layouts/apart.h"), "apart");
    assert_eq!(name("-"), "given");
    assert!(is_standard_input(Path::new("-")));
    assert!(!is_standard_input(Path::new("--")));
}

#[test]
fn a_file_that_is_no_layout_is_refused() {
    let message = |bytes: &[u8]| {
        let parsed = LayoutFile::parse(Path::new("a.h"), bytes.to_vec(), "hot");
        parsed.expect_err("refused").chain_text()
    };
    let needed = "a struct as C or as pahole prints it, or one member per line, is needed";
    assert_eq!(message(b" \n"), format!("a.h: it is empty; {needed}"));
    assert_eq!(message(b"\xff\xfe"), format!("a.h: not text; {needed}"));
    assert!(message(b"struct other { long a; };").contains("hot"));
}

/// Verifies a file by the debug information alone.
fn verified(type_name: &str, text: &str) -> Result<(), String> {
    let images = DebugImages::from_single_file(&PROGRAM);
    let files = [layout_file("a.h", text, "hot")];
    verify_layout_files(&images, type_name, &files).map_err(|error| error.chain_text())
}

#[test]
fn a_file_is_verified_before_a_profile_is_resolved() {
    assert_eq!(verified("struct hot", "first\nunused\nsecond\n"), Ok(()));
    let message = verified("hot", "first\nsecond\n").expect_err("refused");
    assert!(message.contains("unused"), "{message}");
    // The recorded types may tell the size of a new member.
    let new = "struct hot { long first; long second; long unused[14]; struct news news; };";
    assert_eq!(verified("hot", new), Ok(()));
    // A missing member stays missing.
    let missing = "struct hot { long first; long unused[14]; struct news news; };";
    assert!(verified("hot", missing).is_err());
    // Of a type that no file has, nothing is known yet.
    assert_eq!(verified("cold", "first\nsecond\n"), Ok(()));
}

#[test]
fn given_layouts_are_scored_and_nothing_is_searched() {
    let recording = Recording::of_kernel(hot_turns(100));
    let edits = LayoutEdits {
        moves: vec![MemberMove::parse("first:after:unused").expect("a move")],
        ..LayoutEdits::default()
    };
    let files = [layout_file("same.txt", "first\nsecond\nunused\n", "hot")];
    let machine = ProbedMachine::default();
    let scored = score_given_layouts(&recording.resolved(), "hot", &files, &edits, &machine);
    let (searched, notes) = scored.expect("layouts of hot");
    let advice = searched.outcome.expect("scored");
    assert!(advice.candidates.is_empty());
    let transfers = advice
        .user_layouts
        .iter()
        .map(|given| given.tally.transfers());
    assert_eq!(transfers.collect::<Vec<_>>(), [199, 0]);
    assert_eq!(notes, Vec::<String>::new());
    let none = score_given_layouts(
        &recording.resolved(),
        "hot",
        &[],
        &LayoutEdits::default(),
        &machine,
    );
    assert!(none.expect("no layouts").0.user_layouts.is_empty());
}
