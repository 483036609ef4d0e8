//! Measurements that fail: the command or metric, the reason, and the remedy.

use super::{bench, run};
use crate::common::Place;
use crate::common::restricted::{no_real_time, one_cpu};

#[track_caller]
fn refuses(place: &Place, arguments: &[&str], code: i32, expect: &str) {
    let ended = run(place, arguments);
    assert!(
        ended.stderr.contains(expect),
        "{arguments:?}: {}",
        ended.stderr
    );
    assert_eq!((ended.code, &*ended.stdout), (Some(code), ""), "{ended:?}");
    assert_eq!(
        crate::common::names(&place.path("tmp")),
        Vec::<String>::new()
    );
}

/// Compares `./good` with a command that is of no use.
#[track_caller]
fn refuses_command(script: &str, more: &[&str], code: i32, expect: &str) {
    let place = Place::new();
    bench(&place, "good", 1000);
    place.script("bad", script);
    let sides = ["--before", "./good", "--after", "./bad"];
    refuses(&place, &[&sides[..], more].concat(), code, expect);
}

#[test]
fn commands() {
    let fails = "echo 'no such table' >&2; exit 3";
    let expect = "relayout: './bad' ended with exit code 3:\n  no such table";
    refuses_command(fails, &[], 4, expect);
    let expect = "relayout: './bad' was killed by signal 11 (SIGSEGV)";
    refuses_command("kill -SEGV $$", &[], 4, expect);
    let expect = "relayout: './bad' was killed by signal 9 (SIGKILL)";
    refuses_command("kill -KILL $$", &[], 4, expect);
    let expect =
        "relayout: './bad' did not end within 0.3 s and was killed; --time-limit allows more";
    refuses_command("sleep 60", &["--time-limit", "300ms"], 4, expect);
}

/// A bench that says itself that its numbers are none.
#[test]
fn disturbed_starts_are_made_again() {
    let place = Place::new();
    bench(&place, "good", 1000);
    // Every third time.
    let body = "n=$(cat n 2>/dev/null || echo 0)\necho $((n + 1)) > n\n\
                [ $((n % 3)) -ne 2 ] || exit 3\necho rate: 2000";
    place.script("moody", body);
    let sides = [
        "--before",
        "./good",
        "--after",
        "./moody",
        "--runs",
        "6",
        "--metric",
        super::RATE,
    ];
    let ended = run(
        &place,
        &[&sides[..], &["--disturbed", "3", "--json", "--save", "s"]].concat(),
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = super::json(&ended);
    let starts = &found["starts"];
    let count = |key: &str| starts[key].as_u64().unwrap();
    assert!(count("said_disturbed") >= 2, "{starts}");
    assert_eq!(found["metrics"][0]["after"]["n"], 6, "{found}");
    assert_eq!(
        count("total"),
        count("kept") + count("disturbed") + count("said_disturbed") + count("warm_up")
    );
    // What was saved says so too.
    let again = run(&place, &["--load", "s"]);
    let note = "starts: they said themselves, by exit code 3, that they were disturbed";
    assert!(again.stdout.contains(note), "{again:?}");
    // Another code is a failure, as is this one unasked.
    let expect = "relayout: './moody' ended with exit code 3";
    refuses(&place, &sides, 4, expect);
    refuses(
        &place,
        &[&sides[..], &["--disturbed", "4"]].concat(),
        4,
        expect,
    );
}

#[test]
fn always_disturbed() {
    let expect = "relayout: './bad' said 20 times in a row, by exit code 3, that it was disturbed: try again";
    refuses_command("exit 3", &["--disturbed", "3"], 3, expect);
    let expect = "0 is not in 1..=125";
    refuses_command("exit 3", &["--disturbed", "0"], 2, expect);
}

#[test]
fn programs() {
    let place = Place::new();
    bench(&place, "good", 1000);
    let sides = |after| ["--before", "./good", "--after", after];
    let expect = "relayout: cannot run './none': No such file or directory";
    refuses(&place, &sides("./none"), 2, expect);
    place.write("text", "no program");
    let expect = "relayout: cannot run './text': Permission denied";
    refuses(&place, &sides("./text"), 2, expect);
    let expect = "relayout: './good | tail' is not a command: '|' is for a shell; --shell runs";
    refuses(&place, &sides("./good | tail"), 2, expect);
    refuses(&place, &sides("./good 'x"), 2, "a quote does not close");
    refuses(
        &place,
        &[],
        2,
        "relayout: there is nothing to compare; give --before CMD and --after",
    );
}

#[test]
fn metrics() {
    let place = Place::new();
    bench(&place, "good", 1000);
    let with = |metric| {
        [
            "--before", "./good", "--after", "./good", "--metric", metric,
        ]
    };
    refuses(
        &place,
        &with("ops"),
        2,
        "relayout: metric 'ops': it is none of wall, cpu, NAME=regex",
    );
    let place_in_pattern = "regex parse error:\n    (x\n    ^\nerror: unclosed group";
    refuses(&place, &with("ops=regex:(x"), 2, place_in_pattern);
    refuses(
        &place,
        &with("ops=regex:x"),
        2,
        "has no group ( ) around the number",
    );
    refuses(
        &place,
        &with("ops=json:x"),
        2,
        "the pointer 'x' does not begin with /",
    );
    let expect = "relayout: './good' (";
    refuses(&place, &with("ops=regex:ops (.*)"), 2, expect);
    let expect =
        "metric 'ops' does not appear: no line matches ops (.*); what it wrote begins:\n  rate: 10";
    refuses(&place, &with("ops=regex:ops (.*)"), 2, expect);
    let expect = "metric 'ops': 'rate' is not a finite number, in 'rate: 10";
    refuses(&place, &with("ops=regex:(.*):"), 2, expect);
}

/// A program that exits at once with nothing to show.
#[test]
fn exits_at_once() {
    let place = Place::new();
    place.script("none", "exit 0");
    let sides = ["--before", "./none", "--after", "./none", "--runs", "6"];
    let more = ["--metric", "ops=regex:ops (.*)"];
    refuses(
        &place,
        &[&sides[..], &more].concat(),
        2,
        "the program wrote nothing",
    );
    let ended = run(&place, &sides);
    assert_eq!(ended.code.unwrap_or(9) & !1, 0, "{ended:?}");
    assert!(
        ended.stdout.contains("of starts in random order"),
        "{ended:?}"
    );
}

#[test]
fn options() {
    let place = Place::new();
    bench(&place, "good", 1000);
    let with =
        |more: &[&'static str]| [&["--before", "./good", "--after", "./good"], more].concat();
    let expect = "relayout: '1023' is not a list of CPUs that can be used here: relayout may use";
    refuses(&place, &with(&["--pin", "1023"]), 2, expect);
    refuses(
        &place,
        &with(&["--pin", "a"]),
        2,
        "'a' is neither a CPU nor a range",
    );
    refuses(
        &place,
        &with(&["--runs", "1"]),
        2,
        "not a number from 2 to 500",
    );
    refuses(
        &place,
        &with(&["--budget", "5x"]),
        2,
        "invalid value '5x' for '--budget <TIME>': not a time",
    );
    refuses(
        &place,
        &with(&["--margin", "0"]),
        2,
        "not above 0 and up to 100",
    );
    let ended = run(&place, &["--metric", "list"]);
    assert!(ended.stdout.contains("NAME=regex:PATTERN"), "{ended:?}");
}

/// Without the right to it, SCHED_FIFO is refused with what to do.
#[test]
fn no_permission_for_fifo() {
    let place = Place::new();
    bench(&place, "good", 1000);
    let arguments = [
        "verify", "--before", "./good", "--after", "./good", "--fifo",
    ];
    let mut command = place.relayout(&arguments);
    let ended = place.ended(no_real_time(&mut command));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let expect =
        "relayout: --fifo needs permission for SCHED_FIFO: run as root, give relayout CAP_SYS_NICE";
    assert!(ended.stderr.contains(expect), "{ended:?}");
}

#[test]
fn one_cpu_only() {
    let place = Place::new();
    bench(&place, "good", 1000);
    let arguments = [
        "--before", "./good", "--after", "./good", "--runs", "2", "--pin", "0",
    ];
    let ended = run(&place, &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("one CPU only: threads take turns"),
        "{ended:?}"
    );
    // Two pairs prove nothing.
    assert!(
        ended.stdout.contains("too few pairs of starts"),
        "{ended:?}"
    );
    assert!(ended.stdout.ends_with("verdict: unclear\n"), "{ended:?}");
    // Not asked for, but all that there is.
    let arguments = [
        "verify", "--before", "./good", "--after", "./good", "--runs", "2",
    ];
    let mut command = place.relayout(&arguments);
    command.env("PATH", "/usr/bin:/bin");
    let ended = place.ended(one_cpu(&mut command));
    assert_eq!(ended.code.unwrap_or(9) & !1, 0, "{ended:?}");
    assert!(
        ended.stdout.contains("one CPU only: threads take turns"),
        "{ended:?}"
    );
}

#[test]
fn saved_files() {
    let place = Place::new();
    let expect = "relayout: cannot read none: No such file";
    refuses(&place, &["--load", "none"], 2, expect);
    for (text, expect) in [
        ("", "not saved by 'relayout verify --save'"),
        (
            "{\"schema\": \"relayout/probe/1\"}",
            "the schema is 'relayout/probe/1'",
        ),
        (
            "{\"schema\": \"relayout/verify-runs/1\"}",
            "missing field `setup`",
        ),
    ] {
        place.write("s.json", text);
        refuses(&place, &["--load", "s.json"], 2, expect);
    }
}
