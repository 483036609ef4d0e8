//! Runs that are stopped and go on.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{RUN, git, place_with_source, require_untouched, tuned};
use crate::common::{Place, start};

/// Starts a run, sends it a signal after some time, and returns its exit code.
fn stopped_after(place: &Place, delay: Duration, signal: i32) -> Option<i32> {
    let mut command = place.tool(RUN);
    let mut child = start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    std::thread::sleep(delay);
    // SAFETY: a plain system call; the child is not waited for yet, so its number is its own.
    unsafe { libc::kill(child.id().cast_signed(), signal) };
    child.wait().unwrap().code()
}

/// Returns what does not depend on the time and the place of a run.
fn result(document: &Value) -> Vec<Value> {
    let changes = document["changes"].as_array().unwrap().iter();
    let facts = |change: &Value| {
        let names = ["type", "diff", "subject", "kept", "counted", "predicted"];
        Value::from_iter(names.map(|name| (name, change[name].clone())))
    };
    changes.map(facts).collect()
}

#[test]
fn killed_runs_go_on_to_the_same_end() {
    let whole = result(&tuned(&place_with_source(), RUN));
    let place = place_with_source();
    let mut killed = 0;
    for step in 1..=8 {
        let code = stopped_after(&place, Duration::from_millis(150 * step), libc::SIGKILL);
        killed += usize::from(code.is_none());
        require_untouched(&place);
    }
    assert!(killed > 0);
    assert_eq!(result(&tuned(&place, RUN)), whole);
    assert_eq!(git(&place, "rev-list --count main..relayout-tune"), "1\n");
    require_untouched(&place);
}

/// Time within which something happens that a loaded machine delays.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds. Returns false if it never does.
fn comes_about(condition: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// What a build started ends with a run that is killed, so that it does not write into the next one's
/// folders.
#[test]
fn nothing_of_a_killed_run_goes_on() {
    let place = place_with_source();
    // A time that no other process of the machine sleeps.
    let time = format!("71.{}", std::process::id());
    place.script("src/build", &format!("sh -c 'sleep {time}; :'"));
    super::commit(&place, "slow");
    let goes_on = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut commands =
            processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        commands.any(|command| command.starts_with(format!("sleep\0{time}").as_bytes()))
    };
    let mut command = place.tool(RUN);
    let mut child = start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let has_begun = comes_about(goes_on);
    // SAFETY: as above.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGKILL) };
    assert_eq!(child.wait().unwrap().code(), None);
    assert!(has_begun, "the build did not begin");
    assert!(comes_about(|| !goes_on()), "the build goes on");
}

#[test]
fn ctrl_c_says_how_to_go_on() {
    let place = place_with_source();
    let mut command = place.tool(RUN);
    let mut child = start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // The first step: by then a run heeds Ctrl-C.
    let begun = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("copying")));
    assert!(begun.is_some(), "{:?}", child.wait());
    // SAFETY: as above.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    let text: Vec<String> = lines.map(Result::unwrap).collect();
    let text = text.join("\n");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    assert!(
        text.contains("the same command goes on where this run stopped"),
        "{text}"
    );
    require_untouched(&place);
    assert_eq!(tuned(&place, RUN)["changes"][0]["kept"], true);
}
