//! Output for a first recorded program: no number without a count, and no measured result lost.

use std::path::Path;

use crate::common::programs::{data, recording_place};
use crate::common::{Place, flowing, json, text};
use relayout_testkit::require_programs;

/// `tests/data/turns.c`, recorded for so many turns.
fn recorded_turns(count: u32) -> Place {
    require_programs(&["gcc"]);
    let place = recording_place();
    std::fs::create_dir(place.path("tree")).expect("a folder");
    std::fs::copy(data("turns.c"), place.path("tree/turns.c")).expect("the source");
    text(&place, "cc -- gcc -O2 -g -pthread tree/turns.c -o turns");
    text(&place, &format!("record run -o out -- ./turns {count}"));
    place
}

#[test]
fn few_transfers_are_no_evidence() {
    let place = recorded_turns(14);
    let advice = json(&place, "advise out conn");
    let advised = &advice["types"][0];
    assert_eq!(advised["verdict"], "unclear", "{advised:#}");
    assert!(advised["candidates"][0]["transfers_change"].is_null());
    let said = text(&place, "advise out conn --source . --all --layouts");
    assert!(
        flowing(&said).contains("there are too few transfers to tell a change from chance"),
        "{said}"
    );
    assert!(said.contains("No patch: no layout is recommended."));
}

#[test]
fn members_that_move_together_have_one_comment() {
    let place = recorded_turns(400);
    // The machine may be busy with other tests, which is a doubt.
    let said = text(
        &place,
        "advise out conn --source . --patch conn.patch --all --layouts --force",
    );
    assert!(said.contains("It is in conn.patch."), "{said}");
    let patch = std::fs::read_to_string(place.path("conn.patch")).expect("the patch");
    let comments = patch.lines().filter(|line| line.contains("Kept off the"));
    assert_eq!(comments.count(), 1, "{patch}");
    assert!(patch.contains("+\tint state;"), "{patch}");
}

/// Rust wraps what is shared: `Stats` is the `data` of an `ArcInner`, and is what has an order.
#[test]
fn a_rust_struct_is_found_inside_and_patched() {
    let place = recording_place();
    std::fs::create_dir(place.path("tree")).expect("a folder");
    std::fs::copy(data("turns.rs"), place.path("tree/turns.rs")).expect("the source");
    let flags = text(&place, "cc --relayout-rustflags");
    let words = "-O -Cdebuginfo=2 --edition 2021 tree/turns.rs -o turns";
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let words: Vec<&str> = { flags.split_whitespace() }
        .chain(words.split(' '))
        .collect();
    let mut rustc = place.command(&rustc, &words);
    place.with_system(&mut rustc);
    // What nightly permits without asking.
    let built = place.ended(rustc.env("RUSTC_BOOTSTRAP", "1"));
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    text(&place, "record run -o out -- ./turns");
    let outer = text(&place, "advise out --all --layouts").replace('\n', " ");
    assert!(outer.contains(" struct turns::Stats: 1 object"), "{outer}");
    let skipped = "Skipped: ArcInner<Barrier>";
    assert!(outer.contains(skipped), "{outer}");
    let inner = text(
        &place,
        "advise out Stats --source . --all --layouts --force",
    );
    assert!(inner.contains("--- a/tree/turns.rs"), "{inner}");
    // Either may move: both are at the beginning of today's line.
    let is_moved = |member: &str| inner.contains(&format!("+    {member}: AtomicU64,"));
    assert!(is_moved("limit") || is_moved("hits"), "{inner}");
}

#[test]
fn given_layouts_were_not_chosen() {
    let place = recorded_turns(400);
    place.write("order", "hits\nbytes\nname\nerrors\nlimit\nstate\nconfig\n");
    let said = text(&place, "what-if out conn --layout order");
    assert!(
        said.contains("resampling stretches of this recording.\n"),
        "{said}"
    );
    assert!(!said.contains("chosen"), "{said}");
}

#[test]
fn what_was_not_counted_is_not_called_none() {
    let place = recorded_turns(4);
    let report = json(&place, "report out --all --type conn");
    let member = &report["findings"][0]["members"][0];
    assert_eq!(member["counted"], false, "{member:#}");
    let said = text(&place, "report out --all --type conn");
    let hits = said.lines().find(|line| line.contains(" hits "));
    let words: Vec<&str> = hits.unwrap_or_default().split_whitespace().collect();
    assert_eq!(words.get(3..6), Some(&["?", "?", "?"][..]), "{said}");
}

#[test]
fn what_is_passed_over_is_in_both_forms() {
    let place = recorded_turns(4);
    let advice = json(&place, "advise out");
    let skipped = advice["skipped"].as_array().expect("a list");
    let said = text(&place, "advise out --all --layouts");
    for skipped_type in skipped {
        let name = skipped_type["name"].as_str().expect("a name");
        assert!(said.contains(&format!("Skipped: {name} (")), "{said}");
    }
    assert_eq!(said.matches("Skipped: ").count(), skipped.len(), "{said}");
}

#[test]
fn another_program_is_not_taken_for_the_production_build() {
    let place = recorded_turns(400);
    let ended = place.said("report out --production /bin/true");
    // Either it has other variables, or, stripped, none at all.
    let doubted = ended
        .stderr
        .contains("is it a build of the recorded program?");
    let refused = ended.code == Some(2) && ended.stderr.contains("has no symbols");
    assert!(doubted || refused, "{}", ended.stderr);
    place.compile(
        "other",
        "int unrelated = 1; int main(void) { return 0; }",
        &[],
    );
    let ended = place.said("report out --production other");
    assert_eq!(
        ended.stderr,
        "relayout: warning: other has none of the variables that were recorded: is it a build of the recorded program?\n"
    );
}

#[test]
fn a_result_that_cannot_be_saved_is_shown() {
    let place = Place::new();
    let words = "verify --before /bin/true --after /bin/true --runs 2 --save /dev/null/result";
    let ended = place.said(words);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stdout.contains("95% interval"), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("cannot create /dev/null"),
        "{}",
        ended.stderr
    );
}

#[test]
fn help_fits_the_terminal() {
    let place = Place::new();
    for command in [
        "--help",
        "report --help",
        "view --help",
        "advise --help",
        "what-if --help",
        "record run --help",
        "record kernel --help",
        "verify --help",
        "verify kernel --help",
        "probe --help",
        "diff --help",
        "check --help",
        "help cc",
    ] {
        let mut tool = place.tool(command);
        let ended = place.ended(tool.env("COLUMNS", "80"));
        assert_eq!(ended.code, Some(0), "{command}");
        let long = ended.stdout.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{command}");
        // Where the next word would have fit, a line was broken by hand, for another width.
        let lines: Vec<&str> = ended.stdout.lines().collect();
        let early = lines.windows(2).find(|pair| {
            let word = pair[1].split(' ').next().unwrap_or_default();
            let prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            prose(pair[0]) && prose(pair[1]) && pair[0].len() + 1 + word.len() <= 80
        });
        assert_eq!(early, None, "{command}");
    }
    // What `cc` needs to be told is its own help's.
    assert!(!text(&place, "--help").contains("RUSTFLAGS"));
    assert!(text(&place, "help cc").contains("RUSTFLAGS"));
}
