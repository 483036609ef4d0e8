//! `relayout record run` of programs that fork, start daemons, and execute others.

use crate::common::programs::{data, recording_place};
use crate::common::{Ended, Place};
use relayout_testkit::require_programs;
use serde_json::Value;

/// A folder with the program `forks`, built with `relayout cc`.
fn place() -> Place {
    require_programs(&["gcc"]);
    let place = recording_place();
    let source = data("forks.c");
    let built = place.said(&format!("cc -- gcc -O1 {} -o forks", source.display()));
    assert_eq!((built.code, &*built.stderr), (Some(0), ""));
    place
}

/// Records, and demands this exit code. Returns what was said, and the report.
#[track_caller]
fn record(place: &Place, words: &str, code: i32) -> (Ended, Value) {
    let ended = place.said(&format!("record run --force -o out --yield 50 {words}"));
    assert_eq!(ended.code, Some(code), "{words}: {ended:?}");
    assert_eq!(
        crate::common::names(&place.path("tmp")),
        Vec::<String>::new(),
        "{words}"
    );
    let report = place.said("report out --json");
    assert_eq!(report.code, Some(0), "{report:?}");
    (ended, serde_json::from_str(&report.stdout).unwrap())
}

fn processes(report: &Value) -> Vec<&Value> {
    let runs = report["runs"].as_array().unwrap();
    runs.iter().map(|run| &run["process"]).collect()
}

/// Demands this number of processes, and the false sharing of the struct that their threads count
/// in: once in a variable and once on the heap.
#[track_caller]
fn check(place: &Place, how: &str, count: usize) -> Value {
    let (ended, report) = record(place, &format!("-- ./forks {how}"), 0);
    assert_eq!(processes(&report).len(), count, "{how}: {ended:?} {report}");
    let findings = report["findings"].as_array().unwrap();
    let pairs = findings.iter().filter(|found| found["type"] == "pair");
    let kinds: Vec<&str> = pairs.map(|f| f["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["false-sharing"], "{how}: {report}");
    // Processes are no repetitions.
    assert_eq!(findings[0]["stability"], Value::Null, "{how}");
    for run in report["runs"].as_array().unwrap() {
        assert_eq!(
            (&run["complete"], &run["signal"]),
            (&true.into(), &Value::Null),
            "{how}: {run}"
        );
    }
    report
}

#[test]
fn a_daemon_is_recorded() {
    let place = place();
    let report = check(&place, "daemon", 2);
    let both = processes(&report);
    assert_eq!(both[0]["is_further"], false);
    assert_eq!(both[1]["is_further"], true);
    assert_eq!(both[1]["parent_pid"], both[0]["pid"]);
}

#[test]
fn a_child_of_a_program_with_threads() {
    let place = place();
    let report = check(&place, "threads", 2);
    let runs = report["runs"].as_array().unwrap();
    let accesses: Vec<_> = runs
        .iter()
        .map(|run| run["accesses"].as_u64().unwrap())
        .collect();
    // The child's counts are its own.
    assert!(
        accesses[0].abs_diff(accesses[1]) < accesses[0] / 10,
        "{accesses:?}"
    );
}

#[test]
fn programs_that_are_executed_are_recorded() {
    let place = place();
    for how in ["exec", "spawn", "vfork"] {
        let report = check(&place, how, 2);
        let program = processes(&report)[1]["program"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(program.ends_with("/forks"), "{how}: {program}");
    }
}

#[test]
fn a_program_that_was_not_built_for_it_is_named() {
    let place = place();
    let (ended, report) = record(&place, "-- ./forks plain", 0);
    assert_eq!(processes(&report).len(), 1, "{report}");
    let note = "note: nothing was recorded of /bin/true: it was not built with relayout cc";
    assert!(ended.stderr.contains(note), "{ended:?}");
}

#[test]
fn thousands_of_children_are_counted() {
    let place = place();
    // More than are recorded at a time.
    let (ended, report) = record(&place, "-- ./forks many 1000", 0);
    let first = &processes(&report)[0];
    let counts = (&first["without_transfers"], &first["left_out"]);
    assert_eq!(counts, (&1000.into(), &0.into()), "{ended:?}");
    assert_eq!(processes(&report).len(), 1, "{report}");
}

/// The host removes the folder of a child in which nothing moved while others still come.
#[test]
fn children_at_a_time_leave_few_folders() {
    let place = place();
    let mut command = place.tool("record run -q -o out -- ./forks many 2000 20");
    let mut child = crate::common::start(&mut command);
    let mut folders_most = 0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let workspaces = crate::common::names(&place.path("tmp"));
        let folders = workspaces.iter().map(|name| {
            // It may be gone by now.
            std::fs::read_dir(place.path("tmp").join(name)).map_or(0, Iterator::count)
        });
        folders_most = folders.sum::<usize>().max(folders_most);
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    assert!(status.success(), "{status}");
    // Those of 512 processes, and the first process's own files.
    assert!((2..=512 + 64).contains(&folders_most), "{folders_most}");
    let report = place.said("report out --json").stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let first = &processes(&report)[0];
    assert_eq!(first["without_transfers"], 2000, "{first}");
    assert_eq!(first["left_out"], 0, "{first}");
}

#[test]
fn memory_that_processes_share_is_not_joined_and_that_is_said() {
    let place = place();
    let (ended, report) = record(&place, "-- ./forks shared", 0);
    assert_eq!(processes(&report).len(), 2, "{report}");
    // The child has inherited it.
    assert_eq!(processes(&report)[0]["shared_mappings"], 1, "{report}");
    assert!(
        ended.stderr.contains("processes share memory (MAP_SHARED)"),
        "{ended:?}"
    );
    let text = place.said("report out --all").stdout;
    assert!(
        text.contains("transfers between processes are not recorded"),
        "{text}"
    );
}

#[test]
fn only_the_first_process_if_that_is_asked_for() {
    let place = place();
    // It waits for its child, which counts itself among those that are left out when it first runs.
    let (ended, report) = record(&place, "--no-follow-forks -- ./forks child", 4);
    assert_eq!(processes(&report).len(), 1, "{report}");
    assert_eq!(processes(&report)[0]["left_out"], 1, "{report}");
    let why = "as daemons do, are not recorded (1): leave out --no-follow-forks";
    assert!(ended.stderr.contains(why), "{ended:?}");
}

#[test]
fn a_child_that_a_signal_ends_is_incomplete() {
    let place = place();
    for (how, ended) in [
        ("signal", "the process was ended by SIGTERM"),
        ("kill", "the process was ended (by SIGKILL"),
    ] {
        let (_, report) = record(&place, &format!("-- ./forks {how}"), 0);
        let run = &report["runs"][1];
        assert_eq!(run["complete"], false, "{how}: {run}");
        assert!(run["ended"].as_str().unwrap().starts_with(ended), "{run}");
        let text = place.said("report out --all").stdout;
        assert!(
            text.contains("is incomplete: the process was ended"),
            "{text}"
        );
        assert_eq!(report["runs"][0]["complete"], true, "{how}");
    }
}

/// The daemon is in a session of its own, and its parent has ended long before.
#[test]
fn who_outlives_the_program_is_told_to_end() {
    let place = place();
    let began = std::time::Instant::now();
    let (ended, report) = record(&place, "--stop-after 2 -- ./forks outlive", 0);
    assert!(began.elapsed().as_secs() >= 2, "{ended:?}");
    assert!(ended.stdout.contains("daemon is up"), "{ended:?}");
    assert_eq!(processes(&report).len(), 2, "{report}");
    assert_eq!(report["runs"][1]["complete"], true, "{report}");
}
