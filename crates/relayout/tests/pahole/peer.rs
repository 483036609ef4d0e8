//! Runs pahole and the command on one file, and compares their output byte for byte.

use std::path::Path;
use std::process::Command;

use crate::common::Place;

/// Lines of each text that are shown on either side of the first difference.
const CONTEXT: usize = 6;

/// Fails the test unless the version of pahole whose output `show` follows is installed.
#[track_caller]
pub fn require_pahole() {
    relayout_testkit::require_version("pahole", "v1.24");
}

/// The command with `ours` and pahole with `theirs` (words separated by spaces) must print the
/// same of `file`, but for the types in `allowed`, which must differ.
#[track_caller]
pub fn check(place: &Place, file: &Path, ours: &str, theirs: &str, allowed: &[&str]) {
    let expected = pahole(file, theirs);
    let found = show(place, file, ours);
    if let Some(report) = difference(&found, &expected, allowed) {
        panic!(
            "`relayout show {ours}` is not `pahole {theirs}` of {}:\n{report}",
            file.display()
        );
    }
}

/// Output of pahole with one thread: with more, its order changes from run to run.
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

/// Adds BTF, made by pahole from its DWARF, to an object file.
#[track_caller]
pub fn encode_btf(file: &Path) {
    let done = Command::new("pahole").arg("-J").arg(file).status();
    assert!(done.expect("pahole runs").success(), "{}", file.display());
}

/// Output of the command.
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

/// Report of the types that differ, with the first different line, and of allowed types that do
/// not.
fn difference<'t>(ours: &'t str, theirs: &'t str, allowed: &[&str]) -> Option<String> {
    let (ours, theirs) = (blocks(ours), blocks(theirs));
    let mut wrong = Vec::new();
    let mut met = Vec::new();
    for index in 0..ours.len().max(theirs.len()) {
        let at = |list: &[&'t str]| list.get(index).copied().unwrap_or_default();
        let (ours, theirs) = (at(&ours), at(&theirs));
        if ours == theirs {
            continue;
        }
        let is_allowed = allowed.contains(&head(theirs)) && head(ours) == head(theirs);
        match is_allowed {
            true => met.push(head(theirs)),
            false => wrong.push((ours, theirs)),
        }
    }
    let mut report = String::new();
    for head in allowed.iter().filter(|head| !met.contains(head)) {
        report += &format!("{head} is listed as different, and is not\n");
    }
    if let Some((ours, theirs)) = wrong.first() {
        report += &format!("{} types differ; the first:\n", wrong.len());
        let pairs = ours.lines().zip(theirs.lines());
        let from = pairs
            .take_while(|(a, b)| a == b)
            .count()
            .saturating_sub(CONTEXT);
        for (whose, text) in [("ours", ours), ("pahole's", theirs)] {
            report += &format!("--- {whose}: {}, from line {}\n", head(text), from + 1);
            for line in text.lines().skip(from).take(2 * CONTEXT) {
                report += &format!("{line}\n");
            }
        }
    }
    (!report.is_empty()).then_some(report)
}

/// `struct page`
fn head(block: &str) -> &str {
    let line = block.lines().next().unwrap_or("nothing");
    line.strip_suffix(" {").unwrap_or(line)
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
