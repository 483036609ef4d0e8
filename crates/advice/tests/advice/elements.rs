//! Changes that reach further than the definition of a type: elements of arrays, allocation calls, Rust.

use relayout_advice::{AdvisedType, RustSourceFacts, element_instructions};
use relayout_patch::WrittenAlignment;
use relayout_search::{LayoutChange, ScoredLayout};
use relayout_testprofile::Step;

use crate::advice::fixture::address_of;
use crate::advice::recording::{Recording, add, hot_turns, load, turns};

/// Today's layout with one change.
fn changed(advised: &AdvisedType<'_>, change: LayoutChange) -> ScoredLayout {
    ScoredLayout {
        changes: vec![change],
        ..advised.advice().expect("searched").current.clone()
    }
}

/// A change of the elements of the array `done`.
fn spread(stride: u64, align: u64) -> LayoutChange {
    LayoutChange::SpreadElements {
        atom: 1,
        element_bytes: 8,
        stride,
        align,
    }
}

/// What to write for a change of a type.
fn instructions(variable: &str, steps: Vec<Step>, change: LayoutChange) -> Option<String> {
    let recording = Recording::of_program(steps);
    let advised = recording.advise(variable);
    let scored = changed(&advised, change);
    element_instructions(&advised.searched.gathered, &scored)
}

fn done_turns() -> Vec<Step> {
    let progress = address_of("progress");
    turns([progress + 8, progress + 16], 60)
}

#[test]
fn elements_on_lines_of_their_own_are_wrapped() {
    let expect = |wrapper: &str| {
        format!(
            "make the elements of `done` (8 bytes) `{wrapper}`, where T is their type of today, and let each use \
             name the member `value` of the element"
        )
    };
    let found = instructions("progress", done_turns(), spread(64, 64));
    let aligned = expect("struct { _Alignas(64) T value; }");
    assert_eq!(found, Some(aligned));
    let found = instructions("progress", done_turns(), spread(64, 1));
    let padded = expect("struct { struct { T value; char pad[64 - sizeof(T)]; }");
    assert_eq!(found, Some(padded.replace("struct { struct {", "struct {")));
}

#[test]
fn cxx_and_rust_have_wrappers_of_their_own() {
    let gauge = address_of("gauge");
    let change = LayoutChange::SpreadElements {
        atom: 0,
        element_bytes: 8,
        stride: 64,
        align: 64,
    };
    let found = instructions("Gauge", turns([gauge + 16, gauge + 24], 60), change.clone());
    let found = found.expect("instructions");
    assert!(
        found.contains("`struct alignas(64) { T value; }`"),
        "{found}"
    );
    let ring = address_of("ring");
    let found = instructions("ring", turns([ring, ring + 8], 60), change);
    let says = "declare `#[repr(align(64))] struct OwnLine<T>(T);`, make the elements of `head` (8 bytes) \
                OwnLine<T>, and let each use name the field `.0` of the element";
    assert_eq!(found.as_deref(), Some(says));
}

#[test]
fn runs_of_elements_are_rounded_to_whole_lines() {
    let change = |atom: Option<usize>| LayoutChange::RoundRuns {
        atom,
        element_bytes: 8,
        to: 64,
    };
    let found = instructions("progress", done_turns(), change(Some(1)));
    let says = "where the code divides done among threads, round the number of elements of each part up to a \
                multiple of 8 ((n + 7) / 8 * 8), and let done begin at a multiple of 64 bytes (alignas(64))";
    assert_eq!(found.as_deref(), Some(says));
    let found = instructions("progress", done_turns(), change(None)).expect("instructions");
    assert!(
        found.starts_with("where the code divides the array among threads"),
        "{found}"
    );
}

#[test]
fn a_moved_member_needs_no_more_than_the_definition() {
    let hot = LayoutChange::Move {
        atom: 0,
        after: Some(1),
    };
    assert_eq!(instructions("hot", hot_turns(60), hot), None);
}

#[test]
fn calls_change_only_for_a_layout_that_needs_another_alignment() {
    let recording = Recording::of_program(hot_turns(60));
    let mut advised = recording.advise("hot");
    let mut scored = advised.advice().expect("searched").current.clone();
    let gathered = &mut advised.searched.gathered;
    assert!(gathered.calls_to_change(&scored).is_empty());
    scored.needs_allocation = true;
    assert_eq!(
        gathered.calls_to_change(&scored),
        ["the call that allocates it"]
    );
    let call = "malloc in main (a.c:3)".to_owned();
    gathered.allocation_calls.insert(call.clone());
    assert_eq!(gathered.calls_to_change(&scored), [call]);
    scored.needs_allocation = false;
    assert!(gathered.calls_to_change(&scored).is_empty());
}

#[test]
fn an_array_is_aligned_where_it_comes_from() {
    let recording = Recording::of_program(done_turns());
    let mut advised = recording.advise("progress");
    let change = LayoutChange::RoundRuns {
        atom: Some(1),
        element_bytes: 8,
        to: 64,
    };
    let mut scored = changed(&advised, change);
    scored.needs_allocation = true;
    let mut words = |call: &str| {
        let gathered = &mut advised.searched.gathered;
        gathered.allocation_calls = [call.to_owned()].into();
        let words = element_instructions(gathered, &scored).expect("instructions");
        let (_, way) = words
            .split_once("at a multiple of 64 bytes ")
            .expect("the way");
        way.to_owned()
    };
    assert_eq!(
        words("malloc in main (a.c:3)"),
        "(aligned_alloc(64, bytes), operator new[] with std::align_val_t(64), or an allocator that does, instead \
         of malloc in main (a.c:3))"
    );
    assert_eq!(
        words("alloc in main (a.rs:3)"),
        "(elements of a type with #[repr(align(64))], from alloc in main (a.rs:3))"
    );
}

#[test]
fn the_source_tells_what_the_layout_of_a_rust_struct_does_not() {
    let recording = Recording::of_program(vec![load(0, address_of("ring"))]);
    let rules = |facts: RustSourceFacts| {
        let mut gathered = recording.gather("ring");
        gathered.apply_rust_facts(&facts);
        let rules = gathered.rust_struct().expect("Rust").clone();
        (
            rules.fields.is_repr_c,
            rules.fields.wrapper_bytes,
            rules.wrapper,
        )
    };
    let added = WrittenAlignment::Bytes(64);
    assert_eq!(
        rules(RustSourceFacts::default()),
        (false, 64, added.clone())
    );
    let repr_c = RustSourceFacts {
        is_repr_c: Some(true),
        padding_module: None,
    };
    assert_eq!(rules(repr_c), (true, 64, added));
    let padded = RustSourceFacts {
        is_repr_c: None,
        padding_module: Some("crossbeam_utils"),
    };
    let wrapper = WrittenAlignment::CachePadded {
        module: "crossbeam_utils".to_owned(),
    };
    assert_eq!(rules(padded), (false, 128, wrapper));
    // The facts are none of another language's.
    let recording = Recording::of_program(vec![add(0, address_of("hot"))]);
    let mut gathered = recording.gather("hot");
    gathered.apply_rust_facts(&repr_c);
    assert!(gathered.rust_struct().is_none());
}
