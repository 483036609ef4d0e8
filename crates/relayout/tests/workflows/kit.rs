//! `relayout verify --export` and `--import`: a change measured on another machine, for which a
//! folder stands that has nothing but the kit.

mod unfit;

use std::fs;
use std::path::Path;

use relayout_testkit::require_programs;
use serde_json::Value;

use crate::common::programs::recording_place;
use crate::common::{Ended, Place, json};

/// Prints its score, which `score.txt` has; the benchmark reads a file of its tree.
const BENCH: &str = "read -r score <score.txt; echo \"score: $score\"; test \"$1\" = 'a b'";
const PATCH: &str = "\
Subject: [PATCH] score: more of it

--- a/score.txt
+++ b/score.txt
@@ -1 +1 @@
-100
+150
";
const EXPORT: &str = "verify --patch more.patch --build true --source src -m score=regex:score:.([0-9]+) -n 6 --export kit";
const ADVICE: &str = r#"{"schema": "relayout/advise/1", "workload": "bench", "types": [{"name": "queue",
    "current": {"transfers": 1000, "predicted_curve": null}, "recommended": 0,
    "candidates": [{"transfers": 10, "predicted_curve": {"machine": "Milan", "curve":
        [{"cpus": 20, "ratio": 1.4, "low": 1.2, "high": 1.6}]}}]}]}"#;

/// A place with a source, a patch and a document of advice.
#[track_caller]
fn place_with_source() -> Place {
    require_programs(&["git"]);
    let place = recording_place();
    fs::create_dir(place.path("src")).unwrap();
    place.script("src/bench", BENCH);
    place.write("src/score.txt", "100\n");
    place.write("more.patch", PATCH);
    place.write("advice.json", ADVICE);
    place
}

/// Exports, with a word that only quotes keep together.
#[track_caller]
fn exported(place: &Place, words: &str) -> Ended {
    let mut command = place.tool(&format!("{EXPORT} {words}"));
    let ended = place.ended(command.args(["--bench", "./bench 'a b'"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

/// Runs the script of a kit in an environment without relayout.
#[track_caller]
fn run_kit(place: &Place, kit: &str, words: &str) -> Ended {
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut command = place.command(&place.path(&format!("{kit}/run")), &words);
    command.env("PATH", "/usr/bin:/bin");
    place.ended(&mut command)
}

/// Copies the kit to the folder of another machine, and returns the path of its result.
#[track_caller]
fn measured_elsewhere(place: &Place, machine: &str) -> String {
    fs::create_dir(place.path(machine)).unwrap();
    let copied = place.other("/bin/cp", &format!("-a kit {machine}/kit"));
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let ended = run_kit(place, &format!("{machine}/kit"), &format!("{machine}.txt"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    format!("{machine}.txt")
}

#[test]
fn two_machines_measure_one_change() {
    let place = place_with_source();
    let said = exported(&place, "--advice advice.json").stdout;
    assert!(said.starts_with("kit: score: more of it\n"), "{said}");
    let results = ["first", "second"].map(|machine| measured_elsewhere(&place, machine));

    for result in &results {
        let document = json(&place, &format!("verify --import {result}"));
        let metric = &document["measured"]["metrics"][0];
        assert_eq!(metric["change_percent"], 50.0, "{metric}");
        assert_eq!(document["measured"]["verdict"], "better");
        assert_eq!(document["agreements"][0]["agreement"], "hit");
        assert_eq!(document["predicted"][0]["gains"][0]["ratio"], 1.4);
    }
    let mut last = String::new();
    // The second one twice, which changes nothing.
    for result in [&results[0], &results[1], &results[1]] {
        let words = format!("verify --import {result} --ledger ledger.jsonl");
        last = place.said(&words).stdout;
    }
    assert!(
        last.contains("\n  predicted  transfers on queue from 1000 to 10, by replaying bench\n"),
        "{last}"
    );
    assert!(
        last.contains("  hit        it was to get better, and did\n"),
        "{last}"
    );
    let sums = "2 measured metrics: 2 hit, 0 missed, 0 without effect, 0 undecided\n";
    assert!(last.ends_with(sums), "{last}");
    assert!(
        place
            .said("verify --ledger ledger.jsonl")
            .stdout
            .ends_with(sums)
    );
}

/// Replays said that fewer transfers follow, and the benchmark got worse.
#[test]
fn a_loss_that_was_to_be_a_gain_is_a_miss() {
    let place = place_with_source();
    place.write("more.patch", PATCH.replace("+150", "+50"));
    exported(&place, "--advice advice.json");
    let result = measured_elsewhere(&place, "first");
    let ended = place.said(&format!("verify --import {result}"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stdout.contains("it was to get better, and got worse"),
        "{ended:?}"
    );
}

#[test]
fn two_commands_are_packed_without_a_source() {
    let place = place_with_source();
    place.script("old", "echo score: 3");
    place.script("new", "echo score: 3");
    let words = "verify --before ./old --after ./new -m score=regex:score:.([0-9]+) -n 6 --pin 0 --export kit";
    let ended = place.said(words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("only the programs are packed"),
        "{ended:?}"
    );
    let result = measured_elsewhere(&place, "first");
    let document = json(&place, &format!("verify --import {result}"));
    assert_eq!(document["measured"]["verdict"], "same");
    assert_eq!(document["machine"]["pinned"], "0");
    assert_eq!(document["agreements"][0]["agreement"], "undecided");
}

/// A byte that is no UTF-8 is taken in the result of a kit as it is by `verify` itself.
#[test]
fn output_that_is_no_text() {
    let place = recording_place();
    for (name, rate) in [("old", 101), ("new", 102)] {
        place.script(
            name,
            &format!("printf 'temp 40\\260C\\n'; echo 'rate: {rate}'"),
        );
    }
    let words = "verify --before ./old --after ./new -m rate=regex:rate:.([0-9]+) -n 6 --seed 1";
    let at_once = json(&place, words);
    let ended = place.said(&format!("{words} --export kit"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = measured_elsewhere(&place, "first");
    assert!(fs::read(place.path(&result)).unwrap().contains(&0o260));
    let imported = json(&place, &format!("verify --import {result}"));
    let change = |document: &Value| document["metrics"][0]["change_percent"].clone();
    assert!(change(&at_once).is_number());
    assert_eq!(change(&imported["measured"]), change(&at_once));
}

/// The kit is all that the other machine gets: no path of this one.
#[test]
fn a_kit_has_no_paths_of_this_machine() {
    let place = place_with_source();
    exported(&place, "");
    for name in ["kit.json", "kit.sh", "plan", "run"] {
        let text = fs::read_to_string(place.path("kit").join(name)).unwrap();
        let here = place.path("");
        assert!(!text.contains(here.to_str().unwrap()), "{name}");
    }
    assert!(Path::new(&place.path("kit/before/bench")).is_file());
    assert_eq!(
        fs::read_to_string(place.path("kit/after/score.txt")).unwrap(),
        "150\n"
    );
}

/// Starts that say that they were disturbed are made again.
#[test]
fn disturbed_starts_are_repeated() {
    let place = place_with_source();
    let once = "\nif [ ! -e said ]; then : >said; exit 9; fi";
    place.script("src/bench", &format!("{BENCH}{once}"));
    exported(&place, "--disturbed 9 --warmup 0");
    let result = measured_elsewhere(&place, "first");
    let document = json(&place, &format!("verify --import {result}"));
    assert_eq!(document["measured"]["pairs"], 6);
    assert_eq!(document["measured"]["verdict"], "better");
    let starts: &Value = &document["measured"]["starts"];
    assert_eq!(starts["said_disturbed"], 2, "{starts}");
}
