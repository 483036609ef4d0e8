//! What a first-time user does wrong, and what the command answers: the message, the hint and the exit code.

use std::fmt::Write as _;

use relayout_profile::AccessKind::{Read, Write};
use relayout_testprofile::Word;

use crate::common::hot::SOURCE;
use crate::common::trace;
use crate::common::{KERNEL_FLAGS, Place};

/// Commands as they are typed. Each is wrong.
const MISTAKES: [&str; 52] = [
    "rport p",
    "--verison",
    "report",
    "report vmlinux",
    "report notes.txt",
    "report missing.relayout",
    "report p --tpo 3",
    "report p --top many",
    "report p --type hott",
    "report p --type hott --json",
    "report p --explain 99",
    "report p --format html",
    "report p --json --format mail",
    "report p --html .",
    "report p --color sometimes",
    "view missing.relayout",
    "advise p hott",
    "advise hot p",
    "advise p hot --patch out.patch",
    "advise p hot --source missing",
    "advise p hot --machine epyc",
    "what-if p hot",
    "what-if p hot --layout missing",
    "what-if p hot --move hott:after:second",
    "show missing.o",
    "show vmlinux hott",
    "show p",
    "show vmlinux --size-min 4Q",
    "show vmlinux --cacheline-size 0",
    "show vmlinux -S",
    "show vmlinux -F ctf",
    "diff vmlinux",
    "diff vmlinux p",
    "check vmlinux",
    "check --config missing.toml vmlinux",
    "compare p",
    "compare p missing",
    "record",
    "record kernel",
    "record kernel --workload mntn",
    "record kernel --workload mntns --memory 1T",
    "record kernel --workload mntns --time-limit soon",
    "record kernel --workload mntns --kernel 9.9",
    "record run",
    "record run ./missing",
    "record run -o p ./missing",
    "verify --before ./a",
    "verify --before ./a --after ./b --budget yesterday",
    "tune --build make",
    "suite",
    "completions tcsh",
    "man",
];

#[test]
fn mistakes_are_answered() {
    let place = Place::new();
    place.compile("vmlinux", SOURCE, KERNEL_FLAGS);
    let words: Vec<Word> = [(0, Write, 0), (1, Read, 8)].repeat(400);
    trace::write(&place, "p", "vmlinux", "hot", &[words]);
    place.write("notes.txt", "my notes");
    let mut text = String::new();
    for words in MISTAKES {
        let ended = place.run_words(words);
        assert_ne!(ended.code, Some(0), "{words} is no mistake: {ended:?}");
        assert_eq!(ended.stdout, "", "{words} prints a result");
        let _ = write!(
            text,
            "$ relayout {words}\n{}[exit {}]\n\n",
            ended.stderr,
            ended.code.unwrap_or(-1)
        );
    }
    insta::assert_snapshot!("mistakes", text);
}
