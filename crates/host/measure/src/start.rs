//! One start of a program, from exec to the end of all that it started.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use relayout_files::{
    CpuCounters, FileError, InterruptFlag, TemporaryFolder, cannot, die_with_parent, last_lines,
    private_dir, program_in,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};

use super::error::describe_exit;
use super::group_watch::GroupWatch;
use super::{CpuSchedule, Error, ProgramCommand};

/// Interval at which Ctrl-C is polled, although a signal ends the wait at once. Kernels before 5.3
/// have no pidfd: there the end of the process is polled at the shorter interval.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const POLL_INTERVAL_WITHOUT_PIDFD: Duration = Duration::from_millis(1);
/// Time that a program may take to end after Ctrl-C: `make` removes unfinished files.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes of output that are read.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;
/// Bytes and lines of a failed program's output that messages show.
const TAIL_BYTES: u64 = 16 << 10;
const TAIL_LINES: usize = 15;

/// A program to start, and the conditions of the start.
#[derive(Clone, Copy, Debug)]
pub struct ProgramLaunch<'l> {
    /// The command.
    pub command: &'l ProgramCommand,
    /// The folder to run in, if not the current one.
    pub dir: Option<&'l Path>,
    /// The schedule, if not that of this process.
    pub schedule: Option<&'l CpuSchedule>,
    /// When to kill it.
    pub time_limit: Option<Duration>,
    /// Exit code by which the program reports that it was disturbed and has no numbers. It is no
    /// failure.
    pub disturbed_code: Option<u8>,
}

/// A program that ended well, or reported that it was disturbed.
#[derive(Clone, Debug)]
pub struct ProgramOutcome {
    /// Seconds from before it was started to its end.
    pub wall_s: f64,
    /// CPU seconds of it and of all that it started and waited for.
    pub cpu_s: f64,
    /// Fraction of the CPU time that it wanted in which others ran; `None` where the system does
    /// not tell.
    pub lost: Option<f64>,
    /// True if it ended with [`ProgramLaunch::disturbed_code`].
    pub said_disturbed: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Starts programs one at a time. Their output goes to files in the starter's folder, which is
/// removed with it. So nothing has to run beside them to read pipes.
pub struct ProgramStarter {
    dir: TemporaryFolder,
    interrupt: InterruptFlag,
    watch: GroupWatch,
}

impl ProgramStarter {
    /// Makes the folder.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new(interrupt: InterruptFlag) -> Result<Self, FileError> {
        Ok(Self {
            dir: private_dir(&std::env::temp_dir())?,
            interrupt,
            watch: GroupWatch::start()?,
        })
    }

    /// The folder; names in it that begin with `std` are taken.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Starts a program, and waits for its end. Nothing that it started, and left in its process
    /// group, outlives it, or this process by more than a few seconds.
    ///
    /// # Errors
    /// The program cannot be started, fails, exceeds the limits of time or output, or the user
    /// stops it.
    pub fn run(&self, launch: &ProgramLaunch<'_>) -> Result<ProgramOutcome, Error> {
        self.run_watched(launch, &|| ())
    }

    /// Like [`run`](Self::run), but calls `observe` a few times a second meanwhile, which may read
    /// the files `stdout` and `stderr` in [`dir`](Self::dir).
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn run_watched(
        &self,
        launch: &ProgramLaunch<'_>,
        observe: &dyn Fn(),
    ) -> Result<ProgramOutcome, Error> {
        let outputs = ["stdout", "stderr"].map(|name| self.dir.path().join(name));
        let cpus = launch.schedule.map(|schedule| &*schedule.cpus);
        let counters = cpus.and_then(CpuCounters::read);
        let begun = Instant::now();
        let child = spawn_program(launch, &outputs)?;
        self.watch.begin(Pid::from_child(&child));
        let process_end = wait_for_end(child, launch.time_limit, self.interrupt, observe);
        self.watch.end();
        let process_end = process_end?;
        let wall_s = begun.elapsed().as_secs_f64();
        let lost = counters.and_then(|counters| {
            let now = CpuCounters::read(cpus?)?;
            Some(counters.lost_share(&now, process_end.cpu_s))
        });
        let command = launch.command.text.clone();
        let said_disturbed = launch
            .disturbed_code
            .is_some_and(|code| process_end.status.code() == Some(code.into()));
        match (
            process_end.reason,
            process_end.status.success() || said_disturbed,
        ) {
            (WaitEnd::Interrupted, _) => return Err(Error::Interrupted),
            (WaitEnd::TimeLimit, _) => {
                return Err(Error::TimeLimit {
                    command,
                    limit_s: launch.time_limit.unwrap_or_default().as_secs_f64(),
                    output: last_output(&outputs),
                });
            }
            (WaitEnd::Ended, false) => {
                return Err(Error::Failed {
                    command,
                    how: describe_exit(process_end.status),
                    exit_code: process_end.status.code(),
                    output: last_output(&outputs),
                });
            }
            (WaitEnd::Ended, true) => {}
        }
        let [stdout, stderr] = [0, 1].map(|index| read_output(&outputs[index], &command));
        Ok(ProgramOutcome {
            wall_s,
            cpu_s: process_end.cpu_s,
            lost,
            said_disturbed,
            stdout: stdout?,
            stderr: stderr?,
        })
    }
}

fn spawn_program(launch: &ProgramLaunch<'_>, outputs: &[PathBuf; 2]) -> Result<Child, Error> {
    let create = |path: &PathBuf| File::create(path).map_err(cannot("create", path));
    let failed = |source| Error::Start {
        program: launch.command.words.first().cloned().unwrap_or_default(),
        dir: launch.dir.map(Path::to_owned),
        source,
    };
    let Some((program, arguments)) = launch.command.words.split_first() else {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    };
    let mut command = Command::new(program_in(program, launch.dir));
    command
        .arg0(program)
        .args(arguments)
        .envs(launch.command.environment.iter().map(|(k, v)| (k, v)))
        .stdin(Stdio::null())
        .stdout(create(&outputs[0])?)
        .stderr(create(&outputs[1])?)
        // Ctrl-C is for relayout, which then ends the program and its children.
        .process_group(0);
    if let Some(dir) = launch.dir {
        command.current_dir(dir);
    }
    let parent = std::process::id();
    let schedule = launch.schedule.cloned();
    // SAFETY: only async-signal-safe calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            die_with_parent(parent)?;
            schedule.as_ref().map_or(Ok(()), CpuSchedule::apply)
        });
    }
    command.spawn().map_err(failed)
}

/// Why a wait was over.
enum WaitEnd {
    Ended,
    TimeLimit,
    Interrupted,
}

struct ProcessEnd {
    reason: WaitEnd,
    status: ExitStatus,
    cpu_s: f64,
}

/// Waits for the end of a program, and then kills the rest of its process group.
fn wait_for_end(
    child: Child,
    limit: Option<Duration>,
    interrupt: InterruptFlag,
    observe: &dyn Fn(),
) -> Result<ProcessEnd, Error> {
    let pid = Pid::from_child(&child);
    let failed = |action| cannot(action, Path::new("the program"));
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok();
    let begun = Instant::now();
    let reason = loop {
        if interrupt.is_set() {
            break WaitEnd::Interrupted;
        }
        let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        if left == Some(Duration::ZERO) {
            break WaitEnd::TimeLimit;
        }
        let patience = match pidfd {
            Some(_) => POLL_INTERVAL,
            None => POLL_INTERVAL_WITHOUT_PIDFD,
        };
        let patience = patience.min(left.unwrap_or(patience));
        if has_ended(pid, pidfd.as_ref(), patience).map_err(failed("wait for"))? {
            break WaitEnd::Ended;
        }
        observe();
    };
    if matches!(reason, WaitEnd::Interrupted) {
        let _ = kill_process_group(pid, Signal::TERM);
        let asked = Instant::now();
        while asked.elapsed() < GRACE
            && !has_ended(pid, pidfd.as_ref(), POLL_INTERVAL).map_err(failed("wait for"))?
        {}
    }
    // The process was not waited for yet, so that the number of its group is still its own.
    let _ = kill_process_group(pid, Signal::KILL);
    let (status, cpu_s) = reap(pid).map_err(failed("wait for"))?;
    Ok(ProcessEnd {
        reason,
        status,
        cpu_s,
    })
}

/// Waits for the end of a process, for at most `patience`. Returns true if the process has ended.
fn has_ended(pid: Pid, pidfd: Option<&OwnedFd>, patience: Duration) -> io::Result<bool> {
    match pidfd {
        None => thread::sleep(patience),
        Some(pidfd) => {
            let patience = Timespec::try_from(patience.max(Duration::from_millis(1))).ok();
            // A signal ends the wait, which is no error.
            let _ = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], patience.as_ref());
        }
    }
    // Leaves the process to be reaped.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(pid), options)?.is_some())
}

/// Reaps the process. Returns its exit status, and the CPU seconds of it and of the children that
/// it waited for.
fn reap(pid: Pid) -> io::Result<(ExitStatus, f64)> {
    let pid = pid.as_raw_nonzero().get();
    loop {
        let mut status = 0;
        // SAFETY: all-zero bytes are a valid `rusage`; the call writes to the two places.
        let (reaped, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(pid, &mut status, 0, &mut usage), usage)
        };
        if reaped == pid {
            let seconds = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
            let cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
            return Ok((ExitStatus::from_raw(status), cpu_s));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Reads the whole output of a program.
fn read_output(path: &Path, command: &str) -> Result<String, Error> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?
            .take(OUTPUT_BYTES_MAX + 1)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(cannot("read", path))?;
    if bytes.len() as u64 > OUTPUT_BYTES_MAX {
        return Err(Error::TooMuchOutput {
            command: command.to_owned(),
            limit_mib: OUTPUT_BYTES_MAX >> 20,
        });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the last lines of a program's standard error, or else of its standard output.
fn last_output(outputs: &[PathBuf; 2]) -> String {
    let [stdout, stderr] = [0, 1].map(|index| {
        let lines = last_lines(&outputs[index], TAIL_BYTES);
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    });
    match stderr.trim() {
        "" => stdout,
        _ => stderr,
    }
}

#[cfg(test)]
mod tests;
