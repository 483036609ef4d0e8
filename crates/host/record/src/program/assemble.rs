//! The profile of a program, made of its collector's files.

use relayout_profile::RunId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

use super::backend::ProgramBackend;
use memmap2::Mmap;
use relayout_files::{cannot, map_file};
use relayout_profile::merge::merge_processes;
use relayout_profile::program::{self, AssembledProgram, ProgramMap};
use relayout_profile::{
    AccessCoverage, ClockUnit, LoadedModule, Profile, ProfileMeta, RecordedProcess, RecordedRun,
    RecordingSetting,
};
use relayout_shadow::control::{FOLLOWED_MAX, RecordingControl};

use super::empty;
use super::facts::RecordingFacts;
use super::launch::ending_signal;
use super::memory_limit::MemoryLimit;
use super::processes::DroppedProcess;
use super::watch::{ProgramEnding, noted_signal};
use super::{CountedAccesses, SlicePlan};
use crate::elf::build_id;
use crate::outcome::describe_losses;
use crate::workspace::RecordingWorkspace;
use crate::{Error, RecordingOutcome};

/// Files of contexts that are looked at.
const CONTEXTS_MAX: u16 = relayout_shadow::CONTEXTS_MAX as u16;
/// Most bytes of a map. A line for each thread that ever was.
const MAP_BYTES_MAX: u64 = 1 << 30;

/// Notes that are shown, at most: there may be hundreds of processes.
const NOTES_MAX: usize = 20;
/// Beginning of the words about a process that executed another program.
const REPLACED: &str = "the program replaced itself by ";

/// The program and its collector have ended; `ending` is how. The first process is the first run,
/// and each further one with transfers a run of its own.
pub fn assemble_profile(
    facts: RecordingFacts<'_>,
    workspace: &RecordingWorkspace,
    ending: ProgramEnding,
) -> Result<RecordingOutcome, Error> {
    let first = ProcessFiles {
        dir: workspace.dir(),
        control: workspace.control(),
        is_further: false,
        ending: &ending,
        status: None,
    };
    let (mut profile, mut notes) = assemble_process(&facts, &first)?;
    notes.extend(recording_notes(&facts, workspace));
    if let Some(process) = &mut profile.meta.runs[0].process {
        process.without_transfers = ending.processes.without_transfers;
        process.left_out = workspace.control().others.load(Acquire);
    }
    let mut profiles = vec![profile];
    for process in &ending.processes.kept {
        let files = ProcessFiles {
            dir: &process.dir,
            control: process.control(),
            is_further: true,
            ending: &ending,
            status: process.status,
        };
        match assemble_process(&facts, &files) {
            Ok((profile, process_notes)) => {
                profiles.push(profile);
                let id = process.id();
                notes.extend(
                    process_notes
                        .iter()
                        .map(|note| format!("process {id}: {note}")),
                );
            }
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => notes.push(format!("process {} is left out: {error}", process.id())),
        }
    }
    notes.truncate(NOTES_MAX);
    let profile = merge_processes(profiles).map_err(Error::Parts)?;
    facts.go_on()?;
    notes.extend(follow_notes(&profile, &ending.processes.dropped));
    let problem = ending.problem.or_else(|| {
        empty::explain_empty(&profile, &facts, workspace.control()).map(|why| {
            Error::NothingRecorded {
                program: facts.recording.program.to_string_lossy().into_owned(),
                why,
            }
        })
    });
    Ok(RecordingOutcome {
        rates: None,
        kernel_profile: None,
        profile,
        problem,
        notes,
    })
}

/// Folder of one process, and its end.
struct ProcessFiles<'p> {
    dir: &'p Path,
    control: &'p RecordingControl,
    is_further: bool,
    ending: &'p ProgramEnding,
    /// Exit status of a further process, if it is known.
    status: Option<ExitStatus>,
}

impl ProcessFiles<'_> {
    /// Returns the signal that ended the process, unless that was as asked for.
    fn signal(&self) -> Option<&'static str> {
        if !self.is_further {
            return self.ending.signal;
        }
        let signal = self.status.and_then(ending_signal);
        signal
            .or_else(|| noted_signal(self.control))
            .filter(|&name| !(self.ending.was_as_asked && name == "SIGTERM"))
    }

    /// Describes the end of the process. `is_whole` says that its collector came to an end, too.
    fn describe_end(&self, exec: Option<&String>, is_whole: bool) -> String {
        let by_signal = self
            .signal()
            .map(|name| format!("the process was ended by {name}"));
        match exec {
            Some(path) if self.signal().is_none() => {
                format!("{REPLACED}{path}")
            }
            _ if !self.is_further => self.ending.description.clone(),
            _ => by_signal.unwrap_or_else(|| match is_whole {
                true => "the process ended".into(),
                false => "the process was ended (by SIGKILL, or by a call that its collector does \
                          not see)"
                    .into(),
            }),
        }
    }
}

fn assemble_process(
    facts: &RecordingFacts<'_>,
    files: &ProcessFiles<'_>,
) -> Result<(Profile, Vec<String>), Error> {
    facts.go_on()?;
    let map = read_map(&files.dir.join("map"))?;
    let segments = read_segments(files.dir)?;
    let segments: Vec<(u16, &[u8])> = segments.iter().map(|(n, bytes)| (*n, &**bytes)).collect();
    let assembled =
        program::assemble_unless(&segments, &map, RunId(0), facts.naming, facts.is_aborted)?;
    let mut notes = describe_losses(&assembled.assembled, "thread");
    notes.extend(process_notes(&map, &assembled, files.control));
    let AssembledProgram {
        assembled,
        modules,
        threads,
        ..
    } = assembled;
    let control = files.control;
    let summary = assembled.summary;
    let wall_ns = u64::try_from(facts.wall.as_nanos()).unwrap_or(u64::MAX);
    let is_whole = summary.is_some() && assembled.torn.is_empty();
    let was_cut_off = files.signal().is_some() || (!files.is_further && files.ending.was_cut_off);
    let program = map.program.as_ref();
    let run = RecordedRun {
        host_window: None,
        simulated: None,
        seed: facts.recording.seed,
        complete: is_whole && !was_cut_off,
        signal: files.signal().map(str::to_owned),
        ended: files.describe_end(map.exec.as_ref(), is_whole),
        window_wall_ns: summary.map_or(wall_ns, |s| s.window_wall_ns),
        window_cpu_ns: summary
            .map_or_else(|| control.window_cpu_ns.load(Acquire), |s| s.window_cpu_ns),
        accesses: summary.map_or_else(|| control.accesses.load(Acquire), |s| s.accesses),
        operations: summary.map_or_else(|| control.operations.load(Acquire), |s| s.operations),
        bursts_dropped: summary.map_or(0, |s| s.bursts_dropped),
        lost_share: facts.lost_share,
        recorded_time: files.ending.recorded_time,
        pair_period: Some(relayout_shadow::PAIR_PERIOD),
        gaps: assembled.gaps,
        console_tail: Vec::new(),
        modules: modules.into_iter().map(with_build_id).collect(),
        threads,
        process: Some(RecordedProcess {
            pid: control.process.load(Acquire),
            parent_pid: control.parent.load(Acquire),
            program: program.map_or_else(String::new, |module| module.path.clone()),
            is_further: files.is_further,
            shared_mappings: control.shared_mappings.load(Acquire),
            ..RecordedProcess::default()
        }),
    };
    let mut profile: Profile = assembled.profile;
    profile.meta = profile_meta(facts, map.program, &run, profile.meta);
    profile.meta.runs = vec![run];
    Ok((profile, notes))
}

/// An absent map is an empty one: the program was ended before it could write.
fn read_map(path: &Path) -> Result<ProgramMap, Error> {
    match fs::metadata(path) {
        Ok(meta) if meta.len() > MAP_BYTES_MAX => {
            let source = std::io::ErrorKind::FileTooLarge.into();
            Err(cannot("read", path)(source).into())
        }
        Ok(_) => Ok(ProgramMap::parse(
            &fs::read(path).map_err(cannot("read", path))?,
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ProgramMap::default()),
        Err(error) => Err(cannot("read", path)(error).into()),
    }
}

/// Maps the files of segments, to which the ended process writes no more. A long recording's
/// segments are larger than memory.
fn read_segments(dir: &Path) -> Result<Vec<(u16, Mmap)>, Error> {
    let mut files = Vec::new();
    for context in 0..CONTEXTS_MAX {
        let map = map_segments(&dir.join(format!("ctx-{context}.seg")))?;
        files.extend(map.map(|map| (context, map)));
    }
    // Made beforehand, for threads that never came; before the last one's, an empty file is that of
    // a thread that accessed nothing while it was watched.
    while files.len() > 1 && files.last().is_some_and(|(_, map)| map.is_empty()) {
        files.pop();
    }
    // If sites have numbers, a file of its own defines them.
    let sites = map_segments(&dir.join("sites.seg"))?;
    files.extend(sites.map(|map| (CONTEXTS_MAX, map)));
    Ok(files)
}

/// `None` if there is no such file.
fn map_segments(path: &Path) -> Result<Option<Mmap>, Error> {
    match map_file(path) {
        Ok(map) => Ok(Some(map)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", path)(error).into()),
    }
}

fn with_build_id(module: LoadedModule) -> LoadedModule {
    // `[vdso]` and the like are no files.
    let path = Some(Path::new(&module.path)).filter(|path| path.is_absolute());
    let map = path.and_then(|path| map_file(path).ok());
    LoadedModule {
        build_id: map.and_then(|map| build_id(&map)).unwrap_or_default(),
        ..module
    }
}

/// Remarks on one process.
fn process_notes(
    map: &ProgramMap,
    assembled: &AssembledProgram,
    control: &RecordingControl,
) -> Vec<String> {
    let lost = control.threads_lost.load(Acquire);
    let limit = MemoryLimit::noted(control);
    let left_out = assembled.left_out;
    let unplaced = assembled.assembled.losses.unplaced_sites;
    let mut notes = Vec::new();
    let mut add_note = |n: u64, text: String| notes.extend((n > 0).then_some(text));
    add_note(
        lost.into(),
        match limit {
            Some(limit) if limit.is_shared => {
                format!("{lost} threads were not recorded: there was no memory for what they do")
            }
            _ => format!("{lost} threads were not recorded: at most {CONTEXTS_MAX} at a time are"),
        },
    );
    add_note(
        limit.is_some().into(),
        limit.map_or_else(String::new, MemoryLimit::describe),
    );
    add_note(
        left_out.allocations,
        format!(
            "{} allocations ({} coherence events) shared memory with busier ones at other times, and are \
             taken for those",
            left_out.allocations, left_out.events
        ),
    );
    add_note(
        unplaced,
        format!("{unplaced} places in the code are in no file that was mapped"),
    );
    add_note(
        map.lines_unused,
        format!(
            "{} lines of the collector's map were not used",
            map.lines_unused
        ),
    );
    notes
}

/// Remarks on the whole recording.
fn recording_notes(facts: &RecordingFacts<'_>, workspace: &RecordingWorkspace) -> Vec<String> {
    let others = workspace.control().others.load(Acquire);
    let mut notes = Vec::new();
    if !facts.fixed_addresses {
        notes.push(
            "addresses are randomised: this system does not let relayout switch that off, so that \
             addresses differ between recordings"
                .into(),
        );
    }
    if others > 0 {
        let why = match facts.backend.follows_forks(facts.recording) {
            true => format!(
                "at most {FOLLOWED_MAX} at a time are, and only those that may write to the folder of \
                 the recording"
            ),
            false => "only the first is".into(),
        };
        notes.push(format!(
            "other processes of the program were not recorded ({others}): {why}"
        ));
    }
    notes
}

/// Remarks on processes that are not in the profile, and on the memory that some share.
fn follow_notes(profile: &Profile, dropped: &[DroppedProcess]) -> Vec<String> {
    let runs = &profile.meta.runs;
    let processes = || runs.iter().filter_map(|run| run.process.as_ref());
    let mut notes = Vec::new();
    let without: u32 = processes().map(|process| process.without_transfers).sum();
    if without > 0 {
        notes.push(format!(
            "further processes without transfers between their threads, which are only counted: {without}"
        ));
    }
    if (without > 0 || runs.len() > 1) && processes().any(|p| p.shared_mappings > 0) {
        notes.push(
            "processes share memory (MAP_SHARED): transfers between processes are not recorded, only those \
             between threads of one"
                .into(),
        );
    }
    notes.extend(plain_programs(runs, dropped).into_iter().map(|program| {
        format!("nothing was recorded of {program}: it was not built with relayout cc")
    }));
    notes.truncate(NOTES_MAX);
    notes
}

/// Programs that replaced recorded ones and did not attach themselves: a program that was built
/// with relayout cc is a further process with the same number.
fn plain_programs(runs: &[RecordedRun], dropped: &[DroppedProcess]) -> BTreeSet<String> {
    let exec_of_run = |run: &RecordedRun| run.ended.strip_prefix(REPLACED).map(str::to_owned);
    let of_runs = runs.iter().filter_map(|run| {
        let pid = run.process.as_ref()?.pid;
        Some((pid, exec_of_run(run)))
    });
    let of_dropped = dropped
        .iter()
        .map(|process| (process.id, process.exec.clone()));
    let mut programs: BTreeMap<u32, (usize, Vec<String>)> = BTreeMap::new();
    for (pid, exec) in of_runs.chain(of_dropped) {
        let (count, execs) = programs.entry(pid).or_default();
        *count += 1;
        execs.extend(exec);
    }
    let plain = programs
        .into_values()
        .filter_map(|(count, mut execs)| match execs.len() {
            made if made >= count => execs.pop(),
            _ => None,
        });
    plain.collect()
}

fn profile_meta(
    facts: &RecordingFacts<'_>,
    program: Option<LoadedModule>,
    run: &RecordedRun,
    assembled: ProfileMeta,
) -> ProfileMeta {
    let recording = facts.recording;
    // The file that was recorded, which a script or another program may have started.
    let path = program.map_or_else(|| facts.inspected.path.display().to_string(), |m| m.path);
    let build_id = run
        .modules
        .iter()
        .find(|module| module.path == path)
        .map(|module| module.build_id.clone());
    ProfileMeta {
        target: "program".into(),
        workload: recording.command_line(),
        settings: recorded_settings(facts),
        machine: "x86_64".into(),
        collector: facts.collector.clone(),
        build_id: build_id.unwrap_or_default(),
        debug_file: path.clone(),
        release: path,
        clock: match facts.backend {
            ProgramBackend::QemuUser => Some(ClockUnit::Instructions),
            ProgramBackend::CompiledIn => Some(ClockUnit::Accesses),
            ProgramBackend::Perf => None,
        },
        coverage: match run.recorded_time {
            Some(_) => AccessCoverage::Sliced,
            None => AccessCoverage::Complete,
        },
        ..assembled
    }
}

fn recorded_settings(facts: &RecordingFacts<'_>) -> Vec<RecordingSetting> {
    let recording = facts.recording;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".into());
    let seconds =
        |limit: Option<Duration>| or_none(limit.map(|s| format!("{} s", s.as_secs_f64())));
    let settings = [
        ("with", facts.backend.to_string()),
        (
            "counts",
            match recording.counts {
                CountedAccesses::Shared => "shared".to_owned(),
                CountedAccesses::All => "all".to_owned(),
            },
        ),
        (
            "slices",
            match facts.backend.slice_plan(recording) {
                SlicePlan::Complete => "all of the time".into(),
                SlicePlan::Share(share) => share.to_string(),
                SlicePlan::Adaptive(_) => "by cost".into(),
            },
        ),
        ("yield", facts.backend.yield_every(recording).to_string()),
        (
            "bursts",
            recording
                .bursts
                .map_or_else(|| "default".into(), |n| n.to_string()),
        ),
        ("fixed-addresses", facts.fixed_addresses.to_string()),
        (
            "follow-forks",
            facts.backend.follows_forks(recording).to_string(),
        ),
        ("cpus", super::available_cpus().to_string()),
        ("time-limit", seconds(recording.time_limit)),
        ("stop-after", seconds(recording.stop_after)),
    ];
    settings
        .map(|(name, value)| RecordingSetting::new(name, value))
        .into()
}
