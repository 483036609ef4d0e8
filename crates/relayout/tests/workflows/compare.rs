//! `relayout compare`: two builds of a program that are recorded, and what is said of them.

use std::os::unix::fs::symlink;

use crate::common::programs::{data, ends, recording_place};
use crate::common::{Ended, Place, flowing, json, profile};
use relayout_testkit::require_programs;
use serde_json::Value;

/// Members of the queue in lines of their own.
const APART: &str = "char name[56]; unsigned long produced; unsigned long consumed;";
/// A member more, which pushes both onto one line.
const PUSHED: &str =
    "unsigned long flags; char name[56]; unsigned long produced; unsigned long consumed;";

/// Builds `tests/data/queue.c` with these members, and records it.
#[track_caller]
fn record_queue(place: &Place, name: &str, members: &str, options: &str) {
    place.write("queue.h", format!("struct queue {{ {members} }};\n"));
    std::fs::create_dir_all(place.path(name)).unwrap();
    done(place, &build_words(&format!("{name}/queue")));
    let words = format!("record run {options} -o {name}.rec -- {name}/queue");
    done(place, &words);
}

fn build_words(program: &str) -> String {
    let headers = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../collectors/compiled/include"
    );
    let source = data("queue.c");
    format!(
        "cc -- gcc -O1 -g -I. -I{headers} {} -o {program}",
        source.display()
    )
}

#[track_caller]
fn done(place: &Place, words: &str) -> Ended {
    let ended = place.said(words);
    assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
    ended
}

/// Both builds, with recordings of four seeds.
fn both_builds() -> Place {
    require_programs(&["gcc"]);
    let place = recording_place();
    record_queue(&place, "old", APART, "--repeat 4");
    record_queue(&place, "new", PUSHED, "--repeat 4");
    place
}

/// Fails the test unless the command rejects its input and says so.
#[track_caller]
fn rejects(place: &Place, words: &str, message: &str) {
    let ended = ends(place, words, 2);
    assert!(ended.stderr.contains(message), "{words}: {ended:?}");
}

const PUSHED_WORDS: &str =
    "flags pushed produced from 56 to 64: produced and consumed now share line 1";

#[test]
fn a_pushed_member_is_the_cause() {
    let place = both_builds();
    let text = flowing(&done(&place, "compare old.rec new.rec queue").stdout);
    assert!(text.starts_with("worse: queue "), "{text}");
    assert!(text.contains(PUSHED_WORDS), "{text}");
    assert!(
        text.contains("counted by the compiled-in runtime"),
        "{text}"
    );

    let mail = done(&place, "compare old.rec new.rec queue --mail").stdout;
    let first = mail.lines().next().unwrap();
    assert_eq!(
        first,
        "Counted by the compiled-in runtime; not measured on hardware."
    );
    assert!(mail.lines().all(|line| line.len() <= 78), "{mail}");
    assert!(flowing(&mail).contains(PUSHED_WORDS), "{mail}");

    let back = flowing(&done(&place, "compare new.rec old.rec queue").stdout);
    assert!(back.starts_with("better: queue "), "{back}");
    assert!(
        back.contains("without flags, produced moved from 64 to 56"),
        "{back}"
    );

    let document = json(&place, "compare old.rec new.rec queue");
    assert_eq!(document["schema"], "relayout/compare/1");
    assert_eq!(document["worse"], true);
    let queue = &document["workloads"][0]["subjects"][0];
    assert_eq!(queue["cause"]["kind"], "layout", "{queue}");
    let pair = &queue["cause"]["pairs"][0];
    assert_eq!(pair["together"], true);
    let mut offsets: Vec<u64> = { pair["new_offsets"].as_array().unwrap().iter() }
        .filter_map(Value::as_u64)
        .collect();
    offsets.sort_unstable();
    assert_eq!(offsets, [64, 72], "{pair}");
    assert_eq!(queue["rate"]["old"].as_array().unwrap().len(), 4);

    ends(&place, "compare old.rec new.rec queue --fail-on-worse", 1);
    ends(&place, "compare new.rec old.rec queue --fail-on-worse", 0);
    ends(&place, "compare old.rec new.rec queue --bisect", 1);
    ends(&place, "compare new.rec old.rec queue --bisect", 0);

    done(
        &place,
        "compare old.rec new.rec queue --html page.html --csv tables",
    );
    assert!(place.path("page.html").is_file() && place.path("tables").is_dir());
}

/// One recording a side tells no change, whatever its rates. Only what is judged to be there now is
/// new.
#[test]
fn single_recordings_say_why_they_tell_nothing() {
    require_programs(&["gcc"]);
    let place = recording_place();
    record_queue(&place, "old", PUSHED, "");
    done(&place, "record run -o new.rec -- old/queue");
    let text = done(&place, "compare old.rec new.rec").stdout;
    let rows: Vec<&str> = { text.lines() }
        .filter(|line| line.starts_with("  unclear"))
        .collect();
    assert!(rows.len() >= 2, "{text}");
    for row in rows {
        assert!(row.contains("  one recording cannot tell  "), "{text}");
    }
    let document = json(&place, "compare old.rec new.rec");
    let rate = &document["workloads"][0]["total"];
    assert_eq!(rate["change_percent"], Value::Null, "{document}");
}

#[test]
fn folders_of_profiles() {
    let place = both_builds();
    for side in ["old", "new"] {
        std::fs::create_dir(place.path(&format!("{side}.all"))).unwrap();
        let inside = place.path(&format!("{side}.all/queue"));
        std::fs::rename(place.path(&format!("{side}.rec")), inside).unwrap();
    }
    // A link could lead out of the folder, or in a circle.
    symlink(place.path("old.all"), place.path("new.all/link")).unwrap();
    let text = flowing(&done(&place, "compare old.all new.all queue").stdout);
    assert!(text.contains(PUSHED_WORDS), "{text}");

    // Another workload on one side is named; a copy of a recording counts once.
    done(
        &place,
        "record run --repeat 3 -o new.all/other -- new/queue other",
    );
    let copied = place.other("cp", "-r new.all/queue new.all/copy");
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let text = flowing(&done(&place, "compare old.all new.all queue").stdout);
    assert!(
        text.contains("queue other is not compared: old.all has no recording of it"),
        "{text}"
    );
    assert!(text.contains("it counts once"), "{text}");
    assert!(text.contains("new/queue: 4 recordings"), "{text}");

    // Two builds of one workload on one side cannot be told apart.
    let copied = place.other("cp", "-r old.all/queue new.all/old");
    assert_eq!(copied.code, Some(0), "{copied:?}");
    rejects(&place, "compare old.all new.all", "on several builds");
}

#[test]
fn one_build_and_few_recordings() {
    require_programs(&["gcc"]);
    let place = recording_place();
    record_queue(&place, "old", PUSHED, "--repeat 2");
    record_queue(&place, "new", PUSHED, "--repeat 2 --seed 9");
    let text = flowing(&done(&place, "compare old.rec new.rec").stdout);
    assert!(
        text.contains("both sides are recordings of one build"),
        "{text}"
    );
    assert!(text.contains("no change can be told"), "{text}");
    ends(&place, "compare old.rec new.rec --bisect", 125);
    record_queue(&place, "mixed", PUSHED, "--repeat 2 --seed 20 --bursts 64");
    let text = flowing(&done(&place, "compare old.rec mixed.rec").stdout);
    assert!(
        text.contains("the recordings differ in more than the build"),
        "{text}"
    );
}

/// Both builds, and profiles that cannot be compared with them.
fn with_misfits() -> Place {
    let place = both_builds();
    done(
        &place,
        "record run --repeat 3 -o other.rec -- new/queue other",
    );
    place.shared("-O1");
    done(&place, "record run -o unmarked.rec -- ./shared 4 100");
    std::fs::create_dir(place.path("empty")).unwrap();
    let copied = place.other("cp", "-r old.rec copy.rec");
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let copied = place.other("cp", "-r new.rec later.rec");
    assert_eq!(copied.code, Some(0), "{copied:?}");
    profile::edit_meta(
        &place.path("later.rec"),
        "relayout/profile/2",
        "relayout/profile/9",
    );
    place
}

#[test]
fn what_cannot_be_compared() {
    let place = with_misfits();
    rejects(
        &place,
        "compare old.rec other.rec",
        "old.rec holds queue, other.rec holds queue other: no workload is on both sides",
    );
    rejects(
        &place,
        "compare old.rec copy.rec",
        "hold the same recording (seed 1)",
    );
    rejects(
        &place,
        "compare old.rec unmarked.rec",
        "unmarked.rec marks no operations",
    );
    rejects(
        &place,
        "compare old.rec later.rec",
        "written by a newer relayout (format 9",
    );
    rejects(
        &place,
        "compare old.rec empty",
        "empty is no profile and holds none",
    );
    rejects(
        &place,
        "compare old.rec missing",
        "missing is not there: `relayout record` writes profiles, and there are: copy.rec, later.rec",
    );
    rejects(
        &place,
        "compare old.rec new/queue",
        "an ELF file and no profile",
    );
    rejects(
        &place,
        "compare old.rec new.rec quue",
        "called quue; close: queue",
    );
    rejects(&place, "compare old.rec new.rec --margin 0", "not above 0");
    rejects(
        &place,
        "compare old.rec new.rec --mail --json",
        "cannot be used with",
    );
}

#[test]
fn bisections_of_misfits() {
    let place = with_misfits();
    // A commit that cannot be tested is passed over; a broken setup ends the bisection.
    for new in ["later.rec", "missing", "empty", "unmarked.rec"] {
        ends(&place, &format!("compare old.rec {new} --bisect"), 125);
    }
    for words in [
        "missing new.rec",
        "unmarked.rec new.rec",
        "old.rec other.rec",
        "old.rec copy.rec",
    ] {
        ends(&place, &format!("compare {words} --bisect"), 128);
    }
    ends(&place, "compare old.rec new.rec quue --bisect", 128);
}

/// Sixteen commits of which the eleventh pushes a hot member, found by `git bisect run`.
#[test]
fn git_bisect_finds_the_push() {
    require_programs(&["gcc", "git"]);
    let place = recording_place();
    let git = |words: &str| {
        let identity = "-c user.name=A -c user.email=a@b -c commit.gpgsign=false -C tree";
        let ended = place.other("git", &format!("{identity} {words}"));
        assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
        ended.stdout
    };
    std::fs::create_dir(place.path("tree")).unwrap();
    git("init -q");
    for commit in 1..=16 {
        let members = if commit < 11 { APART } else { PUSHED };
        // Each commit appends a member, which moves nothing.
        let more: String = (1..=commit)
            .map(|number| format!(" char more{number};"))
            .collect();
        place.write(
            "tree/queue.h",
            format!("struct queue {{ {members}{more} }};\n"),
        );
        git("add queue.h");
        git(&format!("commit -q -m commit-{commit}"));
    }
    let build = build_words("queue").replace("-I.", "-Itree");
    let record = "relayout record run --repeat 4 -o";
    place.script(
        "test-commit",
        &format!(
            "cd \"$(dirname \"$0\")\"\nrm -rf new.rec\nrelayout {build} || exit 125\n\
             {record} new.rec ./queue 2>/dev/null || exit 125\n\
             relayout compare --bisect good.rec new.rec queue"
        ),
    );
    git("checkout -q HEAD~15");
    done(&place, &build);
    done(&place, "record run --repeat 4 -o good.rec ./queue");
    git("checkout -q -");
    git("bisect start HEAD HEAD~15");
    let found = git(&format!(
        "bisect run {}",
        place.path("test-commit").display()
    ));
    let named = found.contains("is the first bad commit") && found.contains("commit-11");
    assert!(named, "{found}");
}
