//! Changes that are rejected, each at its step.

use super::{RUN, git, place_with_source, rejection, require_untouched, tuned};

/// A shell command that is true where the header has the change.
const IS_CHANGED: &str = "grep -q aligned queue.h";

#[test]
fn a_build_that_fails_halfway() {
    let place = place_with_source();
    let build = std::fs::read_to_string(place.path("src/build")).unwrap();
    place.script(
        "src/build",
        &format!("{build}if {IS_CHANGED}; then echo halfway >&2; exit 7; fi"),
    );
    git(
        &place,
        "-c user.name=T -c user.email=t@localhost commit --quiet --amend -a -m first",
    );
    let document = tuned(&place, RUN);
    let reason = rejection(&document, "build");
    assert!(
        reason.contains("exit code 7") && reason.contains("change-1/build.log"),
        "{reason}"
    );
    assert_eq!(git(&place, "branch --format=%(refname:short)"), "main\n");
    require_untouched(&place);
}

#[test]
fn a_test_that_hangs() {
    let place = place_with_source();
    let hang = format!("if {IS_CHANGED}; then sleep 54321; fi");
    place.script("src/hang", &hang);
    git(&place, "add hang");
    git(
        &place,
        "-c user.name=T -c user.email=t@localhost commit --quiet --amend -a -m first",
    );
    let document = tuned(&place, &format!("{RUN} --test ./hang --time-limit 8s"));
    let reason = rejection(&document, "test");
    assert!(reason.contains("8 s"), "{reason}");
    let left = place.other("/usr/bin/pgrep", "-f sleep.54321");
    assert_eq!(left.stdout, "", "the test command still runs");
    require_untouched(&place);
}

#[test]
fn a_loss_in_another_metric() {
    let place = place_with_source();
    let document = tuned(&place, &format!("{RUN} -m bytes,lower=regex:bytes:.(.*)"));
    let reason = rejection(&document, "measurement");
    assert!(
        reason.starts_with("./queue loses: bytes: median 24.0000 before and 128 after"),
        "{reason}"
    );
    require_untouched(&place);
}

#[test]
fn a_metric_that_stays_the_same() {
    let place = place_with_source();
    let document = tuned(
        &place,
        &RUN.replace("cost,lower=regex:cost", "items=regex:items"),
    );
    let reason = rejection(&document, "measurement");
    assert!(
        reason
            .starts_with("./queue is not clearly better: items: median 8000 before and 8000 after"),
        "{reason}"
    );
    require_untouched(&place);
}

/// Neither git nor patch change a file through a link.
#[test]
fn a_source_that_is_a_symbolic_link() {
    let place = place_with_source();
    let source = place.path("src");
    std::fs::rename(source.join("queue.h"), source.join("real.h")).unwrap();
    std::os::unix::fs::symlink("real.h", source.join("queue.h")).unwrap();
    git(&place, "add .");
    git(
        &place,
        "-c user.name=T -c user.email=t@localhost commit --quiet --amend -a -m first",
    );
    let reason = rejection(&tuned(&place, RUN), "advice");
    assert!(
        reason.starts_with("queue.h is a symbolic link to real.h, and patches change files only"),
        "{reason}"
    );
    require_untouched(&place);
}

/// The remedy is named with the place of what is no UTF-8.
#[test]
fn a_source_in_another_encoding() {
    let place = place_with_source();
    let mut header = b"/* Andr\xe9 */\n".to_vec();
    header.extend(std::fs::read(place.path("src/queue.h")).unwrap());
    place.write("src/queue.h", header);
    git(
        &place,
        "-c user.name=T -c user.email=t@localhost commit --quiet --amend -a -m first",
    );
    let reason = rejection(&tuned(&place, RUN), "advice");
    assert!(
        reason.starts_with(
            "queue.h:1: the byte 0xe9 is not UTF-8; convert the file and commit it: iconv"
        ),
        "{reason}"
    );
    require_untouched(&place);
}
