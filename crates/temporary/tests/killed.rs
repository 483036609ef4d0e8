//! Files and folders of processes that were killed, and of those that live.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use relayout_temporary::{
    RANDOM_CHARACTERS, TemporaryFile, TemporaryFolder, WORK_PREFIX, remove_abandoned,
};

const PARENT_VARIABLE: &str = "RELAYOUT_TEST_PARENT";

/// Returns the path of a name that fits the pattern.
fn fitting_path(parent: &Path, character: char) -> PathBuf {
    let random = character.to_string().repeat(RANDOM_CHARACTERS);
    parent.join(format!("{WORK_PREFIX}{random}"))
}

fn names(parent: &Path) -> Vec<String> {
    let entries = fs::read_dir(parent).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Part of the other tests: a process that makes a folder with a file in it, and a file, and waits.
#[test]
fn process_that_holds_temporaries() {
    if let Some(parent) = std::env::var_os(PARENT_VARIABLE) {
        hold_temporaries(Path::new(&parent));
    }
}

fn hold_temporaries(parent: &Path) {
    let folder = TemporaryFolder::create(parent, WORK_PREFIX).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/segment"), "bytes").unwrap();
    let _file = TemporaryFile::create(parent, WORK_PREFIX, 0o600).unwrap();
    println!("\nheld");
    std::thread::sleep(std::time::Duration::from_secs(300));
}

/// Starts [`process_that_holds_temporaries`], and waits until it holds them.
fn start_holder(parent: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "process_that_holds_temporaries", "--nocapture"])
        .env(PARENT_VARIABLE, parent)
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "held"));
    child
}

#[test]
fn only_what_killed_processes_left_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let mut killed = start_holder(place.path());
    let mut living = start_holder(place.path());
    assert_eq!(names(place.path()).len(), 4);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let own = TemporaryFolder::create(place.path(), WORK_PREFIX).unwrap();
    assert_eq!(names(place.path()).len(), 3, "two of the living, one here");
    remove_abandoned(place.path(), WORK_PREFIX);
    assert!(own.path().is_dir());
    living.kill().unwrap();
    living.wait().unwrap();
    remove_abandoned(place.path(), WORK_PREFIX);
    let own_name = own.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(names(place.path()), [own_name]);
    drop(own);
    assert!(names(place.path()).is_empty());
}

#[test]
fn other_things_stay() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("target");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("precious"), "").unwrap();
    symlink(&target, fitting_path(place.path(), 'l')).unwrap();
    fs::create_dir(place.path().join(format!("{WORK_PREFIX}mine"))).unwrap();
    fs::create_dir(
        place
            .path()
            .join(format!("{WORK_PREFIX}unlocked-aaaaaaaaaa")),
    )
    .unwrap();
    fs::write(place.path().join("other-aaaaaaaaaa"), "").unwrap();
    let fifo = fitting_path(place.path(), 'p');
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    // A link within what goes is removed, and not what it points to.
    let abandoned = fitting_path(place.path(), 'a');
    fs::create_dir(&abandoned).unwrap();
    symlink(&target, abandoned.join("link")).unwrap();
    let before = names(place.path());
    remove_abandoned(place.path(), WORK_PREFIX);
    let mut left = before.clone();
    left.retain(|name| !name.ends_with("aaaaaaaaaa") || !name.starts_with("relayout-work-a"));
    assert_eq!(names(place.path()), left);
    assert_eq!(before.len(), left.len() + 1);
    assert!(target.join("precious").exists());
}

/// Makers and removers in parallel: nobody loses a folder that it holds.
#[test]
fn nobody_loses_a_folder_that_it_holds() {
    let place = tempfile::tempdir().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    remove_abandoned(place.path(), WORK_PREFIX);
                }
            });
        }
        let makers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let folder = TemporaryFolder::create(place.path(), WORK_PREFIX).unwrap();
                        let file = folder.path().join("segment");
                        fs::write(&file, "bytes").unwrap();
                        std::thread::yield_now();
                        assert_eq!(fs::read(&file).unwrap(), b"bytes");
                    }
                })
            })
            .collect();
        let ended: Vec<_> = makers.into_iter().map(|maker| maker.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    assert!(names(place.path()).is_empty());
}
