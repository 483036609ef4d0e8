//! `advise` where a store mostly changes nothing: a check before it beside layouts, and both in one patch.

mod common;

use common::trace::{self, Word};
use common::{KERNEL_FLAGS, Place, json, text};
use relayout_layout::dwarf::DwarfFile;
use relayout_profile::Access::{Read, Write};
use relayout_profile::{Site, WriteOptions};
use serde_json::Value;

/// The owner of a node sets `cpu` to what it is already, beside words that change.
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
";
const LOCKED: u64 = 16;
const CPU: u64 = 24;
const ROUNDS: usize = 400;

/// A byte of the store's instruction, from the start of `set()`.
const IN_STORE: u64 = 9;

fn recorded() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("tree")).unwrap();
    place.write("tree/node.c", SOURCE);
    let source = place.path("tree/node.c").display().to_string();
    place.compile(
        "vmlinux",
        &format!("#line 1 \"{source}\"\n{SOURCE}"),
        KERNEL_FLAGS,
    );
    let round: [Word; 5] = [
        (0, Write, LOCKED),
        (0, Write, CPU),
        (1, Read, CPU),
        (0, Read, LOCKED),
        (1, Read, CPU),
    ];
    let path = trace::write(&place, "p", "vmlinux", "node", &[round.repeat(ROUNDS)]);
    // The stores to `cpu` are those of set(), and change nothing.
    let mut profile = relayout_profile::read(&path).unwrap();
    let bytes = std::fs::read(place.path("vmlinux")).unwrap();
    let file = DwarfFile::parse(&bytes).unwrap();
    let functions = file.functions().iter();
    let set = functions.map(|function| function.low).min().unwrap();
    profile.sites.push(Site {
        pc: set + IN_STORE,
        bytes: vec![0x89, 0x07],
    });
    let in_set = profile.sites.len() as u32 - 1;
    let base = profile.regions[0].start;
    for burst in &mut profile.bursts {
        if burst.access == Write && burst.addr == base + CPU {
            (burst.site, burst.silent) = (in_set, Some(true));
        }
    }
    let options = WriteOptions { overwrite: true };
    relayout_profile::write(&path, &profile, &options).unwrap();
    place
}

#[test]
fn the_check_and_the_line_of_its_own_are_one_patch() {
    let place = recorded();
    let advice = json(&place, "advise p node --source tree");
    let one = &advice["types"][0];
    // Neither alone saves anything.
    let transfers = |scored: &Value| scored["transfers"].as_u64().unwrap();
    let today = transfers(&one["current"]);
    let check = &one["check"];
    assert!(transfers(&one["candidates"][0]) * 10 > today * 9, "{one:#}");
    assert!(transfers(&check["alone"]) * 10 > today * 9, "{one:#}");
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
        assert!(patch.lines().any(|one| one == line), "{line}: {patch}");
    }
}

#[test]
fn text_and_message_say_what_each_is_worth() {
    let place = recorded();
    let shown = text(&place, "advise p node --source tree --patch node.patch");
    let mail = std::fs::read_to_string(place.path("node.patch")).unwrap();
    for said in [&shown, &mail] {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let store = "The store to 'cpu' in set() (node.c:11) left the value as it was in 400 of 400 recorded \
                     cases (100.0%). By replay, transfers go from ";
        assert!(said.contains(store), "{said}");
        // A sentence of the message begins with it.
        assert!(
            said.contains("heck before storing 'cpu' (node.c:11)"),
            "{said}"
        );
        assert!(
            said.contains("The check and the store are no longer one"),
            "{said}"
        );
    }
}

/// What was not scored in another workload is not written.
#[test]
fn no_check_is_written_that_another_workload_was_not_asked_about() {
    let place = recorded();
    std::fs::rename(place.path("p"), place.path("q")).unwrap();
    let again = recorded();
    let other = place.path("q").display().to_string();
    let words = format!("advise p node --source tree --also {other}");
    let shown = text(&again, &words);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "\"check before storing 'cpu' (node.c:11)\" was not scored in other workloads";
    assert!(shown.contains(why), "{shown}");
    assert!(!shown.contains("+++ b/"), "{shown}");
}

/// What `--keep` names stays where it is with a check, too.
#[test]
fn kept_members_stay_with_a_check() {
    let place = recorded();
    let moved = "align 'cpu' to 64 bytes";
    assert!(text(&place, "advise p node").contains(moved));
    let kept = text(&place, "advise p node --keep cpu");
    assert!(kept.contains("The store to 'cpu' in set()"), "{kept}");
    assert!(
        !kept.contains(moved) && !kept.contains("move 'cpu'"),
        "{kept}"
    );
}
