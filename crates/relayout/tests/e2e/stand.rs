//! A sandbox with the cached kernel and QEMU, and checks of recordings.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Ended, Place, names, start};

/// As many guests at a time as a small machine can run before their time-outs pass.
static GUESTS: [Mutex<()>; 2] = [const { Mutex::new(()) }; 2];
/// For things that take no time once what they wait for has happened.
const PATIENCE: Duration = Duration::from_secs(120);
/// Unit of times in `/proc` on Linux (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// A folder of its own, with the user's cache.
pub struct Stand {
    pub place: Place,
    pub cache: PathBuf,
    /// Room for snapshots of guests.
    snapshots_mib: &'static str,
    _guest: MutexGuard<'static, ()>,
}

impl Stand {
    /// Waits until a guest may run; fails the test if the cache lacks the kernel or QEMU.
    #[track_caller]
    pub fn new() -> Self {
        let guest = wait_for_guest();
        let cache = relayout_testkit::cache_folder();
        for path in [
            "kernel/current/vmlinuz",
            "kernel/current/vmlinux",
            "qemu/current/qemu-system-x86_64",
        ] {
            relayout_testkit::require_file(path, &cache.join(path));
        }
        Self {
            place: Place::new(),
            cache,
            snapshots_mib: "0",
            _guest: guest,
        }
    }

    /// Lets recordings keep snapshots in the user's cache.
    pub fn keep_snapshots(&mut self) {
        self.snapshots_mib = "2048";
    }

    /// The command with words separated by spaces.
    pub fn relayout(&self, words: &str) -> Command {
        let arguments: Vec<&str> = words.split_whitespace().collect();
        let mut command = self.place.relayout(&arguments);
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("RELAYOUT_CACHE", &self.cache)
            .env("RELAYOUT_SNAPSHOTS_MIB", self.snapshots_mib)
            .env_remove("RELAYOUT_PLUGIN_DIR");
        command
    }

    pub fn run(&self, words: &str) -> Ended {
        self.place.ended(&mut self.relayout(words))
    }

    /// Records to `out`, which must work and leave nothing behind.
    pub fn record(&self, words: &str) -> Ended {
        let ended = self.run(&format!("record kernel -o out {words}"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        self.check_clean();
        ended
    }

    /// `report --json` of `out`.
    pub fn report(&self) -> Value {
        self.json("report out --json --top 0")
    }

    /// The document that a command prints.
    pub fn json(&self, words: &str) -> Value {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// No file is left in the folder for temporary ones.
    pub fn check_clean(&self) {
        assert_eq!(
            names(&self.place.path("tmp")),
            Vec::<String>::new(),
            "left in TMPDIR"
        );
    }

    /// Starts a recording to `out` of a workload that runs for minutes, and waits until it says
    /// that it records.
    pub fn recording(&self) -> Running {
        let mut running = self.booting();
        running.read_until("recording");
        // Time of the guest, which a busy host may not let execute.
        let begun = running.qemu.cpu_seconds();
        wait(|| (running.qemu.cpu_seconds() >= begun + 2.0).then_some(()));
        running
    }

    /// Starts such a recording.
    pub fn booting(&self) -> Running {
        self.booting_with("--workload mntns --iterations 100000")
    }

    /// Starts a recording to `out`, and waits until it has ended and is read.
    pub fn reading(&self) -> Running {
        let mut running = self.booting_with("--workload mntns --iterations 20");
        running.read_until("reading what was recorded");
        running
    }

    fn booting_with(&self, words: &str) -> Running {
        let mut command = self.relayout(&format!("record kernel -o out {words}"));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = start(&mut command);
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut running = Running {
            child,
            stderr,
            said: String::new(),
            qemu: Qemu::default(),
        };
        running.read_until("booting");
        running.qemu = Qemu::child_of(running.child.id());
        running
    }
}

/// Returns the right to run a guest.
fn wait_for_guest() -> MutexGuard<'static, ()> {
    let free = GUESTS.iter().find_map(|guest| match guest.try_lock() {
        Ok(guest) => Some(guest),
        Err(TryLockError::Poisoned(failed)) => Some(failed.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    });
    free.unwrap_or_else(|| GUESTS[0].lock().unwrap_or_else(PoisonError::into_inner))
}

/// A recording under way.
pub struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
    pub qemu: Qemu,
}

impl Running {
    fn read_until(&mut self, word: &str) {
        while !self
            .said
            .lines()
            .last()
            .is_some_and(|line| line.contains(word))
        {
            let bytes = self.stderr.read_line(&mut self.said).unwrap();
            assert!(bytes > 0, "ended before '{word}': {}", self.said);
        }
    }

    pub fn signal(&self, signal: i32) {
        send(self.child.id(), signal);
    }

    /// Waits for its end; its QEMU must be gone then.
    pub fn end(mut self) -> Ended {
        self.stderr.read_to_string(&mut self.said).unwrap();
        let status = self.child.wait().unwrap();
        self.qemu.check_gone();
        Ended {
            code: status.code(),
            stdout: String::new(),
            stderr: self.said.clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed in between; QEMU goes with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The QEMU of a recording.
#[derive(Default)]
pub struct Qemu {
    pid: u32,
}

impl Qemu {
    fn child_of(parent: u32) -> Self {
        wait(|| children(parent).into_iter().find_map(Self::read))
    }

    fn read(pid: u32) -> Option<Self> {
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).into_owned();
        // Not the script that starts it.
        command
            .split('\0')
            .next()
            .filter(|p| p.ends_with("qemu-system-x86_64"))?;
        // Its memory has no name, so that nothing is left of it when QEMU is gone.
        assert!(command.contains("mem-path=/proc/self/fd/"), "{command}");
        Some(Self { pid })
    }

    pub fn kill(&self) {
        send(self.pid, libc::SIGKILL);
    }

    /// Returns the processor time that it has used.
    fn cpu_seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // Fields 14 and 15, of which the second one, a name in parentheses, may hold blanks: proc_pid_stat(5).
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks = { fields.split_whitespace().skip(11).take(2) }
            .filter_map(|field| field.parse::<f64>().ok())
            .sum::<f64>();
        ticks / TICKS_PER_SECOND
    }

    fn check_gone(&self) {
        wait(|| (!Path::new(&format!("/proc/{}", self.pid)).exists()).then_some(()));
    }
}

fn children(parent: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    listed
        .unwrap_or_default()
        .split(' ')
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

fn wait<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn send(pid: u32, signal: i32) {
    // SAFETY: a process that this test started.
    let result = unsafe { libc::kill(pid as i32, signal) };
    assert_eq!(result, 0, "signal to {pid}");
}
