//! Programs in simulated time, in a guest with the stock kernel.

use std::fs;

use serde_json::Value;

use crate::simulated::tables;
use crate::stand::Stand;

const COUNTERS: &str = include_str!("simulated_counters.c");
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
