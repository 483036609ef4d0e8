//! `git bisect run relayout check`: finds the commit that moved a member.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Place, start};

/// Declaration of a member in each commit; `None` does not compile.
const HISTORY: [(&str, Option<&str>); 7] = [
    ("begin", Some("int users; char tag;")),
    ("a comment", Some("int users; /* who */ char tag;")),
    ("fills a hole", Some("int users; char tag; short more;")),
    ("broken", None),
    ("mended", Some("int users; char tag; short more;")),
    ("grows", Some("long users; char tag; short more;")),
    ("end", Some("long users; char tag; short more; /* end */")),
];

const RULES: &str = "[[type]]\nname = 'mm'\nat = { flags = 8 }\n";

/// A program of this machine, with its own environment but for where git looks for settings.
fn run(place: &Place, program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(place.path("repo"));
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Test");
        command.env(format!("GIT_{who}_EMAIL"), "test@example.org");
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_SYSTEM", "/dev/null");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = start(&mut command).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let also = String::from_utf8_lossy(&output.stderr);
    (output.status.code(), format!("{said}{also}"))
}

#[track_caller]
fn git(place: &Place, words: &[&str]) -> String {
    let (code, said) = run(place, "git", words);
    assert_eq!(code, Some(0), "git {words:?}: {said}");
    said
}

fn repository(place: &Place) {
    std::fs::create_dir(place.path("repo")).unwrap();
    place.write("rules.toml", RULES);
    git(place, &["init", "-q", "-b", "main"]);
    for (subject, body) in HISTORY {
        let body = body.unwrap_or("int users");
        let source = format!("struct mm {{ {body} long flags; }} mm;\n");
        place.write("repo/mm.c", source);
        git(place, &["add", "mm.c"]);
        git(place, &["commit", "-q", "-m", subject]);
    }
    git(place, &["bisect", "start", "HEAD", "HEAD~6"]);
}

/// Bisects with a command that compiles and then checks; gives what git said.
fn bisect(place: &Place, compile: &str) -> (Option<i32>, String) {
    let relayout = Path::new(env!("CARGO_BIN_EXE_relayout")).display();
    let script =
        format!("rm -f mm.o; {compile}; '{relayout}' check --bisect --config ../rules.toml mm.o");
    run(place, "git", &["bisect", "run", "sh", "-c", &script])
}

#[test]
fn finds_the_commit_that_moved_a_member() {
    let place = Place::new();
    repository(&place);
    let (code, said) = bisect(&place, "${CC:-cc} -g -c mm.c 2>/dev/null");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("is the first bad commit"), "{said}");
    // On the way it met the commit that cannot be told.
    assert!(said.contains("cannot read the types of mm.o"), "{said}");
    let subject = git(&place, &["show", "-s", "--format=%s", "refs/bisect/bad"]);
    assert_eq!(subject.trim(), "grows", "{said}");
}

#[test]
fn what_cannot_be_told_is_passed_over() {
    let place = Place::new();
    repository(&place);
    // No commit is ever built.
    let (code, said) = bisect(&place, "true");
    assert_ne!(code, Some(0));
    assert!(said.contains("only 'skip'ped commits left"), "{said}");
    place.write("rules.toml", "[[type]]\nname = 1");
    let path = place.path("repo/mm.c");
    let words = ["check", "--config", "rules.toml", path.to_str().unwrap()];
    assert_eq!(place.run(&words).code, Some(2));
    let words = [&words[..], &["--bisect"]].concat();
    assert_eq!(place.run(&words).code, Some(125));
}
