//! `advise` where a store mostly changes nothing: a check before it beside layouts, and both in one
//! patch.

use crate::common::trace;
use crate::common::{KERNEL_FLAGS, Place, flowing, json, programs, text};
use relayout_layout::dwarf::DwarfFile;
use relayout_profile::AccessKind::{Read, Write};
use relayout_profile::{Site, SiteId, WriteOptions};
use relayout_testprofile::Word;
use serde_json::Value;

/// The owner of a node sets `cpu` and `prev` to what they are already, beside words that change.
const SOURCE: &str = "\
#define ____cacheline_aligned_in_smp __attribute__((aligned(64)))
struct node {
	long next;
	long prev;
	long locked;
	long cpu;
};
struct node node __attribute__((aligned(64)));
void set(void)
{
	node.cpu = 1;
}
void link(void)
{
	node.prev = 2;
}
";
const NEXT: u64 = 0;
const PREV: u64 = 8;
const LOCKED: u64 = 16;
const CPU: u64 = 24;
const ROUNDS: usize = 400;

/// A byte of the store's instruction, from the start of its function.
const IN_STORE: u64 = 9;
/// The stores of the source, by function.
const STORED: [u64; 2] = [CPU, PREV];

/// A waiter for `locked` looks at `cpu`, too.
const SPUN: [Word; 5] = [
    (0, Write, LOCKED),
    (0, Write, CPU),
    (1, Read, CPU),
    (0, Read, LOCKED),
    (1, Read, CPU),
];

fn recorded_place() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("tree")).unwrap();
    place.write("tree/node.c", SOURCE);
    let source = place.path("tree/node.c").display().to_string();
    place.compile(
        "vmlinux",
        &format!("#line 1 \"{source}\"\n{SOURCE}"),
        KERNEL_FLAGS,
    );
    record(&place, "p", &SPUN, Some(true));
    place
}

/// Writes a recording. With `silent` its stores to `cpu` and `prev` are those of the source, and
/// that is known of them.
fn record(place: &Place, name: &str, round: &[Word], silent: Option<bool>) {
    let path = trace::write(place, name, "vmlinux", "node", &[round.repeat(ROUNDS)]);
    if silent.is_none() {
        return;
    }
    let mut profile = relayout_profile::read(&path).unwrap();
    let bytes = std::fs::read(place.path("vmlinux")).unwrap();
    let file = DwarfFile::parse(&bytes).unwrap();
    let mut functions: Vec<u64> = file
        .functions()
        .iter()
        .map(|function| function.low)
        .collect();
    functions.sort_unstable();
    let base = profile.regions[0].start;
    for (low, offset) in functions.into_iter().zip(STORED) {
        let site = SiteId(profile.sites.len() as u32);
        profile.sites.push(Site {
            pc: low + IN_STORE,
            bytes: vec![0x89, 0x07],
        });
        for burst in &mut profile.bursts {
            if burst.access == Write && burst.addr == base + offset {
                (burst.site, burst.silent) = (site, silent);
            }
        }
    }
    let options = WriteOptions { overwrite: true };
    relayout_profile::write(&path, &profile, &options).unwrap();
}

/// The text in one line.
fn flowing_text(place: &Place, words: &str) -> String {
    flowing(&text(place, words))
}

#[test]
fn the_check_and_the_line_of_its_own_are_one_patch() {
    let place = recorded_place();
    let advice = json(&place, "advise p node --source tree");
    let advised = &advice["types"][0];
    // Neither alone saves anything.
    let transfers = |scored: &Value| scored["transfers"].as_u64().unwrap();
    let today = transfers(&advised["current"]);
    let check = &advised["check"];
    assert!(
        transfers(&advised["candidates"][0]) * 10 > today * 9,
        "{advised:#}"
    );
    assert!(transfers(&check["alone"]) * 10 > today * 9, "{advised:#}");
    let best = &check["candidates"][0];
    assert!(transfers(best) * 10 < today, "{check:#}");
    assert_eq!(
        (&check["better"], &check["line"], &check["member"]),
        (&true.into(), &11.into(), &"cpu".into())
    );
    assert_eq!(check["silent"], check["stores"]);
    let patch = best["patch"].as_str().expect("a patch");
    for line in [
        "+\tlong cpu ____cacheline_aligned_in_smp;",
        "-\tnode.cpu = 1;",
        "+\t/* A store of the same value would take the line from its readers. */",
        "+\tif (node.cpu != 1)",
        "+\t\tnode.cpu = 1;",
    ] {
        assert!(
            patch.lines().any(|patch_line| patch_line == line),
            "{line}: {patch}"
        );
    }
}

/// A check saves a little more than the layout does, and less than an edit has to.
#[test]
fn a_check_has_to_be_worth_its_edit() {
    let place = recorded_place();
    let shared = [(0, Write, LOCKED), (1, Write, NEXT)];
    let looked_at = [(0, Write, CPU), (1, Read, CPU)];
    let round = [shared.repeat(20), looked_at.to_vec()].concat();
    record(&place, "q", &round, Some(true));
    let advised = &json(&place, "advise q node --source tree")["types"][0];
    let check = &advised["check"];
    assert_eq!(check["better"], true, "{check:#}");
    let saved = |scored: &Value| scored["transfers"].as_u64().unwrap();
    assert!(saved(&check["candidates"][0]) < saved(&advised["candidates"][0]));
    let candidates = advised["candidates"].as_array().unwrap();
    let written = candidates.iter().find_map(|found| found["patch"].as_str());
    let patch = written.unwrap_or_else(|| panic!("{advised:#}"));
    assert!(!patch.contains("if (node.cpu != 1)"), "{patch}");
}

/// Neither alone makes it faster, and both together do.
#[test]
fn what_a_check_gains_is_predicted() {
    let place = recorded_place();
    std::fs::copy(programs::data("machine.json"), place.path("machine.json")).unwrap();
    let words = "advise p node --machine machine.json";
    let advised = &json(&place, words)["types"][0];
    let gain = |scored: &Value| {
        let ratio = scored["predicted_gain"]["ratio"].as_f64();
        ratio.unwrap_or_else(|| panic!("none: {scored:#}"))
    };
    let check = &advised["check"];
    let [layout, alone] = [&advised["candidates"][0], &check["alone"]].map(gain);
    assert!((0.9..1.1).contains(&layout), "{layout}");
    assert!((0.9..1.1).contains(&alone), "{alone}");
    let best = &check["candidates"][0];
    assert!(gain(best) > 1.3, "{best:#}");
    assert!(
        best["predicted_gain"]["low"].as_f64() > Some(1.1),
        "{best:#}"
    );
    let said = flowing_text(&place, words);
    let predicted = format!("not measured: {:.2} times today's", gain(best));
    assert!(said.contains(&predicted), "{predicted}: {said}");
}

#[test]
fn text_and_message_say_what_each_is_worth() {
    let place = recorded_place();
    let shown = text(
        &place,
        "advise p node --source tree --patch node.patch --all --layouts",
    );
    let mail = std::fs::read_to_string(place.path("node.patch")).unwrap();
    for said in [&shown, &mail] {
        let said = flowing(said);
        let store = "The store to 'cpu' in set() (node.c:11) left the value as it was in 400 of 400 recorded \
                     cases (100.0%). By replay, transfers go from ";
        assert!(said.contains(store), "{said}");
        // A sentence of the message begins with it.
        assert!(
            said.contains("tore to 'cpu' only if it differs (node.c:11)"),
            "{said}"
        );
        assert!(
            said.contains("A check and its store are no longer one"),
            "{said}"
        );
    }
}

/// A recording that has the same store scores layouts with the store guard, too.
#[test]
fn other_workloads_have_the_check_too() {
    let place = recorded_place();
    record(&place, "q", &SPUN, Some(true));
    let words = "advise p node --source tree --also q --other-build same=vmlinux --all --layouts";
    let shown = flowing_text(&place, words);
    let seen = "today; the store to 'cpu' (node.c:11) left the value as it was in 400 of 400 cases found 1 ";
    assert!(shown.contains(seen), "{shown}");
    assert!(shown.contains("+ if (node.cpu != 1)"), "{shown}");
    let check = &json(&place, words)["types"][0]["check"];
    for there in check["candidates"][0]["elsewhere"].as_array().unwrap() {
        let count = |key: &str| there[key].as_u64().unwrap();
        assert!(
            count("transfers") * 10 < count("current_transfers"),
            "{there:#}"
        );
        assert_eq!(there["hurts"], false);
    }
}

/// Two contexts in turn set what belongs together, to other values each time.
#[test]
fn no_check_is_written_that_hurts_another_workload() {
    let place = recorded_place();
    let turns = [0, 1].map(|context| [(context, Write, LOCKED), (context, Write, CPU)]);
    record(&place, "q", &turns.concat(), Some(false));
    let shown = flowing_text(
        &place,
        "advise p node --source tree --also q --all --layouts",
    );
    assert!(
        shown.contains("left the value as it was in 0 of 800 cases"),
        "{shown}"
    );
    let why = "No patch: each layout with \"store to 'cpu' only if it differs (node.c:11)\" that is clearly better hurts \
               another workload or configuration.";
    assert!(shown.contains(why), "{shown}");
    assert!(shown.contains("found 1 hurts q: not advised."), "{shown}");
    assert!(!shown.contains("+++ b/"), "{shown}");
}

#[test]
fn a_store_that_another_workload_does_not_have_is_said() {
    let place = recorded_place();
    record(&place, "q", &SPUN, None);
    let shown = flowing_text(&place, "advise p node --also q --all --layouts");
    let unseen =
        "; the store to 'cpu' (node.c:11) was not seen there: the layouts count without its check";
    assert!(shown.contains(unseen), "{shown}");
    // Without the check, the line of its own saves nothing there.
    let check = &json(&place, "advise p node --also q")["types"][0]["check"];
    let there = &check["candidates"][0]["elsewhere"][0];
    assert_eq!(there["statements"][0]["stores"], 0);
    let count = |key: &str| there[key].as_u64().unwrap();
    assert!(
        count("transfers") * 10 > count("current_transfers") * 9,
        "{there:#}"
    );
}

/// Each of two stores to a line takes it, so that neither check alone saves anything.
#[test]
fn two_checks_that_belong_together() {
    let place = recorded_place();
    let round = [
        (0, Write, PREV),
        (0, Write, CPU),
        (1, Read, CPU),
        (1, Read, PREV),
    ];
    record(&place, "two", &round, Some(true));
    let words = "advise two node --keep cpu --keep prev --source tree";
    let check = &json(&place, words)["types"][0]["check"];
    let members: Vec<&str> = { check["statements"].as_array().unwrap().iter() }
        .map(|statement| statement["member"].as_str().unwrap())
        .collect();
    assert_eq!(members, ["cpu", "prev"]);
    assert_eq!(
        (&check["better"], &check["beside_checks"]),
        (&true.into(), &0.into())
    );
    let shown = flowing_text(&place, &format!("{words} --all"));
    for part in [
        "with checks before the 2 stores alone",
        "Patch: store to 'cpu' only if it differs (node.c:11), store to 'prev' only if it differs (node.c:15).",
        "+ if (node.cpu != 1) + node.cpu = 1;",
        "+ if (node.prev != 2) + node.prev = 2;",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

/// A member named by `--keep` stays at its offset with a store guard, too.
#[test]
fn kept_members_stay_with_a_check() {
    let place = recorded_place();
    let moved = "align 'cpu' to 64 bytes";
    assert!(text(&place, "advise p node --all --layouts").contains(moved));
    let kept = text(&place, "advise p node --keep cpu --all --layouts");
    assert!(kept.contains("The store to 'cpu' in set()"), "{kept}");
    assert!(
        !kept.contains(moved) && !kept.contains("move 'cpu'"),
        "{kept}"
    );
}
