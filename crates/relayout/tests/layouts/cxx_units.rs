//! C++ programs of several units: a class with virtual functions is defined in one of them alone, and others
//! have it as a base. And memory whose type no access tells: the text of a string.

use crate::common::programs::{data, recording_place};
use crate::common::{Place, json, text};
use relayout_testkit::require_programs;

/// A folder with the program, built, and a recording of it.
fn recorded_units() -> Place {
    require_programs(&["g++"]);
    let place = recording_place();
    for (folder, file) in [
        ("units", "units.cc"),
        ("units", "listener.cc"),
        ("units", "listener.h"),
        ("cxx", "threads.h"),
    ] {
        std::fs::copy(data(folder).join(file), place.path(file)).expect("the source");
    }
    let flags = "-g -O1 -std=c++17 -Wall -Wextra -Werror -pthread";
    text(
        &place,
        &format!("cc -- g++ {flags} -o program units.cc listener.cc"),
    );
    text(&place, "record run --yield 50 -o out -- ./program 20000");
    place
}

#[test]
fn a_base_class_is_found_in_the_unit_that_defines_it() {
    let place = recorded_units();
    let shown = text(&place, "show program Server");
    assert!(
        shown.contains("/* class Listener            <ancestor>; */      /*     0    16 */"),
        "{shown}"
    );
    assert!(!shown.contains("hole"), "{shown}");
    let report = json(&place, "report out --top 0");
    let findings = report["findings"].as_array().expect("findings");
    let of_server = { findings.iter() }.filter(|finding| finding["type"] == "Server");
    let mut found = Vec::new();
    for finding in of_server {
        assert_eq!(finding["uncertain_objects"], 0, "{finding}");
        let members = finding["members"].as_array().expect("members");
        found.extend(members.iter().map(|member| member["name"].to_string()));
    }
    for member in ["accepted_", "served_"] {
        assert!(found.contains(&format!("\"{member}\"")), "{found:?}");
    }
}

#[test]
fn the_text_of_a_string_is_named() {
    let place = recorded_units();
    let report = json(&place, "report out --top 0");
    let findings = report["findings"].as_array().expect("findings");
    let characters = { findings.iter() }.find(|finding| finding["type"] == "char []");
    let characters = characters.unwrap_or_else(|| panic!("{report}"));
    let origins = characters["allocated"].to_string();
    assert!(origins.contains("text of a std::string"), "{origins}");
    // The barrier of the threads is on a stack.
    let heap = report["unresolved"]["heap"].as_u64().unwrap_or(0);
    let transfers = report["transfers_total"].as_u64().expect("transfers");
    assert!(heap * 100 < transfers, "{heap} of {transfers}");
    let advice = text(&place, "advise out");
    assert!(advice.contains("Skipped: char []"), "{advice}");
}
