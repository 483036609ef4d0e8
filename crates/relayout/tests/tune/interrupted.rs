//! Runs that are stopped and go on.

use std::process::Stdio;
use std::time::Duration;

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

/// What a build started ends with a run that is killed, so that it does not write into the next one's
/// folders.
#[test]
fn nothing_of_a_killed_run_goes_on() {
    let place = place_with_source();
    let time = "71.25";
    place.script("src/build", &format!("sh -c 'sleep {time}; :'"));
    super::commit(&place, "slow");
    let code = stopped_after(&place, Duration::from_millis(800), libc::SIGKILL);
    assert_eq!(code, None);
    let goes_on = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut commands =
            processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        commands.any(|command| command.starts_with(format!("sleep\0{time}").as_bytes()))
    };
    let begun = std::time::Instant::now();
    while goes_on() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!goes_on());
}

#[test]
fn ctrl_c_says_how_to_go_on() {
    let place = place_with_source();
    let mut command = place.tool(RUN);
    let child = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    std::thread::sleep(Duration::from_millis(400));
    // SAFETY: as above.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(
        text.contains("the same command goes on where this run stopped"),
        "{text}"
    );
    require_untouched(&place);
    assert_eq!(tuned(&place, RUN)["changes"][0]["kept"], true);
}
