//! The profile of a program, made of its collector's files.

use relayout_profile::RunId;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

use memmap2::Mmap;
use relayout_files::{cannot, map_file};
use relayout_profile::program::{self, AssembledProgram, ProgramMap, SiteNaming};
use relayout_profile::{
    AccessCoverage, LoadedModule, Profile, ProfileMeta, RecordedRun, RecordingSetting,
};
use relayout_shadow::control::RecordingStage;

use super::inspect::InspectedProgram;
use super::watch::ProgramEnding;
use super::{CountedAccesses, ProgramBackend, ProgramRecording};
use crate::elf::build_id;
use crate::outcome::describe_losses;
use crate::workspace::RecordingWorkspace;
use crate::{Error, RecordingOutcome};

/// Files of contexts that are looked at.
const CONTEXTS_MAX: u16 = relayout_shadow::CONTEXTS_MAX as u16;
/// Most bytes of a map. A line for each thread that ever was.
const MAP_BYTES_MAX: u64 = 1 << 30;

/// Facts of a recording that its collector does not write.
pub struct RecordingFacts<'k> {
    pub recording: &'k ProgramRecording,
    pub inspected: &'k InspectedProgram,
    pub backend: ProgramBackend,
    pub naming: SiteNaming,
    pub collector: String,
    pub fixed_addresses: bool,
    pub wall: Duration,
}

/// The program and its collector have ended; `ending` is how.
pub fn assemble_profile(
    facts: RecordingFacts<'_>,
    workspace: &RecordingWorkspace,
    ending: ProgramEnding,
) -> Result<RecordingOutcome, Error> {
    let map = read_map(&workspace.file_path("map"))?;
    let maps = read_segments(workspace)?;
    let files: Vec<(u16, &[u8])> = maps.iter().map(|(n, map)| (*n, &**map)).collect();
    let assembled =
        program::assemble(&files, &map, RunId(0), facts.naming).map_err(Error::Segments)?;
    let mut notes = describe_losses(&assembled.assembled, "thread");
    notes.extend(program_notes(&facts, &map, &assembled, workspace));
    let AssembledProgram {
        assembled,
        modules,
        threads,
        ..
    } = assembled;
    let modules: Vec<LoadedModule> = modules.into_iter().map(with_build_id).collect();
    let control = workspace.control();
    let summary = assembled.summary;
    let wall_ns = u64::try_from(facts.wall.as_nanos()).unwrap_or(u64::MAX);
    let run = RecordedRun {
        seed: facts.recording.seed,
        complete: summary.is_some() && assembled.torn.is_empty(),
        ended: match (&map.exec, &ending.problem) {
            (Some(path), None) => format!("the program replaced itself by {path}"),
            _ => ending.description,
        },
        window_wall_ns: summary.map_or(wall_ns, |s| s.window_wall_ns),
        window_cpu_ns: summary
            .map_or_else(|| control.window_cpu_ns.load(Acquire), |s| s.window_cpu_ns),
        accesses: summary.map_or_else(|| control.accesses.load(Acquire), |s| s.accesses),
        operations: summary.map_or_else(|| control.operations.load(Acquire), |s| s.operations),
        bursts_dropped: summary.map_or(0, |s| s.bursts_dropped),
        pair_period: Some(relayout_shadow::PAIR_PERIOD),
        gaps: assembled.gaps,
        console_tail: Vec::new(),
        modules,
        threads,
    };
    let mut profile: Profile = assembled.profile;
    profile.meta = profile_meta(&facts, map.program, &run, profile.meta);
    profile.meta.runs = vec![run];
    Ok(RecordingOutcome {
        profile,
        problem: ending.problem,
        notes,
    })
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
fn read_segments(workspace: &RecordingWorkspace) -> Result<Vec<(u16, Mmap)>, Error> {
    let mut files = Vec::new();
    for context in 0..CONTEXTS_MAX {
        let map = map_segments(workspace, &format!("ctx-{context}.seg"))?;
        files.extend(map.map(|map| (context, map)));
    }
    // Made beforehand, for threads that never came; before the last one's, an empty file is that of
    // a thread that accessed nothing while it was watched.
    while files.last().is_some_and(|(_, map)| map.is_empty()) {
        files.pop();
    }
    // If sites have numbers, a file of its own defines them.
    let sites = map_segments(workspace, "sites.seg")?;
    files.extend(sites.map(|map| (CONTEXTS_MAX, map)));
    Ok(files)
}

/// `None` if there is no such file.
fn map_segments(workspace: &RecordingWorkspace, name: &str) -> Result<Option<Mmap>, Error> {
    let path = workspace.file_path(name);
    match map_file(&path) {
        Ok(map) => Ok(Some(map)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", &path)(error).into()),
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

fn program_notes(
    facts: &RecordingFacts<'_>,
    map: &ProgramMap,
    assembled: &AssembledProgram,
    workspace: &RecordingWorkspace,
) -> Vec<String> {
    let control = workspace.control();
    let (others, lost) = (
        control.others.load(Acquire),
        control.threads_lost.load(Acquire),
    );
    let left_out = assembled.left_out;
    let unplaced = assembled.assembled.losses.unplaced_sites;
    let mut notes = Vec::new();
    let mut add_note = |n: u64, text: String| notes.extend((n > 0).then_some(text));
    let stage = RecordingStage::from_u32(control.state.load(Acquire));
    add_note(
        u64::from(facts.backend == ProgramBackend::QemuUser && stage == RecordingStage::Waiting),
        "the program has a marker that begins its recording, and did not come to it: nothing was recorded"
            .into(),
    );
    add_note(
        u64::from(!facts.fixed_addresses),
        "addresses are randomised: this system does not let relayout switch that off, so that addresses \
         differ between recordings"
            .into(),
    );
    add_note(
        others.into(),
        format!("{others} other processes of the program were not recorded: only the first is"),
    );
    add_note(
        lost.into(),
        format!("{lost} threads were not recorded: at most {CONTEXTS_MAX} at a time are"),
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
        coverage: match recording.slices {
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
            recording
                .slices
                .map_or_else(|| "all of the time".into(), |s| s.to_string()),
        ),
        ("yield", facts.backend.yield_every(recording).to_string()),
        (
            "bursts",
            recording
                .bursts
                .map_or_else(|| "default".into(), |n| n.to_string()),
        ),
        ("fixed-addresses", facts.fixed_addresses.to_string()),
        ("cpus", super::available_cpus().to_string()),
        ("time-limit", seconds(recording.time_limit)),
        ("stop-after", seconds(recording.stop_after)),
    ];
    settings
        .map(|(name, value)| RecordingSetting::new(name, value))
        .into()
}
