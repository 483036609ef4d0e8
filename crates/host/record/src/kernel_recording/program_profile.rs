//! The profile of a program that ran in a guest.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use relayout_profile::{Profile, ProfileMeta, RecordedProcess, RecordedRun, RecordingSetting};

use super::assemble::{GuestFiles, RecordedWindow, TIME_OVER, kernel_outcome};
use super::program_modules::{loaded_modules, program_ranges};
use super::{KernelRecording, RecordingOutcome};
use crate::guest_program::ProgramWork;
use crate::memory::{ProcessLife, ProcessSnapshot};
use crate::program::{describe_failure, ending_signal};
use crate::{Error, GuestKernel};

/// Makes the profile of the program of `work`, and in a window without a recording that of the kernel, too.
pub fn program_outcome(
    recording: &KernelRecording,
    work: &ProgramWork,
    kernel: &GuestKernel<'_>,
    files: GuestFiles<'_>,
    window: RecordedWindow,
) -> Result<RecordingOutcome, Error> {
    let (pid, process) = read_process(files)?;
    let kernel_profile = match (&window.rates, recording.idle) {
        (Some(rates), Some(_)) => {
            let window = RecordedWindow {
                profile: Profile {
                    meta: window.profile.meta.clone(),
                    ..Profile::default()
                },
                run: window.run.clone(),
                rates: Some(rates.of_kernel()),
                problem: None,
                notes: Vec::new(),
            };
            Some(kernel_outcome(recording, kernel, files, window)?.profile)
        }
        _ => None,
    };
    let RecordedWindow {
        mut profile,
        run,
        rates,
        problem,
        notes,
    } = window;
    if let Some(rates) = &rates {
        match recording.idle {
            Some(_) => rates.of_program().fill_tables(&mut profile),
            None => rates
                .of_program()
                .add_waits(&mut profile)
                .map_err(Error::Parts)?,
        }
    }
    let is_empty = recording.idle.is_none() && run.accesses == 0;
    let problem = { problem.or_else(|| program_failure(work, process.life)) }
        .or_else(|| is_empty.then(|| nothing_executed(work)));
    let run = program_run(work, pid, &process, run, problem.as_ref());
    profile.ranges = program_ranges(&work.path, &run.modules, &process);
    profile.meta = program_meta(work, kernel, &run, profile.meta);
    profile.meta.runs = vec![run];
    Ok(RecordingOutcome {
        rates,
        profile,
        kernel_profile,
        problem,
        notes,
    })
}

/// Returns the number of the program's process, and what it was at the end of the window.
fn read_process(files: GuestFiles<'_>) -> Result<(u32, ProcessSnapshot), Error> {
    let unread = |why: &str| Error::Simulation(format!("its memory cannot be read: {why}"));
    let (reader, process) = { files.process }.ok_or_else(|| unread("it runs no program"))?;
    let memory = files
        .memory
        .map()
        .map_err(|error| unread(&error.to_string()))?;
    let snapshot = reader.read_process(&memory, process);
    let snapshot = snapshot.ok_or_else(|| unread("the program's address space is gone"))?;
    Ok((process.pid, snapshot))
}

/// Returns the failure with which the program ended, if it did.
fn program_failure(work: &ProgramWork, life: ProcessLife) -> Option<Error> {
    let ProcessLife::Ended(status) = life else {
        return None;
    };
    let how = describe_failure(ExitStatus::from_raw(status))?;
    let program = work.path.display().to_string();
    Some(Error::ProgramFailed { program, how })
}

/// Returns the error of a program of which nothing was in its window.
fn nothing_executed(work: &ProgramWork) -> Error {
    Error::NothingRecorded {
        program: work.path.display().to_string(),
        why: "it executed nothing in its window: --simulate makes it longer, and --after opens it later".to_owned(),
    }
}

fn program_run(
    work: &ProgramWork,
    pid: u32,
    process: &ProcessSnapshot,
    run: RecordedRun,
    problem: Option<&Error>,
) -> RecordedRun {
    let is_time_over = run.ended == TIME_OVER;
    let ended = match (problem, process.life) {
        (Some(error), _) => error.first_line(),
        (None, ProcessLife::Ended(_)) => "the program ended".to_owned(),
        (None, ProcessLife::Replaced) => "the program executed another one".to_owned(),
        (None, ProcessLife::Runs) if is_time_over => run.ended.clone(),
        (None, ProcessLife::Runs) => "the program closed the window by a marker".to_owned(),
    };
    let signal = match process.life {
        ProcessLife::Ended(status) => ending_signal(ExitStatus::from_raw(status)),
        ProcessLife::Runs | ProcessLife::Replaced => None,
    };
    RecordedRun {
        ended,
        complete: run.complete && problem.is_none(),
        signal: signal.map(str::to_owned),
        modules: loaded_modules(&process.mappings),
        process: Some(RecordedProcess {
            pid,
            program: work.path.display().to_string(),
            ..RecordedProcess::default()
        }),
        ..run
    }
}

fn program_meta(
    work: &ProgramWork,
    kernel: &GuestKernel<'_>,
    run: &RecordedRun,
    assembled: ProfileMeta,
) -> ProfileMeta {
    let path = work.path.display().to_string();
    let own = run.modules.iter().find(|module| module.path == path);
    let settings = { assembled.settings.into_iter() }
        .filter(|setting| PROGRAM_SETTINGS.contains(&setting.name.as_str()))
        .chain([
            RecordingSetting::new("with", "a guest in simulated time"),
            RecordingSetting::new("kernel", &*kernel.release),
            RecordingSetting::new("after", format!("{} ms", work.window.after.as_millis())),
        ]);
    ProfileMeta {
        target: "program".into(),
        settings: settings.collect(),
        build_id: own.map_or_else(String::new, |module| module.build_id.clone()),
        debug_file: path.clone(),
        release: path,
        guest: None,
        ..assembled
    }
}

/// Settings of a guest that matter for its program.
const PROGRAM_SETTINGS: [&str; 5] = ["cpus", "simulate", "memory", "bursts", "time-limit"];
