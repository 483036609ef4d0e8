//! Arrays and numbers in local variables that threads share: the report names variable, function,
//! line, elements and threads. The repaired twin of each program has no false sharing.

use std::path::Path;

use crate::common::Place;
use crate::common::programs::{data, recording_place};
use relayout_testkit::require_programs;
use serde_json::Value;

/// Rounds of each thread.
const ROUNDS: u32 = 40_000;
/// Transfers that the start and the end of threads may cause.
const TRANSFERS_AT_START_MAX: u64 = 60;

/// Local variable with a planted fault.
struct FaultyLocal {
    /// File in `tests/data/stack`, and the words of its compiler.
    file: &'static str,
    compiler: &'static str,
    /// Variables of which at least one is the finding's.
    variables: &'static [&'static str],
    function: &'static str,
    /// Number of elements; 0 for variables that are no array.
    elements: u64,
}

fn build(place: &Place, local: &FaultyLocal, more: &str) {
    let text = std::fs::read(data("stack").join(local.file)).expect("a file of tests/data");
    place.write(local.file, text);
    if !local.file.ends_with(".rs") {
        let words = format!("cc -- {} {more} -o program {}", local.compiler, local.file);
        let ended = place.said(&words);
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
        return;
    }
    let flags = crate::common::text(place, "cc --relayout-rustflags");
    let words = format!(
        "{flags} {} {more} -o program {}",
        local.compiler, local.file
    );
    let words: Vec<&str> = words.split_whitespace().collect();
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let mut rustc = place.command(&rustc, &words);
    place.with_system(&mut rustc);
    // What nightly permits without asking.
    let built = place.ended(rustc.env("RUSTC_BOOTSTRAP", "1"));
    assert_eq!(built.code, Some(0), "{}", built.stderr);
}

fn record_and_report(place: &Place) -> Value {
    crate::common::text(
        place,
        &format!("record run --yield 50 --force -o out -- ./program {ROUNDS}"),
    );
    crate::common::json(place, "report out --top 0")
}

fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().map_or(&[], Vec::as_slice)
}

#[track_caller]
fn check(local: &FaultyLocal) {
    require_programs(&["gcc", "g++", "clang"]);
    let place = recording_place();
    build(&place, local, "");
    let report = record_and_report(&place);
    let is_about = |finding: &&Value| {
        let variable = finding["variable"].as_str();
        let is_named = variable.is_some_and(|variable| local.variables.contains(&variable));
        let function = finding["declared_in"]["function"]
            .as_str()
            .unwrap_or_default();
        is_named && function.ends_with(local.function)
    };
    let context = format!("{} by {}", local.file, local.compiler);
    let finding = { findings(&report).iter() }
        .find(is_about)
        .unwrap_or_else(|| panic!("{context}: {report:#}"));
    assert_eq!(finding["kind"], "false-sharing", "{context}");
    assert!(
        finding["transfers"].as_u64() > Some(1000),
        "{context}: {finding:#}"
    );
    let line = finding["declared_in"]["line"].as_u64().unwrap_or_default();
    let source = std::fs::read_to_string(place.path(local.file)).expect("the source");
    let declaration = source.lines().nth(line as usize - 1).unwrap_or_default();
    let variable = finding["variable"].as_str().unwrap_or_default();
    assert!(
        declaration.contains(variable),
        "{context}: line {line}: {declaration}"
    );
    let elements = finding["elements"]["count"].as_u64().unwrap_or_default();
    assert_eq!(elements, local.elements, "{context}: {finding:#}");
    let share = report["resolved_share"].as_f64().unwrap_or_default();
    assert!(share > 0.9, "{context}: {share}");

    build(
        &place,
        local,
        if local.file.ends_with(".rs") {
            "--cfg repaired"
        } else {
            "-DREPAIRED"
        },
    );
    let repaired = record_and_report(&place);
    // What the threads wait for each other with is shared by all of them.
    let is_barrier = |finding: &Value| {
        let variable = finding["variable"].as_str().unwrap_or_default();
        variable.to_lowercase().contains("together")
    };
    let is_false = |finding: &&Value| finding["kind"] == "false-sharing" && !is_barrier(finding);
    let moved = findings(&repaired).iter().filter(is_false);
    let moved: u64 = moved
        .filter_map(|finding| finding["transfers"].as_u64())
        .sum();
    assert!(moved <= TRANSFERS_AT_START_MAX, "{context}: {repaired:#}");
}

fn check_sums(level: &str) {
    let compiler = format!("gcc -g {level} -fopenmp -pthread");
    check(&FaultyLocal {
        file: "sums.c",
        compiler: compiler.leak(),
        variables: &["sums"],
        function: "integrate",
        elements: 4,
    });
}

fn check_counts(compiler: &'static str) {
    check(&FaultyLocal {
        file: "counts.c",
        compiler,
        variables: &["counts"],
        function: "count_all",
        elements: 4,
    });
}

fn check_captured(compiler: &'static str) {
    check(&FaultyLocal {
        file: "captured.cc",
        compiler,
        variables: &["hits", "misses"],
        function: "main",
        elements: 0,
    });
}

/// Compares what `advise` says of a contended number with the advice of `report` on it.
#[test]
fn advice_on_a_number_is_that_of_the_report() {
    require_programs(&["g++"]);
    let place = recording_place();
    let local = FaultyLocal {
        file: "captured.cc",
        compiler: "g++ -g -O0 -pthread",
        variables: &["hits", "misses"],
        function: "main",
        elements: 0,
    };
    build(&place, &local, "");
    let report = record_and_report(&place);
    let is_false_local = |finding: &&Value| {
        finding["kind"] == "false-sharing" && finding["declared_in"]["function"] == "main"
    };
    let finding = { findings(&report).iter() }
        .find(is_false_local)
        .unwrap_or_else(|| panic!("{report:#}"));
    let variable = finding["variable"].as_str().expect("a variable");
    let sentence = finding["advice"][0]["words"].as_str().expect("advice");
    for command in ["advise out".to_owned(), format!("advise out {variable}")] {
        let advice = crate::common::json(&place, &command);
        let advised = advice["variables"].as_array().expect("a list").iter();
        let advised = { advised.clone() }
            .find(|advised| advised["name"] == *variable)
            .unwrap_or_else(|| panic!("{command}: {advice:#}"));
        assert_eq!(advised["declared_in"], finding["declared_in"], "{command}");
        assert_eq!(advised["findings"][0]["rank"], finding["rank"], "{command}");
        assert_eq!(
            advised["findings"][0]["advice"], finding["advice"],
            "{command}"
        );
        let skipped = advice["skipped"].as_array().expect("a list").iter();
        assert!(
            skipped.clone().all(|skipped| skipped["name"] != *variable),
            "{command}: {advice:#}"
        );
        let text = crate::common::text(&place, &command);
        let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(unwrapped.contains(sentence), "{command}: {text}");
        let heading = format!("Variable: {variable} of main (captured.cc:");
        assert!(unwrapped.contains(&heading), "{command}: {text}");
        assert!(!text.contains("nothing to advise on"), "{command}: {text}");
    }
}

#[test]
fn partial_sums_of_an_openmp_loop() {
    check_sums("-O2");
    check_sums("-O0");
}

#[test]
fn elements_passed_to_pthread_create() {
    check_counts("gcc -g -O0 -pthread");
    check_counts("gcc -g -O1 -pthread");
    check_counts("clang -g -O2 -pthread");
}

#[test]
fn variables_that_lambdas_capture() {
    check_captured("g++ -g -O0 -pthread");
    check_captured("g++ -g -O2 -pthread");
    check_captured("clang++ -g -O1 -pthread");
}

#[test]
fn atomics_that_a_scope_borrows() {
    let rust = |compiler, variables, function, elements| {
        check(&FaultyLocal {
            file: "scoped.rs",
            compiler,
            variables,
            function,
            elements,
        });
    };
    let optimised = "-O -Cdebuginfo=2 --edition 2021 --check-cfg cfg(repaired)";
    rust(optimised, &["sums"], "add_up", 4);
    rust(optimised, &["hits", "misses"], "main", 0);
}
