//! Runs pahole and the command on one file, and compares their output byte for byte.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::common::Place;

/// Lines of each text that are shown on either side of the first difference.
const CONTEXT: usize = 6;

/// Whether pahole is there. Where it is not, says so; in CI, fails.
pub fn is_installed() -> bool {
    let version = Command::new("pahole").arg("--version").output();
    let found = version.map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned());
    match found.as_deref() {
        Ok("v1.24") => return true,
        Ok(other) => missing(&format!("pahole is {other}, not v1.24, which we follow")),
        Err(_) => missing("no pahole: apt-get install dwarves, or scripts/setup.sh --tests"),
    }
    false
}

/// Says loudly that a test is passed over; in CI that is a failure.
pub fn missing(what: &str) {
    let demanded = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!demanded, "{what}");
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    // Not eprintln, which the harness keeps back.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {what}");
}

/// The command with `ours` and pahole with `theirs` (words separated by spaces) must print the
/// same of `file`.
#[track_caller]
pub fn check(place: &Place, file: &Path, ours: &str, theirs: &str) {
    let expected = pahole(file, theirs);
    let found = show(place, file, ours);
    if let Some(report) = difference(&found, &expected) {
        panic!(
            "`relayout show {ours}` is not `pahole {theirs}` of {}:\n{report}",
            file.display()
        );
    }
}

/// What pahole prints; one thread, since with more its order changes from run to run.
#[track_caller]
pub fn pahole(file: &Path, words: &str) -> String {
    let mut command = Command::new("pahole");
    let done = command
        .arg("-j1")
        .args(words.split_whitespace())
        .arg(file)
        .output();
    let done = done.expect("pahole runs");
    assert!(
        done.status.success(),
        "pahole {words}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// What the command prints.
#[track_caller]
pub fn show(place: &Place, file: &Path, words: &str) -> String {
    let file = file.to_string_lossy();
    let arguments: Vec<&str> = std::iter::once("show")
        .chain(words.split_whitespace())
        .chain([&*file])
        .collect();
    let ended = place.run(&arguments);
    assert_eq!(
        (ended.code, &*ended.stderr),
        (Some(0), ""),
        "relayout show {words}"
    );
    ended.stdout
}

/// Counts the types that differ, and shows where the first does; `None` for equal texts.
fn difference(ours: &str, theirs: &str) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let (ours, theirs) = (blocks(ours), blocks(theirs));
    let only = |list: &[&str], other: &[&str]| {
        let other: HashSet<&str> = other.iter().copied().collect();
        list.iter().filter(|block| !other.contains(*block)).count()
    };
    let equal = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let mut report = format!(
        "{} types of ours, {} of pahole's; only ours {}, only pahole's {}; the first {equal} are equal\n",
        ours.len(),
        theirs.len(),
        only(&ours, &theirs),
        only(&theirs, &ours),
    );
    let at = |list: &[&'_ str]| {
        list.get(equal)
            .map_or(String::new(), |block| (*block).to_owned())
    };
    let (ours, theirs) = (at(&ours), at(&theirs));
    let line = ours
        .lines()
        .zip(theirs.lines())
        .take_while(|(a, b)| a == b)
        .count();
    for (whose, text) in [("ours", ours), ("pahole's", theirs)] {
        let head = text
            .lines()
            .find(|line| !line.is_empty())
            .unwrap_or("nothing");
        report += &format!(
            "--- {whose}: {head}, from line {}\n",
            line.saturating_sub(CONTEXT) + 1
        );
        for each in text
            .lines()
            .skip(line.saturating_sub(CONTEXT))
            .take(2 * CONTEXT)
        {
            report += &format!("{each}\n");
        }
    }
    Some(report)
}

/// Each type's text.
fn blocks(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(close) = rest.find("\n}") {
        let end = rest[close + 1..]
            .find('\n')
            .map_or(rest.len(), |line| close + line + 2);
        let (block, after) = rest.split_at(end);
        found.push(block);
        rest = after;
    }
    if !rest.is_empty() {
        found.push(rest);
    }
    found
}
