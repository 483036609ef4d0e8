//! Cache line groups of the kernel are fences: `advise` moves no member over their marks, its patch
//! keeps them, and `what-if` says what a given layout does to them.

use crate::common::{Ended, KERNEL_FLAGS, Place, trace};
use relayout_profile::AccessKind;
use serde_json::Value;

/// A group whose reader and writer share a line, with room in the group and outside of it.
const SOURCE: &str = "\
#define __cacheline_group_begin(NAME) char __cacheline_group_begin__##NAME[0]
#define __cacheline_group_end(NAME) char __cacheline_group_end__##NAME[0]
struct port {
	long id;
	char name[56];

	__cacheline_group_begin(tx);
	long sent;
	long mtu;
	char log[56];
	__cacheline_group_end(tx);

	char rest[48];
};
struct port port __attribute__((aligned(64)));
";

/// A place with a recording in which one CPU stores to `sent` and another reads `mtu`.
fn recorded() -> Place {
    let place = Place::new();
    place.compile("vmlinux", SOURCE, KERNEL_FLAGS);
    let steps = [
        (0, AccessKind::Read, 72),
        (1, AccessKind::Write, 64),
        (0, AccessKind::Read, 0),
    ];
    trace::write(&place, "p", "vmlinux", "port", &[steps.repeat(400)]);
    place
}

#[track_caller]
fn document(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Members of the group `tx` in a candidate's layout, in order.
fn group(layout: &Value) -> Vec<String> {
    let members = layout["layout"].as_array().expect("members").iter();
    let mut names: Vec<String> = members
        .map(|member| member["name"].as_str().expect("a name").to_owned())
        .collect();
    let at = |name: &str| names.iter().position(|own| own == name).expect("a mark");
    let begin = at("__cacheline_group_begin__tx");
    names.truncate(at("__cacheline_group_end__tx"));
    names.split_off(begin + 1)
}

#[test]
fn candidates_keep_their_members() {
    let place = recorded();
    let advice = document(&place.run_words("advise p port --json --top 50"));
    let advised = &advice["types"][0];
    assert_eq!(advised["verdict"], "better", "{advised:#}");
    let candidates = advised["candidates"].as_array().expect("candidates");
    assert!(candidates.len() > 1, "{advised:#}");
    for candidate in candidates {
        let mut members = group(candidate);
        members.sort();
        assert_eq!(members, ["log", "mtu", "sent"], "{candidate:#}");
        assert_eq!(candidate.get("group_crossings"), None);
    }
    assert!(
        advised["left_out"]["grouped"].as_u64() > Some(0),
        "{advised:#}"
    );
    let text = place.run_words("advise p port --all --layouts").stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "skipped: they would move a member into a cache line group or out of one (tx).";
    assert!(words.contains(says), "{text}");
}

#[test]
fn a_patch_keeps_the_marks() {
    let place = recorded();
    std::fs::create_dir(place.path("tree")).unwrap();
    place.write("tree/vmlinux.c", SOURCE);
    let ended = place.run_words("advise p port --source tree --patch mail.patch --all --layouts");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let patch = std::fs::read_to_string(place.path("mail.patch")).unwrap();
    let touches = |line: &str| line.starts_with(['+', '-']) && line.contains("__cacheline_group");
    assert!(!patch.lines().any(touches), "{patch}");
    assert!(patch.contains("\n+\t"), "{patch}");
}

#[test]
fn what_if_says_what_crosses_a_mark() {
    let place = recorded();
    let given = "id\nname\nmtu\n__cacheline_group_begin__tx\nsent\nlog\nrest\n\
                 __cacheline_group_end__tx\n";
    place.write("given", given);
    let scored = document(&place.run_words("what-if p port --layout given --json"));
    let crossings = &scored["given"]["group_crossings"];
    let crossing = |member: &str, leaves: bool| serde_json::json!({ "member": member, "group": "tx", "leaves": leaves });
    let expect = serde_json::json!([crossing("mtu", true), crossing("rest", false)]);
    assert_eq!(*crossings, expect, "{scored:#}");
    let text = place.run_words("what-if p port --layout given").stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "given crosses the marks of cache line groups, of which code elsewhere asserts \
                members and size: 'mtu' leaves the group tx, 'rest' enters the group tx.";
    assert!(words.contains(says), "{text}");
}
