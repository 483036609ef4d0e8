//! `relayout verify`: what it finds, what it says, and how it ends.

mod bad_input;
mod kernel;
mod patch;

use std::path::Path;

use crate::common::{Ended, Place};
use serde_json::Value;

/// Runs the command with the programs of the system at hand.
pub fn run(place: &Place, arguments: &[&str]) -> Ended {
    let arguments = [&["verify"], arguments].concat();
    let mut command = place.relayout(&arguments);
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    place.ended(&mut command)
}

/// The document that a command printed.
pub fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

/// A script that says a rate near this one, another one each time, but the same in every test.
pub fn bench(place: &Place, name: &str, rate: u32) {
    let body = format!(
        "n=$(cat {name}.count 2>/dev/null || echo 0)\necho $((n + 1)) > {name}.count\n\
         echo rate: $(({rate} + n * 7919 % 11))"
    );
    place.script(name, &body);
}

const RATE: &str = "rate=regex:^rate: ([0-9]+)";

#[track_caller]
fn check(before: u32, after: u32, metric: &str, code: i32, verdict: &str) -> Value {
    let place = Place::new();
    bench(&place, "old", before);
    bench(&place, "new", after);
    let sides = [
        "--before", "./old", "--after", "./new", "--runs", "12", "--seed", "1",
    ];
    let ended = run(
        &place,
        &[&sides[..], &["--metric", metric, "--json"]].concat(),
    );
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let found = json(&ended);
    assert_eq!(found["verdict"], verdict, "{found}");
    found
}

#[test]
fn verdicts() {
    check(1000, 1500, RATE, 0, "better");
    check(1500, 1000, RATE, 1, "worse");
    check(1000, 1500, "rate,lower=regex:^rate: ([0-9]+)", 1, "worse");
    check(1000, 1000, RATE, 0, "same");
}

/// The keys that scripts use.
#[test]
fn document() {
    // High rates scatter little: a start that was disturbed is repeated, which shifts the others.
    let found = check(
        10_000,
        15_000,
        "rate,unit=1/s=regex:^rate: ([0-9]+)",
        0,
        "better",
    );
    assert_eq!(found["schema"], "relayout/verify/1");
    let metric = &found["metrics"][0];
    assert_eq!(metric["name"], "rate");
    assert_eq!(metric["unit"], "1/s");
    assert_eq!(metric["verdict"], "better");
    for side in ["before", "after"] {
        for key in ["median", "mean", "stddev_percent", "n"] {
            assert!(metric[side][key].is_number(), "{side} {key}: {metric}");
        }
    }
    let change = metric["change_percent"].as_f64().unwrap();
    let ends = metric["ci95_percent"].as_array().unwrap();
    let [low, high] = [0, 1].map(|index| ends[index].as_f64().unwrap());
    assert!(
        low <= change && change <= high && 48.0 < low && high < 52.0,
        "{metric}"
    );
    // Decided at the first look, after ten pairs.
    assert_eq!(found["pairs"], 10);
    assert_eq!(found["starts"]["warm_up"], 2);
}

/// Counts that are 0 before have no percentage, and are judged all the same.
#[test]
fn counts_of_zero() {
    let judge = |before: &str, after: &str| {
        let place = Place::new();
        let [before, after] = [before, after].map(|count| format!("echo errors: {count}"));
        let sides = [
            "--before", &before, "--after", &after, "-n", "6", "--seed", "1",
        ];
        let metric = ["--metric", r"errors,lower=regex:errors: (-?\d+)"];
        let arguments = [&sides[..], &metric, &["--save", "s.json"]].concat();
        let text = run(&place, &arguments).stdout;
        let found = json(&run(&place, &["--load", "s.json", "--json"]));
        (text, found["metrics"][0].clone())
    };
    let why = "the median before is 0, so no margin, and no change but 0, has a percentage";
    let (text, metric) = judge("0", "0");
    assert!(text.contains("[+0.0%, +0.0%]  same\n"), "{text}");
    assert!(text.contains(&format!("errors: {why}\n")), "{text}");
    assert_eq!(metric["change_percent"], 0.0);
    assert_eq!(metric["ci95_percent"], serde_json::json!([0.0, 0.0]));
    assert_eq!(metric["margin_percent"], Value::Null);
    assert_eq!(metric["change_why"], why);
    for (before, after, verdict) in [("0", "-3", "better"), ("0", "3", "worse")] {
        let (text, metric) = judge(before, after);
        assert!(!text.contains("inf"), "{text}");
        assert!(text.contains(&format!("unknown       {verdict}")), "{text}");
        assert!(text.contains(&format!("errors: {why}\n")), "{text}");
        assert_eq!(metric["verdict"], verdict);
        assert_eq!(metric["change_why"], why);
        for key in ["change_percent", "ci95_percent", "margin_percent"] {
            assert_eq!(metric[key], Value::Null, "{key}: {metric}");
        }
    }
    let (_, metric) = judge("-3", "0");
    assert_eq!(metric["change_percent"], 100.0);
    assert_eq!(metric["change_why"], Value::Null);
}

/// A saved result gives the same answer again, and another answer with another margin.
#[test]
fn saved_and_judged_again() {
    let place = Place::new();
    bench(&place, "old", 1000);
    bench(&place, "new", 1030);
    let sides = [
        "--before", "./old", "--after", "./new", "--runs", "12", "--metric", RATE,
    ];
    let first = run(
        &place,
        &[&sides[..], &["--save", "s.json", "--json"]].concat(),
    );
    let again = run(&place, &["--load", "s.json", "--json"]);
    assert_eq!(first.stdout, again.stdout);
    assert_eq!(json(&again)["verdict"], "better");
    let lenient = run(&place, &["--load", "s.json", "--margin", "5"]);
    assert!(
        lenient.stdout.contains("same (within 5%)"),
        "{}",
        lenient.stdout
    );
    assert!(
        lenient.stdout.ends_with("verdict: same\n"),
        "{}",
        lenient.stdout
    );
}

/// Starts that scatter by a quarter cannot tell a change of 2% from none: the verdict is "unclear",
/// never "same", unless the user's margin is as wide as the interval.
#[test]
fn scatter_beyond_the_margin_is_unclear() {
    let place = Place::new();
    for (name, factor) in [("old", 5), ("new", 8)] {
        let body = format!(
            "n=$(cat {name}.count 2>/dev/null || echo 0)\necho $((n + 1)) > {name}.count\n\
             echo rate: $((1000 + n * {factor} % 13 * 40))"
        );
        place.script(name, &body);
    }
    // Starts that a busy machine disturbs count, too: which they are is chance.
    let sides = [
        "--before",
        "./old",
        "--after",
        "./new",
        "--runs",
        "12",
        "--seed",
        "1",
        "--max-lost",
        "100",
    ];
    let arguments = [&sides[..], &["--metric", RATE, "--save", "s.json"]].concat();
    let text = run(&place, &arguments).stdout;
    assert!(text.ends_with("verdict: unclear\n"), "{text}");
    assert!(
        text.contains("the margin is 2%, and the interval reaches "),
        "{text}"
    );
    let found = json(&run(&place, &["--load", "s.json", "--json"]));
    let metric = &found["metrics"][0];
    assert_eq!(metric["margin_percent"], 2.0);
    assert_eq!(metric["verdict"], "unclear");
    let reached = metric["margin_reached_percent"].as_f64().unwrap();
    assert!(reached > 2.0, "{metric}");
    for (factor, verdict) in [(0.99, "unclear"), (1.01, "same")] {
        let margin = format!("{}", factor * reached);
        let found = json(&run(
            &place,
            &["--load", "s.json", "--json", "--margin", &margin],
        ));
        assert_eq!(found["verdict"], verdict, "{found}");
    }
}

/// Real threads, whose metrics come from text and from JSON.
///
/// They have more to do before than after: whether lines cost anything depends on what the cores of this machine
/// share.
#[test]
fn threads_with_less_to_do() {
    let place = Place::new();
    compile_counters(&place, "apart", &["-DAPART"]);
    find_both_threads_better(&place, "./apart 1000000 4", "./apart 1000000 1");
}

/// Real threads on a real line: each of them is faster with a line of its own.
#[test]
#[ignore = "needs two idle CPUs that do not share a core"]
fn false_sharing() {
    let place = Place::new();
    compile_counters(&place, "shared", &[]);
    compile_counters(&place, "apart", &["-DAPART"]);
    find_both_threads_better(&place, "./shared 4000000", "./apart 4000000");
}

fn compile_counters(place: &Place, name: &str, flags: &[&str]) {
    let flags = [&["-O2", "-pthread"], flags].concat();
    place.compile(name, include_str!("verify/counters.c"), &flags);
}

/// Measures both, and expects more rounds a second of each thread.
#[track_caller]
fn find_both_threads_better(place: &Place, before: &str, after: &str) {
    relayout_testkit::require_cpus(2);
    // Where it is permitted, other programs do not disturb.
    let fifo = match run(
        place,
        &[
            "--before", "true", "--after", "true", "--runs", "2", "--fifo",
        ],
    )
    .code
    {
        Some(3) => "--shell",
        _ => "--fifo",
    };
    for metric in [
        r"ops=regex:^thread (?<thread>\w): ([0-9]+)",
        "ops=json:/ops",
    ] {
        let sides = ["--before", before, "--after", after];
        let how = [
            "--runs", "12", "--pin", "0-1", fifo, "--json", "--metric", metric,
        ];
        let ended = run(place, &[&sides[..], &how].concat());
        let found = json(&ended);
        assert_eq!(found["verdict"], "better", "{found}");
        assert_eq!(found["comparisons"], 2);
        for (index, name) in ["ops[A]", "ops[B]"].into_iter().enumerate() {
            assert_eq!(found["metrics"][index]["name"], name);
            assert_eq!(found["metrics"][index]["verdict"], "better", "{found}");
        }
    }
}

/// The report of the kernel's robot, which its readers know.
#[test]
fn table() {
    let place = Place::new();
    place.script("old", "echo rate: 15782");
    place.script("new", "echo rate: 15765");
    let arguments = [
        "--before", "./old", "--after", "./new x", "--runs", "6", "--seed", "1",
    ];
    let ended = run(
        &place,
        &[&arguments[..], &["--max-lost", "100", "--metric", RATE]].concat(),
    );
    let cpus = ended
        .stdout
        .split("CPUs ")
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    let stdout = ended
        .stdout
        .replace(&format!("CPUs {}", cpus.unwrap_or_default()), "CPUs [CPUS]");
    let expect = "\
before: ./old
after:  ./new x

before           after
---------------- ---------------------------
         %stddev     %change         %stddev
             \\          |                \\    metric  95% interval    verdict
     15782            -0.1%      15765        rate    [-0.1%, -0.1%]  same (within 2%)  ranges apart

6 pairs of starts in random order, seed 1; CPUs [CPUS]; warm-ups discarded: 2
verdict: same
";
    assert_eq!(stdout, expect, "{}", ended.stderr);
}

/// Ctrl-C while a program runs: nothing of it, and nothing half written, is left.
#[test]
fn interrupted() {
    let place = Place::new();
    place.script("slow", "echo $$ > pid.part; mv pid.part pid; exec sleep 60");
    let arguments = [
        "verify", "--before", "./slow", "--after", "./slow", "--save", "s.json",
    ];
    let mut command = place.relayout(&arguments);
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.stderr(std::process::Stdio::piped());
    let child = crate::common::start(&mut command);
    let pid = wait_for(&place.path("pid"));
    // SAFETY: the number is that of a child that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(!Path::new(&format!("/proc/{}/exe", pid.trim())).exists());
    assert!(!place.path("s.json").exists());
    assert_eq!(
        crate::common::names(&place.path("tmp")),
        Vec::<String>::new()
    );
}

fn wait_for(path: &Path) -> String {
    for _ in 0..500 {
        if let Ok(text) = std::fs::read_to_string(path) {
            return text;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("{} did not appear", path.display());
}
