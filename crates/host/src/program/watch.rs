//! From the program's start to its end.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

use relayout_shadow::control::{Control, Stage};

use super::launch::{Program, failure, is_running, signal_process, threads};
use super::{Backend, ProgramRecording, Signals, slices};
use crate::file_error::cannot;
use crate::workspace::Workspace;
use crate::{Error, Progress};

const POLL: Duration = Duration::from_millis(10);
/// How long a program may take to end when told to.
const GRACE: Duration = Duration::from_secs(10);

/// How a program's recording ended.
pub struct Ending {
    /// What went wrong, if something did.
    pub problem: Option<Error>,
    /// Why it ended, in words.
    pub ended: String,
}

/// Waits until the program, and the process that is recorded, have ended.
///
/// # Errors
/// Nothing was recorded.
pub fn watch(
    program: &mut Program,
    workspace: &Workspace,
    recording: &ProgramRecording,
    backend: Backend,
    progress: &dyn Progress,
    signals: Signals,
) -> Result<Ending, Error> {
    let control = workspace.control();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if let Some(share) = recording.slices {
            let ended = &ended;
            scope.spawn(move || slices::run(control, share, recording.seed, ended));
        }
        let mut watch = Watch {
            program,
            control,
            recording,
            backend,
            signals,
            seen: signals.count(),
            began: Instant::now(),
            told: None,
        };
        let stopped = watch.until_the_end(progress);
        ended.store(true, Release);
        watch.ending(stopped, workspace)
    })
}

/// Who stopped the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    User,
    TimeLimit,
    /// As was asked for.
    StopAfter,
}

struct Watch<'w> {
    program: &'w mut Program,
    control: &'w Control,
    recording: &'w ProgramRecording,
    backend: Backend,
    signals: Signals,
    /// Signals that were answered.
    seen: u32,
    began: Instant,
    /// When the program was told to end, and who by.
    told: Option<(Instant, Stopped)>,
}

impl Watch<'_> {
    fn until_the_end(&mut self, progress: &dyn Progress) -> Option<Stopped> {
        while self.program.ended().is_none() || self.left_behind().is_some() {
            self.pass_signals_on();
            self.keep_time();
            // What perf samples it counts itself, at its end.
            if self.backend != Backend::Perf {
                self.show(progress);
            }
            std::thread::sleep(POLL);
        }
        // One that ended the program may have come in the meantime.
        self.pass_signals_on();
        self.told.map(|(_, who)| who)
    }

    fn show(&self, progress: &dyn Progress) {
        let read = |n: &AtomicU64| n.load(Relaxed);
        let process = self.control.process.load(Relaxed);
        progress.program(
            read(&self.control.accesses),
            read(&self.control.transfers),
            threads(process).unwrap_or(0),
        );
    }

    /// The recorded process, if it is not the program itself and still runs.
    fn left_behind(&self) -> Option<u32> {
        let process = self.control.process.load(Acquire);
        let other = process != 0 && process != self.program.id();
        (other && is_running(process)).then_some(process)
    }

    fn pass_signals_on(&mut self) {
        let Some(asked) = self.signals.after(self.seen) else {
            return;
        };
        self.seen = self.signals.count();
        if asked.before > 0 {
            return self.signal(libc::SIGKILL);
        }
        if !asked.program_has_it {
            self.signal(asked.signal);
        }
        self.told.get_or_insert((Instant::now(), Stopped::User));
    }

    fn keep_time(&mut self) {
        let past =
            |limit: Option<Duration>| limit.is_some_and(|limit| self.began.elapsed() >= limit);
        let stop_after = past(self.recording.stop_after);
        match self.told {
            None if stop_after || past(self.recording.time_limit) => {
                let who = if stop_after {
                    Stopped::StopAfter
                } else {
                    Stopped::TimeLimit
                };
                self.told = Some((Instant::now(), who));
                self.signal(libc::SIGTERM);
            }
            Some((at, who)) if who != Stopped::User && at.elapsed() >= GRACE => {
                self.signal(libc::SIGKILL);
            }
            _ => {}
        }
    }

    fn signal(&mut self, signal: i32) {
        let left_behind = self.left_behind();
        self.program.signal(signal);
        if let Some(process) = left_behind {
            signal_process(process, signal);
        }
    }

    fn ending(&mut self, stopped: Option<Stopped>, workspace: &Workspace) -> Result<Ending, Error> {
        let status = self.program.ended();
        let problem = self.problem(stopped, status, workspace);
        if self.control.process.load(Acquire) == 0 {
            return Err(self.nothing_recorded(problem));
        }
        let first_line = |e: &Error| e.to_string().lines().next().unwrap_or_default().to_owned();
        let ended = match (&problem, stopped) {
            (Some(error), _) => first_line(error),
            (None, Some(_)) => "the program was stopped, as asked for".into(),
            (None, None) => "the program ended".into(),
        };
        Ok(Ending { problem, ended })
    }

    fn problem(
        &self,
        stopped: Option<Stopped>,
        status: Option<ExitStatus>,
        workspace: &Workspace,
    ) -> Option<Error> {
        let failed = |how: String| Error::ProgramFailed {
            program: self.name(),
            how,
        };
        let control = self.control;
        if Stage::from_u32(control.state.load(Acquire)) == Stage::Failed {
            let errno = control.error.load(Acquire) as i32;
            if errno == libc::EADDRNOTAVAIL && self.backend == Backend::QemuUser {
                return Some(Error::Qemu {
                    why: "put the program at addresses other than its own, and those cannot be told: \
                          was it linked for addresses that are taken here? Link it as PIE"
                        .into(),
                    said: String::new(),
                });
            }
            let source = std::io::Error::from_raw_os_error(errno);
            return Some(cannot("write the recording to", workspace.dir())(source).into());
        }
        match stopped {
            Some(Stopped::User) => return Some(Error::Interrupted),
            Some(Stopped::TimeLimit) => {
                let limit = self.recording.time_limit.unwrap_or_default();
                let how = format!(
                    "still ran after {} s (see --time-limit)",
                    limit.as_secs_f64()
                );
                return Some(failed(how));
            }
            Some(Stopped::StopAfter) => return None,
            None => {}
        }
        status.and_then(failure).map(failed)
    }

    /// Why nothing attached itself.
    fn nothing_recorded(&self, problem: Option<Error>) -> Error {
        if matches!(problem, Some(Error::Interrupted)) {
            return Error::Interrupted;
        }
        if self.backend == Backend::QemuUser {
            let how = match problem {
                Some(Error::ProgramFailed { how, .. }) => how,
                _ => "ended".into(),
            };
            return Error::Qemu {
                why: format!("{how} before the program began"),
                said: String::new(),
            };
        }
        let before = match problem {
            Some(Error::ProgramFailed { how, .. }) => format!("it {how}; until then, "),
            _ => String::new(),
        };
        Error::Unrecordable {
            path: self.recording.program.clone().into(),
            why: format!(
                "{before}no code built with relayout cc ran in it. Was it built with 'relayout cc' as \
                 compiler and as linker (look for {} in the output of ldd)? Does what it starts get the \
                 environment of this command?",
                super::RUNTIME
            ),
        }
    }

    fn name(&self) -> String {
        self.recording.program.to_string_lossy().into_owned()
    }
}
