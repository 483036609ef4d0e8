//! Remedies that fit what the instructions do with a shared word: a recorded program with a word of
//! each kind.

use std::fs;

use crate::common::json;
use crate::common::programs::{data, recording_place};

/// A lock is no sum, nor are a ticket, a state, flags and a count of references.
#[test]
fn each_operation_has_its_remedy() {
    let place = recording_place();
    fs::copy(data("operations.c"), place.path("operations.c")).unwrap();
    for words in [
        "cc -O2 -g -pthread -o operations operations.c",
        "record run -o p -- ./operations",
    ] {
        let ended = place.said(words);
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
    }
    let report = json(&place, "report p");
    let remedy_of = |name: &str| {
        let findings = report["findings"].as_array().unwrap().iter();
        let mut mine = findings.filter(|finding| finding["type"] == name);
        let remedies = mine.next().map(|finding| finding["advice"].clone());
        let remedies = remedies.unwrap_or_else(|| panic!("no finding of {name}: {report:#}"));
        let first = remedies.as_array().unwrap().iter();
        let mut shared = first.filter(|remedy| {
            remedy["words"]
                .as_str()
                .unwrap()
                .starts_with("Mostly true sharing")
        });
        shared
            .next()
            .map(|remedy| remedy["action"].as_str().unwrap().to_owned())
    };
    for (name, expect) in [
        ("lock_word", "wait-word"),
        ("ticket_word", "draw-more"),
        ("state_word", "fewer-states"),
        ("flag_word", "split-bits"),
        ("count_word", "fewer-references"),
        ("sum_word", "per-context"),
    ] {
        assert_eq!(remedy_of(name).as_deref(), Some(expect), "{name}");
    }
}
