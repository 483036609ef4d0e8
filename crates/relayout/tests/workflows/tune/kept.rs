//! A change that is kept, and its commit.

use super::{RUN, git, place_with_source, require_untouched, tuned};
use crate::common::programs::ends;
use crate::common::{flowing, names};

#[test]
fn a_gain_becomes_a_commit() {
    let place = place_with_source();
    let document = tuned(&place, RUN);
    require_untouched(&place);
    let change = &document["changes"][0];
    assert_eq!(change["type"], "queue", "{document:#}");
    assert_eq!(change["kept"], true, "{document:#}");
    assert_eq!(change["measured"][0]["before"], 2.0);
    assert_eq!(change["measured"][0]["after"], 1.0);
    assert_eq!(document["ending"], "nothing-left");
    assert_eq!(document["branch"]["name"], "relayout-tune");

    let message = git(&place, "log -1 --format=%B relayout-tune");
    assert!(
        message.starts_with("queue: fewer cache line transfers on struct queue\n"),
        "{message}"
    );
    let text = flowing(&message);
    for part in [
        "Measured on ",
        "./queue: cost: median 2.0000 before and 1.0000 after; within pairs -50.0%",
        "Counted in 3 recordings of each build: ./queue: transfers per operation from ",
        "Predicted by replaying the recording under both layouts",
        "Assisted-by: relayout",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in ["Signed-off-by", "Reported-by", "[DIR]"] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    let changed = git(&place, "diff --name-only main relayout-tune");
    assert_eq!(changed, "queue.h\n");
    // The counts say the same as the prediction: the line is not shared any more.
    let counted = change["counted"].as_array().unwrap();
    let of_type = counted
        .iter()
        .find(|effect| effect["type"] == "queue")
        .unwrap();
    assert_eq!(of_type["after"], 0.0, "{document:#}");
}

#[test]
fn a_finished_run_is_told_again() {
    let place = place_with_source();
    let first = tuned(&place, RUN);
    let branch = git(&place, "rev-parse relayout-tune");
    let ended = ends(&place, RUN, 0);
    assert!(ended.stderr.contains("going on after"), "{ended:?}");
    assert!(!ended.stderr.contains("measuring"), "{ended:?}");
    assert!(
        ended.stdout.starts_with("1 change kept and 0 rejected"),
        "{ended:?}"
    );
    assert_eq!(git(&place, "rev-parse relayout-tune"), branch);
    assert_eq!(tuned(&place, RUN), first);
}

/// A branch that the user removed is there again at the end. One that the user changed is left as
/// it is, and the run says so.
#[test]
fn a_branch_that_was_removed_or_changed_since() {
    let place = place_with_source();
    let first = tuned(&place, RUN);
    let branch = git(&place, "rev-parse relayout-tune");
    git(&place, "branch -D relayout-tune");
    assert_eq!(tuned(&place, RUN), first);
    assert_eq!(git(&place, "rev-parse relayout-tune"), branch);
    git(&place, "branch --force relayout-tune main");
    assert_eq!(tuned(&place, RUN), first, "it is behind, and goes forward");
    assert_eq!(git(&place, "rev-parse relayout-tune"), branch);

    git(&place, "checkout --quiet -b other main");
    place.write("src/own", "");
    super::commit(&place, "own");
    let own = git(&place, "rev-parse other");
    git(&place, "checkout --quiet main");
    git(&place, "branch --force relayout-tune other");
    let ended = ends(&place, RUN, 2);
    let text = flowing(&ended.stderr);
    assert!(
        text.contains("has a branch relayout-tune without the changes that are kept; rename it"),
        "{text}"
    );
    assert!(!text.contains("branch -D"), "{text}");
    assert_eq!(git(&place, "rev-parse relayout-tune"), own);
}

#[test]
fn a_folder_without_git_gets_a_repository_of_its_own() {
    let place = place_with_source();
    std::fs::remove_dir_all(place.path("src/.git")).unwrap();
    let before = names(&place.path("src"));
    let document = tuned(&place, &format!("{RUN} --state state"));
    assert_eq!(names(&place.path("src")), before);
    let repository = document["branch"]["repository"].as_str().unwrap();
    assert!(repository.ends_with("/state/repository"), "{repository}");
    let log = place.other(
        "/usr/bin/git",
        "-C state/repository log --format=%s relayout-tune",
    );
    assert_eq!(log.stdout.lines().count(), 2, "{log:?}");
}

#[test]
fn a_source_may_be_a_folder_of_a_repository() {
    let place = place_with_source();
    std::fs::create_dir(place.path("src/part")).unwrap();
    git(&place, "mv queue.h queue.c build part");
    super::commit(&place, "moved");
    let document = tuned(&place, &RUN.replace("--source src", "--source src/part"));
    assert_eq!(document["changes"][0]["kept"], true, "{document:#}");
    assert_eq!(
        git(&place, "diff --name-only main relayout-tune"),
        "part/queue.h\n"
    );
    assert_eq!(git(&place, "status --porcelain"), "");
}

#[test]
fn limits_end_a_run_that_goes_on_with_more() {
    let place = place_with_source();
    let build = std::fs::read_to_string(place.path("src/build")).unwrap();
    place.script("src/build", &format!("{build}sleep 0.6"));
    super::commit(&place, "slow");
    let document = tuned(&place, &format!("{RUN} --time 1s"));
    assert_eq!(document["ending"], "time", "{document:#}");
    assert_eq!(document["untried"][0]["type"], "queue");
    assert_eq!(document["branch"], serde_json::Value::Null);
    let document = tuned(&place, &format!("{RUN} --time 1h"));
    assert_eq!(document["ending"], "nothing-left");
    assert_eq!(document["changes"][0]["kept"], true, "{document:#}");
}
