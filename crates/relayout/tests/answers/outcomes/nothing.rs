//! Cases without advice: members that must stay, missing evidence, no contention.

use relayout_profile::AccessKind::{Read, ReadWrite, Write};
use serde_json::Value;

use super::{check_says, recorded, two_counters, words};
use crate::common::{KERNEL_FLAGS, Place, hot, json, text, trace};

/// A program whose `struct hot`, declared in `header`, has two counters on one line.
fn declared(header: &str, declaration: &str) -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path(header).parent().unwrap()).unwrap();
    place.write(header, declaration);
    let header = place.path(header).display().to_string();
    let source = format!("#include \"{header}\"\nstruct hot hot __attribute__((aligned(64)));\n");
    place.compile("vmlinux", &source, KERNEL_FLAGS);
    trace::write(&place, "p", "vmlinux", "hot", &[two_counters()]);
    place
}

/// A struct that must keep its layout gets no candidate, but a reason and exit code 0.
#[test]
fn no_candidate_for_what_must_stay() {
    let check = |header: &str, declaration: &str, why: &str| {
        let place = declared(header, declaration);
        let advised = &json(&place, "advise p hot")["types"][0];
        assert_eq!(
            advised["candidates"],
            Value::Array(Vec::new()),
            "{advised:#}"
        );
        check_says(advised["refused"].as_str().unwrap(), &[why]);
        check_says(
            &text(&place, "advise p hot --all --layouts"),
            &["No candidates:", why],
        );
        // Nor where nobody asked for it.
        let all = json(&place, "advise p");
        assert_eq!(all["types"], Value::Array(Vec::new()), "{all:#}");
        check_says(
            &text(&place, "advise p --all --layouts"),
            &["Skipped: hot", why],
        );
    };
    check(
        "include/uapi/linux/hot.h",
        "struct hot { long first; long second; };\n",
        "user programs depend on its layout",
    );
    check(
        "hot.h",
        "struct hot { int first; long second; } __attribute__((packed));\n",
        "hot is packed: its layout is a format that others read",
    );
}

#[test]
fn members_that_are_kept_stay() {
    let place = declared("hot.h", "struct hot { long first; long second; };\n");
    let words = "advise p hot --keep first --keep second --all --layouts";
    let advised = &json(&place, words)["types"][0];
    assert_eq!(advised["verdict"], "nothing-better", "{advised:#}");
    for candidate in advised["candidates"].as_array().unwrap() {
        assert_eq!(
            candidate["layout"], advised["current"]["layout"],
            "{candidate:#}"
        );
    }
    let said = "skipped: they would move a pinned member";
    check_says(&text(&place, words), &[said]);
}

/// Code may cast a pointer to the struct at offset 0, so that stays, whatever else moves.
#[test]
fn a_struct_at_the_start_stays() {
    let source = "\
struct base { long first; };
struct hot { struct base base; long second; char rest[112]; };
struct hot hot __attribute__((aligned(64)));
";
    let place = recorded(source, "hot", words(two_counters()));
    let advised = &json(&place, "advise p hot --top 1000")["types"][0];
    assert_eq!(
        (&advised["kept"], &advised["verdict"]),
        (&"base".into(), &"better".into())
    );
    for candidate in advised["candidates"].as_array().unwrap() {
        let first = &candidate["layout"][0];
        assert_eq!(
            (&first["name"], &first["offset"]),
            (&"base".into(), &0.into())
        );
    }
    let said = "'base' stays first: it is a struct at offset 0, which code may cast to.";
    check_says(&text(&place, "advise p hot --all --layouts"), &[said]);
}

#[test]
fn without_evidence_there_is_a_reason_and_no_candidate() {
    let place = Place::new();
    place.compile("vmlinux", hot::SOURCE, KERNEL_FLAGS);
    // Contended, but nothing of it was logged in order.
    hot::write(&place, "p", "vmlinux", "hot", [0, 8]);
    let why = "no accesses to hot were recorded in order, so no layout can be judged";
    let advised = &json(&place, "advise p hot")["types"][0];
    assert_eq!(advised["refused"], why, "{advised:#}");
    assert_eq!(advised["candidates"], Value::Array(Vec::new()));
    check_says(&text(&place, "advise p hot --all --layouts"), &[why]);
    // Of what is not in the profile at all nothing can be asked.
    let ended = place.run(&["advise", "p", "other"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(
        ended.stderr.contains("no object of struct other"),
        "{}",
        ended.stderr
    );
}

#[test]
fn without_contention_there_is_nothing_and_that_is_no_failure() {
    let alone = [(0, ReadWrite, 0), (0, Read, 8)].repeat(50);
    let shared = [(0, Read, 0), (1, Read, 8)].repeat(50);
    for steps in [alone, shared] {
        let place = recorded(hot::SOURCE, "hot", words(steps));
        let report = json(&place, "report p");
        assert_eq!(report["findings"], Value::Array(Vec::new()));
        assert_eq!(report["transfers_total"], 0);
        let said = "No line of a known object was moved between contexts.";
        check_says(&text(&place, "report p"), &[said]);
        assert_eq!(json(&place, "advise p")["types"], Value::Array(Vec::new()));
        check_says(
            &text(&place, "advise p --all --layouts"),
            &["nothing to advise on"],
        );
    }
}

/// By turns the words are counters of two contexts, which apart do not disturb each other, and a
/// pair that both use whole, which apart has to be fetched twice, and upgraded.
#[test]
fn fewer_transfers_for_more_upgrades_are_no_advice() {
    let counters = [(0, Write, 0), (1, Write, 8)].repeat(3);
    let whole = |context| [(context, Write, 0), (context, Read, 8), (context, Write, 8)];
    let wholes = [whole(0), whole(1), whole(0)].concat();
    let place = recorded(
        hot::SOURCE,
        "hot",
        words([counters, wholes].concat().repeat(100)),
    );
    let advised = &json(&place, "advise p hot")["types"][0];
    assert_eq!(advised["verdict"], "traded", "{advised:#}");
    let (best, today) = (&advised["candidates"][0], &advised["current"]);
    assert!(
        best["transfers"].as_u64() < today["transfers"].as_u64(),
        "{advised:#}"
    );
    let says = "No advice: the best layout found has fewer transfers, but transfers and upgrades together go from";
    check_says(&text(&place, "advise p hot --all --layouts"), &[says]);
    let dir = place.path("").display().to_string();
    let with_source = text(
        &place,
        &format!("advise p hot --source {dir} --all --layouts"),
    );
    check_says(&with_source, &["No patch: no layout is recommended."]);
}
