//! Advice that other code or the recording speaks against: moves across ranges of members, first
//! members that code relies on, and gains that may not hold in another recording.

use crate::common::hot::two_counters;
use crate::common::trace;
use crate::common::{KERNEL_FLAGS, Place, json, text};
use relayout_profile::AccessKind::{Read, ReadWrite, Write};
use relayout_testprofile::Word;
use serde_json::Value;

const HOT: &str = "\
struct hot {
	long first;
	long cold;
	long second;
	long rest[13];
};
struct hot hot __attribute__((aligned(64)));
";

const EMBEDDED: &str = "\
struct base { long first; };
struct hot { struct base base; long second; char rest[112]; };
struct hot hot __attribute__((aligned(64)));
";

/// Each of two contexts adds to its member: `first`, and the one at `offset`.
fn apart(offset: u64, rounds: usize) -> Vec<Word> {
    [(0, ReadWrite, 0), (1, ReadWrite, offset)].repeat(rounds)
}

/// A place with a recording `p` of `source`, which is in `tree`, too, beside `user`.
fn place_with(source: &str, user: &str, runs: &[Vec<Word>]) -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("tree")).unwrap();
    place.compile("tree/hot", source, KERNEL_FLAGS);
    place.write("tree/user.c", user);
    trace::write(&place, "p", "tree/hot", "hot", runs);
    place
}

fn advised(place: &Place, words: &str) -> Value {
    json(place, words)["types"][0].clone()
}

/// Text with one space between words.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn offset_of(layout: &Value, member: &str) -> u64 {
    let members = layout["layout"].as_array().unwrap().iter();
    let mut named = members.filter(|found| found["name"] == member);
    named.next().unwrap()["offset"].as_u64().unwrap()
}

fn candidates(advised: &Value) -> &Vec<Value> {
    advised["candidates"].as_array().unwrap()
}

/// A member that crosses the end of what `memset` clears would be cleared no longer.
#[test]
fn no_member_crosses_a_range() {
    let user = "#include \"hot.h\"\nvoid clear(struct hot *p)\n{\n\
                \tmemset(p, 0, offsetof(struct hot, second));\n}\n";
    let place = place_with(HOT, user, &[apart(16, 400)]);
    let crosses = |candidate: &&Value| {
        let border = offset_of(candidate, "second");
        let in_front = ["first", "cold"].iter();
        let mut offsets = in_front.map(|member| offset_of(candidate, member));
        offsets.any(|offset| offset > border) || offset_of(candidate, "rest") < border
    };
    // Without the source nobody knows.
    let blind = advised(&place, "advise p hot --top 1000");
    assert!(candidates(&blind).iter().any(|found| crosses(&found)));
    let safe = advised(&place, "advise p hot --top 1000 --source tree");
    let wrong = candidates(&safe).iter().find(crosses);
    assert_eq!(wrong, None, "{safe:#}");
    assert!(!candidates(&safe).is_empty(), "{safe:#}");
    assert!(safe["left_out"]["order"].as_u64() > Some(0), "{safe:#}");
    let fact = &safe["order"][0];
    assert_eq!(
        (&fact["kind"], &fact["file"], &fact["line"]),
        (&"range".into(), &"user.c".into(), &4.into())
    );
    let said = flowing(&text(&place, "advise p hot --source tree"));
    let expect =
        "user.c:4: memset() has a range that begins or ends at 'second': no member crosses";
    assert!(said.contains(expect), "{said}");
}

/// `memset_after` on a pointer whose type the file does not show is told, and forbids nothing.
#[test]
fn what_cannot_be_decided_is_told() {
    let user = "void clear(void) { memset_after(get(), 0, cold); }\n";
    let place = place_with(HOT, user, &[apart(16, 400)]);
    let found = advised(&place, "advise p hot --source tree");
    assert_eq!(found["left_out"]["order"], 0, "{found:#}");
    assert_eq!(found["order"][0]["kind"], "undecided", "{found:#}");
    let said = flowing(&text(&place, "advise p hot --source tree"));
    let expect = "user.c:1: memset_after() names 'cold' of `get()`";
    assert!(
        said.contains("Not decided:") && said.contains(expect),
        "{said}"
    );
}

/// Arrays without elements are marks of ranges, with and without a source tree.
#[test]
fn no_member_crosses_a_marker() {
    let source = "\
struct hot { long first; int copy_begin[0]; long second; int copy_end[0]; long rest[14]; };
struct hot hot __attribute__((aligned(64)));
";
    let place = place_with(source, "", &[two_counters(400)]);
    let found = advised(&place, "advise p hot --top 1000");
    for candidate in candidates(&found) {
        let [first, begin, second, end, rest] =
            ["first", "copy_begin", "second", "copy_end", "rest"]
                .map(|member| offset_of(candidate, member));
        let is_kept = first < begin && begin <= second && second < end && end <= rest;
        assert!(is_kept, "{candidate:#}");
    }
    let said = flowing(&text(&place, "advise p hot"));
    assert!(
        said.contains("No member crosses 'copy_begin', 'copy_end'"),
        "{said}"
    );
}

/// The ends of randomised members are borders in the definition: no candidate crosses one, and a
/// member that becomes the first behind it is written behind it.
#[test]
fn no_member_crosses_a_border_of_the_definition() {
    let source = "\
#define randomized_struct_fields_start
struct hot {
	long first;
#ifdef NEVER
	long saved;
#endif
	randomized_struct_fields_start
	long cold;
	long second;
	long rest[13];
};
struct hot hot __attribute__((aligned(64)));
";
    let place = place_with(source, "", &[apart(16, 400)]);
    let found = advised(&place, "advise p hot --top 1000 --source tree");
    assert!(!candidates(&found).is_empty(), "{found:#}");
    for candidate in candidates(&found) {
        let behind = ["cold", "second", "rest"].map(|member| offset_of(candidate, member));
        let first = offset_of(candidate, "first");
        assert!(behind.iter().all(|offset| *offset > first), "{candidate:#}");
    }
    assert_eq!(found["order"][0]["kind"], "border", "{found:#}");
    place.write(
        "given.h",
        "struct hot { long first; long second; long cold; long rest[13]; };\n",
    );
    let words = "advise p hot --layout given.h --source tree --patch out.patch --force";
    text(&place, words);
    let mail = std::fs::read_to_string(place.path("out.patch")).unwrap();
    let lines: Vec<&str> = mail.lines().collect();
    let at = |line: &str| lines.iter().position(|found| *found == line).expect(&mail);
    assert_eq!(
        at("+\tlong second;"),
        at(" \trandomized_struct_fields_start") + 1,
        "{mail}"
    );
    assert!(at("-\tlong second;") > at(" \tlong cold;"), "{mail}");
}

/// The first member stays only for a reason in the source.
#[test]
fn a_first_member_moves_unless_code_relies_on_it() {
    let relies = |user: &str, expect: Option<&str>| {
        let place = place_with(EMBEDDED, user, &[two_counters(400)]);
        let words = "advise p hot --top 1000 --source tree";
        let found = advised(&place, words);
        let all = candidates(&found).iter();
        let moved = all.filter(|found| offset_of(found, "base") > 0).count();
        let said = flowing(&text(&place, words));
        match expect {
            Some(place) => {
                assert_eq!((moved, &found["kept"]), (0, &"base".into()), "{found:#}");
                let sentence = format!("'base' stays first: {place} relies on it.");
                assert!(said.contains(&sentence), "{said}");
            }
            None => {
                assert!(moved > 0 && found["kept"].is_null(), "{found:#}");
                assert!(
                    said.contains("'base' need not stay first: no cast"),
                    "{said}"
                );
            }
        }
    };
    relies("struct hot *f(struct hot *p) { return p; }\n", None);
    relies(
        "struct hot *down(struct base *p)\n{ return (struct hot *)p; }\n",
        Some("user.c:2"),
    );
    relies(
        "struct base *up(struct hot *p) { return (struct base *)p; }\n",
        Some("user.c:1"),
    );
    relies(
        "\nx = container_of(p, struct hot, base);\n",
        Some("user.c:2"),
    );
    relies("struct hot h = { { 1 }, 2 };\n", Some("user.c:1"));
    relies("/* (struct hot *)p */\nint other(struct hot *p);\n", None);
}

/// Few transfers are no ground for a patch; whoever wants one gets it, with the doubt in its message.
#[test]
fn a_doubt_withholds_the_patch() {
    let place = place_with(HOT, "", &[apart(16, 30)]);
    let words = "advise p hot --source tree --patch out.patch";
    let found = advised(&place, words);
    assert_eq!(found["doubts"][0]["kind"], "few-transfers", "{found:#}");
    let said = flowing(&text(&place, words));
    assert!(said.contains("No patch: the gain is in doubt:"), "{said}");
    assert!(said.contains("or write it with --force."), "{said}");
    assert!(!place.path("out.patch").exists());
    text(&place, &format!("{words} --force"));
    let mail = std::fs::read_to_string(place.path("out.patch")).unwrap();
    assert!(flowing(&mail).contains("In doubt: 5"), "{mail}");
    // Of enough transfers there is no doubt.
    let place = place_with(HOT, "", &[apart(16, 400)]);
    assert_eq!(advised(&place, words)["doubts"], Value::Array(Vec::new()));
    assert!(place.path("out.patch").exists());
}

/// The gain is that of the recording where it is worst.
#[test]
fn the_gain_is_the_worst_of_the_recordings() {
    // One context reads and never stores in the first recording, and uses both words in the other.
    let both = [(0, Write, 0), (1, Read, 16), (1, Read, 0)].repeat(200);
    let alone = [(0, Write, 0), (1, Read, 16)].repeat(400);
    let place = place_with(HOT, "", &[alone, both]);
    let found = advised(&place, "advise p hot");
    let parts: Vec<f64> = { found["parts"].as_array().unwrap().iter() }
        .map(|part| part.as_f64().unwrap())
        .collect();
    let [first, second] = parts[..] else {
        panic!("{found:#}");
    };
    assert!(first < -0.9 && second >= -0.1, "{parts:?}");
    assert_eq!(found["worst_change"].as_f64(), Some(second));
    let said = flowing(&text(&place, "advise p hot"));
    assert!(
        said.contains("Judged on 2 recordings that did not choose"),
        "{said}"
    );
    let third = place_with(HOT, "", &[apart(16, 400)]);
    let found = advised(&third, "advise p hot");
    assert_eq!(found["parts"].as_array().unwrap().len(), 3, "{found:#}");
}

/// Two words that each context has for itself, until both contexts use both: apart they save most
/// transfers over all, and double those of the last third. That is not recommended, nor written.
#[test]
fn a_layout_that_loses_in_a_third_is_not_recommended() {
    let both = [(0, Write, 0), (0, Write, 16), (1, Write, 0), (1, Write, 16)].repeat(150);
    let place = place_with(HOT, "", &[[apart(16, 600), both].concat()]);
    let found = advised(&place, "advise p hot");
    assert_eq!(found["verdict"], "uneven", "{found:#}");
    assert_eq!(found["recommended"], Value::Null, "{found:#}");
    assert_eq!(found["review"], Value::Null, "{found:#}");
    assert!(found["worst_change"].as_f64() >= Some(0.0), "{found:#}");
    let why = "on a third of the recording that did not choose it they change by +";
    let reason = found["recommended_why"].as_str().unwrap();
    assert!(reason.contains(why), "{reason}");
    let said = flowing(&text(
        &place,
        "advise p hot --source tree --patch none.patch",
    ));
    for says in [
        "Nothing is recommended.",
        why,
        "No patch: no layout is recommended.",
    ] {
        assert!(said.contains(says), "{said}");
    }
    assert!(!place.path("none.patch").exists());
    // The report does not deny that other layouts have fewer transfers.
    let report = json(&place, "report p");
    assert_eq!(
        report["findings"][0]["outlook"], "nothing-recommended",
        "{report:#}"
    );
}

/// The source may forbid what is recommended without it: what that costs, and the line that forbids it,
/// are said.
#[test]
fn limits_of_the_source_have_their_price() {
    let asserted = "static_assert(offsetof(struct hot, first) == 0);\n\
                    static_assert(offsetof(struct hot, second) == 16);\n";
    let place = place_with(HOT, asserted, &[apart(16, 400)]);
    let blind = advised(&place, "advise p hot");
    assert!(blind["recommended"].is_u64(), "{blind:#}");
    assert!(
        !blind["recommended_why"]
            .as_str()
            .unwrap()
            .contains("Without the limits")
    );
    let percent = blind["candidates"][0]["change_percent"]["value"]
        .as_f64()
        .unwrap();
    let bound = advised(&place, "advise p hot --source tree");
    assert_eq!(bound["recommended"], Value::Null, "{bound:#}");
    let said = flowing(&text(&place, "advise p hot --source tree"));
    let says = format!(
        "Without the limits that the source sets, transfers would change by {percent:+.1}%"
    );
    for said in [said.as_str(), bound["recommended_why"].as_str().unwrap()] {
        assert!(said.contains(&says), "{said}");
        assert!(said.contains("user.c:"), "{said}");
    }
    // Limits that cost nothing are not spoken of.
    let free = place_with(HOT, "/* nothing */\n", &[apart(16, 400)]);
    let said = flowing(&text(&free, "advise p hot --source tree"));
    assert!(!said.contains("Without the limits"), "{said}");
}
