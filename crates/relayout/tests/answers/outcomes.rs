//! Required results of the command: the known cases on traces with the members of the mails,
//! reasons for no advice, and files of earlier versions.

mod cases;
mod nothing;

use crate::common::trace;
use crate::common::{KERNEL_FLAGS, Place, flowing, hot, json, programs, text};
use relayout_profile::AccessKind::Write;
use relayout_testprofile::{Step, Word};
use serde_json::Value;

/// A place with a program of `source`, whose `variable` was accessed so.
fn recorded(source: &str, variable: &str, steps: Vec<Step>) -> Place {
    let place = Place::new();
    place.compile("vmlinux", source, KERNEL_FLAGS);
    trace::write_steps(&place, "p", "vmlinux", variable, &[steps]);
    place
}

fn words(words: impl IntoIterator<Item = Word>) -> Vec<Step> {
    words.into_iter().map(Step::from).collect()
}

#[track_caller]
fn check_says(text: &str, parts: &[&str]) {
    let flowing = flowing(text);
    for part in parts {
        assert!(flowing.contains(part), "{part} is not in\n{text}");
    }
}

/// Case 2: the lock's words at 112 in `mm_struct`, as on 6.1.
const MM_STRUCT: &str = "\
struct mm_struct {
	char before[112];
	unsigned long count;
	unsigned long owner;
	char after[64];
};
struct mm_struct mm __attribute__((aligned(64)));
";

fn two_counters() -> Vec<Word> {
    hot::two_counters(400)
}

/// A machine file that an earlier version kept has no costs of accesses: said, and never a silent
/// null.
#[test]
fn a_kept_machine_file_that_lacks_costs() {
    let place = recorded(hot::SOURCE, "hot", words(two_counters()));
    place.write("layout", "first\nunused\nsecond\n");
    let mut machine: Value =
        serde_json::from_slice(&std::fs::read(programs::data("machine.json")).unwrap()).unwrap();
    // As the kept file of this machine, which is told by its CPU.
    let probed = relayout_probe::identify_machine();
    machine["machine"] = serde_json::to_value(probed).unwrap();
    let kept = |machine: &Value| {
        place.write("cache/machine.json", machine.to_string());
    };
    kept(&machine);
    let whole = json(&place, "what-if p hot --layout layout");
    assert!(whole["given"]["predicted_gain"].is_object(), "{whole:#}");
    assert_eq!(whole["notes"], Value::Array(Vec::new()));
    machine["accesses"].as_array_mut().unwrap().clear();
    kept(&machine);
    for words in [
        "what-if p hot --layout layout",
        "advise p hot --all --layouts",
    ] {
        let found = json(&place, words);
        let note = found["notes"][0].as_str().expect("a note");
        let parts = [
            "No throughput is predicted: ",
            "cache/machine.json: it does not have the costs of all accesses",
            "`relayout probe` measures again.",
        ];
        check_says(note, &parts);
        check_says(&text(&place, words), &parts);
    }
}

/// A command that would fail at its end fails at its start, with the remedy.
#[test]
fn wrong_input_says_what_to_do() {
    let steps = [(0, Write, 112), (1, Write, 120)].repeat(200);
    let place = recorded(MM_STRUCT, "mm", words(steps));
    let needed = "a struct as C or as pahole prints it, or one member per line, is needed";
    place.write("empty", "\n");
    place.write("binary", [0xff, 0xfe]);
    place.write("part", "count\nowner\n");
    place.write("typo", "before\nowenr\n");
    let advise = "advise p mm_struct";
    let what_if = "what-if p mm_struct --layout";
    for (words, expect) in [
        (
            "report p --type mm_strcut".to_owned(),
            "relayout: no type or variable of the profile is named `mm_strcut`; close: mm_struct (`relayout \
             report PROFILE --top 0` lists those that are contended)"
                .to_owned(),
        ),
        (
            "advise p mm_strcut".to_owned(),
            "relayout: no object of struct mm_strcut is in the profile; close: mm_struct (see `relayout report` \
             for those that are)"
                .to_owned(),
        ),
        (
            "what-if p mm_strcut --layout part".to_owned(),
            "relayout: no object of struct mm_strcut is in the profile; close: mm_struct (see `relayout report` \
             for those that are)"
                .to_owned(),
        ),
        (
            format!("{advise} --keep cuont"),
            "relayout: struct mm_struct has no member 'cuont'; close: count".to_owned(),
        ),
        (
            format!("{what_if} empty"),
            format!("relayout: empty: it is empty; {needed}"),
        ),
        (
            format!("{what_if} binary"),
            format!("relayout: binary: not text; {needed}"),
        ),
        (
            format!("{what_if} part"),
            "relayout: part: these members of struct mm_struct are not in the list: before, after"
                .to_owned(),
        ),
        (
            format!("{what_if} typo"),
            "relayout: typo: line 2: struct mm_struct has no member 'owenr'; close: owner".to_owned(),
        ),
        (
            format!("{what_if} none"),
            "relayout: cannot read none: No such file or directory (os error 2)".to_owned(),
        ),
        (
            format!("{advise} --source none"),
            "relayout: --source none: not a folder".to_owned(),
        ),
        (
            format!("{advise} --source . --patch none/x.patch"),
            "relayout: cannot write none/x.patch: its folder is not there, or it is one itself".to_owned(),
        ),
        (
            format!("{advise} --also empty"),
            "relayout: empty: not a relayout profile: it is not a folder; a folder that `relayout record` \
             wrote is needed"
                .to_owned(),
        ),
    ] {
        place.refuses(&words, 2, &expect);
    }
}
