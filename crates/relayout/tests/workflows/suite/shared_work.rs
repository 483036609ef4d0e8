//! Jobs that several processes run, and runs that are stopped.

use std::process::Stdio;
use std::time::Duration;

use super::{FILE, place_with_suite, states};
use crate::common::programs::ends;
use crate::common::{Place, start};

/// A suite with one slow job.
const SLOW: &str = "\
[[program]]
name = \"slow\"
command = [\"./slow\"]
";

#[track_caller]
fn place_with_slow_job() -> Place {
    let place = place_with_suite();
    place.script("slow", "touch begun; sleep 2; exec ./shared");
    place.write("slow.toml", SLOW);
    place
}

#[track_caller]
fn wait_for(place: &Place, name: &str) {
    for _ in 0..500 {
        if place.path(name).exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no {name}");
}

/// Machines run a part each; the copied folders are one.
#[test]
fn shards_are_gathered_by_copying() {
    let place = place_with_suite();
    for shard in 1..=3 {
        let code = if shard == 1 { 4 } else { 0 };
        ends(
            &place,
            &format!("suite -q --shard {shard}/3 -o part-{shard}"),
            code,
        );
    }
    std::fs::create_dir(place.path("all")).unwrap();
    for shard in 1..=3 {
        let copied = place.other("/bin/cp", &format!("-a part-{shard}/. all"));
        assert_eq!(copied.code, Some(0), "{copied:?}");
    }
    let gathered: Vec<String> = { states(&place, "-o all").into_iter() }
        .map(|(_, state)| state)
        .collect();
    assert_eq!(gathered, ["done", "done", "done", "failed"]);
    assert!(
        ends(&place, "suite -q -o all", 4)
            .stdout
            .contains("; 0 of them now")
    );
}

#[test]
fn a_job_that_another_process_runs_is_left_to_it() {
    let place = place_with_slow_job();
    let mut command = place.tool("suite -q slow.toml");
    let mut first = start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    wait_for(&place, "begun");
    let second = ends(&place, "suite -q slow.toml", 1);
    assert!(
        second
            .stdout
            .contains("elsewhere program/slow/seed-1: another process runs it"),
        "{second:?}"
    );
    assert_eq!(first.wait().unwrap().code(), Some(0));
    ends(&place, "suite -q slow.toml", 0);
}

#[test]
fn jobs_are_run_by_name() {
    let place = place_with_suite();
    let words = "suite -q --job program/counters/seed-3 --job program/counters/seed-1";
    let ended = ends(&place, words, 0);
    assert!(ended.stdout.starts_with("2 recordings"), "{ended:?}");
    let done = { states(&place, "").into_iter() }.filter(|(_, state)| state == "done");
    let done: Vec<String> = done.map(|(id, _)| id).collect();
    assert_eq!(done, ["program/counters/seed-1", "program/counters/seed-3"]);
}

#[test]
fn killed_suites_go_on() {
    let place = place_with_suite();
    place.write(
        "relayout-suite.toml",
        FILE.replace("seeds = 3", "seeds = 12"),
    );
    for step in 1..=6 {
        let mut command = place.tool("suite -q");
        let mut child = start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        std::thread::sleep(Duration::from_millis(70 * step));
        let _ = child.kill();
        child.wait().unwrap();
    }
    let ended = ends(&place, "suite -q", 4);
    assert!(
        ended.stdout.contains("12 done, 1 failed, 0 not run"),
        "{ended:?}"
    );
    for seed in 1..=12 {
        let folder = "relayout-suite.recordings/program/counters";
        ends(&place, &format!("report {folder}/seed-{seed}.relayout"), 0);
    }
}

#[test]
fn ctrl_c_says_how_to_go_on() {
    let place = place_with_slow_job();
    let mut command = place.tool("suite slow.toml");
    let child = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    wait_for(&place, "begun");
    // SAFETY: a plain system call; the child is not waited for yet, so its number is its own.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(
        text.contains("`relayout suite slow.toml` goes on"),
        "{text}"
    );
    assert_eq!(states(&place, "slow.toml")[0].1, "waiting");
    ends(&place, "suite -q slow.toml", 0);
}

#[test]
fn no_job_begins_after_the_time() {
    let place = place_with_slow_job();
    place.write("slow.toml", format!("{SLOW}seeds = 2\n"));
    let ended = ends(&place, "suite -q slow.toml --time 500ms", 1);
    assert!(
        ended.stdout.contains("1 done, 0 failed, 1 not run"),
        "{ended:?}"
    );
}
