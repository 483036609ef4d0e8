//! The program from its start to its end.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

use relayout_files::{RUNTIME, RecordingProgress};
use relayout_shadow::control::{RecordingControl, RecordingStage};

use super::launch::{RunningProgram, describe_failure, is_running, signal_process, thread_count};
use super::{ProgramBackend, ProgramRecording, StopSignals, slices};
use crate::Error;
use crate::workspace::RecordingWorkspace;

const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time that a program may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

/// End of a program's recording.
pub struct ProgramEnding {
    /// The problem, if there was one.
    pub problem: Option<Error>,
    /// Why it ended, in words.
    pub description: String,
}

/// Waits until the program, and the process that is recorded, have ended.
///
/// # Errors
/// Nothing was recorded.
pub fn watch_program(
    program: &mut RunningProgram,
    workspace: &RecordingWorkspace,
    recording: &ProgramRecording,
    backend: ProgramBackend,
    progress: &dyn RecordingProgress,
    signals: StopSignals,
) -> Result<ProgramEnding, Error> {
    let control = workspace.control();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if let Some(share) = recording.slices {
            let ended = &ended;
            scope.spawn(move || slices::run_slices(control, share, recording.seed, ended));
        }
        let mut watch = ProgramWatch {
            program,
            control,
            recording,
            backend,
            signals,
            signals_seen: signals.count(),
            began: Instant::now(),
            told_to_end: None,
        };
        let cause = watch.wait_for_end(progress);
        ended.store(true, Release);
        watch.describe_ending(cause, workspace)
    })
}

/// Cause for which the program was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopCause {
    User,
    TimeLimit,
    /// The time of `stop_after` was over.
    StopAfter,
}

struct ProgramWatch<'w> {
    program: &'w mut RunningProgram,
    control: &'w RecordingControl,
    recording: &'w ProgramRecording,
    backend: ProgramBackend,
    signals: StopSignals,
    /// Signals that were answered.
    signals_seen: u32,
    began: Instant,
    /// Time at which the program was told to end, and the cause.
    told_to_end: Option<(Instant, StopCause)>,
}

impl ProgramWatch<'_> {
    fn wait_for_end(&mut self, progress: &dyn RecordingProgress) -> Option<StopCause> {
        while self.program.exit_status().is_none() || self.surviving_process().is_some() {
            self.pass_signals_on();
            self.keep_time();
            // What perf samples it counts itself, at its end.
            if self.backend != ProgramBackend::Perf {
                self.show_progress(progress);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        // One that ended the program may have come in the meantime.
        self.pass_signals_on();
        self.told_to_end.map(|(_, cause)| cause)
    }

    fn show_progress(&self, progress: &dyn RecordingProgress) {
        let read = |n: &AtomicU64| n.load(Relaxed);
        let process = self.control.process.load(Relaxed);
        progress.program(
            read(&self.control.accesses),
            read(&self.control.transfers),
            thread_count(process).unwrap_or(0),
        );
    }

    /// The recorded process, if it is not the program itself and still runs.
    fn surviving_process(&self) -> Option<u32> {
        let process = self.control.process.load(Acquire);
        let other = process != 0 && process != self.program.id();
        (other && is_running(process)).then_some(process)
    }

    fn pass_signals_on(&mut self) {
        let Some(received) = self.signals.latest_after(self.signals_seen) else {
            return;
        };
        self.signals_seen = self.signals.count();
        if received.earlier_signals > 0 {
            return self.send_signal(libc::SIGKILL);
        }
        if !received.reached_program {
            self.send_signal(received.signal);
        }
        self.told_to_end
            .get_or_insert((Instant::now(), StopCause::User));
    }

    fn keep_time(&mut self) {
        let is_past =
            |limit: Option<Duration>| limit.is_some_and(|limit| self.began.elapsed() >= limit);
        let stop_after = is_past(self.recording.stop_after);
        match self.told_to_end {
            None if stop_after || is_past(self.recording.time_limit) => {
                let cause = if stop_after {
                    StopCause::StopAfter
                } else {
                    StopCause::TimeLimit
                };
                self.told_to_end = Some((Instant::now(), cause));
                self.send_signal(libc::SIGTERM);
            }
            Some((at, cause)) if cause != StopCause::User && at.elapsed() >= GRACE => {
                self.send_signal(libc::SIGKILL);
            }
            _ => {}
        }
    }

    fn send_signal(&mut self, signal: i32) {
        let left_behind = self.surviving_process();
        self.program.send_signal(signal);
        if let Some(process) = left_behind {
            signal_process(process, signal);
        }
    }

    fn describe_ending(
        &mut self,
        cause: Option<StopCause>,
        workspace: &RecordingWorkspace,
    ) -> Result<ProgramEnding, Error> {
        let status = self.program.exit_status();
        let problem = self.find_problem(cause, status, workspace);
        if self.control.process.load(Acquire) == 0 {
            return Err(self.nothing_recorded(problem));
        }
        let description = match (&problem, cause) {
            (Some(error), _) => error.first_line(),
            (None, Some(_)) => "the program was stopped, as asked for".into(),
            (None, None) => "the program ended".into(),
        };
        Ok(ProgramEnding {
            problem,
            description,
        })
    }

    fn find_problem(
        &self,
        cause: Option<StopCause>,
        status: Option<ExitStatus>,
        workspace: &RecordingWorkspace,
    ) -> Option<Error> {
        let program_failed = |how: String| Error::ProgramFailed {
            program: self.program_name(),
            how,
        };
        let control = self.control;
        if RecordingStage::from_u32(control.state.load(Acquire)) == RecordingStage::Failed {
            if workspace.collector_errno() == libc::EADDRNOTAVAIL
                && self.backend == ProgramBackend::QemuUser
            {
                return Some(Error::Qemu {
                    why: "put the program at addresses other than its own, and those cannot be told: \
                          was it linked for addresses that are taken here? Link it as PIE"
                        .into(),
                    stderr: String::new(),
                });
            }
            return Some(workspace.write_error());
        }
        match cause {
            Some(StopCause::User) => return Some(Error::Interrupted),
            Some(StopCause::TimeLimit) => {
                let limit = self.recording.time_limit.unwrap_or_default();
                let how = format!(
                    "still ran after {} s (see --time-limit)",
                    limit.as_secs_f64()
                );
                return Some(program_failed(how));
            }
            Some(StopCause::StopAfter) => return None,
            None => {}
        }
        status.and_then(describe_failure).map(program_failed)
    }

    /// Why nothing attached itself.
    fn nothing_recorded(&self, problem: Option<Error>) -> Error {
        if matches!(problem, Some(Error::Interrupted)) {
            return Error::Interrupted;
        }
        if self.backend == ProgramBackend::QemuUser {
            let how = match problem {
                Some(Error::ProgramFailed { how, .. }) => how,
                _ => "ended".into(),
            };
            return Error::Qemu {
                why: format!("{how} before the program began"),
                stderr: String::new(),
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
                RUNTIME
            ),
        }
    }

    fn program_name(&self) -> String {
        self.recording.program.to_string_lossy().into_owned()
    }
}
