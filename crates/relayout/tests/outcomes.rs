//! What must come out, through the command: the known cases on traces with the members of the mails, why nothing
//! is offered where nothing may be, and what an earlier version of a file lacks.

mod common;

use std::path::Path;

use common::trace::{self, Step, Word};
use common::{KERNEL_FLAGS, Place, hot, json, programs, text};
use relayout_profile::Access::{self, Read, ReadWrite, Write};
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

/// The text without its line breaks.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
    let all = &found["all_given"];
    let layouts = [&found["current"], &all[0], &all[1]];
    assert_eq!(layouts.map(offset), [112, 120, 128]);
    // A script that asks about one layout need not know that there can be several.
    assert_eq!(found["given"], all[0]);
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
    let round = |context: u16, access: Access| [0, 8, 16].map(|at| (context, access, at));
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
    let said = text(&place, "report p --pair-coefficient 0");
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
            .map(|one| one["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(!kinds(&found).contains(&"adjacent-line".to_owned()));
    let found = json(&place, "report p --pair-coefficient 0.3");
    let at = kinds(&found)
        .iter()
        .position(|kind| kind == "adjacent-line");
    let one = &found["findings"][at.expect("found")];
    assert_eq!(
        (&one["type"], &one["line_offset"]),
        (&"mem_cgroup".into(), &1280.into())
    );
    assert!(one["adjacent"]["cost_transfers_estimated"].as_f64() > Some(100.0));
    let said = text(&place, "report p --pair-coefficient 0.3");
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
    let words = "advise p mem_cgroup --pair-coefficient 0.3";
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

/// Case 5, on what was recorded of CPU 0's node under `mmap1`: on a line of its own `cpu` gains next to
/// nothing, since it is stored to all the same; with the check as well it gains most; and both are said.
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
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../contend/tests/fixtures/osq_node.profile");
    let fixture = relayout_profile::read(&fixture).unwrap();
    let node = fixture.regions[0].start..fixture.regions[0].start + 24;
    let of_node = fixture.bursts.iter().filter(|row| node.contains(&row.addr));
    let steps: Vec<Step> = of_node
        .map(|row| Step {
            context: row.context,
            access: row.access,
            offset: row.addr - node.start,
            size: row.size,
            silent: row.silent,
        })
        .collect();
    assert!(steps.len() > 1000, "{}", steps.len());
    let place = recorded(source, "osq_node", steps);
    let found = &json(&place, "report p --type osq_node")["findings"][0];
    let advice = found["advice"].as_array().unwrap();
    let check = advice.iter().find(|one| one["action"] == "check-store");
    let replayed = &check.unwrap_or_else(|| panic!("{found:#}"))["replayed"];
    let of = |key: &str| replayed[key].as_u64().unwrap();
    let today = of("transfers_today");
    let own_line = of("transfers_own_line");
    let both = of("transfers_changed_own_line");
    assert!(own_line * 10 > today * 9, "{replayed}");
    assert!(
        both * 10 < today * 9 && both < of("transfers_changed"),
        "{replayed}"
    );
    check_says(
        &text(&place, "report p --type osq_node"),
        &[
            "Store to `cpu` only if it differs",
            &format!("On a line of its own: {both} with that check, {own_line} without"),
        ],
    );
}

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

/// What must not be changed is not, and why is said; asking is no error.
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
        check_says(&text(&place, "advise p hot"), &["No candidates:", why]);
        // Nor where nobody asked for it.
        let all = json(&place, "advise p");
        assert_eq!(all["types"], Value::Array(Vec::new()), "{all:#}");
        check_says(&text(&place, "advise p"), &["Skipped: hot", why]);
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
    let words = "advise p hot --keep first --keep second";
    let advised = &json(&place, words)["types"][0];
    assert_eq!(advised["verdict"], "nothing-better", "{advised:#}");
    for one in advised["candidates"].as_array().unwrap() {
        assert_eq!(one["layout"], advised["current"]["layout"], "{one:#}");
    }
    let said = "not offered: they move a member that stays";
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
    for one in advised["candidates"].as_array().unwrap() {
        let first = &one["layout"][0];
        assert_eq!(
            (&first["name"], &first["offset"]),
            (&"base".into(), &0.into())
        );
    }
    let said = "'base' stays first: it is a struct at offset 0, which code may cast to.";
    check_says(&text(&place, "advise p hot"), &[said]);
}

/// Each of two contexts adds to its own word.
fn two_counters() -> Vec<Word> {
    [(0, ReadWrite, 0), (1, ReadWrite, 8)].repeat(400)
}

const HOT: &str = "\
struct hot {
	long first;
	long second;
	long unused[14];
};
struct hot hot __attribute__((aligned(64)));
";

#[test]
fn without_evidence_there_is_a_reason_and_no_candidate() {
    let place = Place::new();
    place.compile("vmlinux", HOT, KERNEL_FLAGS);
    // Contended, but nothing of it was logged in order.
    hot::write(&place, "p", "vmlinux", "hot", [0, 8]);
    let why = "no accesses to hot were recorded in order, so no layout can be judged";
    let advised = &json(&place, "advise p hot")["types"][0];
    assert_eq!(advised["refused"], why, "{advised:#}");
    assert_eq!(advised["candidates"], Value::Array(Vec::new()));
    check_says(&text(&place, "advise p hot"), &[why]);
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
        let place = recorded(HOT, "hot", words(steps));
        let report = json(&place, "report p");
        assert_eq!(report["findings"], Value::Array(Vec::new()));
        assert_eq!(report["transfers_total"], 0);
        let said = "No line of a known object was moved between contexts.";
        check_says(&text(&place, "report p"), &[said]);
        assert_eq!(json(&place, "advise p")["types"], Value::Array(Vec::new()));
        check_says(&text(&place, "advise p"), &["nothing to advise on"]);
    }
}

/// A machine file that an earlier version kept has no costs of accesses: said, and never a silent null.
#[test]
fn a_kept_machine_file_that_lacks_costs() {
    let place = recorded(HOT, "hot", words(two_counters()));
    place.write("layout", "first\nunused\nsecond\n");
    let mut machine: Value =
        serde_json::from_slice(&std::fs::read(programs::data("machine.json")).unwrap()).unwrap();
    // As the kept file of this machine, which is told by its CPU.
    let probed = relayout_host::probe::machine();
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
    for words in ["what-if p hot --layout layout", "advise p hot"] {
        let found = json(&place, words);
        let note = found["notes"][0].as_str().expect("a note");
        let parts = [
            "No throughput is predicted: ",
            "cache/machine.json: it does not have what all accesses cost",
            "`relayout probe` measures again.",
        ];
        check_says(note, &parts);
        check_says(&text(&place, words), &parts);
    }
}

/// What would fail in the end fails at once, and says what was meant.
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
            "relayout: struct mm_struct has no member 'cuont' to keep; close: count".to_owned(),
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
    let report = text(&place, "report p --type mm_strcut");
    check_says(
        &report,
        &["is of `mm_strcut` (or all are below --min-share); close: mm_struct."],
    );
}
