//! Kits that cannot be made, benchmarks that fail elsewhere, and results that are none.

use std::fs;

use super::{EXPORT, PATCH, exported, measured_elsewhere, place_with_source, run_kit};
use crate::common::flowing;

#[track_caller]
fn refuses(words: &str, message: &str) {
    let place = place_with_source();
    let ended = place.said(words);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(flowing(&ended.stderr).contains(message), "{ended:?}");
    assert!(!place.path("kit").exists());
}

#[test]
fn kits_that_cannot_be_made() {
    refuses(
        "verify --before bench --after bench --export kit",
        "cannot pack the program of 'bench': bench is no file; give its path, as in ./bench",
    );
    refuses(
        &format!("{EXPORT} --bench ./bench --advice more.patch"),
        "more.patch is no advice to keep with a kit",
    );
    refuses(
        &format!("{EXPORT} --bench ./bench --recorded nowhere nowhere"),
        "nowhere",
    );
    refuses("verify --export kit", "there is nothing to compare");
    refuses(
        &format!("{EXPORT} --bench ./bench --all-runs"),
        "the argument '--export <KIT>' cannot be used with '--all-runs'",
    );
}

#[test]
fn a_folder_that_is_there() {
    let place = place_with_source();
    exported(&place, "");
    let mut command = place.tool(&format!("{EXPORT} --bench ./bench"));
    let ended = place.ended(&mut command);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("kit is there already"), "{ended:?}");
}

#[test]
fn a_build_that_fails() {
    let place = place_with_source();
    let words = EXPORT.replace("--build true", "--build false");
    let ended = place.said(&format!("{words} --bench ./bench"));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let left: Vec<String> = crate::common::names(&place.path(""));
    assert!(
        !left
            .iter()
            .any(|name| name.contains("kit") || name.contains("partial")),
        "{left:?}"
    );
}

#[test]
fn a_benchmark_that_fails_elsewhere() {
    let place = place_with_source();
    exported(&place, "");
    fs::remove_file(place.path("kit/after/bench")).unwrap();
    let ended = run_kit(&place, "kit", "result.txt");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("the benchmark of 'after' ended with exit code"),
        "{ended:?}"
    );
    assert!(!place.path("result.txt").exists());
    assert!(!place.path("result.txt.work").exists());
}

#[test]
fn results_that_are_none() {
    let place = place_with_source();
    exported(&place, "");
    let result = measured_elsewhere(&place, "first");
    let whole = fs::read_to_string(place.path(&result)).unwrap();
    let refuses = |text: &str, message: &str| {
        place.write("changed.txt", text);
        let ended = place.said("verify --import changed.txt");
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(flowing(&ended.stderr).contains(message), "{ended:?}");
    };
    refuses(
        PATCH,
        "changed.txt, line 1: it is no result of a kit; KIT/run writes one",
    );
    refuses(
        &whole.replace("relayout-kit-result 1", "relayout-kit-result 7"),
        "its version is 7, this relayout reads 1; use a newer one",
    );
    refuses(
        &whole.replace("out score", "out other"),
        "changed.txt, the start of",
    );
    refuses(&whole.replace(" 0 1", " 5 1"), "ended with exit code 5");
    let head: String = whole
        .lines()
        .take(6)
        .map(|line| format!("{line}\n"))
        .collect();
    refuses(&head, "it has no start that counts; run the kit again");
    place.refuses(
        "verify --import nowhere.txt",
        2,
        "relayout: cannot read nowhere.txt: No such file or directory (os error 2)",
    );
}

/// What a result has until a power cut is judged, and said to be a part.
#[test]
fn a_result_that_was_cut_off() {
    let place = place_with_source();
    exported(&place, "");
    let result = measured_elsewhere(&place, "first");
    let whole = fs::read_to_string(place.path(&result)).unwrap();
    let half = &whole[..whole.rfind("\nstart ").unwrap()];
    place.write("half.txt", half);
    let ended = place.said("verify --import half.txt");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("the script did not come to its end"),
        "{ended:?}"
    );
}
