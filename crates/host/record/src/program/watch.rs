//! The program from its start to its end, and the processes that it forked or executed.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use relayout_files::RUNTIME;
use relayout_messages::RecordingProgress;
use relayout_profile::RecordedTime;
use relayout_shadow::control::{RecordingControl, RecordingStage};

use super::launch::{
    RunningProgram, describe_failure, ending_signal, is_running, name_of_signal, process_group,
    signal_process, thread_count,
};
use super::memory_limit::MemoryLimit;
use super::processes::{EndedProcesses, ProcessTable};
use super::slices::SliceClock;
use super::{ProgramBackend, ProgramRecording, StopSignals};
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
    /// Signal that ended the program before its time, or at which the user ended the recording.
    pub signal: Option<&'static str>,
    /// The recording was ended before the program would have ended by itself.
    pub was_cut_off: bool,
    /// Processes that were told to end, because the recording had lasted as long as it should.
    pub was_as_asked: bool,
    /// Time in which accesses were recorded, if that was not the whole time.
    pub recorded_time: Option<RecordedTime>,
    /// Further processes.
    pub processes: EndedProcesses,
}

/// Waits until the program, and all processes that are recorded, have ended.
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
    let ended = AtomicBool::new(false);
    let processes = ProcessTable::new(workspace, program.id());
    let plan = backend.slice_plan(recording);
    let (cause, status, recorded_time) = std::thread::scope(|scope| {
        let clock = SliceClock::new(&processes, &ended, recording.seed);
        let slices = scope.spawn(move || clock.run(plan));
        let mut watch = ProgramWatch {
            program,
            control: workspace.control(),
            recording,
            backend,
            signals,
            signals_seen: signals.count(),
            began: Instant::now(),
            told_to_end: None,
            processes: &processes,
        };
        let cause = watch.wait_for_end(progress);
        ended.store(true, Release);
        let recorded_time = slices.join().expect("the clock of slices does not panic");
        (cause, watch.program.exit_status(), recorded_time)
    });
    let end = ProgramEnd {
        cause,
        status,
        is_first: workspace.control().process.load(Acquire) == program.id(),
        control: workspace.control(),
        recording,
        backend,
        recorded_time,
    };
    end.describe(processes, workspace)
}

/// Cause for which the program was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopCause {
    /// The user sent this signal.
    User(i32),
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
    processes: &'w ProcessTable<'w>,
}

impl ProgramWatch<'_> {
    fn wait_for_end(&mut self, progress: &dyn RecordingProgress) -> Option<StopCause> {
        let mut last_seen = Instant::now();
        loop {
            if self.program.exit_status().is_none() || self.is_any_left() {
                last_seen = Instant::now();
            } else if !self.processes.is_any_expected(last_seen.elapsed()) {
                break;
            }
            self.pass_signals_on();
            self.keep_time();
            self.processes.update();
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
        let (accesses, transfers) = self.processes.progress();
        let process = self.control.process.load(Relaxed);
        progress.program(accesses, transfers, thread_count(process).unwrap_or(0));
    }

    fn is_any_left(&self) -> bool {
        self.surviving_process().is_some() || self.processes.is_any_running()
    }

    /// The first recorded process, if it is not the program itself and still runs.
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
            return self.send_signal(libc::SIGKILL, false);
        }
        self.send_signal(received.signal, received.reached_program);
        self.told_to_end
            .get_or_insert((Instant::now(), StopCause::User(received.signal)));
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
                self.send_signal(libc::SIGTERM, false);
            }
            Some((at, StopCause::TimeLimit | StopCause::StopAfter)) if at.elapsed() >= GRACE => {
                self.send_signal(libc::SIGKILL, false);
            }
            _ => {}
        }
    }

    /// Sends a signal to all processes; if the terminal has sent it to its foreground group
    /// already, only to those in other groups.
    fn send_signal(&mut self, signal: i32, is_from_terminal: bool) {
        let reached = |process| is_from_terminal && process_group(process) == process_group(0);
        if let Some(process) = self
            .surviving_process()
            .filter(|&process| !reached(process))
        {
            signal_process(process, signal);
        }
        if !reached(self.program.id()) {
            self.program.send_signal(signal);
        }
        self.processes.send_signal(signal, is_from_terminal);
    }
}

/// All that is known of a program that has ended.
struct ProgramEnd<'e> {
    cause: Option<StopCause>,
    status: Option<ExitStatus>,
    /// The program itself is the first recorded process.
    is_first: bool,
    control: &'e RecordingControl,
    recording: &'e ProgramRecording,
    backend: ProgramBackend,
    recorded_time: Option<RecordedTime>,
}

impl ProgramEnd<'_> {
    fn describe(
        self,
        processes: ProcessTable<'_>,
        workspace: &RecordingWorkspace,
    ) -> Result<ProgramEnding, Error> {
        let problem = self.find_problem(self.cause, self.status, workspace);
        if self.control.process.load(Acquire) == 0 {
            return Err(self.nothing_recorded(problem));
        }
        let was_as_asked = self.cause == Some(StopCause::StopAfter);
        let signal = match self.cause {
            Some(StopCause::User(signal)) => Some(name_of_signal(signal)),
            _ => self
                .signal()
                .filter(|&name| !(was_as_asked && name == "SIGTERM")),
        };
        let description = match (&problem, signal, self.cause) {
            (Some(Error::Interrupted), Some(signal), _) => format!("interrupted by {signal}"),
            (Some(error), ..) => error.first_line(),
            (None, Some(signal), _) => format!("the process was ended by {signal}"),
            (None, None, Some(_)) => "the program was stopped, as asked for".into(),
            (None, None, None) => "the program ended".into(),
        };
        let stopped = matches!(self.cause, Some(StopCause::User(_) | StopCause::TimeLimit));
        Ok(ProgramEnding {
            problem,
            description,
            signal,
            was_cut_off: stopped || signal.is_some(),
            was_as_asked,
            recorded_time: self.recorded_time,
            processes: processes.into_ended(),
        })
    }

    /// Returns the signal that ended the first recorded process.
    fn signal(&self) -> Option<&'static str> {
        match self.is_first {
            true => self.status.and_then(ending_signal),
            false => noted_signal(self.control),
        }
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
            let limit =
                MemoryLimit::noted(control).filter(|_| workspace.collector_errno() == libc::ENOMEM);
            return Some(match limit {
                Some(limit) => Error::MemoryLimited {
                    program: self.program_name(),
                    limit,
                },
                None => workspace.write_error(),
            });
        }
        match cause {
            Some(StopCause::User(_)) => return Some(Error::Interrupted),
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
        Error::NothingRecorded {
            program: self.program_name(),
            why: format!(
                "{before}no code built with relayout cc ran in it. Was it built with 'relayout cc' as \
                 compiler and as linker (look for {RUNTIME} in the output of ldd)? Does what it starts get \
                 the environment of this command?"
            ),
        }
    }

    fn program_name(&self) -> String {
        self.recording.program.to_string_lossy().into_owned()
    }
}

/// Returns the signal that a collector noted as the end of its process.
pub fn noted_signal(control: &RecordingControl) -> Option<&'static str> {
    match control.signal.load(Acquire) {
        0 => None,
        signal => Some(name_of_signal(signal as i32)),
    }
}
