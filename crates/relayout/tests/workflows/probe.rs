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

/// Collects the estimates in a document, with the names of the fields that lead to them.
fn collect_estimates(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) if fields.contains_key("low") && fields.contains_key("value") => {
            found.push((path.to_owned(), value.clone()));
        }
        Value::Object(fields) => {
            // A core has no cores of its own that a line could stay among.
            let is_core = fields.get("group") == Some(&"core".into());
            for (name, field) in fields
                .iter()
                .filter(|(name, _)| !is_core || *name != "near_share")
            {
                collect_estimates(field, &format!("{path}.{name}"), found);
            }
        }
        Value::Array(values) => {
            let collect = |value| collect_estimates(value, path, found);
            values.iter().for_each(collect);
        }
        _ => {}
    }
}

/// Every result is a value within its interval, or null with a reason, whatever the machine is.
#[test]
fn contention_is_told_with_an_interval_or_a_reason() {
    let place = Place::new();
    let words = [
        "probe",
        "--contend",
        "--quick",
        "--json",
        "-o",
        "contended.json",
    ];
    let ended = place.run(&words);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let kept = fs::read_to_string(place.path("contended.json")).unwrap();
    assert_eq!(kept, ended.stdout);
    let contention = &document["contention"];
    let unknown = document["unknown"].as_array().unwrap();
    let what = |unknown: &Value| unknown["what"].as_str().unwrap().to_owned();
    let mut found = Vec::new();
    collect_estimates(contention, "contention", &mut found);
    let (known, nulls): (Vec<_>, Vec<_>) = found
        .iter()
        .partition(|(_, estimate)| estimate["value"].is_f64());
    for (path, estimate) in &known {
        let [low, value, high] = ["low", "value", "high"].map(|end| estimate[end].as_f64());
        assert!(
            low.is_some() && low <= value && value <= high,
            "{path}: {estimate}"
        );
    }
    for (path, _) in &nulls {
        let section = path.split('.').nth(1).unwrap();
        let prefix = format!("contention.{section}");
        // Without a known positive, one reason stands for all.
        let has_reason = |unknown| {
            let what = what(unknown);
            what.starts_with(&prefix) || what == "contention"
        };
        assert!(unknown.iter().any(has_reason), "{path}: {document}");
    }
    let positives = contention["known_positives"].as_array().unwrap();
    let is_concluded = !positives.is_empty() && positives.iter().all(|it| it["shows"] == true);
    let nothing_else = unknown.iter().any(|unknown| what(unknown) == "contention");
    assert_eq!(is_concluded, !nothing_else, "{document}");
    let others = ["owners", "hold", "load_store", "adjacent", "rules"];
    for section in others.map(|section| contention[section].as_array().unwrap()) {
        assert!(is_concluded || section.is_empty(), "{document}");
    }
    if is_concluded {
        let two_cpus = &contention["owners"][0];
        assert_eq!(two_cpus["cpus"], 2, "{document}");
        assert!(
            contention["load_store"].as_array().unwrap().len() > 12,
            "{document}"
        );
    } else {
        assert_eq!(ended.code, Some(3), "{ended:?}");
    }
}

#[test]
fn contention_takes_two_cpus() {
    let place = Place::new();
    let mut command = place.relayout(&["probe", "--contend", "-o", "one.json"]);
    let ended = place.ended(one_cpu(&mut command));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let why = "cannot be told here: one CPU only: the process may run on no other";
    assert!(
        ended.stderr.contains(&format!("contention {why}")),
        "{ended:?}"
    );
    assert!(ended.stdout.contains(why), "{ended:?}");
    assert!(
        ended.stdout.contains("\nno window was measured\n"),
        "{ended:?}"
    );
    let kept = fs::read_to_string(place.path("one.json")).unwrap();
    let document: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(
        document["contention"]["known_positives"],
        Value::Array(Vec::new())
    );
    assert!(document["split_local_ratio"].is_null());
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
