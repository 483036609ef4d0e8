//! Recordings that start from a snapshot of the guest.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{Ended, names, start};
use crate::stand::Stand;

const WORDS: &str =
    "record kernel --force --order host --memory 512M --workload mntns --iterations 20";
/// Place in the memory that the kernel image takes.
const KERNEL_AT: u64 = 20 << 20;
const BOOTS: &str = "booting the kernel";
const KEEPS: &str = "keeping a snapshot";
const STARTS: &str = "starting from a snapshot";

/// A stand with a cache of its own, in which nothing but snapshots is new.
struct SnapshotStand {
    stand: Stand,
    cache: PathBuf,
}

impl SnapshotStand {
    fn new() -> Self {
        let stand = Stand::new();
        let cache = stand.place.path("own-cache");
        fs::create_dir(&cache).unwrap();
        fs::set_permissions(&cache, Permissions::from_mode(0o700)).unwrap();
        for name in ["kernel", "qemu"] {
            symlink(stand.cache.join(name), cache.join(name)).unwrap();
        }
        Self { stand, cache }
    }

    fn relayout(&self, words: &str) -> Command {
        let mut command = self.stand.relayout(words);
        command
            .env("RELAYOUT_CACHE", &self.cache)
            .env_remove("RELAYOUT_SNAPSHOTS_MIB");
        command
    }

    /// Records to `out`, with further words, which must work and leave nothing behind.
    #[track_caller]
    fn record(&self, further: &str) -> Ended {
        let mut command = self.relayout(&format!("{WORDS} -o out {further}"));
        let ended = self.stand.place.ended(&mut command);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        self.stand.check_clean();
        let run = &self.stand.report()["runs"][0];
        assert_eq!(
            (&run["complete"], &run["operations"]),
            (&true.into(), &80.into()),
            "{run}"
        );
        ended
    }

    #[track_caller]
    fn check_steps(&self, further: &str, expect: &[&str]) {
        let ended = self.record(further);
        let found = [BOOTS, KEEPS, STARTS].into_iter();
        let found: Vec<&str> = found.filter(|step| ended.stderr.contains(step)).collect();
        assert_eq!(found, expect, "{further}: {ended:?}");
    }

    fn snapshots(&self) -> Vec<String> {
        let place = self.cache.join("snapshots");
        match place.exists() {
            true => names(&place),
            false => Vec::new(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        let snapshots = self.snapshots();
        assert_eq!(snapshots.len(), 1, "{snapshots:?}");
        self.cache.join("snapshots").join(&snapshots[0]).join(name)
    }
}

/// Only what influences the guest up to its marker makes another snapshot.
#[test]
fn second_recordings_start_from_a_snapshot() {
    let stand = SnapshotStand::new();
    stand.check_steps("--no-snapshot", &[BOOTS]);
    assert_eq!(stand.snapshots(), [] as [&str; 0]);
    stand.check_steps("", &[BOOTS, KEEPS]);
    for further in ["", "--yield 100", "--bursts 1000"] {
        stand.check_steps(further, &[STARTS]);
    }
    for name in ["state", "memory", "console", "index", "request"] {
        let mode = fs::metadata(stand.file(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let ended = stand.stand.place.ended(&mut stand.relayout("doctor"));
    assert!(ended.stdout.contains("1 of guests, "), "{ended:?}");
    stand.check_steps("--seed 2", &[BOOTS, KEEPS]);
    assert_eq!(stand.snapshots().len(), 2);
    let removal = "setup --remove-snapshots";
    let ended = stand.stand.place.ended(&mut stand.relayout(removal));
    assert!(ended.stderr.contains("removed 2 snapshots"), "{ended:?}");
    assert_eq!(stand.snapshots(), [] as [&str; 0]);
}

#[test]
fn damaged_snapshots_are_replaced() {
    let stand = SnapshotStand::new();
    stand.check_steps("", &[BOOTS, KEEPS]);
    let state = fs::OpenOptions::new().write(true).open(stand.file("state"));
    state.unwrap().set_len(1000).unwrap();
    let ended = stand.record("");
    let warning = "the snapshot of this guest is removed: the state of \
                   the machine is damaged";
    assert!(ended.stderr.contains(warning), "{ended:?}");
    stand.check_steps("", &[STARTS]);
    let memory = fs::OpenOptions::new()
        .write(true)
        .open(stand.file("memory"));
    memory.unwrap().write_all_at(b"damaged", KERNEL_AT).unwrap();
    let ended = stand.record("");
    assert!(
        ended.stderr.contains("the guest's memory is damaged"),
        "{ended:?}"
    );
    stand.check_steps("", &[STARTS]);
}

#[test]
fn guests_without_room_or_with_devices_boot() {
    let stand = SnapshotStand::new();
    let mut command = stand.relayout(&format!("{WORDS} -o out"));
    let ended = stand
        .stand
        .place
        .ended(command.env("RELAYOUT_SNAPSHOTS_MIB", "1"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("no snapshot of this guest is kept: it has "),
        "{ended:?}"
    );
    stand.check_steps("-- -device pci-testdev", &[BOOTS]);
    assert_eq!(stand.snapshots(), [] as [&str; 0]);
}

#[test]
fn an_interrupted_save_leaves_nothing() {
    let stand = SnapshotStand::new();
    let mut command = stand.relayout(&format!("{WORDS}0000 -o out"));
    let mut child = start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(KEEPS)));
    // SAFETY: a process that this test started.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said:?}");
    let left = stand.snapshots();
    // On a fast machine, the guest was saved before the signal came.
    let is_saved = said.iter().any(|line| line.contains("recording"));
    assert_eq!(left.len(), usize::from(is_saved), "{left:?}, {said:?}");
    stand.stand.check_clean();
}

#[test]
fn recordings_side_by_side_share_a_snapshot() {
    let stand = SnapshotStand::new();
    stand.check_steps("", &[BOOTS, KEEPS]);
    let both = [1, 2].map(|number| {
        let mut command = stand.relayout(&format!("{WORDS} -o out{number}"));
        start(command.stdout(Stdio::null()).stderr(Stdio::piped()))
    });
    for child in both {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains(STARTS), "{said}");
    }
    stand.check_steps("", &[STARTS]);
}
