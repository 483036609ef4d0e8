//! `relayout record run` without `--slices`: everything is recorded at first, and slices of time once
//! that has cost too much. Profile, report and messages say so.

use std::io::{BufRead, BufReader, Read as _};
use std::process::Stdio;

use crate::common::programs::{data, recording_place};
use crate::common::{Place, start};
use relayout_testkit::require_programs;
use serde_json::Value;

/// Option with which a recording goes over to slices as soon as it can.
const SOON: &str = "--slices-after 0.01";

/// A folder with the program `computes`, built with `relayout cc`.
fn place() -> Place {
    require_programs(&["gcc"]);
    let place = recording_place();
    let source = data("computes.c");
    let built = place.said(&format!("cc -- gcc -O1 {} -o computes", source.display()));
    assert_eq!((built.code, &*built.stderr), (Some(0), ""));
    place
}

/// Report on the profile `out`, as text and as a document.
fn read_report(place: &Place) -> (String, Value) {
    let json = place.said("report out --json");
    assert_eq!(json.code, Some(0), "{json:?}");
    let text = place.said("report out --all");
    assert_eq!(text.code, Some(0), "{text:?}");
    (text.stdout, serde_json::from_str(&json.stdout).unwrap())
}

/// Records, and demands success and an empty folder of temporary files.
#[track_caller]
fn record(place: &Place, words: &str) -> (String, Value) {
    let ended = place.said(&format!("record run --force -o out --yield 50 {words}"));
    assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
    let left = crate::common::names(&place.path("tmp"));
    assert_eq!(left, Vec::<String>::new(), "{words}");
    let (text, report) = read_report(place);
    let says = ended.stdout.contains("(--slices 1 records all of it)");
    let is_adaptive = report["runs"][0]["recorded_time"]["whole_ns"]
        .as_u64()
        .is_some_and(|ns| ns > 0);
    assert_eq!(says, is_adaptive, "{words}: {ended:?}");
    (text, report)
}

/// Line of the report's head that says which part of the time was recorded.
fn recorded_line(text: &str) -> Option<&str> {
    text.lines()
        .find_map(|line| line.strip_prefix("  recorded   "))
}

#[track_caller]
fn check_complete(place: &Place, words: &str) {
    let (text, report) = record(place, words);
    let coverage = (&report["coverage"], &report["recorded_share"]);
    assert_eq!(coverage, (&"complete".into(), &1.0.into()), "{words}");
    assert_eq!(report["runs"][0]["recorded_time"], Value::Null, "{words}");
    assert_eq!(recorded_line(&text), None, "{words}: {text}");
}

/// Demands a recording that went over to slices, and that finds what the threads share.
#[track_caller]
fn check_adaptive(text: &str, report: &Value) {
    assert_eq!(report["coverage"], "sliced", "{report}");
    let share = report["recorded_share"].as_f64().unwrap();
    assert!(0.0 < share && share < 1.0, "{share}");
    let time = &report["runs"][0]["recorded_time"];
    let ns = |name: &str| time[name].as_u64().unwrap();
    assert!(ns("whole_ns") > 0, "{time}");
    assert!(ns("slices_ns") < ns("sliced_ns"), "{time}");
    assert_eq!(ns("slice_ns"), 20_000_000);
    for run in report["runs"].as_array().unwrap() {
        assert_eq!(&run["recorded_time"], time, "{run}");
    }
    let line = recorded_line(text).unwrap_or_else(|| panic!("{text}"));
    assert!(line.starts_with("everything for the first "), "{line}");
    let end = "% of the time in slices of 20 ms; all counts are of this time";
    assert!(line.ends_with(end), "{line}");
    let mut findings = report["findings"].as_array().unwrap().iter();
    let pair = findings.find(|finding| finding["type"] == "pair");
    assert_eq!(pair.unwrap()["kind"], "false-sharing", "{report}");
}

#[test]
fn a_long_recording_goes_over_to_slices() {
    let place = place();
    // Two threads: at least half of the CPU time is wall time.
    let (text, report) = record(&place, "-- ./computes 4");
    check_adaptive(&text, &report);
}

#[test]
fn a_short_one_is_complete() {
    check_complete(&place(), "-- ./computes 0.1");
}

#[test]
fn a_long_one_is_complete_if_asked_for() {
    check_complete(&place(), "--slices 1 -- ./computes 4");
}

#[test]
fn a_program_that_makes_few_accesses_is_recorded_completely() {
    check_complete(&place(), &format!("{SOON} -- ./computes 1 alone"));
}

#[test]
fn slices_that_were_asked_for_have_no_complete_beginning() {
    let place = place();
    let (text, report) = record(&place, "--slices 0.5 -- ./computes 1");
    assert_eq!(report["coverage"], "sliced");
    assert_eq!(report["runs"][0]["recorded_time"]["whole_ns"], 0);
    let line = recorded_line(&text).unwrap();
    assert!(
        line.contains("% of the time, in slices of 20 ms; "),
        "{line}"
    );
}

#[test]
fn repeated_recordings_say_the_least_and_the_most() {
    let place = place();
    let (text, report) = record(&place, &format!("{SOON} --repeat 2 -- ./computes 1"));
    assert_eq!(report["coverage"], "sliced");
    assert_eq!(report["runs"].as_array().map(Vec::len), Some(2));
    let line = recorded_line(&text).unwrap();
    assert!(line.contains("% of the time of each recording; "), "{line}");
}

#[test]
fn processes_that_are_forked_between_slices() {
    let place = place();
    let (text, report) = record(&place, &format!("{SOON} -- ./computes 2 forks"));
    check_adaptive(&text, &report);
    let runs = report["runs"].as_array().unwrap();
    let without = runs[0]["process"]["without_transfers"].as_u64().unwrap();
    assert_eq!(runs.len() as u64 - 1 + without, 8, "{report}");
    assert!(runs.iter().all(|run| run["complete"] == true), "{report}");
}

#[test]
fn a_program_is_told_to_end_between_slices() {
    let place = place();
    let (text, report) = record(&place, &format!("{SOON} --stop-after 2 -- ./computes 1 on"));
    check_adaptive(&text, &report);
}

#[test]
fn ctrl_c_in_slices_keeps_what_was_recorded() {
    let place = place();
    let words = format!("record run -o out --yield 50 {SOON} -- ./computes 1 on");
    let mut command = place.tool(&words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = start(&mut command);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "computed\n");
    // SAFETY: a plain system call.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest} {output:?}");
    let (text, report) = read_report(&place);
    check_adaptive(&text, &report);
    assert_eq!(report["runs"][0]["signal"], "SIGINT");
}

#[test]
fn a_share_and_a_beginning_exclude_each_other() {
    let place = place();
    let ended = place.said(&format!("record run --slices 0.5 {SOON} ./computes"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
}
