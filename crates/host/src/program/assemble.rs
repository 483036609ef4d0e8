//! After the program's end: what its collector wrote, made into a profile.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

use memmap2::Mmap;
use object::Object;
use relayout_profile::program::{self, AssembledProgram, Map, Naming};
use relayout_profile::{Coverage, Meta, Module, Profile, Run, Setting};
use relayout_shadow::control::Stage;

use super::inspect::Inspected;
use super::watch::Ending;
use super::{Backend, Counts, ProgramRecording};
use crate::file_error::cannot;
use crate::record::losses;
use crate::workspace::Workspace;
use crate::{Error, Recorded, map_file};

/// Files of contexts that are looked at.
const CONTEXTS_MAX: u16 = relayout_shadow::CONTEXTS_MAX as u16;
/// Most bytes of a map. A line for each thread that ever was.
const MAP_BYTES_MAX: u64 = 1 << 30;

/// What is known of a recording besides what its collector wrote.
pub struct Known<'k> {
    pub recording: &'k ProgramRecording,
    pub inspected: &'k Inspected,
    pub backend: Backend,
    pub naming: Naming,
    pub collector: String,
    pub fixed_addresses: bool,
    pub wall: Duration,
}

/// The program and its collector have ended; `ending` is how.
pub fn assemble(
    known: Known<'_>,
    workspace: &Workspace,
    ending: Ending,
) -> Result<Recorded, Error> {
    let map = read_map(&workspace.path("map"))?;
    let files = read_segments(workspace)?;
    let files: Vec<(u16, &[u8])> = files.iter().map(|(n, bytes)| (*n, &**bytes)).collect();
    let assembled = program::assemble(&files, &map, 0, known.naming).map_err(Error::Segments)?;
    let mut notes = losses(&assembled.assembled, "thread");
    notes.extend(own_notes(&known, &map, &assembled, workspace));
    let AssembledProgram {
        assembled,
        modules,
        threads,
        ..
    } = assembled;
    let modules: Vec<Module> = modules.into_iter().map(with_build_id).collect();
    let control = workspace.control();
    let summary = assembled.summary;
    let wall_ns = u64::try_from(known.wall.as_nanos()).unwrap_or(u64::MAX);
    let run = Run {
        seed: known.recording.seed,
        complete: summary.is_some() && assembled.torn.is_empty(),
        ended: match (&map.exec, &ending.problem) {
            (Some(path), None) => format!("the program replaced itself by {path}"),
            _ => ending.ended,
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
    profile.meta = meta(&known, map.program, &run, profile.meta);
    profile.meta.runs = vec![run];
    Ok(Recorded {
        profile,
        problem: ending.problem,
        notes,
    })
}

/// An absent map is an empty one: the program was ended before it could write.
fn read_map(path: &Path) -> Result<Map, Error> {
    match fs::metadata(path) {
        Ok(meta) if meta.len() > MAP_BYTES_MAX => {
            let source = std::io::ErrorKind::FileTooLarge.into();
            Err(cannot("read", path)(source).into())
        }
        Ok(_) => Ok(Map::parse(&fs::read(path).map_err(cannot("read", path))?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Map::default()),
        Err(error) => Err(cannot("read", path)(error).into()),
    }
}

/// Files that nobody writes to any more: the recorded process has ended. Mapped, because a long
/// recording's segments are larger than memory.
fn read_segments(workspace: &Workspace) -> Result<Vec<(u16, Mmap)>, Error> {
    let mut files = Vec::new();
    for context in 0..CONTEXTS_MAX {
        let map = map_segments(workspace, &format!("ctx-{context}.seg"))?;
        files.extend(map.map(|map| (context, map)));
    }
    // Made beforehand, for threads that never came; before the last one's, an empty file is that of a
    // thread that accessed nothing while it was watched.
    while files.last().is_some_and(|(_, map)| map.is_empty()) {
        files.pop();
    }
    // Where sites are named by numbers, a file of their own defines them.
    let sites = map_segments(workspace, "sites.seg")?;
    files.extend(sites.map(|map| (CONTEXTS_MAX, map)));
    Ok(files)
}

/// `None` if there is no such file.
fn map_segments(workspace: &Workspace, name: &str) -> Result<Option<Mmap>, Error> {
    let path = workspace.path(name);
    match map_file(&path) {
        Ok(map) => Ok(Some(map)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", &path)(error).into()),
    }
}

fn with_build_id(module: Module) -> Module {
    let build_id = build_id(Path::new(&module.path)).unwrap_or_default();
    Module { build_id, ..module }
}

/// GNU build id of a file, in hex.
fn build_id(path: &Path) -> Option<String> {
    // `[vdso]` and the like are no files.
    let map = path.is_absolute().then(|| map_file(path).ok()).flatten()?;
    let file = object::File::parse(&*map).ok()?;
    let id = file.build_id().ok()??;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn own_notes(
    known: &Known<'_>,
    map: &Map,
    assembled: &AssembledProgram,
    workspace: &Workspace,
) -> Vec<String> {
    let control = workspace.control();
    let (others, lost) = (
        control.others.load(Acquire),
        control.threads_lost.load(Acquire),
    );
    let left_out = assembled.left_out;
    let unplaced = assembled.assembled.losses.unplaced_sites;
    let mut notes = Vec::new();
    let mut note = |n: u64, text: String| notes.extend((n > 0).then_some(text));
    let stage = Stage::from_u32(control.state.load(Acquire));
    note(
        u64::from(known.backend == Backend::QemuUser && stage == Stage::Waiting),
        "the program has a marker that begins its recording, and did not come to it: nothing was recorded"
            .into(),
    );
    note(
        u64::from(!known.fixed_addresses),
        "addresses are randomised: this system does not let relayout switch that off, so that addresses \
         differ between recordings"
            .into(),
    );
    note(
        others.into(),
        format!("{others} other processes of the program were not recorded: only the first is"),
    );
    note(
        lost.into(),
        format!("{lost} threads were not recorded: at most {CONTEXTS_MAX} at a time are"),
    );
    note(
        left_out.allocations,
        format!(
            "{} allocations ({} coherence events) shared memory with busier ones at other times, and are \
             taken for those",
            left_out.allocations, left_out.events
        ),
    );
    note(
        unplaced,
        format!("{unplaced} places in the code are in no file that was mapped"),
    );
    note(
        map.lines_unused,
        format!(
            "{} lines of the collector's map were not used",
            map.lines_unused
        ),
    );
    notes
}

fn meta(known: &Known<'_>, program: Option<Module>, run: &Run, assembled: Meta) -> Meta {
    let recording = known.recording;
    // The file that was recorded, which a script or another program may have started.
    let path = program.map_or_else(|| known.inspected.path.display().to_string(), |m| m.path);
    let of_program = run.modules.iter().find(|module| module.path == path);
    let build_id = of_program.map(|module| module.build_id.clone());
    Meta {
        target: "program".into(),
        workload: recording.command_line(),
        settings: settings(known),
        machine: "x86_64".into(),
        collector: known.collector.clone(),
        build_id: build_id.unwrap_or_default(),
        debug_file: path.clone(),
        release: path,
        coverage: match recording.slices {
            Some(_) => Coverage::Sliced,
            None => Coverage::Complete,
        },
        ..assembled
    }
}

fn settings(known: &Known<'_>) -> Vec<Setting> {
    let recording = known.recording;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".into());
    let seconds =
        |limit: Option<Duration>| or_none(limit.map(|s| format!("{} s", s.as_secs_f64())));
    let settings = [
        ("with", known.backend.to_string()),
        (
            "counts",
            match recording.counts {
                Counts::Shared => "shared".to_owned(),
                Counts::All => "all".to_owned(),
            },
        ),
        (
            "slices",
            recording
                .slices
                .map_or_else(|| "all of the time".into(), |s| s.to_string()),
        ),
        ("yield", known.backend.yield_every(recording).to_string()),
        (
            "bursts",
            recording
                .bursts
                .map_or_else(|| "default".into(), |n| n.to_string()),
        ),
        ("fixed-addresses", known.fixed_addresses.to_string()),
        ("cpus", super::cpus().to_string()),
        ("time-limit", seconds(recording.time_limit)),
        ("stop-after", seconds(recording.stop_after)),
    ];
    settings
        .map(|(name, value)| Setting::new(name, value))
        .into()
}
