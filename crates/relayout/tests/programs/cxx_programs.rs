//! C++ programs with a planted fault, from the recording to the patched program: a report names the type, the
//! patch applies and compiles without warnings, and a second recording has less than a tenth of the transfers.
//! The repaired twin of each program has nothing to report and nothing to recommend.

use crate::common::Place;
use crate::common::programs::{data, recording_place, transfers_about};
use relayout_testkit::require_programs;

/// Rounds of the first thread.
const ROUNDS: u32 = 60_000;
/// Transfers of a type that only the start of the threads causes.
const TRANSFERS_AT_START_MAX: u64 = 40;

/// A program of `tests/data/cxx`.
struct PlantedFault<'a> {
    program: &'a str,
    /// Its further file.
    other: Option<&'a str>,
    /// Type, as the user asks for advice on it.
    asked: &'a str,
    /// Part of the type's printed name.
    printed: &'a str,
}

fn place_of(fault: &PlantedFault<'_>) -> Place {
    require_programs(&["g++", "patch"]);
    let place = recording_place();
    let unit = format!("{}.cc", fault.program);
    for file in [Some("threads.h"), Some(unit.as_str()), fault.other] {
        let Some(file) = file else { continue };
        let text = std::fs::read(data("cxx").join(file)).expect("a file of tests/data");
        place.write(file, text);
    }
    place
}

fn record(place: &Place, program: &str, more: &str, output: &str) {
    let flags = "-g -O1 -std=c++17 -Wall -Wextra -Werror -Wreorder -pthread";
    for words in [
        format!("cc -- g++ {flags} {more} -o {program} {program}.cc"),
        format!("record run --yield 50 -o {output} -- ./{program} {ROUNDS}"),
    ] {
        let ended = place.said(&words);
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
    }
}

/// Transfers of all findings about a type.
fn transfers(place: &Place, profile: &str, printed: &str) -> u64 {
    // Threads' states have the program's types as arguments.
    let is_named =
        |name: &str| name.contains(printed) && !name.contains("std::") && !name.contains("_State");
    transfers_about(place, profile, is_named)
}

/// Asks for advice with a patch. The machine may be busy with other tests, which is a doubt.
fn advise(place: &Place, fault: &PlantedFault<'_>) -> String {
    let words = ["advise", "out", fault.asked, "--source", "."];
    let words = [&words[..], &["--patch", "fix.patch", "--force"]].concat();
    let mut command = place.relayout(&words);
    place.with_system(&mut command);
    let ended = place.ended(&mut command);
    assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
    ended.stdout
}

#[track_caller]
fn check(fault: &PlantedFault<'_>) {
    let place = place_of(fault);
    record(&place, fault.program, "", "out");
    let before = transfers(&place, "out", fault.printed);
    assert!(before > 1000, "{}: {before} transfers", fault.asked);
    let advice = advise(&place, fault);
    assert!(place.path("fix.patch").exists(), "{advice}");
    let applied = place.other("/usr/bin/patch", "-p1 -i fix.patch");
    assert_eq!(applied.code, Some(0), "{}", applied.stdout);
    record(&place, fault.program, "", "then");
    let after = transfers(&place, "then", fault.printed);
    assert!(
        after * 10 < before,
        "{}: {before} before, {after} after",
        fault.asked
    );
    check_repaired(fault);
}

#[track_caller]
fn check_repaired(fault: &PlantedFault<'_>) {
    let place = place_of(fault);
    record(&place, fault.program, "-DREPAIRED", "out");
    let left = transfers(&place, "out", fault.printed);
    assert!(left <= TRANSFERS_AT_START_MAX, "{}: {left}", fault.asked);
    let advice = advise(&place, fault);
    assert!(!advice.contains("Recommended ("), "{advice}");
    assert!(!place.path("fix.patch").exists(), "{advice}");
}

#[test]
fn a_member_of_a_base_class() {
    check(&PlantedFault {
        program: "base",
        other: None,
        asked: "Meter",
        printed: "Meter",
    });
}

#[test]
fn a_member_of_a_class_template() {
    check(&PlantedFault {
        program: "ring",
        other: None,
        asked: "Ring<*>",
        printed: "Ring<",
    });
}

#[test]
fn elements_of_a_vector() {
    check(&PlantedFault {
        program: "workers",
        other: None,
        asked: "Worker",
        printed: "Worker",
    });
}

#[test]
fn a_class_with_constructors_in_another_file() {
    check(&PlantedFault {
        program: "pool",
        other: Some("pool.h"),
        asked: "net::Pool",
        printed: "Pool",
    });
}

#[test]
fn a_struct_with_assertions_about_its_layout() {
    check(&PlantedFault {
        program: "session",
        other: None,
        asked: "Session",
        printed: "Session",
    });
}

#[test]
fn a_class_whose_member_stands_behind_functions() {
    check(&PlantedFault {
        program: "counters",
        other: None,
        asked: "Counter",
        printed: "Counter",
    });
}

#[test]
fn members_that_share_a_declaration() {
    check(&PlantedFault {
        program: "peers",
        other: None,
        asked: "Peer",
        printed: "Peer",
    });
}

/// The members that move between threads are in the base class, where the derived class cannot move them.
#[test]
fn advice_on_a_derived_class_leads_to_its_base() {
    let fault = PlantedFault {
        program: "base",
        other: None,
        asked: "Server",
        printed: "Server",
    };
    let place = place_of(&fault);
    record(&place, fault.program, "", "out");
    let advice = advise(&place, &fault);
    let advice = advice.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(advice.contains("its base class (Meter), by"), "{advice}");
}

/// Threads that use runs of a vector are told to round them; no patch writes larger elements
/// instead.
#[test]
fn runs_of_a_vector_are_rounded() {
    let fault = PlantedFault {
        program: "chunks",
        other: None,
        asked: "int",
        printed: "int",
    };
    let place = place_of(&fault);
    record(&place, fault.program, "-Wno-sign-conversion", "out");
    let report = crate::common::json(&place, "report out --top 0");
    let findings = report["findings"].as_array().expect("findings");
    let has_runs = |finding: &&serde_json::Value| {
        let runs = finding["elements"]["runs"].as_array();
        runs.is_some_and(|runs| runs.len() == 4 && runs[1]["first"] == 25)
    };
    let found = { findings.iter() }.find(has_runs);
    let found = found.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(found["advice"][0]["action"], "round-runs", "{found:#}");
    let asked = found["type"].as_str().expect("a name");
    let advice = advise(&place, &PlantedFault { asked, ..fault });
    assert!(
        advice.contains("Recommended (found 1): round the runs"),
        "{advice}"
    );
    assert!(!place.path("fix.patch").exists(), "{advice}");
    let place = place_of(&fault);
    record(
        &place,
        fault.program,
        "-Wno-sign-conversion -DREPAIRED",
        "out",
    );
    let left = transfers(&place, "out", "int [");
    assert!(left <= TRANSFERS_AT_START_MAX, "{left} transfers");
}
