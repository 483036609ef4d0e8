//! `relayout suite`: many recordings by a file, shared among processes, gathered by copying.

mod shared_work;
mod unfit;

use serde_json::Value;

use crate::common::programs::{ends, recording_place};
use crate::common::{Place, flowing};

/// Three recordings of a program, and one that fails.
const FILE: &str = "\
[[program]]
name = \"counters\"
command = [\"./shared\"]
seeds = 3

[[program]]
name = \"broken\"
command = [\"./broken\"]
";

/// A place with a program, a script that fails, and the suite's file.
#[track_caller]
fn place_with_suite() -> Place {
    let place = recording_place();
    place.shared("-O1 -g -pthread");
    place.script("broken", "echo no such bench >&2; exit 7");
    place.write("relayout-suite.toml", FILE);
    place
}

/// Returns the state of each job.
#[track_caller]
fn states(place: &Place, words: &str) -> Vec<(String, String)> {
    let ended = ends(place, &format!("suite --list --json {words}"), 0);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    { document["jobs"].as_array().unwrap().iter() }
        .map(|job| (text(&job["id"]), text(&job["state"])))
        .collect()
}

#[test]
fn a_failure_is_kept_and_does_not_stop_the_others() {
    let place = place_with_suite();
    let names = "program/counters/seed-1\nprogram/counters/seed-2\nprogram/counters/seed-3\n\
                 program/broken/seed-1\n";
    assert_eq!(ends(&place, "suite --list", 0).stdout, names);
    assert!(!place.path("relayout-suite.recordings").exists());

    let first = ends(&place, "suite -q", 4);
    let folder = "relayout-suite.recordings/program";
    assert!(
        first.stdout.starts_with(
            "4 recordings in relayout-suite.recordings: 3 done, 1 failed, 0 not run; 4 of them now\n"
        ),
        "{first:?}"
    );
    let log = std::fs::read_to_string(place.path(&format!("{folder}/broken/seed-1.log"))).unwrap();
    assert!(log.contains("no such bench"), "{log}");
    assert!(
        !place
            .path(&format!("{folder}/broken/seed-1.relayout"))
            .exists()
    );
    ends(
        &place,
        &format!("report {folder}/counters/seed-2.relayout"),
        0,
    );

    let again = ends(&place, "suite -q", 4);
    assert!(again.stdout.contains("; 0 of them now"), "{again:?}");
    place.script("broken", "exec ./shared");
    let retried = ends(&place, "suite -q --retry-failed", 0);
    assert!(retried.stdout.contains("4 done, 0 failed"), "{retried:?}");
    assert!(retried.stdout.contains("; 1 of them now"), "{retried:?}");
}

#[test]
fn other_words_make_another_recording() {
    let place = place_with_suite();
    ends(&place, "suite -q", 4);
    let changed = FILE.replace("[\"./shared\"]", "[\"./shared\", \"again\"]");
    place.write("relayout-suite.toml", changed);
    let waiting = { states(&place, "").into_iter() }.filter(|(_, state)| state == "waiting");
    assert_eq!(waiting.count(), 3);
    let again = ends(&place, "suite -q", 4);
    assert!(again.stdout.contains("; 3 of them now"), "{again:?}");
}

#[test]
fn a_document_says_how_each_ended() {
    let place = place_with_suite();
    let ended = ends(&place, "suite -q --json", 4);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["schema"], "relayout/suite/1");
    assert_eq!(
        (&document["done"], &document["failed"]),
        (&3.into(), &1.into())
    );
    let broken = &document["jobs"][3];
    assert_eq!(broken["id"], "program/broken/seed-1");
    assert_eq!(broken["state"], "failed");
    assert_eq!(broken["exit_code"], 4);
    assert_eq!(broken["profile"], Value::Null);
    let message = broken["message"].as_str().unwrap();
    assert!(message.contains("./broken"), "{message}");
}

#[test]
fn two_suites_are_compared() {
    let place = place_with_suite();
    for folder in ["old", "new"] {
        ends(&place, &format!("suite -q -o {folder}"), 4);
    }
    let compared = place.said("compare old new --json");
    // The program marks no operations, so there is nothing to compare by.
    assert_eq!(compared.code, Some(2), "{compared:?}");
    assert!(
        flowing(&compared.stderr).contains("operation"),
        "{compared:?}"
    );
}
