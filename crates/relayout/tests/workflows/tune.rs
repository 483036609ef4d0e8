//! `relayout tune`: the whole loop on a small program whose benchmark tells its layout, so that a
//! measurement does not depend on the machine.

mod interrupted;
mod kept;
mod rejected;
mod unfit;

use std::fs;

use relayout_testkit::require_programs;
use serde_json::Value;

use crate::common::Place;
use crate::common::programs::{data, ends, recording_place};

/// Both counters on one line.
const HEADER: &str = "\
struct queue {
	unsigned long produced;
	unsigned long consumed;
	unsigned int capacity;
};
";

/// Options of a run that keeps the change.
const RUN: &str =
    "tune --source src --build ./build --bench ./queue -m cost,lower=regex:cost:.(.*) -n 6";

/// A place with the repository `src`.
#[track_caller]
fn place_with_source() -> Place {
    require_programs(&["gcc", "git"]);
    let place = recording_place();
    fs::create_dir(place.path("src")).unwrap();
    place.write("src/queue.h", HEADER);
    place.write("src/queue.c", fs::read(data("queue.c")).unwrap());
    let headers = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../collectors/compiled/include"
    );
    place.script(
        "src/build",
        &format!("${{CC:-gcc}} -O1 -g -I. -I{headers} queue.c -o queue -pthread"),
    );
    git(&place, "init --quiet --initial-branch=main");
    commit(&place, "first");
    place
}

/// Commits all files of the repository.
#[track_caller]
fn commit(place: &Place, message: &str) {
    git(place, "add .");
    let author = "-c user.name=Tester -c user.email=tester@localhost";
    git(place, &format!("{author} commit --quiet -m {message}"));
}

/// Returns what git prints in the repository.
#[track_caller]
fn git(place: &Place, words: &str) -> String {
    let ended = place.other("/usr/bin/git", &format!("-C src {words}"));
    assert_eq!(ended.code, Some(0), "git {words}: {ended:?}");
    ended.stdout
}

/// Runs to the end, and returns the document.
#[track_caller]
fn tuned(place: &Place, words: &str) -> Value {
    let ended = ends(place, &format!("{words} --json"), 0);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Fails the test unless the repository is as it was made.
#[track_caller]
fn require_untouched(place: &Place) {
    assert_eq!(git(place, "status --porcelain"), "");
    assert_eq!(git(place, "rev-parse --abbrev-ref HEAD"), "main\n");
    assert_eq!(git(place, "log --format=%s main"), "first\n");
    git(place, "fsck --strict --no-progress");
}

/// Fails the test unless all changes are rejected at this step. Returns the reason of the first.
#[track_caller]
fn rejection(document: &Value, stage: &str) -> String {
    let changes = document["changes"].as_array().unwrap();
    for change in changes {
        assert_eq!(change["rejected_at"], stage, "{document:#}");
    }
    assert_eq!(document["branch"], Value::Null, "{document:#}");
    changes[0]["reason"].as_str().unwrap().to_owned()
}
