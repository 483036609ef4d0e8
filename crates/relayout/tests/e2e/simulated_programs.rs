//! Programs in simulated time, in a guest with the stock kernel.

use std::fs;

use serde_json::Value;

use crate::simulated::tables;
use crate::stand::Stand;

const COUNTERS: &str = include_str!("simulated_counters.c");
const SLOTS: &str = include_str!("simulated_slots.c");
const CLOCKS: &str = include_str!("simulated_clocks.c");
const MARKER_DIR: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../collectors/guest");
const WORDS: &str = "record run --with qemu --machine sapphire-rapids-2s --memory 512M";

fn stand() -> Stand {
    let mut stand = Stand::new();
    stand.keep_snapshots();
    stand
}

fn record(stand: &Stand, words: &str) {
    let ended = stand.run(&format!("{WORDS} {words}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    stand.check_clean();
}

fn meta(stand: &Stand, profile: &str) -> Value {
    let text = fs::read_to_string(stand.place.path(&format!("{profile}/meta.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Only an instruction's first accesses to a contended line may be out of order.
fn check_order(order: &Value) {
    let count = |name: &str| order[name].as_f64().unwrap();
    assert!(count("ordered") > 1000.0, "{order}");
    assert!(count("unordered") < count("ordered") / 20.0, "{order}");
}

/// Twelve threads on two CPUs are two contexts. The finding names the members that share the line, advice parts them,
/// and `--rates` says where CPUs wait. The same seed gives the same bytes.
#[test]
fn false_sharing_of_a_program_is_found() {
    let stand = stand();
    let flags = ["-g", "-O1", "-pthread", MARKER_DIR];
    stand.place.compile("counters", COUNTERS, &flags);
    for out in ["out", "again"] {
        record(
            &stand,
            &format!("--cpus 2 --simulate 1ms -o {out} -- ./counters"),
        );
    }
    let [first, second] = ["out", "again"].map(|out| tables(&stand.place.path(out)));
    for (name, content) in &first {
        assert!(second.get(name) == Some(content), "{name} differs");
    }
    let meta = meta(&stand, "out");
    assert_eq!(
        (&meta["target"], &meta["contexts"]),
        (&"program".into(), &2.into())
    );
    assert_eq!(meta["runs"][0]["ended"], "its simulated time was over");
    assert_eq!(meta["runs"][0]["simulated"]["order_breaks"], 0);
    check_order(&meta["runs"][0]["simulated"]);

    let report = stand.report();
    let finding = &report["findings"][0];
    assert_eq!(finding["type"], "counters", "{finding}");
    assert_eq!(finding["kind"], "false-sharing", "{finding}");
    let members = finding["members"].as_array().unwrap().iter();
    let mut members: Vec<_> = members
        .map(|member| member["path"].as_str().unwrap())
        .collect();
    members.sort_unstable();
    assert_eq!(members, ["replies", "requests"], "{finding}");
    assert!(finding["wait_percent"].as_f64() > Some(20.0), "{finding}");
    let advice = stand.run("advise out counters");
    assert_eq!(advice.code, Some(0), "{advice:?}");
    assert!(advice.stdout.contains("replies"), "{advice:?}");

    let rates = stand.json(&format!(
        "{WORDS} --cpus 2 --simulate 1ms --rates --json -- ./counters"
    ));
    assert!(rates["operations"].as_u64() > Some(1000), "{rates}");
    check_order(&rates["order"]);
    let line = &rates["lines"][0];
    assert_eq!(line["object"]["type"], "counters", "{line}");
    assert_eq!(line["object"]["offset"], 0, "{line}");
    let site = &rates["sites"][0];
    assert_eq!(site["function"], "count", "{site}");
    assert!(
        site["file"].as_str().unwrap().ends_with("counters.c"),
        "{site}"
    );
    assert!(
        site["members"][0]
            .as_str()
            .unwrap()
            .starts_with("counters."),
        "{site}"
    );
}

/// Sleeping, waiting for a mutex and the program's clock are simulated time, and the window ends with the program.
#[test]
fn clocks_of_a_program_are_simulated_time() {
    let stand = stand();
    stand
        .place
        .compile("clocks", CLOCKS, &["-g", "-O1", "-static", "-pthread"]);
    record(&stand, "--cpus 2 --simulate 50ms -o out -- ./clocks");
    let run = &meta(&stand, "out")["runs"][0];
    assert_eq!(
        (&run["ended"], &run["complete"]),
        (&"the program ended".into(), &true.into())
    );
    let console = run["console_tail"].as_array().unwrap().iter();
    let said = console
        .filter_map(Value::as_str)
        .find(|line| line.starts_with("slept="));
    let said = said.unwrap_or_else(|| panic!("the program said nothing: {run}"));
    let number = |name: &str| -> u64 {
        let words = said
            .split_whitespace()
            .filter_map(|word| word.split_once('='));
        let found = words.into_iter().find(|(key, _)| *key == name);
        found.unwrap().1.parse().unwrap()
    };
    assert_eq!((number("guarded"), number("violations")), (160, 0));
    assert!((2_000_000..2_300_000).contains(&number("slept")), "{said}");
    let window_ns = run["simulated"]["window_ns"].as_u64().unwrap();
    let all_ns = number("all");
    assert!(
        all_ns < window_ns && window_ns < all_ns + 3_000_000,
        "{said}, {window_ns}"
    );
    let report = stand.report();
    assert_eq!(report["machine"]["contexts"], 2);
    let idle = report["time"]["idle_percent"].as_f64();
    assert!(
        idle > Some(50.0),
        "most of the time is slept: {}",
        report["time"]
    );
}

/// A program executes again with another layout as one does that is built with it. A line costs what it costs: nothing, if
/// no operation waits for it, however long others do.
#[test]
fn programs_execute_again_with_other_layouts() {
    let stand = stand();
    let flags = ["-g", "-O1", "-pthread", MARKER_DIR];
    stand.place.compile("slots", SLOTS, &flags);
    let apart = ["-g", "-O1", "-pthread", "-DAPART", MARKER_DIR];
    stand.place.compile("apart", SLOTS, &apart);
    record(
        &stand,
        "--cpus 4 --simulate 1ms --repeat 3 -o out -- ./slots",
    );
    let words = "what-if out slot --align count=64 --simulate --draws 0 --json";
    let document = stand.json(&format!("{words} -- ./slots"));
    let point = &document["given"]["predicted_curve"]["curve"][0];
    let rate = |window: &Value| window["operations_per_second"].as_f64().unwrap();
    let built = stand.json(&format!(
        "{WORDS} --cpus 4 --simulate 1ms --rates --json -- ./apart"
    ));
    let [today, mapped, built] = [&point["today"], &point["then"], &built].map(rate);
    assert!(built > 1.8 * today, "{today} and {built}: {point}");
    assert!((mapped / built - 1.0).abs() < 0.03, "{mapped} and {built}");

    check_carried_layouts(&stand, built / today);
    let freed = stand.json("report out --json --if-free=2 -- ./slots");
    let finding = |name: &str| {
        let mut findings = freed["findings"].as_array().unwrap().iter();
        let found = findings.find(|finding| finding["type"] == name);
        found.unwrap_or_else(|| panic!("{name} in {freed}"))
    };
    let ratio = |name: &str| finding(name)["if_free"]["point"]["ratio"].as_f64().unwrap();
    assert!(finding("quarrel")["wait_percent"].as_f64() > Some(30.0));
    assert!((ratio("quarrel") - 1.0).abs() < 0.005, "{freed}");
    // Nothing else is waited for, so the line costs as much as its neighbour on it does.
    assert!(
        (ratio("slot") * today / mapped - 1.0).abs() < 0.03,
        "{freed}"
    );

    let refused = |program: &str, expect: &str| {
        let ended = stand.run(&format!("{words}{program}"));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(expect), "{ended:?}");
    };
    refused("", "not executed unasked");
    refused(" -- ./slots 5", "is given");
    refused(" -- ./apart", "is given");
    stand.place.compile("slots", SLOTS, &apart);
    refused(" -- ./slots", "another build than the recorded one");
}

/// The layout of the new build alone brings what that build does: it differs in nothing else.
fn check_carried_layouts(stand: &Stand, built: f64) {
    fs::create_dir(stand.place.path("new")).unwrap();
    let apart = ["-g", "-O1", "-pthread", "-DAPART", MARKER_DIR];
    stand.place.compile("new/slots", SLOTS, &apart);
    let words = "--cpus 4 --simulate 1ms --repeat 3 -o later -- ./new/slots";
    record(stand, words);
    let words = "compare out later slot --simulate --draws 1";
    let compared = stand.json(&format!("{words} --json -- ./slots"));
    let carried = &compared["workloads"][0]["carried_layouts"][0];
    assert_eq!(carried["types"][0], "slot", "{compared}");
    assert_eq!(carried["left_behind"], serde_json::json!([]), "{carried}");
    let point = &carried["predicted_curve"]["curve"][0];
    let ratio = point["ratio"].as_f64().unwrap();
    assert!((ratio / built - 1.0).abs() < 0.03, "{built}: {carried}");
    let text = stand.run(&format!("{words} -- ./slots")).stdout;
    let expect = "OLD with the layout of slot that NEW has: ";
    assert!(text.contains(expect), "{text}");
    let unasked = stand.run(words);
    assert!(
        unasked.stderr.contains("not executed unasked"),
        "{unasked:?}"
    );
}
