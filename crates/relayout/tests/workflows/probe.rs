//! `relayout probe` on this machine: that it answers, and that the answers hold together. How fast
//! the machine is, is not tested.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::restricted::{no_real_time, one_cpu};
use crate::common::{Ended, Place};
use serde_json::Value;

/// Measured, or the reason why not, but never anything else.
#[track_caller]
fn check(ended: &Ended) -> Value {
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["schema"], "relayout/probe/1");
    let pair = &document["pair_coefficient"];
    let transfers = document["transfers"].as_array().unwrap();
    let told = !pair["value"].is_null() && transfers.iter().any(|t| t["ns"].is_f64());
    assert_eq!(ended.code, Some(if told { 0 } else { 3 }), "{ended:?}");
    let unknown = document["unknown"].as_array().unwrap();
    for transfer in transfers.iter().filter(|t| t["ns"].is_null()) {
        let key = format!("transfers[{},{}].ns", transfer["cpu_a"], transfer["cpu_b"]);
        assert!(unknown.iter().any(|u| u["what"] == *key), "{document}");
    }
    // Visits of a clean line take three CPUs, so that something is always unknown of visits.
    let is_of_visits = |u: &Value| u["what"].as_str().unwrap().starts_with("visits[");
    let visits = document["visits"].as_array().unwrap();
    let are_visits_known = visits.iter().all(|visit| visit["ns"]["value"].is_f64());
    let of_visits = unknown.iter().filter(|u| is_of_visits(u)).count();
    assert!(are_visits_known == (of_visits <= 2), "{document}");
    assert_eq!(
        of_visits == unknown.len(),
        pair["value"].is_f64()
            && document["pairs"]
                .as_array()
                .unwrap()
                .iter()
                .all(|p| p["value"].is_f64())
            && transfers.iter().all(|t| t["ns"].is_f64())
            && document["accesses"]
                .as_array()
                .unwrap()
                .iter()
                .all(|access| {
                    access["alone_ns"]["value"].is_f64() && access["contended_ns"]["value"].is_f64()
                })
            && [
                "silent_store_ratio",
                "split_ratio",
                "split_local_ratio",
                "split_atomic_ratio"
            ]
            .iter()
            .all(|key| document[key].is_f64()),
        "{document}"
    );
    if let Some(value) = pair["value"].as_f64() {
        assert!(value >= 0.0 && pair["low"].as_f64() <= pair["high"].as_f64());
    }
    let windows = &document["windows"];
    assert!(windows["kept"].as_u64() <= windows["taken"].as_u64());
    document
}

#[test]
fn it_measures_and_keeps_what_it_says() {
    let place = Place::new();
    let ended = place.run(&["probe", "--json"]);
    let document = check(&ended);
    assert!(document["line_bytes"].as_u64().unwrap().is_power_of_two());
    if std::thread::available_parallelism().unwrap().get() > 1 {
        assert_ne!(document["transfers"], Value::Array(Vec::new()));
        assert_eq!(document["pairs"].as_array().unwrap().len(), 2);
    }
    let windows = &document["windows"];
    let (kept, taken) = (
        windows["kept"].as_u64().unwrap(),
        windows["taken"].as_u64().unwrap(),
    );
    let lacks_rounds = |u: &Value| u["why"].as_str().unwrap().contains("are needed");
    if document["unknown"]
        .as_array()
        .unwrap()
        .iter()
        .any(lacks_rounds)
    {
        assert!(kept * 10 < taken * 9, "{document}");
    }
    let kept = place.path("cache/machine.json");
    if ended.code == Some(0) {
        assert_eq!(fs::read_to_string(kept).unwrap(), ended.stdout);
    } else {
        assert!(!kept.exists());
    }
}

/// A machine of the table is a file that `record kernel --machine` reads; wrong ones are refused before the boot.
#[test]
fn a_machine_can_be_written_and_changed() {
    let place = Place::new();
    let ended = place.run(&["probe", "--machines", "rome-2s", "-o", "mine.json"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), ""),
        "{ended:?}"
    );
    let file = fs::read_to_string(place.path("mine.json")).unwrap();
    assert_eq!(place.run(&["probe", "--machines", "rome-2s"]).stdout, file);
    let check = |from: &str, to: &str, expect: &str| {
        assert!(file.contains(from));
        fs::write(place.path("mine.json"), file.replace(from, to)).unwrap();
        let words = "record kernel --workload mntns --machine mine.json";
        let ended = place.run(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let begin = "mine.json is no machine for simulated time: ";
        assert!(
            ended.stderr.contains(&format!("{begin}{expect}")),
            "{ended:?}"
        );
    };
    check("sockets", "socket", "it has no field 'sockets'");
    check(
        "\"upgrade\": 0.75",
        "\"upgrade\": 75",
        "upgrade is 75, not a factor from 0.5 to 1",
    );
    check(
        "relayout/simulated-machine/1",
        "relayout/simulated-machine/9",
        "its schema is",
    );
    let ended = place.run(&["probe", "--machines", "rome"]);
    assert!(ended.stderr.contains("rome-2s"), "{ended:?}");
    let ended = place.run(&["probe", "--machines", "-o", "all.json"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn machines_say_which_times_are_published() {
    let place = Place::new();
    let document: Value =
        serde_json::from_str(&place.run(&["probe", "--machines", "--json"]).stdout).unwrap();
    assert_eq!(document["schema"], "relayout/machines/1");
    let text = place.run(&["probe", "--machines"]).stdout;
    let check = |name: &str, distance: &str, origin: &str, cell: &str| {
        let mut machines = document["machines"].as_array().unwrap().iter();
        let machine = machines.find(|machine| machine["name"] == name).unwrap();
        let mut times = machine["times"].as_array().unwrap().iter();
        let time = times.find(|time| time["distance"] == distance).unwrap();
        assert!(time["ns_low"].as_f64() < time["ns_high"].as_f64(), "{time}");
        assert_eq!(time["origin"], origin, "{time}");
        let mut rows = text.lines();
        let row = rows.find(|row| row.starts_with(name)).unwrap();
        assert!(row.split_whitespace().any(|word| word == cell), "{row}");
    };
    check("cascade-lake-2s", "other_socket", "published", "134");
    check("cascade-lake-6248-2s", "other_socket", "relative", "~138");
    check("haswell-4s", "other_socket", "assumed", "110-260");
    check("ryzen-7950x-1s", "socket", "published", "73");
}

/// Whoever changes a rule runs all rows again.
#[test]
fn the_ledger_of_predictions_knows_the_rules() {
    relayout_testkit::require_programs(&["python3"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut digest = Command::new("python3");
    digest
        .arg(root.join("benches/published.py"))
        .arg("--digest");
    digest.env("RELAYOUT", env!("CARGO_BIN_EXE_relayout"));
    digest.env("PYTHONDONTWRITEBYTECODE", "1");
    let ended = digest.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let digest = String::from_utf8(ended.stdout).unwrap();
    let ledger = fs::read_to_string(root.join("docs/ledger-of-predictions.md")).unwrap();
    let column = format!("| {} |", digest.trim());
    assert!(
        ledger.contains(&column),
        "a rule changed: benches/published.py --ledger docs/ledger-of-predictions.md"
    );
}

#[test]
fn rules_have_ranges_and_sources() {
    let place = Place::new();
    let document: Value =
        serde_json::from_str(&place.run(&["probe", "--rules", "--json"]).stdout).unwrap();
    assert_eq!(document["schema"], "relayout/rules/1");
    let text = place.run(&["probe", "--rules"]).stdout;
    for rule in document["rules"].as_array().unwrap() {
        assert!(rule["low"].as_f64() <= rule["high"].as_f64());
        for field in ["key", "source"] {
            assert!(text.contains(rule[field].as_str().unwrap()), "{rule}");
        }
    }
}

#[test]
fn one_cpu_only() {
    let place = Place::new();
    let mut command = place.relayout(&["probe", "--json", "-o", "one.json"]);
    let ended = place.ended(one_cpu(&mut command));
    let document = check(&ended);
    assert_eq!(ended.code, Some(3));
    let why = "moving a line between CPUs, or pairs of lines, could not be measured: takes two CPUs, and this process \
               may run on one";
    let last = ended.stderr.lines().last().expect("an error");
    let error: Value = serde_json::from_str(last).expect("an error document");
    assert_eq!(
        (&error["message"], &error["code"]),
        (&why.into(), &3.into())
    );
    assert_eq!(document["transfers"], Value::Array(Vec::new()));
    let whats: Vec<&str> = document["unknown"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|unknown| unknown["why"].as_str().unwrap().contains("takes two CPUs"))
        .map(|unknown| unknown["what"].as_str().unwrap())
        .collect();
    assert_eq!(
        whats,
        [
            "transfers",
            "accesses",
            "pair_coefficient",
            "silent_store_ratio",
            "split_ratio"
        ]
    );
    assert_eq!(
        fs::read_to_string(place.path("one.json")).unwrap(),
        ended.stdout
    );
    assert!(!place.path("cache/machine.json").exists());
}

/// Noisier, and it says why; no failure by itself.
#[test]
fn without_the_right_to_real_time_priority() {
    let place = Place::new();
    let mut command = place.relayout(&["probe", "-o", "without.json"]);
    let ended = place.ended(no_real_time(&mut command));
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let kept = fs::read_to_string(place.path("without.json")).unwrap();
    let document: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(document["windows"]["fifo"], false, "{document}");
    let words = "without real-time priority (not permitted)";
    assert!(ended.stdout.contains(words), "{ended:?}");
}

#[test]
fn a_file_that_cannot_be_written() {
    let place = Place::new();
    place.write("file", "");
    let before = place.files();
    let ended = place.run(&["probe", "-o", "file/machine.json"]);
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
    assert!(
        ended
            .stderr
            .contains("relayout: cannot create file: File exists"),
        "{}",
        ended.stderr
    );
    assert_eq!(place.files(), before);
}
