//! Guests in simulated time, on the stock kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::stand::Stand;

const WORDS: &str =
    "record kernel --memory 512M --cpus 4 --machine sapphire-rapids-2s --simulate 500us";

/// A stand whose guests are kept.
fn stand() -> Stand {
    let mut stand = Stand::new();
    stand.keep_snapshots();
    stand
}

fn rates(stand: &Stand, further: &str) -> Value {
    stand.json(&format!("{WORDS} --rates --json {further}"))
}

/// Content of all files of a profile, but for the facts about the host.
pub fn tables(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let content = fs::read(entry.path()).unwrap();
        (name, content)
    };
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.path().is_file()).map(read);
    files.filter(|(name, _)| name != "host.json").collect()
}

/// The same seed gives the same numbers, beside busy loops, too; another one gives others.
#[test]
fn a_seed_can_be_repeated() {
    let stand = stand();
    let first = rates(&stand, "--workload stat-one");
    assert_eq!(first["basis"], "simulated");
    assert_eq!(first["order"]["order_breaks"], 0, "{first}");
    assert_eq!(first["order"]["misplaced"], 0, "{first}");
    assert!(first["operations"].as_u64() > Some(100), "{first}");
    assert!(
        first["time"]["atomic_percent"].as_f64() > Some(3.0),
        "{first}"
    );
    let is_running = std::sync::atomic::AtomicBool::new(true);
    let again = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while is_running.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let again = rates(&stand, "--workload stat-one");
        is_running.store(false, std::sync::atomic::Ordering::Relaxed);
        again
    });
    assert_eq!(again, first);
    assert_ne!(
        rates(&stand, "--workload stat-one --seed 2")["sites"],
        first["sites"]
    );
}

/// A profile in simulated time has the same bytes each time, and does not mix with others.
#[test]
fn a_recording_can_be_repeated() {
    let stand = stand();
    for out in ["first", "second"] {
        let ended = stand.run(&format!("{WORDS} --workload mmap1 -o {out}"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        stand.check_clean();
    }
    let [first, second] = ["first", "second"].map(|out| tables(&stand.place.path(out)));
    assert!(first.len() > 5, "{:?}", first.keys());
    for (name, content) in &first {
        assert!(second.get(name) == Some(content), "{name} differs");
    }
    let meta = fs::read_to_string(stand.place.path("first/meta.json")).unwrap();
    let meta: Value = serde_json::from_str(&meta).unwrap();
    assert_eq!(meta["simulated_machine"]["key"], "sapphire-rapids-2s");
    assert_eq!(meta["runs"][0]["simulated"]["order_breaks"], 0);
    let words = "record kernel --order host --memory 512M --workload mmap1 --iterations 20 -o host";
    let host = stand.run(words);
    assert_eq!(host.code, Some(0), "{host:?}");
    let ended = stand.run("compare first host");
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("of sapphire-rapids-2s (pack), simulated"),
        "{ended:?}"
    );
}

/// Guests of arm64 execute in simulated time, too: with atomic instructions and without, on a machine of their own if
/// none is named.
#[test]
#[ignore = "needs arm64 kernels: scripts/setup.sh --kernel 6.1-arm64"]
fn arm64_guests_are_simulated() {
    let stand = stand();
    let kernel = "kernel/6.1-arm64/vmlinuz";
    relayout_testkit::require_file(kernel, &stand.cache.join(kernel));
    let words = "--kernel 6.1-arm64 --memory 512M --simulate 500us --workload stat-one";
    for further in ["", "-- -cpu cortex-a72"] {
        let rates = || stand.json(&format!("record kernel --rates --json {words} {further}"));
        let first = rates();
        assert_eq!(first["machine"], "graviton4-2s", "{first}");
        let order = &first["order"];
        assert_eq!(order["order_breaks"], 0, "{order}");
        let misplaced = order["misplaced"].as_f64().unwrap();
        assert!(
            misplaced < order["ordered"].as_f64().unwrap() / 1000.0,
            "{order}"
        );
        assert!(first["operations"].as_u64() > Some(100), "{first}");
        let has_lock = |line: &Value| line["lock"] == "dentry.d_lockref";
        let lines = first["lines"].as_array().unwrap();
        assert!(lines.iter().any(has_lock), "{first}");
        assert_eq!(rates(), first);
    }
    for out in ["first", "second"] {
        let ended = stand.run(&format!("record kernel {words} -o {out}"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        stand.check_clean();
    }
    let [first, second] = ["first", "second"].map(|out| tables(&stand.place.path(out)));
    assert!(first.len() > 5, "{:?}", first.keys());
    for (name, content) in &first {
        assert!(second.get(name) == Some(content), "{name} differs");
    }
}

/// Lines, instructions and locks have names.
#[test]
fn what_cpus_wait_for_is_named() {
    let stand = stand();
    let check = |workload: &str, object: &str, member: &str, lock: &str| {
        let document = rates(&stand, &format!("--workload {workload}"));
        let lines = document["lines"].as_array().unwrap();
        let has_member = |line: &&Value| {
            let members = line["members"].as_array().unwrap();
            line["object"]["type"] == object
                && members
                    .iter()
                    .any(|name| name.as_str().unwrap().starts_with(member))
        };
        let line = lines.iter().find(has_member);
        let line = line.unwrap_or_else(|| panic!("no line of {object}.{member}: {document}"));
        assert_eq!(line["lock"], lock, "{line}");
        let locks = document["locks"].as_array().unwrap();
        let found = locks.iter().find(|found| found["name"] == lock).unwrap();
        assert!(found["wait_percent"].as_f64() > Some(0.1), "{found}");
        let sites = document["sites"].as_array().unwrap();
        let site = sites.iter().find(|site| site["lock"] == lock).unwrap();
        assert!(
            site["function"].is_string() && site["line"].is_u64(),
            "{site}"
        );
    };
    check("stat-one", "dentry", "d_lockref", "dentry.d_lockref");
    check("mmap1", "mm_struct", "mmap_lock", "mm_struct.mmap_lock");
}

/// A rule changes the numbers, and what was recorded with it does not mix with others; nor do two machines of one name.
#[test]
fn rules_and_files_are_told_apart() {
    let stand = stand();
    let with_rule = rates(&stand, "--workload stat-one --rule transfer-time=1.3");
    assert_eq!(with_rule["rules"][0]["key"], "transfer-time");
    assert_eq!(with_rule["rules"][0]["value"], 1.3);
    let without = rates(&stand, "--workload stat-one");
    let operations = |document: &Value| document["operations"].as_u64();
    assert!(operations(&with_rule) < operations(&without), "{with_rule}");
    let written = stand.run("probe --machines sapphire-rapids-2s -o mine.json");
    assert_eq!(written.code, Some(0), "{written:?}");
    let words = WORDS.replace("sapphire-rapids-2s", "mine.json");
    let same = stand.json(&format!("{words} --rates --json --workload stat-one"));
    for field in ["operations", "lines", "sites", "locks"] {
        assert_eq!(same[field], without[field], "{field}");
    }
    assert!(same["digest"].is_string(), "{same}");
    for (out, words) in [("table", WORDS), ("file", words.as_str())] {
        let ended = stand.run(&format!("{words} --workload stat-one -o {out}"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let ended = stand.run("compare table file");
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("sapphire-rapids-2s#"), "{ended:?}");
}

/// A member that nobody writes may lie on any line; the counted reference costs less on one of its own.
#[test]
fn moved_members_change_what_they_should() {
    let stand = stand();
    let rate = |further: &str| {
        let words = "record kernel --memory 512M --cpus 20 --workload stat-one --machine sapphire-rapids-2s";
        let document = stand.json(&format!(
            "{words} --simulate 200us --rates --json {further}"
        ));
        assert_eq!(document["order"]["order_breaks"], 0, "{document}");
        document["operations_per_second"].as_f64().unwrap()
    };
    let before = rate("");
    let null = rate("--move dentry.d_subdirs=own-line") / before;
    assert!((null - 1.0).abs() < 0.01, "{null}");
    let gain = rate("--move dentry.d_lockref=own-line") / before;
    assert!(gain > 1.15, "{gain}");
}

/// Workloads are simulated if nothing else is asked for: to the end of their work, if that was given. Programs are not,
/// and neither are guests without a snapshot.
#[test]
fn workloads_are_simulated_by_default() {
    let stand = stand();
    let check = |words: &str, order: Option<&str>, operations: u64| {
        let ended = stand.record(&format!("--force --memory 512M {words}"));
        let document = stand.report();
        let found = document["machine"]["simulated_machine"].as_str();
        assert_eq!(found, order, "{words}: {ended:?}");
        let run = &document["runs"][0];
        assert_eq!(run["operations"].as_u64(), Some(operations), "{words}");
        assert_eq!(run["complete"], true, "{words}");
        ended
    };
    let mntns = "--workload mntns --iterations 20";
    check(mntns, Some("sapphire-rapids-2s (pack)"), 80);
    check(&format!("{mntns} --order host"), None, 80);
    let ended = check(&format!("{mntns} --no-snapshot"), None, 80);
    let why =
        "accesses get the order of the host: it starts from a snapshot, and no snapshots are kept";
    assert!(ended.stderr.contains(why), "{ended:?}");
    check("--run /bin/true", None, 0);
}

/// A recording says what CPUs stood still for: what `--rates` says of the same window.
#[test]
fn waiting_is_in_the_recording() {
    let stand = stand();
    let words = "--memory 512M --simulate 500us --workload stat-one";
    stand.record(words);
    let report = stand.report();
    let rates = stand.json(&format!("record kernel --rates --json {words}"));
    let percent = |time: &Value, name: &str| time[name].as_f64().unwrap();
    let time = &report["time"];
    let shares = time.as_object().unwrap().values();
    let sum: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 100.0).abs() < 0.01, "{time}");
    let waiting = ["load_percent", "atomic_percent", "stores_percent"];
    let waiting: f64 = waiting.iter().map(|name| percent(time, name)).sum();
    let findings = report["findings"].as_array().unwrap();
    let named = findings
        .iter()
        .filter_map(|finding| finding["wait_percent"].as_f64());
    let named: f64 = named.sum();
    assert!(
        named > 0.8 * waiting && named <= waiting + 0.01,
        "{named} of {waiting}"
    );
    let is_dentry = |found: &&Value| found["type"] == "dentry";
    let dentry = findings.iter().find(is_dentry).unwrap()["wait_percent"].as_f64();
    // A recording calls back at more instructions, so that it is not the same window to the picosecond.
    let lines = rates["lines"].as_array().unwrap();
    let of_rates = lines
        .iter()
        .filter(|line| line["object"]["type"] == "dentry");
    let of_rates: f64 = of_rates.map(|line| percent(line, "wait_percent")).sum();
    let ratio = dentry.unwrap() / of_rates;
    assert!((0.8..1.25).contains(&ratio), "{dentry:?} and {of_rates}");
}

/// Each CPU stores its own number to the node that it waits in, again and again, and others read it.
#[test]
fn checked_stores_that_change_nothing_move_no_line() {
    let stand = stand();
    let moves = |checked: &str| -> u64 {
        let own_line = "--move osq_node:optimistic_spin_node.cpu=own-line";
        let words =
            "record kernel --rates --json --memory 512M --simulate 300us --cpus 8 --workload fcopy";
        let rates = stand.json(&format!("{words} {own_line} {checked}"));
        let lines = rates["lines"].as_array().unwrap().iter();
        let is_own = |line: &&Value| line["address"].as_str().unwrap().starts_with("0x40");
        let moves = lines.filter(is_own).map(|line| line["transfers"].as_u64());
        moves.flatten().sum()
    };
    let stored = moves("");
    assert!(stored > 100, "{stored}");
    let checked = moves("--move osq_node:optimistic_spin_node.cpu=checked");
    // The first stores set the numbers.
    assert!(checked <= 8, "{checked}");
}

/// `what-if --simulate` executes what `record kernel --rates` does, with the same bytes elsewhere.
#[test]
fn what_if_executes_the_recorded_guest_again() {
    let stand = stand();
    let words = "--memory 512M --simulate 500us --workload stat-one";
    stand.record(words);
    let rate = |moves: &str| {
        let rates = stand.json(&format!("record kernel --rates --json {words} {moves}"));
        rates["operations_per_second"].clone()
    };
    let point = |rest: &str| {
        let document = stand.json(&format!("what-if out dentry --json --simulate {rest}"));
        document["given"]["predicted_curve"]["curve"][0].clone()
    };
    // Both are on the same line, and nobody uses them.
    let same = point("--draws 2 --move d_time:after:d_fsdata");
    assert_eq!(same["today"]["operations_per_second"], rate(""), "{same}");
    assert_eq!(same["ratio"], 1.0, "{same}");
    assert_eq!(
        (&same["low"], &same["high"]),
        (&same["ratio"], &same["ratio"])
    );
    assert_eq!(same["verdict"], "same", "{same}");
    let moved = point("--draws 0 --move d_lockref:after:d_lru");
    let as_moved = rate("--move dentry@88..96=136 --move dentry@96..144=88");
    assert_eq!(moved["then"]["operations_per_second"], as_moved, "{moved}");
    assert_eq!(moved["verdict"], "unclear", "{moved}");
    let waited = moved["today"]["most_waited"]["name"].as_str().unwrap();
    assert!(waited.starts_with("dentry.d_"), "{moved}");
    check_advice_of_executed_layouts(&stand);
    let freed = stand.json("report out --json --if-free=1");
    let freed = &freed["findings"][0];
    assert_eq!(freed["type"], "dentry", "{freed}");
    let then = &freed["if_free"]["point"]["then"];
    let as_freed = rate("--move dentry@64..128=free");
    assert_eq!(then["operations_per_second"], as_freed, "{freed}");
    let ratio = |point: &Value| point["ratio"].as_f64().unwrap();
    // All waiting is for this line. Code before accesses that are waited for takes longer, too, by the rule `code-jitter`.
    let bound = ratio(&freed["if_free"]["point"]);
    let waited = freed["wait_percent"].as_f64().unwrap() / 100.0;
    let rest = bound * (1.0 - waited);
    assert!((0.98..1.12).contains(&rest), "{rest}: {freed}");
    assert!(bound > ratio(&moved), "{freed}");
    // A microsecond of its own code after each operation is in its time, and it waits for less.
    let busy = point("--draws 0 --user-time 1000 --move d_lockref:after:d_lru");
    let rates =
        [&moved, &busy].map(|point| point["today"]["operations_per_second"].as_f64().unwrap());
    let longer = 4.0 / rates[1] - 4.0 / rates[0];
    assert!((0.85e-6..1.05e-6).contains(&longer), "{rates:?}");
    let spread = point("--draws 0 --placement spread --move d_lockref:after:d_lru");
    assert_ne!(spread["today"], moved["today"]);
    // Nobody waits for this line.
    assert_eq!(rate("--move dentry@128..192=free"), rate(""));

    let ended = stand
        .run("what-if out dentry --simulate --align d_lockref=64 --machine nowhere-2s --draws 0");
    assert!(ended.stderr.contains("nowhere-2s"), "{ended:?}");
    stand.record(
        &format!("--force {words} --order host --iterations 200").replace("--simulate 500us ", ""),
    );
    let ended = stand.run("what-if out dentry --simulate --move d_lockref:after:d_lru");
    assert!(ended.stderr.contains("give --machine NAME"), "{ended:?}");
    let ended = stand.run("report out --if-free");
    assert!(
        ended.stderr.contains("record with --machine NAME"),
        "{ended:?}"
    );
}

/// `advise --simulate` recommends by what `what-if --simulate` prints of the same layouts.
fn check_advice_of_executed_layouts(stand: &Stand) {
    let words = "advise out dentry --json --simulate --draws 2 --budget 1h";
    let advised = &stand.json(words)["types"][0];
    let candidates = advised["candidates"].as_array().unwrap();
    let executed: Vec<&Value> = candidates
        .iter()
        .filter(|candidate| candidate["simulated"].is_object())
        .collect();
    assert!((1..=3).contains(&executed.len()), "{advised}");
    // An order of members says nothing of alignments.
    let is_order = |candidate: &&&Value| candidate["edits"]["attributes"] == 0;
    let orders: Vec<_> = executed.iter().filter(is_order).collect();
    assert!(!orders.is_empty(), "{advised}");
    for (number, candidate) in orders.into_iter().enumerate() {
        let members = candidate["layout"].as_array().unwrap();
        let names = members
            .iter()
            .map(|member| member["name"].as_str().unwrap());
        let text: String = names.map(|name| format!("{name}\n")).collect();
        let file = stand.place.path(&format!("layout-{number}"));
        fs::write(&file, text).unwrap();
        let asked =
            format!("what-if out dentry --json --simulate --draws 2 --layout layout-{number}");
        let asked = &stand.json(&asked)["given"]["predicted_curve"]["curve"];
        assert_eq!(&candidate["predicted_curve"]["curve"], asked, "{candidate}");
    }
    let verdict = |candidate: &Value| candidate["simulated"]["verdict"].clone();
    match advised["recommended"].as_u64() {
        Some(index) => {
            let recommended = &candidates[usize::try_from(index).unwrap()];
            let expect = match advised["compared_by"].as_str() {
                Some("simulated-time") => "better",
                _ => "unclear",
            };
            assert_eq!(verdict(recommended), expect, "{advised}");
        }
        None => {
            let is_better = |candidate: &&&Value| verdict(candidate) == "better";
            assert_eq!(executed.iter().find(is_better), None, "{advised}");
        }
    }
    // All windows are kept, so that no time is needed for any.
    let again = stand.json(&words.replace("1h", "1us"));
    assert_eq!(again["types"][0]["candidates"], advised["candidates"]);
}

#[test]
fn refusals_say_why() {
    let stand = stand();
    let check = |words: &str, expect: &str| {
        let ended = stand.run(&format!("record kernel --workload mntns {words}"));
        assert_ne!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stderr.contains(expect), "{words}: {ended:?}");
        stand.check_clean();
    };
    check(
        "--machine saphire-rapids-2s",
        "saphire-rapids-2s is neither a file nor a machine of the table; close: sapphire-rapids-2s",
    );
    check("--machine missing.json", "missing.json");
    check(
        "--machine rome-2s --rule upgrade=2",
        "upgrade is 2, not a factor from 0.5 to 1",
    );
    check(
        "--machine rome-2s --rule upgrad=1",
        "there is no rule 'upgrad' (did you mean 'upgrade'?)",
    );
    check(
        "--machine graviton3-1s --cpus 65",
        "it has room for 64 CPUs, and the guest has 65",
    );
    check(
        "--machine rome-2s --placement 0,0,1,2",
        "thread 0 is named twice",
    );
    check(
        "--machine rome-2s --no-snapshot",
        "it starts from a snapshot",
    );
    check(
        "--machine rome-2s --simulate 90",
        "not a simulated time of at most 1s",
    );
    let opposed = "--rates is for the order of simulated time, and --yield for that of the host";
    check("--rates --yield 5", opposed);
    check(
        "--machine rome-2s --order host",
        "leave out --machine or --order host",
    );
    check(
        "--order simulated --no-snapshot",
        "no snapshots are kept; --order host records it in the order of the host",
    );
    check("--machine rome-2s --move dentry.d_op=8", "--rates");
    check(
        "--machine rome-2s --rates --move dentry=8",
        "is none of TYPE.MEMBER=OFFSET",
    );
    check(
        "--machine rome-2s --rates --move dentry.d_door=8",
        "no member 'dentry.d_door'",
    );
}
