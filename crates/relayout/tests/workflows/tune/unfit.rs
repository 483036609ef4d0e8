//! Sources, settings and folders that a run refuses, and commands that fail without any change.

use super::{RUN, git, place_with_source, require_untouched};
use crate::common::disk::SmallDisk;
use crate::common::flowing;
use crate::common::programs::ends;

#[track_caller]
fn refuses(words: &str, code: i32, message: &str, prepare: impl FnOnce(&crate::common::Place)) {
    let place = place_with_source();
    prepare(&place);
    let ended = ends(&place, words, code);
    assert!(flowing(&ended.stderr).contains(message), "{ended:?}");
    assert_eq!(ended.stdout, "");
}

#[test]
fn changes_that_are_not_committed() {
    refuses(
        RUN,
        2,
        "src has changes that are not committed: queue.h; commit or stash",
        |place| {
            place.write("src/queue.h", "struct queue {};\n");
        },
    );
}

#[test]
fn a_branch_that_exists() {
    refuses(
        RUN,
        2,
        "has a branch relayout-tune already; give another name",
        |place| {
            git(place, "branch relayout-tune");
        },
    );
    let place = place_with_source();
    let ended = ends(&place, &format!("{RUN} --branch main"), 2);
    let text = flowing(&ended.stderr);
    assert!(
        text.contains("has a branch main already; give another name"),
        "{text}"
    );
    assert!(
        !text.contains("branch -D"),
        "the branch is the user's: {text}"
    );
    let words = format!("{RUN} --branch no..name");
    refuses(&words, 2, "'no..name' is no name of a branch", |_| {});
}

#[test]
fn a_folder_that_is_not_there() {
    let words = RUN.replace("--source src", "--source nowhere");
    refuses(&words, 2, "cannot find nowhere", |_| {});
}

#[test]
fn a_benchmark_given_twice() {
    refuses(
        &format!("{RUN} --also ./queue"),
        2,
        "./queue is given twice",
        |_| {},
    );
}

#[test]
fn a_build_or_test_that_fails_without_a_change() {
    let words = RUN.replace("./build", "./nothing");
    let message = "the build fails without any change; its output is in [DIR]/cache/tune/src-";
    refuses(&words, 4, message, |_| {});
    refuses(
        &format!("{RUN} --test false"),
        4,
        "the test fails without any change",
        |_| {},
    );
    let words = RUN.replace("--bench ./queue", "--bench ./missing");
    refuses(
        &words,
        4,
        "the recording of ./missing fails without any change",
        |_| {},
    );
}

#[test]
fn a_benchmark_without_numbers() {
    let words = RUN.replace("regex:cost", "regex:price");
    let message = "cannot measure './queue': './queue' (after): metric 'cost' does not appear";
    refuses(&words, 2, message, |_| {});
}

#[test]
fn a_state_folder_of_another_run_or_of_something_else() {
    let place = place_with_source();
    let first = format!("{RUN} --state state --time 1s");
    ends(&place, &first, 0);
    let ended = ends(&place, &format!("{first} --repeat 4"), 2);
    let message = "[DIR]/state holds a run with other settings (repeats)";
    assert!(flowing(&ended.stderr).contains(message), "{ended:?}");
    std::fs::create_dir(place.path("thesis")).unwrap();
    place.write("thesis/chapter", "");
    let ended = ends(
        &place,
        &format!("{RUN} --branch other --state thesis --restart"),
        2,
    );
    assert!(
        ended.stderr.contains("holds no run of `relayout tune`"),
        "{ended:?}"
    );
    assert!(place.path("thesis/chapter").exists());
}

#[test]
fn a_full_disk() {
    let place = place_with_source();
    std::fs::create_dir(place.path("disk")).unwrap();
    let disk = SmallDisk::mount(place.path("disk"), "34m");
    std::fs::create_dir(place.path("disk/state")).unwrap();
    let words = format!("{RUN} --state disk/state");
    ends(&place, &format!("{words} --time 1s"), 0);
    disk.fill();
    let ended = ends(&place, &words, 3);
    assert!(
        ended.stderr.contains("No space left on device"),
        "{ended:?}"
    );
    require_untouched(&place);
    std::fs::remove_file(place.path("disk/filling")).unwrap();
    let ended = ends(&place, &words, 0);
    assert!(ended.stdout.starts_with("1 change kept"), "{ended:?}");
}
