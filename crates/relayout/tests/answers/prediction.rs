//! Predictions and advice of `advise` and `what-if` from accesses that were logged in order: with
//! the costs of a probed machine, and over recordings that differ.

use std::path::Path;

use crate::common::hot::{SOURCE, two_counters};
use crate::common::trace;
use crate::common::{KERNEL_FLAGS, Place, flowing, json, programs, text};
use relayout_profile::AccessKind::{Read, ReadWrite, Write};
use relayout_testprofile::Word;
use serde_json::Value;

const SPLIT: &str = "first\nunused\nsecond\n";
const ROUNDS: usize = 400;

/// One context stores to the first word, the other loads the second: best apart.
fn apart(rounds: usize) -> Vec<Word> {
    [(0, Write, 0), (1, Read, 8)].repeat(rounds)
}

/// Each adds to both, in turn: best together.
fn together(rounds: usize) -> Vec<Word> {
    let turn = |context| [(context, ReadWrite, 0), (context, ReadWrite, 8)];
    [turn(0), turn(1)].concat().repeat(rounds)
}

/// Both add to the first: no layout helps.
fn one_counter(rounds: usize) -> Vec<Word> {
    [(0, ReadWrite, 0), (1, ReadWrite, 0)].repeat(rounds)
}

/// A profile `p` of these recordings, and `layout`, which has the words on two lines.
fn recorded(runs: &[Vec<Word>]) -> Place {
    let place = Place::new();
    place.compile("vmlinux", SOURCE, KERNEL_FLAGS);
    trace::write(&place, "p", "vmlinux", "hot", runs);
    place.write("layout", SPLIT);
    std::fs::copy(programs::data("machine.json"), place.path("machine.json")).unwrap();
    place
}

/// Numbers of a document that depend on a machine's arithmetic, to two digits.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            ((number.as_f64().unwrap() * 100.0).round() / 100.0).into()
        }
        Value::Array(values) => values.iter().map(rounded).collect(),
        Value::Object(entries) => {
            let rounded_entries = entries
                .iter()
                .map(|(key, value)| (key.clone(), rounded(value)));
            Value::Object(rounded_entries.collect())
        }
        other => other.clone(),
    }
}

#[test]
fn a_gain_is_said_to_be_predicted() {
    let place = recorded(&[apart(ROUNDS)]);
    let words = "what-if p hot --layout layout --machine machine.json";
    insta::assert_snapshot!("gain", text(&place, words));
    let found = json(&place, words);
    insta::assert_snapshot!(
        "gain_json",
        serde_json::to_string_pretty(&rounded(&found["given"]["predicted_gain"])).unwrap()
    );
    let advised = json(&place, "advise p hot --machine machine.json --cpus 16");
    let gain = &advised["types"][0]["candidates"][0]["predicted_gain"];
    assert_eq!(gain["cpus"], 16, "{gain}");
    assert!(
        gain["low"].as_f64().unwrap() > 1.2 && gain["ratio"].as_f64() <= gain["high"].as_f64(),
        "{gain}"
    );
}

/// One looks at the first word until the other has stored there, and answers: neither is as fast as
/// it would be by itself.
#[test]
fn nothing_is_predicted_of_who_waits() {
    let look = (0, Read, 0);
    let round = [
        look,
        look,
        look,
        (1, Write, 0),
        look,
        (0, Write, 8),
        (1, Read, 8),
    ];
    let place = recorded(&[round.repeat(ROUNDS)]);
    let words = "what-if p hot --layout layout --machine machine.json";
    let found = json(&place, words);
    assert!(found["given"]["predicted_gain"].is_null(), "{found}");
    let note = found["notes"][0].as_str().unwrap();
    assert!(
        note.contains("wait for each other") && note.contains("'first'"),
        "{note}"
    );
    assert!(text(&place, words).contains("contexts wait for each other"));
}

#[test]
fn a_loss_is_predicted_too() {
    let place = recorded(&[together(ROUNDS)]);
    let found = json(
        &place,
        "what-if p hot --layout layout --machine machine.json",
    );
    let gain = &found["given"]["predicted_gain"];
    assert!(gain["high"].as_f64().unwrap() < 1.0, "{gain}");
}

#[test]
fn without_a_probed_machine_nothing_is_predicted() {
    let place = recorded(&[apart(ROUNDS)]);
    let words = "what-if p hot --layout layout";
    assert_eq!(json(&place, words)["given"]["predicted_gain"], Value::Null);
    assert!(!text(&place, words).contains("predicted for"));
}

#[test]
fn a_machine_file_that_does_not_do() {
    let place = recorded(&[apart(ROUNDS)]);
    // What is resolved is kept, which is no change by what is refused.
    text(&place, "report p");
    let words = "what-if p hot --layout layout --machine ";
    place.refuses(
        &format!("{words} none.json"),
        2,
        "relayout: `relayout probe -o FILE` writes the file that --machine reads: cannot read none.json: No such file or directory (os error 2)",
    );
    let mut machine: Value =
        serde_json::from_slice(&std::fs::read(place.path("machine.json")).unwrap()).unwrap();
    machine["accesses"].as_array_mut().unwrap().pop();
    place.write("less.json", machine.to_string());
    let less = json(&place, &format!("{words} less.json"));
    let note = less["notes"][0].as_str().unwrap();
    assert_eq!(
        note,
        "No throughput is predicted: less.json: it does not have the costs of all accesses: an earlier version wrote it, or the machine was too noisy; `relayout probe -o FILE` measures again.",
    );
    place.refuses(
        &format!("{words} p/meta.json"),
        2,
        "relayout: p/meta.json is not a machine file of `relayout probe`: its schema is 'relayout/profile/2', not 'relayout/probe/1'; run `relayout probe` again",
    );
}

/// A layout that is better in one recording and worse in another is shown with both, and not
/// advised.
#[test]
fn a_gain_that_changes_its_sign_is_no_advice() {
    let runs = [apart(ROUNDS), together(ROUNDS / 4)];
    let place = recorded(&runs);
    std::fs::create_dir(place.path("src")).unwrap();
    place.write("src/hot.c", SOURCE);
    let words = "advise p hot --machine machine.json --source src --patch out.patch";
    let found = &json(&place, words)["types"][0];
    assert_eq!(found["verdict"], "unstable", "{found}");
    assert_eq!(found["candidates"][0].get("patch"), None, "{found}");
    assert!(!Path::new(&place.path("out.patch")).exists());
    let said = text(&place, "advise p hot --all --layouts");
    assert!(
        flowing(&said).contains(
            "No advice: the best layout found has fewer transfers in some recordings and more in"
        ),
        "{said}"
    );
    let given_layout = &json(
        &place,
        "what-if p hot --layout layout --machine machine.json",
    )["given"];
    assert_eq!(
        given_layout["predicted_gain"]["unstable"], true,
        "{given_layout}"
    );
    let said = text(
        &place,
        "what-if p hot --layout layout --machine machine.json",
    );
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("a gain in some recordings and a loss in others (run 0: "),
        "{said}"
    );
}

/// The same recorded twice is no reason to doubt.
#[test]
fn a_gain_in_all_recordings_is_advice() {
    let place = recorded(&[apart(ROUNDS), apart(ROUNDS / 2)]);
    let found = &json(&place, "advise p hot --machine machine.json")["types"][0];
    assert_eq!(found["verdict"], "better", "{found}");
    let gain = &found["candidates"][0]["predicted_gain"];
    assert_eq!(gain["unstable"], false, "{gain}");
    assert_eq!(gain["runs"].as_array().map(Vec::len), Some(2), "{gain}");
}

/// False sharing in one recording, true in another: shown, and nothing advised.
#[test]
fn a_finding_that_changes_its_kind_is_no_advice() {
    let place = recorded(&[two_counters(ROUNDS), one_counter(ROUNDS / 4)]);
    let found = &json(&place, "report p")["findings"][0];
    assert_eq!(found["type"], "hot", "{found}");
    assert_eq!(found["unstable"], true, "{found}");
    assert_eq!(found["advice"].as_array().map(Vec::len), Some(0), "{found}");
    let said = text(&place, "report p --all");
    assert!(
        said.contains("Unstable: not the same thing in all recordings"),
        "{said}"
    );
    let place = recorded(&[two_counters(ROUNDS), two_counters(ROUNDS / 4)]);
    let found = &json(&place, "report p")["findings"][0];
    assert_eq!(found["unstable"], false, "{found}");
    assert_ne!(found["advice"].as_array().map(Vec::len), Some(0), "{found}");
}

/// A layout that puts two words of another workload on one pair of lines costs that workload what
/// `probe` measured, and nothing else.
#[test]
fn pairs_of_lines_count_in_other_workloads_too() {
    let place = Place::new();
    let wide = "\
struct wide {
	long first;
	long second;
	long rest[6];
	long cold[8];
	long far;
	long tail[7];
};
struct wide wide __attribute__((aligned(128)));
";
    place.compile("vmlinux", wide, KERNEL_FLAGS);
    trace::write(&place, "p", "vmlinux", "wide", &[apart(ROUNDS)]);
    let watched = [(0, Write, 0), (1, Read, 128)].repeat(ROUNDS);
    // It has some transfers anyway.
    let other = [watched, [(0, Write, 0), (1, Read, 0)].repeat(ROUNDS / 4)].concat();
    trace::write(&place, "q", "vmlinux", "wide", &[other]);
    place.write("layout", "first\nsecond\nrest\nfar\ntail\ncold\n");
    let there = |coefficient: &str| {
        let words = format!("--layout layout --also q --pair-coefficient {coefficient}");
        let found = json(&place, &format!("advise p wide {words}"));
        let said = text(&place, &format!("advise p wide {words} --all --layouts"));
        (found["types"][0]["given"][0]["elsewhere"][0].clone(), said)
    };
    let (without, said) = there("0");
    assert_eq!(without["transfers"], without["current_transfers"]);
    assert_eq!(without["hurts"], false, "{without:#}");
    assert!(without["pair_transfers"].is_null(), "{without:#}");
    assert!(!said.contains("layout hurts q"), "{said}");
    let (with, said) = there("0.3");
    assert_eq!(with["transfers"], with["current_transfers"]);
    assert_eq!(with["current_pair_transfers"], 0, "{with:#}");
    assert!(with["pair_transfers"].as_u64() > Some(300), "{with:#}");
    assert_eq!(with["hurts"], true, "{with:#}");
    assert!(said.contains("layout hurts q: not advised."), "{said}");
    assert!(said.contains(" of pairs, 192 bytes, +"), "{said}");
}

/// No option is without effect: what only simulated time has is refused elsewhere.
#[test]
fn what_only_simulated_time_has() {
    let place = recorded(&[apart(ROUNDS)]);
    text(&place, "report p");
    let words = "what-if p hot --layout layout";
    for options in ["--cpus 8,16", "--cpus 1"] {
        place.refuses(
            &format!("{words} {options}"),
            2,
            "relayout: the recorded guest executes with one CPU, or with several numbers of them, only in simulated time; add --simulate",
        );
    }
    place.refuses(
        &format!("{words} --machine genoa"),
        2,
        "relayout: genoa is neither a file nor a machine of the table; close: genoa-2s, genoa-88-2s (`relayout probe --machines` lists them)",
    );
    place.refuses(
        &format!("{words} --machine genoa-2s"),
        2,
        "relayout: the recorded guest executes on a machine of the table only in simulated time; add --simulate",
    );
}
