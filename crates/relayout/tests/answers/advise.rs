//! `advise` and `what-if` on recorded programs: other workloads, other builds, recordings that
//! disagree, layouts that are given as C.

use crate::common::programs::{data, recording_place};
use crate::common::{Ended, KERNEL_FLAGS, Place, flowing, trace};
use relayout_profile::AccessKind;
use relayout_testkit::require_programs;
use serde_json::Value;

/// A place with `tests/data/pair.c` as `wide`, which has a debugging member, and `narrow`, which
/// has not.
fn compiled_pair() -> Place {
    require_programs(&["gcc"]);
    let place = recording_place();
    let source = data("pair.c");
    for (name, flag) in [("wide", "-DDEBUG"), ("narrow", "-UDEBUG")] {
        let source = source.display();
        run_successfully(
            &place,
            &format!("cc -- gcc -O2 -g -pthread {flag} {source} -o {name}"),
        );
    }
    run_successfully(&place, "record run -o apart.relayout -- ./wide apart");
    place
}

fn run_successfully(place: &Place, words: &str) -> Ended {
    let ended = place.said(words);
    assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
    ended
}

fn json(place: &Place, words: &str) -> Value {
    let ended = run_successfully(place, words);
    serde_json::from_str(&ended.stdout).expect("JSON")
}

#[test]
fn layouts_that_hurt_another_workload_are_not_advised() {
    let place = compiled_pair();
    run_successfully(&place, "record run -o together.relayout -- ./wide together");
    let words = "advise apart.relayout pair --also together.relayout";
    let advice = json(&place, &format!("{words} --json"));
    let advised = &advice["types"][0];
    assert_eq!(advised["verdict"], "better");
    let there = &advised["candidates"][0]["elsewhere"][0];
    assert_eq!(there["hurts"], true, "{there:#}");
    assert!(there["transfers"].as_u64() > there["current_transfers"].as_u64());
    let text = run_successfully(&place, &format!("{words} --all")).stdout;
    assert!(
        text.contains("found 1 hurts together.relayout: not advised."),
        "{text}"
    );
    // Each by itself, it is advised; and no patch is written of what hurts.
    let source = data("pair.c");
    let dir = source.parent().expect("a folder").display().to_string();
    let alone = run_successfully(
        &place,
        &format!("advise apart.relayout pair --source {dir} --force"),
    );
    assert!(alone.stdout.contains("+++ b/pair.c"), "{}", alone.stdout);
    let both = run_successfully(&place, &format!("{words} --source {dir}"));
    assert!(!both.stdout.contains("+++ b/"), "{}", both.stdout);
    assert!(both.stdout.contains("No patch: "), "{}", both.stdout);
}

#[test]
fn ranked_by_the_build_where_each_does_worst() {
    let place = compiled_pair();
    let first = |words: &str| {
        let advice = json(
            &place,
            &format!("advise apart.relayout pair --json {words}"),
        );
        advice["types"][0]["candidates"][0].clone()
    };
    // Nothing but the debugging member would come in between.
    let alone = first("");
    let changes = alone["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 1);
    let both = first("--other-build narrow=narrow");
    let there = &both["elsewhere"][0];
    assert_eq!(
        (&there["name"], &there["hurts"]),
        (&"narrow".into(), &false.into())
    );
    let (today, then) = (&there["current_transfers"], &there["transfers"]);
    assert!(then.as_u64() < today.as_u64(), "{there:#}");
    let words = "advise apart.relayout pair --other-build narrow=narrow --all";
    let text = run_successfully(&place, words).stdout;
    let said = "Ranked by what each costs where it does worst: as recorded, or in the other configuration.";
    assert!(flowing(&text).contains(said), "{text}");
}

#[test]
fn what_if_of_a_layout_in_c() {
    let place = compiled_pair();
    place.write(
        "given.h",
        "/* head by itself */\nstruct pair {\n\tunsigned long head;\n\tchar reserved[56]; // nothing\n\
         \tunsigned long tail, limit;\n\tchar debug[48];\n};\n",
    );
    let scored = json(
        &place,
        "what-if apart.relayout pair --layout given.h --json",
    );
    let (today, given) = (&scored["current"], &scored["given"]);
    assert!(today["transfers"].as_u64() > Some(10), "{today:#}");
    assert!(given["transfers"].as_u64() < Some(10), "{given:#}");
    assert_eq!(given["size"], 128);
    let offset = |name: &str| {
        let members = given["layout"].as_array().expect("members");
        let member = members.iter().find(|member| member["name"] == name);
        member.expect("named")["offset"].as_u64()
    };
    assert_eq!(offset("tail"), Some(64));
    assert_eq!(offset("debug"), Some(80));
    for (text, says) in [
        ("struct pair { unsigned long head; };", "tail"),
        (
            "struct pair {\n#if A\nunsigned long head;\n#endif\n};",
            "given.h:2: the preprocessor",
        ),
        ("struct other { long a; };", "pair"),
        ("struct pair { unsigned long head", "given.h"),
    ] {
        place.write("given.h", text);
        let ended = place.said("what-if apart.relayout pair --layout given.h");
        assert_eq!(ended.code, Some(2), "{text}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{text}: {}", ended.stderr);
    }
}

/// `ab.sh` puts a table into `mail.patch` once there are enough results, and puts none in twice.
fn merges_results_once(place: &Place) {
    let ab = |words: &str| place.other("./ab.sh", &format!("mail.patch {words}"));
    let ended = ab("merge");
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("no results"), "{}", ended.stderr);
    let ended = ab("run 1 ([0-9]+) echo 5");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("neither of the two"),
        "{}",
        ended.stderr
    );
    std::fs::create_dir(place.path("mail.patch.ab")).expect("a folder");
    place.write("mail.patch.ab/machine", "A machine\n");
    place.write("mail.patch.ab/results", "before a 100\nbefore b 102\n");
    let ended = ab("merge");
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("too few boots"), "{}", ended.stderr);
    // Twice the same: the table takes the place of the earlier one.
    let results = "before a 100\nbefore b 102\nafter c 120\nafter c 122\nafter d 121\n";
    place.write("mail.patch.ab/results", results);
    assert_eq!(ab("merge").code, Some(0));
    let once = std::fs::read_to_string(place.path("mail.patch")).expect("the patch");
    assert_eq!(ab("merge").code, Some(0));
    let twice = std::fs::read_to_string(place.path("mail.patch")).expect("the patch");
    assert_eq!(once, twice);
    assert!(
        once.contains("       101           +19.8%        121\n"),
        "{once}"
    );
}

/// The mail that is written is one that git takes: author, subject, message, change.
#[test]
fn a_patch_that_git_takes() {
    require_programs(&["git"]);
    let place = compiled_pair();
    let text = std::fs::read_to_string(data("pair.c")).expect("the source");
    std::fs::create_dir(place.path("tree")).expect("a folder");
    place.write("tree/pair.c", &text);
    place.write(
        "tree/user.c",
        "#include \"pair.h\"\nstruct pair two = { 1, 2 };\n",
    );
    let git = |words: &str| {
        let words = format!("-c user.name=A -c user.email=a@example.org -C tree {words}");
        let ended = place.other("/usr/bin/git", &words);
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
        ended.stdout
    };
    git("init -q");
    git("config user.name Jos\u{e9}");
    git("config user.email j@example.org");
    git("add pair.c");
    git("commit -q -m before");
    let ended = run_successfully(
        &place,
        // The machine may be busy with other tests, which is a doubt.
        "advise apart.relayout pair --source tree --patch mail.patch --hardware-script ab.sh --force",
    );
    assert!(!ended.stdout.contains("+++ b/"), "{}", ended.stdout);
    // What else in the tree counts on the order of its members is told.
    let told = "user.c:2: struct pair is initialised by position: struct pair two = { 1, 2 };";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    // The change says why in the source.
    let mail = std::fs::read_to_string(place.path("mail.patch")).expect("the patch");
    let comment = mail
        .lines()
        .find(|line| line.starts_with('+') && line.contains("ept off the cache line of "));
    assert!(comment.is_some(), "{mail}");
    merges_results_once(&place);
    git("am -q ../mail.patch");
    let message = git("log -1 --format=%an%n%B");
    let mut lines = message.lines();
    assert_eq!(lines.next(), Some("Jos\u{e9}"));
    assert_eq!(
        lines.next(),
        Some("pair: fewer cache line transfers on struct pair")
    );
    for said in [
        "not a measurement of time:",
        "Before (pahole):",
        "After (pahole):",
        "Memory: an object takes 72 bytes now and 72 bytes then",
        "Other workloads and configurations were not scored.",
        "It tells nothing of throughput.",
    ] {
        assert!(
            message.replace('\n', " ").contains(said),
            "{said}: {message}"
        );
    }
    assert!(message.lines().all(|line| line.len() <= 75), "{message}");
    assert!(git("show --stat --format=").contains(" pair.c | "));
}

/// Of layouts that do as well, the patch is of one that helps in all configurations of the source.
#[test]
fn a_patch_that_counts_on_no_configuration() {
    let source = "\
#define EXTRA
struct hot {
#ifdef EXTRA
	long extra;
#endif
	char name[56];
	long first;
	long second;
	long limit;
};
struct hot hot __attribute__((aligned(64)));
";
    let place = Place::new();
    place.compile("vmlinux", source, KERNEL_FLAGS);
    let adds = |context, offset| (context, AccessKind::ReadWrite, offset);
    let steps = [adds(0, 64), adds(1, 72)].repeat(400);
    trace::write(&place, "p", "vmlinux", "hot", &[steps]);
    let written = |tree: &str, source: &str| {
        std::fs::create_dir(place.path(tree)).expect("a folder");
        place.write(&format!("{tree}/vmlinux.c"), source);
        let ended = run_successfully(&place, &format!("advise p hot --source {tree}"));
        let says = ended.stdout.split_whitespace().collect::<Vec<_>>();
        says.join(" ")
    };
    // As in the configuration that was recorded, 'extra' is the first that could move.
    let plain = source.replace("#ifdef EXTRA", "").replace("#endif", "");
    let text = written("plain", &plain);
    assert!(text.contains("Patch: move 'extra' to after"), "{text}");
    let text = written("tree", source);
    let why = "it is about a member that only some configurations have. \
               This one is, with as many transfers: 0. Patch: move";
    assert!(text.contains(why), "{text}");
    assert!(!text.contains("Patch: move 'extra'"), "{text}");
}
