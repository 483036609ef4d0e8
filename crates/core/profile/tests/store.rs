//! Folders: whole or not there.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::sample;
use relayout_profile::{Error, SiteId, WriteOptions, read, write, write_unless};

const KEEP: WriteOptions = WriteOptions { overwrite: false };
const OVERWRITE: WriteOptions = WriteOptions { overwrite: true };

#[test]
fn what_is_written_is_read_and_private() {
    let tmp = tempfile::tempdir().expect("a temporary folder");
    let dir = tmp.path().join("a.profile");
    write(&dir, &sample(), &KEEP).expect("an empty place");
    assert_eq!(read(&dir).expect("just written"), sample());
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("bursts.parquet")), 0o600);
    assert_eq!(names(tmp.path()), ["a.profile"]);
}

#[test]
fn a_profile_is_replaced_only_when_asked() {
    let tmp = tempfile::tempdir().expect("a temporary folder");
    let dir = tmp.path().join("a");
    write(&dir, &sample(), &KEEP).expect("an empty place");
    let mut other = sample();
    other.meta.workload = "mmap1".to_owned();
    let error = write(&dir, &other, &KEEP).expect_err("there is one");
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    assert_eq!(read(&dir).expect("still there"), sample());
    write(&dir, &other, &OVERWRITE).expect("asked to");
    assert_eq!(read(&dir).expect("replaced"), other);
    assert_eq!(names(tmp.path()), ["a"]);
}

/// An abort before any file, or before the folder gets its name, leaves what was there.
#[test]
fn an_aborted_profile_leaves_the_old_one() {
    let tmp = tempfile::tempdir().expect("a temporary folder");
    let dir = tmp.path().join("a");
    write(&dir, &sample(), &KEEP).expect("an empty place");
    let files = fs::read_dir(&dir).expect("a folder").count();
    let mut other = sample();
    other.meta.workload = "mmap1".to_owned();
    let write_until = |asks_max: usize| {
        let asks = Cell::new(0);
        let is_aborted = || asks.replace(asks.get() + 1) >= asks_max;
        write_unless(&dir, &other, &OVERWRITE, &is_aborted)
    };
    // Before encoding, before each file, and before the rename.
    for asks_max in 0..files + 2 {
        let error = write_until(asks_max).expect_err("aborted");
        assert!(matches!(error, Error::Aborted { .. }), "{error}");
        assert_eq!(read(&dir).expect("still there"), sample());
        assert_eq!(names(tmp.path()), ["a"]);
    }
    write_until(files + 2).expect("not aborted");
    assert_eq!(read(&dir).expect("replaced"), other);
}

#[test]
fn other_things_are_never_replaced() {
    let check = |make: fn(&Path), expect: &str| {
        let tmp = tempfile::tempdir().expect("a temporary folder");
        let dir = tmp.path().join("a");
        make(&dir);
        let before = names(tmp.path());
        let error = write(&dir, &sample(), &OVERWRITE)
            .expect_err(expect)
            .to_string();
        assert!(
            error.contains(expect) && error.contains("left alone"),
            "{error}"
        );
        assert_eq!(names(tmp.path()), before);
    };
    check(
        |dir| fs::write(dir, "text").expect("writable"),
        "it is not a folder",
    );
    check(
        |dir| fs::create_dir(dir).expect("writable"),
        "it has no meta.json",
    );
    check(
        |dir| {
            write(dir, &sample(), &KEEP).expect("an empty place");
            fs::write(dir.join("notes.txt"), "mine").expect("writable");
        },
        "it holds notes.txt",
    );
    check(
        |dir| {
            fs::create_dir(dir).expect("writable");
            fs::write(dir.join("meta.json"), r#"{"schema":"other/1"}"#).expect("writable");
        },
        "schema of meta.json is \"other/1\"",
    );
}

#[test]
fn a_failed_write_names_the_path_and_leaves_nothing() {
    let tmp = tempfile::tempdir().expect("a temporary folder");
    let dir = tmp.path().join("missing").join("a");
    let error = write(&dir, &sample(), &KEEP)
        .expect_err("no parent")
        .to_string();
    assert!(error.contains("missing/a"), "{error}");

    let mut wrong = sample();
    wrong.bursts[0].site = SiteId(99);
    write(&tmp.path().join("a"), &wrong, &KEEP).expect_err("contradictory");
    assert_eq!(names(tmp.path()), [""; 0]);

    let error = write(Path::new("/"), &sample(), &KEEP)
        .expect_err("the root")
        .to_string();
    assert!(error.contains("left alone"), "{error}");
    let error = write(&tmp.path().join(".."), &sample(), &KEEP).expect_err("no name");
    assert!(error.to_string().contains(".."), "{error}");
}

#[test]
fn reading_what_is_no_profile() {
    let tmp = tempfile::tempdir().expect("a temporary folder");
    let check = |path: &Path, expect: &str| {
        let error = read(path).expect_err(expect);
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let text = format!("{error}: {}", source.unwrap_or_default());
        assert!(text.contains(expect), "{text}");
        assert!(text.contains(&path.display().to_string()), "{text}");
    };
    check(&tmp.path().join("none"), "No such file");
    check(tmp.path(), "not a relayout profile: it has no meta.json");
    let file = tmp.path().join("file");
    fs::write(&file, "text").expect("writable");
    check(&file, "not a relayout profile: it is not a folder");
    let dir = tmp.path().join("a");
    write(&dir, &sample(), &KEEP).expect("an empty place");
    let bursts = dir.join("bursts.parquet");
    let bytes = fs::read(&bursts).expect("just written");
    fs::write(&bursts, &bytes[..bytes.len() / 2]).expect("writable");
    check(&dir, "bursts.parquet is truncated");
    fs::remove_file(&bursts).expect("writable");
    check(&dir, "table `bursts` is missing");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path)
        .expect("just written")
        .permissions()
        .mode()
        & 0o777
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a folder");
    entries
        .map(|e| {
            e.expect("readable")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect()
}
