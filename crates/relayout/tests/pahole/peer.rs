//! Runs pahole and the command on one file, and compares their output byte for byte.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Place;

/// Lines of each text that are shown on either side of the first difference.
const CONTEXT: usize = 6;

/// A release of pahole whose output `show` follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaholeProgram {
    /// 1.24, the machine's own.
    Older,
    /// 1.30, in the cache.
    Newer,
}

impl PaholeProgram {
    /// Both releases.
    pub const ALL: [Self; 2] = [Self::Older, Self::Newer];

    /// Value of `--pahole-version`.
    pub fn release(self) -> &'static str {
        match self {
            Self::Older => "1.24",
            Self::Newer => "1.30",
        }
    }

    /// Path of the program. Fails the test unless it is there in this release.
    #[track_caller]
    fn path(self) -> PathBuf {
        match self {
            Self::Older => {
                require_pahole();
                PathBuf::from("pahole")
            }
            Self::Newer => relayout_testkit::require_file(
                "pahole 1.30",
                &relayout_testkit::cache_folder().join("pahole/newer/pahole"),
            ),
        }
    }
}

/// Fails the test unless pahole 1.24 is installed.
#[track_caller]
pub fn require_pahole() {
    relayout_testkit::require_version("pahole", "v1.24");
}

/// The command with `ours` and both releases of pahole with `theirs` (words separated by spaces)
/// must print the same of `file`, but for the types in `allowed`, which must differ.
#[track_caller]
pub fn check(place: &Place, file: &Path, ours: &str, theirs: &str, allowed: &[&str]) {
    for program in PaholeProgram::ALL {
        check_with(place, file, program, ours, theirs, allowed);
    }
}

/// Same as [`check`], with one release.
#[track_caller]
pub fn check_with(
    place: &Place,
    file: &Path,
    program: PaholeProgram,
    ours: &str,
    theirs: &str,
    allowed: &[&str],
) {
    let expected = pahole(program, file, theirs);
    let found = show(place, program, file, ours);
    if let Some(report) = difference(&found, &expected, allowed) {
        panic!(
            "`relayout show {ours}` is not `pahole {theirs}` {} of {}:\n{report}",
            program.release(),
            file.display()
        );
    }
}

/// All types that pahole prints must be among those of the command, in any order, but for the types
/// in `allowed`, which must not. Returns the number of types that pahole prints.
#[track_caller]
pub fn check_contained(
    place: &Place,
    file: &Path,
    program: PaholeProgram,
    ours: &str,
    theirs: &str,
    allowed: &[&str],
) -> usize {
    let expected = pahole(program, file, theirs);
    let found = show(place, program, file, ours);
    let known: HashSet<&str> = blocks(&found).into_iter().collect();
    let expected = blocks(&expected);
    let unknown = expected.iter().filter(|block| !known.contains(*block));
    let mut unknown: Vec<&str> = unknown.map(|block| head(block)).collect();
    let mut allowed = allowed.to_vec();
    unknown.sort_unstable();
    allowed.sort_unstable();
    assert_eq!(
        unknown,
        allowed,
        "types of `pahole {theirs}` {} of {} that `relayout show {ours}` has not",
        program.release(),
        file.display()
    );
    expected.len()
}

/// Output of pahole with one thread: with more, its order changes from run to run.
#[track_caller]
pub fn pahole(program: PaholeProgram, file: &Path, words: &str) -> String {
    let mut command = Command::new(program.path());
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
fn show(place: &Place, program: PaholeProgram, file: &Path, words: &str) -> String {
    let file = file.to_string_lossy();
    let arguments: Vec<&str> = ["show", "--pahole-version", program.release()]
        .into_iter()
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
/// not, but for those behind a question mark.
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
        let may_differ = |allowed: &&str| allowed.trim_start_matches("? ") == head(theirs);
        let is_allowed = allowed.iter().any(may_differ) && head(ours) == head(theirs);
        match is_allowed {
            true => met.push(head(theirs)),
            false => wrong.push((ours, theirs)),
        }
    }
    let mut report = String::new();
    let must_differ = allowed.iter().filter(|head| !head.starts_with('?'));
    for head in must_differ.filter(|head| !met.contains(head)) {
        report += &format!("{head} is listed as different, and is not\n");
    }
    if let Some((ours, theirs)) = wrong.first() {
        let heads: Vec<&str> = wrong.iter().map(|(_, theirs)| head(theirs)).collect();
        report += &format!(
            "{} types differ: {}; the first:\n",
            wrong.len(),
            heads.join(", ")
        );
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
