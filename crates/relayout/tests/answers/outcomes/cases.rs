//! The known cases, with the members of the mails.

use std::path::Path;

use relayout_profile::AccessKind::{self, Read, ReadWrite, Write};
use relayout_testprofile::Step;
use serde_json::Value;

use super::{MM_STRUCT, check_says, recorded, words};
use crate::common::{Place, json, text};

/// Transfers with `count` at 112, 120 and 128.
fn at_each_place(steps: Vec<Step>) -> [u64; 3] {
    let place = recorded(MM_STRUCT, "mm", steps);
    let padded = |bytes: u32| {
        let pad = format!("char new[{bytes}];");
        MM_STRUCT.replace("unsigned long count", &format!("{pad} unsigned long count"))
    };
    for (name, bytes) in [("at120", 8), ("at128", 16)] {
        place.write(name, padded(bytes));
    }
    let found = json(&place, "what-if p mm_struct --layout at120 --layout at128");
    let offset = |layout: &Value| {
        let members = layout["layout"].as_array().unwrap();
        let count = members.iter().find(|member| member["name"] == "count");
        count.unwrap()["offset"].as_u64().unwrap()
    };
    let given_layouts = &found["all_given"];
    let layouts = [&found["current"], &given_layouts[0], &given_layouts[1]];
    assert_eq!(layouts.map(offset), [112, 120, 128]);
    // A script that asks about one layout need not know that there can be several.
    assert_eq!(found["given"], given_layouts[0]);
    layouts.map(|layout| layout["transfers"].as_u64().unwrap())
}

#[test]
fn mmap_lock_at_112_120_and_128() {
    const COUNT: u64 = 112;
    const OWNER: u64 = 120;
    // An arrival exchanges count, two spin on owner, the holder writes both now and then.
    let roles = (0..400).flat_map(|turn| {
        let mut round = vec![(0, ReadWrite, COUNT), (1, Read, OWNER), (2, Read, OWNER)];
        if turn % 8 == 0 {
            round.extend([(3, ReadWrite, COUNT), (3, Write, OWNER)]);
        }
        round
    });
    let [today, split, together] = at_each_place(words(roles));
    assert_eq!(today, together);
    assert!(split * 2 < today, "{split} of {today}");
    // Whoever takes it uses both words.
    let both = (0..400).flat_map(|turn| {
        let context = turn % 3;
        [(context, ReadWrite, COUNT), (context, Write, OWNER)]
    });
    let [today, split, together] = at_each_place(words(both));
    assert_eq!(today, together);
    assert!(split * 2 > today * 3, "{split} of {today}");
}

/// Case 3: 24 bytes that lie on two lines.
const CSD: &str = "\
struct csd {
	void *next;
	void *func;
	void *info;
};
char before[48] __attribute__((aligned(64), section(\".data.queue\"))) = { 1 };
struct csd queue __attribute__((section(\".data.queue\"))) = { 0 };
";

#[test]
fn the_smaller_alignment_that_ends_the_straddle() {
    let round = |context: u16, access: AccessKind| [0, 8, 16].map(|at| (context, access, at));
    let rounds = (0..200).flat_map(|_| [round(0, Write), round(1, Read)].concat());
    let place = recorded(CSD, "queue", words(rounds));
    place.write("to32", "next\nfunc\ninfo\n@32\n");
    place.write("to64", "next\nfunc\ninfo\n@64\n");
    let found = json(&place, "what-if p csd --layout to32 --layout to64");
    let transfers = |layout: &Value| layout["transfers"].as_u64().unwrap();
    let (small, large) = (&found["all_given"][0], &found["all_given"][1]);
    assert!(transfers(small) * 3 < transfers(&found["current"]) * 2);
    assert_eq!(transfers(small), transfers(large));
    assert_eq!((&small["size"], &large["size"]), (&32.into(), &64.into()));
    // Of what does as much, less memory comes first.
    let advised = &json(&place, "advise p csd")["types"][0];
    assert_eq!(advised["verdict"], "better", "{advised:#}");
    let changes = &advised["candidates"][0]["changes"];
    assert_eq!(changes[0], "align the type to 32 bytes", "{advised:#}");
    let reported = &json(&place, "report p --type queue")["findings"][0];
    assert_eq!(reported["kind"], "straddle", "{reported:#}");
}

/// Case 4: the members of the mail, those that all read on one line, what all add to on its buddy.
const MEM_CGROUP: &str = "\
struct mem_cgroup {
	char css_and_counters[1280];
	int moving_account;
	void *move_lock_task;
	void *vmstats_local;
	void *vmstats_percpu;
	char before_vmstats[32];
	long vmstats[40];
	long vmevents[89];
	long memory_events[8];
	long memory_events_local[8];
	unsigned long socket_pressure;
	char objcg_list[48];
	char cgwb_list[64];
};
struct mem_cgroup memcg __attribute__((aligned(128)));
";

fn mem_cgroup() -> Place {
    let turn = |nth: u16| {
        let context = nth % 4;
        let mut turn = vec![(context, Read, 1296), (context, Read, 1304)];
        if nth % 8 < 2 {
            turn.push((context, ReadWrite, 1344));
        }
        turn
    };
    recorded(MEM_CGROUP, "memcg", words((0..1200).flat_map(turn)))
}

#[test]
fn adjacent_lines_are_found_where_they_cost_something() {
    let place = mem_cgroup();
    let said = text(&place, "report p --all --pair-coefficient 0");
    check_says(
        &said,
        &[
            "Adjacent lines: possible, not measurable here: 1 pair of lines",
            "the coefficient of this machine is 0, so they cost nothing here",
        ],
    );
    assert!(!said.contains("adjacent-line"), "{said}");
    let found = json(&place, "report p --pair-coefficient 0");
    assert_eq!(found["line_pairs"]["coefficient"], 0.0);
    assert_eq!(found["line_pairs"]["candidates"], 1);
    let kinds = |found: &Value| -> Vec<String> {
        let findings = found["findings"].as_array().unwrap().iter();
        findings
            .map(|finding| finding["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(!kinds(&found).contains(&"adjacent-line".to_owned()));
    let found = json(&place, "report p --pair-coefficient 0.3");
    let at = kinds(&found)
        .iter()
        .position(|kind| kind == "adjacent-line");
    let finding = &found["findings"][at.expect("found")];
    assert_eq!(
        (&finding["type"], &finding["line_offset"]),
        (&"mem_cgroup".into(), &1280.into())
    );
    assert!(finding["adjacent"]["cost_transfers_estimated"].as_f64() > Some(100.0));
    let said = text(&place, "report p --all --pair-coefficient 0.3");
    check_says(
        &said,
        &[
            "memcg (mem_cgroup) +1280: adjacent-line",
            "R vmstats_local RW vmstats[]",
        ],
    );
}

#[test]
fn blocks_are_parted_where_pairs_cost_something() {
    let place = mem_cgroup();
    let advised = &json(&place, "advise p mem_cgroup --pair-coefficient 0")["types"][0];
    assert_eq!(advised["verdict"], "nothing-better", "{advised:#}");
    let words = "advise p mem_cgroup --pair-coefficient 0.3 --all";
    let advised = &json(&place, words)["types"][0];
    assert_eq!(advised["verdict"], "better", "{advised:#}");
    let best = &advised["candidates"][0];
    assert_eq!(best["pair_transfers"], 0, "{best:#}");
    assert_eq!(best["transfers"], advised["current"]["transfers"]);
    let pair = |name: &str| {
        let members = best["layout"].as_array().unwrap();
        let member = members.iter().find(|member| member["name"] == name);
        member.unwrap()["offset"].as_u64().unwrap() / 128
    };
    assert_ne!(pair("vmstats_percpu"), pair("vmstats"));
    assert_ne!(pair("vmstats_local"), pair("vmstats"));
    check_says(
        &text(&place, words),
        &["stores to the other line of a pair, from"],
    );
}

/// Case 5, on what was recorded of CPU 0's node under `mmap1`: on a line of its own `cpu` gains
/// next to nothing, since it is stored to all the same; with the check as well it gains most; and
/// both are said.
#[test]
fn a_store_that_changes_nothing_with_and_without_a_line_of_its_own() {
    let source = "\
struct optimistic_spin_node {
	struct optimistic_spin_node *next, *prev;
	int locked;
	int cpu;
};
struct optimistic_spin_node osq_node __attribute__((aligned(64)));
";
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../core/contend/tests/fixtures/osq_node.profile");
    let fixture = relayout_profile::read(&fixture).unwrap();
    let node = fixture.regions[0].start..fixture.regions[0].start + 24;
    let of_node = fixture.bursts.iter().filter(|row| node.contains(&row.addr));
    let steps: Vec<Step> = of_node
        .map(|row| Step {
            context: row.context.0,
            access: row.access,
            offset: row.addr - node.start,
            size: row.size,
            silent: row.silent,
            pc: None,
        })
        .collect();
    assert!(steps.len() > 1000, "{}", steps.len());
    let place = recorded(source, "osq_node", steps);
    let found = &json(&place, "report p --all --type osq_node")["findings"][0];
    let advice = found["advice"].as_array().unwrap();
    let check = advice
        .iter()
        .find(|advice_entry| advice_entry["action"] == "check-store");
    let replayed = &check.unwrap_or_else(|| panic!("{found:#}"))["replayed"];
    let count = |key: &str| replayed[key].as_u64().unwrap();
    let today = count("transfers_today");
    let own_line = count("transfers_own_line");
    let both = count("transfers_changed_own_line");
    assert!(own_line * 10 > today * 9, "{replayed}");
    assert!(
        both * 10 < today * 9 && both < count("transfers_changed"),
        "{replayed}"
    );
    check_says(
        &text(&place, "report p --all --type osq_node"),
        &[
            "Store to `cpu` only if it differs",
            &format!("On a line of its own: {both} with that check, {own_line} without"),
        ],
    );
}
