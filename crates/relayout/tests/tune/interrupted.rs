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
