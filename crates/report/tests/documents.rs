//! Documents are read back as they were written, and give the text that their command prints.

use relayout_report::Document;
use relayout_report::documents::advise::{AdviseDocument, WhatIfDocument};
use relayout_report::documents::check::CheckDocument;
use relayout_report::documents::compare::CompareDocument;
use relayout_report::documents::kit::KitResultDocument;
use relayout_report::documents::suite::SuiteDocument;
use relayout_report::documents::tune::TuneDocument;
use relayout_report::documents::verify::VerifyDocument;
use relayout_report::exports::mail::compare::compare_mail;
use relayout_report::text::check::check_text;
use relayout_report::text::compare::compare_text;
use relayout_report::text::kit::kit_result_text;
use relayout_report::text::suite::suite_text;
use relayout_report::text::tune::tune_text;
use relayout_report::text::verify::verify_text;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a document that an older command of the same version of the format wrote. The fields that it
/// has must be kept, and what is written then must be read back as it is.
#[track_caller]
fn check_read<D: Document + DeserializeOwned>(older: &str) {
    let write = |document: D| document.to_json().expect("a document is JSON");
    let written = write(serde_json::from_str(older).expect("a document of this version"));
    let values = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
    let mut lost = Vec::new();
    find_lost(&values(older), &values(&written), "", &mut lost);
    assert_eq!(lost, Vec::<String>::new());
    let again = write(serde_json::from_str(&written).expect("a document of this version"));
    assert_eq!(written, again);
}

/// Reads a document as [`check_read`] does, and compares its text with that of the command.
#[track_caller]
fn check_rendered<D: Document + DeserializeOwned>(
    older: &str,
    render: fn(&D) -> String,
    expected: &str,
) {
    check_read::<D>(older);
    let document = serde_json::from_str(older).expect("a document of this version");
    assert_eq!(render(&document), expected);
}

/// Finds the values of `older` that `written` lacks, or has otherwise.
fn find_lost(older: &Value, written: &Value, path: &str, lost: &mut Vec<String>) {
    match (older, written) {
        (Value::Object(older), Value::Object(written)) => {
            for (key, value) in older {
                let path = format!("{path}.{key}");
                find_lost(value, written.get(key).unwrap_or(&Value::Null), &path, lost);
            }
        }
        (Value::Array(older), Value::Array(written)) if older.len() == written.len() => {
            for (index, (older, written)) in older.iter().zip(written).enumerate() {
                find_lost(older, written, &format!("{path}[{index}]"), lost);
            }
        }
        _ if older == written => {}
        _ => lost.push(path.to_owned()),
    }
}

#[test]
fn advice_is_read_back() {
    check_read::<AdviseDocument>(include_str!("documents/advise-1.json"));
}

#[test]
fn scores_of_given_layouts_are_read_back() {
    check_read::<WhatIfDocument>(include_str!("documents/what-if-1.json"));
}

#[test]
fn refusals_are_read_back() {
    let advise = r#"{
        "schema": "relayout/advise/1", "workload": "cat", "line_bytes": 64, "notes": ["a note"],
        "types": [{ "name": "page", "objects": 3, "refused": "it is a union", "candidates": [] }],
        "skipped": [{ "name": "jiffies", "transfers": 7, "why": null }],
        "variables": []
    }"#;
    check_read::<AdviseDocument>(advise);
    let what_if = r#"{
        "schema": "relayout/what-if/1", "workload": "cat", "line_bytes": 64, "name": "page",
        "notes": [], "refused": "it is a union"
    }"#;
    check_read::<WhatIfDocument>(what_if);
}

#[test]
fn checks_are_read_back() {
    check_rendered::<CheckDocument>(
        include_str!("documents/check-1.json"),
        check_text,
        include_str!("documents/check-1.txt"),
    );
}

#[test]
fn experiments_with_programs_are_read_back() {
    check_rendered::<VerifyDocument>(
        include_str!("documents/verify-1.json"),
        verify_text,
        include_str!("documents/verify-1.txt"),
    );
}

#[test]
fn experiments_with_kernels_are_read_back() {
    check_rendered::<VerifyDocument>(
        include_str!("documents/verify-kernel-1.json"),
        verify_text,
        include_str!("documents/verify-kernel-1.txt"),
    );
}

#[test]
fn runs_of_tune_are_read_back() {
    check_rendered::<TuneDocument>(
        include_str!("documents/tune-2.json"),
        tune_text,
        include_str!("documents/tune-2.txt"),
    );
}

#[test]
fn comparisons_are_read_back() {
    let document = include_str!("documents/compare-1.json");
    let text = include_str!("documents/compare-1.txt");
    let mail = include_str!("documents/compare-1.mail");
    check_rendered::<CompareDocument>(document, compare_text, text);
    check_rendered::<CompareDocument>(document, compare_mail, mail);
}

#[test]
fn results_of_kits_are_read_back() {
    check_rendered::<KitResultDocument>(
        include_str!("documents/kit-result-1.json"),
        kit_result_text,
        include_str!("documents/kit-result-1.txt"),
    );
}

#[test]
fn suites_are_read_back() {
    check_rendered::<SuiteDocument>(
        include_str!("documents/suite-1.json"),
        suite_text,
        include_str!("documents/suite-1.txt"),
    );
}
