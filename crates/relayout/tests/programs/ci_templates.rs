//! The templates in `ci/`: their steps, run by a shell as the services run them.

use std::fs;
use std::path::{Path, PathBuf};

use relayout_testkit::require_programs;

use crate::common::programs::{data, recording_place};
use crate::common::{Ended, Place};

/// Both counters on one line.
const ONE_LINE: &str = "\
struct queue {
	unsigned long produced;
	unsigned long consumed;
	unsigned int capacity;
};
";
const RULES: &str = "\
[[type]]
name = \"queue\"
reason = \"each thread writes its own\"
different_lines = [[\"produced\", \"consumed\"]]
";

fn template(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../ci")
        .join(name)
}

/// Returns the script behind the first line that ends with `|` after the line `start`.
#[track_caller]
fn script(file: &str, start: &str) -> String {
    let text = fs::read_to_string(template(file)).unwrap();
    let (_, behind) = text.split_once(start).expect(start);
    let mut lines = behind
        .lines()
        .skip_while(|line| !line.ends_with('|'))
        .skip(1);
    let first = lines.next().unwrap();
    let indent = first.len() - first.trim_start().len();
    let rest = lines.take_while(|line| line.is_empty() || line[..indent].trim().is_empty());
    let script = std::iter::once(first).chain(rest);
    script
        .map(|line| format!("{}\n", line.get(indent..).unwrap_or("")))
        .collect()
}

/// Runs a script as GitHub's runner does.
fn bash(place: &Place, script: &str, variables: &[(&str, &str)]) -> Ended {
    let mut command = place.command(Path::new("/bin/bash"), &["-eo", "pipefail", "-c", script]);
    place.with_system(&mut command);
    command.envs(variables.iter().copied());
    place.ended(&mut command)
}

/// Programs `one` and `two`, with the counters on one line and on two.
#[track_caller]
fn place_with_programs() -> Place {
    require_programs(&["gcc", "bash"]);
    let place = recording_place();
    place.write("queue.c", fs::read(data("queue.c")).unwrap());
    let headers = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../collectors/compiled/include"
    );
    let two_lines = ONE_LINE.replace("consumed;", "consumed __attribute__((aligned(64)));");
    for (name, header) in [("one", ONE_LINE), ("two", &two_lines)] {
        place.write("queue.h", header);
        let words = format!("cc -- gcc -O1 -g -I. -I{headers} queue.c -o {name} -pthread");
        let ended = place.said(&words);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    place.write("relayout.toml", RULES);
    place
}

#[track_caller]
fn check_layouts(script: &str, prefix: &str) {
    let place = place_with_programs();
    let name = |name: &str| format!("{prefix}{name}");
    let run = |files: &str| {
        let variables = [
            (name("FILES"), files),
            (name("CONFIG"), "relayout.toml"),
            (name("BASELINE"), ""),
            ("SARIF".to_owned(), "relayout.sarif"),
        ];
        let variables = variables
            .each_ref()
            .map(|(name, value)| (name.as_str(), *value));
        bash(&place, script, &variables)
    };
    let sarif = || {
        let text = fs::read(place.path("relayout.sarif")).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
        document["runs"][0]["results"].as_array().unwrap().len()
    };
    let good = run("two");
    assert_eq!((good.code, sarif()), (Some(0), 0), "{good:?}");
    let bad = run("two one");
    assert_eq!((bad.code, sarif()), (Some(1), 1), "{bad:?}");
    assert!(
        bad.stdout
            .contains("queue.consumed violates different_lines"),
        "{bad:?}"
    );
    let missing = run("nowhere");
    assert_eq!(missing.code, Some(2), "{missing:?}");
}

#[track_caller]
fn compare_recordings(script: &str, prefix: &str) {
    let place = place_with_programs();
    for program in ["one", "two"] {
        // One name, so that it is one benchmark.
        fs::copy(place.path(program), place.path("queue")).unwrap();
        let ended = place.said(&format!(
            "record run --repeat 6 -o {program}.relayout -- ./queue"
        ));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        fs::rename(place.path("queue"), place.path(program)).unwrap();
    }
    let name = |name: &str| format!("{prefix}{name}");
    let run = |old: &str, new: &str| {
        let variables = [
            (name("OLD"), old),
            (name("NEW"), new),
            ("GITHUB_STEP_SUMMARY".to_owned(), "summary.md"),
        ];
        let variables = variables
            .each_ref()
            .map(|(name, value)| (name.as_str(), *value));
        bash(&place, script, &variables)
    };
    let better = run("one.relayout", "two.relayout");
    assert_eq!(better.code, Some(0), "{better:?}");
    let worse = run("two.relayout", "one.relayout");
    assert_eq!(worse.code, Some(1), "{worse:?}");
    let kept = fs::read_to_string(place.path("relayout-compare.txt")).unwrap();
    assert!(worse.stdout.starts_with(kept.lines().next().unwrap()));
    assert!(kept.contains("queue"), "{kept}");
}

#[test]
fn github_checks_layouts() {
    check_layouts(&script("github/action.yml", "name: Check layouts"), "");
}

#[test]
fn github_compares_recordings() {
    compare_recordings(&script("github/action.yml", "name: Compare recordings"), "");
}

#[test]
fn gitlab_checks_layouts() {
    check_layouts(
        &script("gitlab/relayout.gitlab-ci.yml", ".relayout-check:"),
        "RELAYOUT_",
    );
}

#[test]
fn gitlab_compares_recordings() {
    compare_recordings(
        &script("gitlab/relayout.gitlab-ci.yml", ".relayout-compare:"),
        "RELAYOUT_",
    );
}

/// The hook lets a push go only if the layouts are as the rules say.
#[test]
fn the_hook_stops_a_push() {
    let place = place_with_programs();
    let git = |words: &str| place.other("/usr/bin/git", words);
    let author = "-c user.name=Tester -c user.email=tester@localhost";
    for words in [
        "init --quiet --initial-branch=main",
        "init --quiet --bare there",
        "add relayout.toml",
        &format!("{author} commit --quiet -m rules"),
        "config relayout.build ./build",
    ] {
        assert_eq!(git(words).code, Some(0), "{words}");
    }
    fs::copy(
        template("git-hooks/pre-push"),
        place.path(".git/hooks/pre-push"),
    )
    .unwrap();
    let unset = git("push there main:unset");
    assert!(unset.stderr.contains("nothing is checked"), "{unset:?}");
    git("config relayout.files queue");

    place.script("build", "cp one queue");
    let stopped = git("push there main");
    assert_eq!(stopped.code, Some(1), "{stopped:?}");
    assert!(
        stopped.stdout.contains("violates different_lines"),
        "{stopped:?}"
    );
    place.script("build", "cp two queue");
    assert_eq!(git("push there main").code, Some(0));
    place.script("build", "exit 9");
    assert_ne!(git("push there main:other").code, Some(0));
    // To delete a branch needs no build.
    assert_eq!(git("push there :unset").code, Some(0));
}
