//! Start of the program, and the state of its process.

use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};

use relayout_files::{cannot, die_with_parent, signal_name};

use crate::Error;
use crate::child::OwnedChild;

const ADDR_NO_RANDOMIZE: libc::c_ulong = libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
/// Asks for the personality, and changes nothing.
const QUERY: libc::c_ulong = 0xffff_ffff;

/// A program that runs. Killed, if it still does, when dropped.
pub struct RunningProgram {
    child: OwnedChild,
    /// True if the addresses are not randomised.
    pub fixed_addresses: bool,
}

/// Starts the program with the standard streams of this process; it dies with this process.
pub fn start_program(mut command: Command, path: &Path) -> Result<RunningProgram, Error> {
    let fixed_addresses = can_fix_addresses();
    let parent = std::process::id();
    // SAFETY: plain system calls.
    unsafe {
        command.pre_exec(move || {
            if fixed_addresses {
                libc::personality(libc::personality(QUERY) as libc::c_ulong | ADDR_NO_RANDOMIZE);
            }
            die_with_parent(parent)
        });
    }
    let child = command.spawn().map_err(|error| start_error(path, error))?;
    Ok(RunningProgram {
        child: OwnedChild(child),
        fixed_addresses,
    })
}

fn start_error(path: &Path, error: io::Error) -> Error {
    let why = match error.raw_os_error() {
        Some(libc::ENOEXEC) => {
            "the system cannot run it: it is neither a program of this machine nor a \
                                script that says what runs it"
        }
        // The file exists, as an earlier check showed.
        Some(libc::ENOENT) => {
            "its interpreter (the loader, or what the script's first line names) is not \
                               there"
        }
        Some(libc::EACCES) => {
            "permission denied (to it, or to its interpreter, or the file system is \
                               mounted noexec)"
        }
        _ => return cannot("run", path)(error).into(),
    };
    Error::Unrecordable {
        path: path.to_owned(),
        why: why.into(),
    }
}

/// Returns true if programs can be started here at the same addresses each time. Containers often
/// forbid it.
pub fn can_fix_addresses() -> bool {
    // SAFETY: plain system calls, which change this thread alone, and what it starts.
    unsafe {
        let now = libc::personality(QUERY);
        if now < 0 || libc::personality(now as libc::c_ulong | ADDR_NO_RANDOMIZE) < 0 {
            return false;
        }
        libc::personality(now as libc::c_ulong);
        true
    }
}

impl RunningProgram {
    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// Returns the exit status, if the program has ended.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.exit_status()
    }

    /// Sends it a signal, unless it has ended.
    pub fn send_signal(&mut self, signal: i32) {
        if self.exit_status().is_none() {
            signal_process(self.id(), signal);
        }
    }
}

/// Sends a signal to a process, which may be gone already.
pub fn signal_process(process: u32, signal: i32) {
    if let Ok(process @ 1..) = i32::try_from(process) {
        // SAFETY: the call takes two numbers; the process is none of a group.
        unsafe { libc::kill(process, signal) };
    }
}

/// Returns true if a process, which need not be a child, still runs. A zombie does not.
pub fn is_running(process: u32) -> bool {
    read_stat(process).is_some_and(|stat| stat.is_alive)
}

/// Returns true if the process that had this number at `attached_ns` on the clock since boot still
/// runs: a later one began after that.
pub fn is_same_process(process: u32, attached_ns: u64) -> bool {
    // SAFETY: no pointer.
    let ticks_in_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let tick_ns = 1_000_000_000 / u64::try_from(ticks_in_second).unwrap_or(100).max(1);
    read_stat(process).is_some_and(|stat| {
        stat.is_alive && stat.began_ticks.saturating_mul(tick_ns) <= attached_ns
    })
}

/// Returns the process group of a process, or of this one for 0; `None` if the process is gone.
pub fn process_group(process: u32) -> Option<i32> {
    let process = i32::try_from(process).ok()?;
    // SAFETY: no pointer.
    let group = unsafe { libc::getpgid(process) };
    (group >= 0).then_some(group)
}

/// Used fields of `/proc/PID/stat`.
struct ProcessStat {
    is_alive: bool,
    /// Start of the process since boot, in ticks of the system.
    began_ticks: u64,
}

fn read_stat(process: u32) -> Option<ProcessStat> {
    /// Number of `starttime` among the fields after the name, from 0.
    const START_FIELD: usize = 19;
    let stat = read_proc_file(process, "stat")?;
    // The name is in parentheses and may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    Some(ProcessStat {
        is_alive: !matches!(state, "Z" | "X" | "x"),
        began_ticks: fields.nth(START_FIELD - 1)?.parse().ok()?,
    })
}

/// Threads of a process, if it runs.
pub fn thread_count(process: u32) -> Option<u64> {
    let status = read_proc_file(process, "status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Threads:"))?;
    line.trim().parse().ok()
}

/// Reads a file of a process in /proc. The kernel cuts the name in it off after 15 bytes, maybe
/// within a letter.
fn read_proc_file(process: u32, file: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{process}/{file}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Describes how a program failed, in words that follow its name. `None` if it succeeded.
pub fn describe_failure(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("ended with status {code}")),
        (None, Some(signal)) => {
            let core = if status.core_dumped() {
                ", core dumped"
            } else {
                ""
            };
            Some(format!(
                "was ended by signal {signal} ({}{core})",
                name_of_signal(signal)
            ))
        }
        (None, None) => Some("ended in an unknown way".into()),
    }
}

/// Returns the name of the signal that ended a program.
pub fn ending_signal(status: ExitStatus) -> Option<&'static str> {
    status.signal().map(name_of_signal)
}

/// Returns the name of a signal.
pub fn name_of_signal(signal: i32) -> &'static str {
    signal_name(signal).unwrap_or("a signal that programs seldom get")
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_cut_off_within_a_letter() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("fourteen-bytes\u{e4}");
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let mut child = Command::new(&program).arg("60").spawn().unwrap();
        let seen = (is_running(child.id()), thread_count(child.id()));
        child.kill().unwrap();
        // Ended, and not waited for.
        while is_running(child.id()) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(seen, (true, Some(1)));
    }
}
