//! Silent stores of programs: recorded on request, and advised to be guarded.

use std::path::Path;

use crate::common::Place;
use crate::common::programs::recording_place;
use relayout_testkit::require_programs;
use serde_json::Value;

/// Builds case 5 of `cases/`, whose store to `cpu` never changes it, and records it.
fn record(options: &str) -> Place {
    require_programs(&["gcc"]);
    let place = recording_place();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (root, cases) = (root.display(), root.join("cases"));
    let cases = cases.display();
    let built = place.said(&format!(
        "cc -- gcc -std=gnu11 -O1 -g -pthread -I{root}/collectors/compiled/include -I{cases} \
         -I{cases}/optimistic_spin_node/bad -o node \
         {cases}/optimistic_spin_node/optimistic_spin_node.c {cases}/common.c"
    ));
    assert_eq!((built.code, &*built.stderr), (Some(0), ""));
    let ended = place.said(&format!(
        "record run -o out --yield 50 {options} -- ./node --iterations 20000"
    ));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("results are right"), "{ended:?}");
    place
}

fn document(place: &Place, words: &str) -> Value {
    let ended = place.said(words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).expect("JSON")
}

/// Reads the stores to `cpu`, and the silent ones, from the findings of the recording.
fn stores_to_cpu(place: &Place) -> (u64, Option<u64>) {
    let report = document(place, "report out --json --top 0");
    let findings = report["findings"].as_array().expect("findings");
    let members = findings.iter().flat_map(|finding| {
        let members = finding["members"].as_array();
        members.into_iter().flatten()
    });
    let mut found = members.filter(|member| member["name"] == "cpu");
    let member = found
        .find(|member| member["writes"].as_u64() > Some(0))
        .unwrap_or_else(|| panic!("no stores to cpu in {report:#}"));
    let writes = member["writes"].as_u64().expect("a count");
    (writes, member["silent_writes"].as_u64())
}

#[test]
fn a_store_guard_is_advised() {
    let place = record("--values");
    let (stores, silent) = stores_to_cpu(&place);
    // At least nine in ten are known: a reader may have been about to look, but nobody else stores.
    let silent = silent.expect("values are seen");
    assert!(
        silent <= stores && silent * 10 >= stores * 9,
        "{silent} of {stores}"
    );
    let advice = document(&place, "advise out optimistic_spin_node --json");
    let check = &advice["types"][0]["check"];
    assert_eq!(check["member"], "cpu", "{advice:#}");
    assert_eq!(check["function"], "set_cpu", "{check:#}");
    assert_eq!(check["better"], true, "{check:#}");
    let best = check["candidates"][0]["transfers"].as_u64();
    let today = advice["types"][0]["current"]["transfers"].as_u64();
    assert!(
        best.expect("a count") * 2 < today.expect("a count"),
        "{check:#}"
    );
    // Loads are not compared: how far the order can be trusted is unknown, not 0.
    let report = document(&place, "report out --json");
    assert_eq!(report["machine"]["values_seen"], true);
    assert_eq!(report["order_errors"], Value::Null);
}

#[test]
fn values_are_unknown_unless_asked_for() {
    let place = record("");
    assert_eq!(stores_to_cpu(&place).1, None);
    let advice = document(&place, "advise out optimistic_spin_node --json");
    assert_eq!(advice["types"][0]["check"], Value::Null, "{advice:#}");
}
