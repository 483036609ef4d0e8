//! After the window: the collector's segments and the guest's memory, made into a profile.

use relayout_profile::RunId;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::*;

use memmap2::Mmap;
use relayout_files::{FileError, cannot, canonical_name, map_file};
use relayout_profile::boot::COMMAND_LINE_SETTING;
use relayout_profile::rates::SimulatedRates;
use relayout_profile::segments::{self, AssembledProfile, SiteNames};
use relayout_profile::{
    ClockUnit, HostWindow, LeftOutReader, Profile, ProfileMeta, RecordedGuest, RecordedRun,
    RecordingSetting, SimulatedOrder,
};
use relayout_shadow::CONTEXTS_MAX;

use super::modules::{DescribedModules, ModuleFiles};
use super::watch::{WatchedWindow, WindowEnding, missing_programs_failure};
use super::{GuestWork, KernelRecording, RecordedCode, program_profile};
use crate::guest_disks::GuestDisks;
use crate::guest_program::ProgramWork;
use crate::memory::{GuestProcess, MemoryReaders, PAGE_BYTES, ProcessReader};
use crate::outcome::{RecordingOutcome, describe_losses};
use crate::qemu::{QemuMachine, cpu_model};
use crate::simulation::read_rates;
use crate::workspace::{GuestMemory, RecordingWorkspace};
use crate::{Error, GuestKernel, GuestMachine, QemuCollector, SimulationSettings};

/// End of a window whose time was over.
pub const TIME_OVER: &str = "its simulated time was over";
/// Lines of the console that a profile keeps.
const CONSOLE_LINES: usize = 2000;

/// Files that QEMU left.
#[derive(Clone, Copy)]
pub struct GuestFiles<'g> {
    pub workspace: &'g RecordingWorkspace,
    pub memory: &'g GuestMemory,
    pub disks: &'g GuestDisks,
    /// Readers of the kernel's memory.
    pub readers: &'g MemoryReaders,
    /// The process that is recorded, with its reader; `None` if the kernel is.
    pub process: Option<(&'g ProcessReader, &'g GuestProcess)>,
    /// Files of the kernel's modules.
    pub modules: ModuleFiles<'g>,
    /// Tells whether the user has aborted the assembly.
    pub is_aborted: &'g dyn Fn() -> bool,
}

/// A window as the collector's files tell it.
pub struct RecordedWindow {
    /// Tables of the collector, with the metadata of a recording of the kernel.
    pub profile: Profile,
    pub run: RecordedRun,
    /// Results in simulated time.
    pub rates: Option<SimulatedRates>,
    pub problem: Option<Error>,
    pub notes: Vec<String>,
}

/// QEMU has ended after `window`.
pub fn assemble_profile(
    recording: &KernelRecording,
    kernel: &GuestKernel<'_>,
    collector: &QemuCollector,
    machine: &QemuMachine,
    files: GuestFiles<'_>,
    window: WatchedWindow,
) -> Result<RecordingOutcome, Error> {
    let workspace = files.workspace;
    let assembled = read_segments(workspace, recording.cpus, files.is_aborted)?;
    let notes = describe_losses(&assembled, "CPU");
    let problem = match window.ending {
        WindowEnding::Closed => missing_programs(recording, machine),
        WindowEnding::CutShort(error) => Some(error),
    };
    let mut run = RecordedRun {
        lost_share: window.lost_share,
        ..profile_run(recording, &assembled, workspace, machine, problem.as_ref())
    };
    let mut profile = assembled.profile;
    profile.meta = profile_meta(recording, kernel, collector, profile.meta);
    let rates = match &problem {
        None if recording.simulation.is_some() => Some(read_rates(workspace.dir())?),
        _ => None,
    };
    if let Some(rates) = &rates {
        note_simulation(&mut run, rates, recording.simulation.as_ref());
    }
    let window = RecordedWindow {
        profile,
        run,
        rates,
        problem,
        notes,
    };
    match (recording.code, &recording.work) {
        (RecordedCode::Program, GuestWork::Program(work)) => {
            program_profile::program_outcome(recording, work, kernel, files, window)
        }
        _ => kernel_outcome(recording, kernel, files, window),
    }
}

/// Returns the failure of a script that went on without programs that the guest lacks.
fn missing_programs(recording: &KernelRecording, machine: &QemuMachine) -> Option<Error> {
    let GuestWork::Program(_) = &recording.work else {
        return None;
    };
    Some(Error::Guest {
        why: missing_programs_failure(&machine.console())?,
        console: machine.console_tail(),
    })
}

/// Makes the profile of a kernel.
pub fn kernel_outcome(
    recording: &KernelRecording,
    kernel: &GuestKernel<'_>,
    files: GuestFiles<'_>,
    window: RecordedWindow,
) -> Result<RecordingOutcome, Error> {
    let RecordedWindow {
        mut profile,
        run,
        rates,
        problem,
        mut notes,
    } = window;
    profile.meta.runs = vec![run];
    let mut pages = pages_that_matter(&profile);
    match (&rates, recording.idle) {
        (Some(rates), Some(_)) => {
            rates.fill_tables(&mut profile);
            pages = rates.pages(PAGE_BYTES);
        }
        (Some(rates), None) => rates.add_waits(&mut profile).map_err(Error::Parts)?,
        (None, _) => {}
    }
    let disks = files.disks.describe();
    if !disks.is_empty() {
        let setting = RecordingSetting::new("disks", disks);
        profile.meta.settings.push(setting);
    }
    let pages: Vec<u64> = pages.into_iter().collect();
    notes.extend(describe_memory(
        kernel,
        recording.cpus,
        files,
        &pages,
        &mut profile,
    ));
    Ok(RecordingOutcome {
        rates,
        profile,
        kernel_profile: None,
        problem,
        notes,
    })
}

/// Adds to a profile of one run what the guest's memory tells of `pages`, and the modules. Returns remarks.
fn describe_memory(
    kernel: &GuestKernel<'_>,
    cpus: u16,
    files: GuestFiles<'_>,
    pages: &[u64],
    profile: &mut Profile,
) -> Vec<String> {
    let bytes = match files.memory.map() {
        Ok(bytes) => bytes,
        Err(error) => return vec![format!("the guest's memory cannot be read: {error}")],
    };
    let readers = files.readers;
    let mut snapshot = readers.read_snapshot(kernel, &bytes, RunId(0), cpus, pages);
    let described = DescribedModules::find(kernel, &snapshot, files.modules, RunId(0));
    let mut notes = Vec::from_iter(describe_unknown_modules(&described.unknown));
    for run in &mut profile.meta.runs {
        run.modules.clone_from(&described.rows);
    }
    snapshot.ranges.extend(described.ranges);
    snapshot.sort();
    profile.ranges = snapshot.ranges;
    // The others were named before the boot.
    let known = readers.left_out();
    let found_now = { snapshot.left_out.iter() }.filter(|reader| !known.contains(reader));
    notes.extend(found_now.map(describe_left_out));
    profile.meta.left_out_readers = snapshot.left_out;
    notes
}

/// Describes modules of the guest whose files are not known.
fn describe_unknown_modules(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "nothing in these modules is named, because their files with debug information are missing: {}",
            names.join(", ")
        )
    })
}

/// Describes a reader that was left out: `slabs are not read: member 'slab.slab_cache' is missing`.
pub fn describe_left_out(left_out: &LeftOutReader) -> String {
    let LeftOutReader {
        reader, missing, ..
    } = left_out;
    format!("{reader} are not read: {missing} is missing")
}

/// Reads the segments of the guest's CPUs: as many as it was given, and those that arguments for QEMU
/// added.
fn read_segments(
    workspace: &RecordingWorkspace,
    cpus: u16,
    is_aborted: &dyn Fn() -> bool,
) -> Result<AssembledProfile, Error> {
    let path = |n: u16| workspace.file_path(&format!("ctx-{n}.seg"));
    let has_data = |n: &u16| fs::metadata(path(*n)).is_ok_and(|file| file.len() > 0);
    let added = (cpus..CONTEXTS_MAX as u16).rfind(has_data);
    let cpus = added.map_or(cpus, |last| last + 1);
    let mut files: Vec<_> = (0..cpus)
        .map(|n| Ok((n, map_segments(&path(n))?)))
        .collect::<Result<_, FileError>>()?;
    files.push((
        CONTEXTS_MAX as u16,
        map_segments(&workspace.file_path("sites.seg"))?,
    ));
    let files: Vec<(u16, &[u8])> = files.iter().map(|(n, bytes)| (*n, &**bytes)).collect();
    let names = SiteNames::Defined;
    Ok(segments::assemble_named(
        &files,
        RunId(0),
        cpus,
        names,
        is_aborted,
    )?)
}

/// Maps a file of segments, to which QEMU writes no more. A long recording's segments are larger
/// than memory.
fn map_segments(path: &Path) -> Result<Mmap, FileError> {
    map_file(path).map_err(cannot("open", path))
}

/// Pages with lines that moved between CPUs, or beside such a line, or whose accesses were logged.
fn pages_that_matter(profile: &Profile) -> BTreeSet<u64> {
    let moved = profile
        .lines
        .iter()
        .filter(|l| l.read_transfers + l.write_transfers + l.upgrades > 0)
        .map(|l| l.line);
    let logged = profile.regions.iter().map(|r| r.start);
    let beside = profile.pairs.iter().map(|p| p.addr);
    moved
        .chain(logged)
        .chain(beside)
        .map(|at| at.0 & !(PAGE_BYTES - 1))
        .collect()
}

fn profile_run(
    recording: &KernelRecording,
    assembled: &AssembledProfile,
    workspace: &RecordingWorkspace,
    machine: &QemuMachine,
    problem: Option<&Error>,
) -> RecordedRun {
    let control = workspace.control();
    let summary = assembled.summary;
    RecordedRun {
        seed: recording.seed,
        complete: problem.is_none() && summary.is_some() && assembled.torn.is_empty(),
        ended: problem.map_or_else(|| "the workload was done".into(), Error::first_line),
        window_wall_ns: control.window_wall_ns.load(Acquire),
        window_cpu_ns: control.window_cpu_ns.load(Acquire),
        accesses: summary.map_or_else(|| control.accesses.load(Acquire), |s| s.accesses),
        operations: summary.map_or_else(|| control.operations.load(Acquire), |s| s.operations),
        bursts_dropped: summary.map_or(0, |s| s.bursts_dropped),
        pair_period: Some(relayout_shadow::PAIR_PERIOD),
        console_tail: machine.console_lines(CONSOLE_LINES),
        ..RecordedRun::default()
    }
}

/// Notes how a window went in simulated time, in place of the host's.
fn note_simulation(
    run: &mut RecordedRun,
    rates: &SimulatedRates,
    settings: Option<&SimulationSettings>,
) {
    let window = &rates.window;
    let window_ns = window.length_ps / 1000;
    if settings.is_some_and(|settings| settings.length.as_nanos() <= window_ns.into()) {
        run.ended = TIME_OVER.to_owned();
    }
    run.host_window = Some(HostWindow {
        wall_ns: run.window_wall_ns,
        cpu_ns: run.window_cpu_ns,
        lost_share: run.lost_share,
    });
    (run.window_wall_ns, run.window_cpu_ns, run.lost_share) = (window_ns, 0, None);
    run.operations = window.operations;
    run.simulated = Some(SimulatedOrder {
        window_ns,
        counts: window.order,
        cpu_times: rates.cpus.iter().map(|cpu| cpu.times).sum(),
    });
}

fn profile_meta(
    recording: &KernelRecording,
    kernel: &GuestKernel<'_>,
    collector: &QemuCollector,
    assembled: ProfileMeta,
) -> ProfileMeta {
    let workload = match &recording.work {
        GuestWork::Workload(name) => name.clone(),
        GuestWork::Program(ProgramWork {
            path, arguments, ..
        }) => {
            let words =
                std::iter::once(path.display().to_string()).chain(arguments.iter().cloned());
            words.collect::<Vec<_>>().join(" ")
        }
    };
    ProfileMeta {
        target: "kernel".into(),
        workload,
        settings: recorded_settings(recording, kernel.machine),
        clock: Some(ClockUnit::Instructions),
        machine: kernel.machine.name().into(),
        collector: collector.describe(),
        debug_file: canonical_name(&kernel.debug_path),
        build_id: kernel.build_id.clone(),
        release: kernel.release.clone(),
        simulated_machine: { recording.simulation.as_ref() }.map(SimulationSettings::machine_name),
        guest: Some(RecordedGuest {
            cpu_model: cpu_model(kernel.machine, &recording.qemu_arguments).to_owned(),
            unwatched_functions: kernel
                .bulk_code()
                .map(|(name, _)| name.to_owned())
                .collect(),
        }),
        ..assembled
    }
}

/// Returns the workload's own time after each operation, where it has any.
fn user_time_setting(recording: &KernelRecording) -> Option<RecordingSetting> {
    let user_time = recording.simulation.as_ref()?.user_time;
    (!user_time.is_zero())
        .then(|| RecordingSetting::new("user-time", format!("{} ns", user_time.as_nanos())))
}

/// Returns what decided the order of accesses.
fn order_setting(recording: &KernelRecording) -> RecordingSetting {
    match &recording.simulation {
        Some(simulation) => {
            RecordingSetting::new("simulate", format!("{} ns", simulation.length.as_nanos()))
        }
        None => RecordingSetting::new("yield", recording.yield_every.to_string()),
    }
}

fn recorded_settings(recording: &KernelRecording, machine: GuestMachine) -> Vec<RecordingSetting> {
    let iterations = recording
        .iterations
        .map_or_else(|| "default".into(), |n| n.to_string());
    let bursts = recording
        .bursts
        .map_or_else(|| "default".into(), |n| n.to_string());
    let mut settings = vec![
        RecordingSetting::new("cpus", recording.cpus.to_string()),
        RecordingSetting::new("threads", recording.threads.to_string()),
        RecordingSetting::new("iterations", iterations),
        order_setting(recording),
        RecordingSetting::new("memory", format!("{}M", recording.memory_bytes >> 20)),
        RecordingSetting::new("append", recording.append.clone()),
        RecordingSetting::new("qemu-arguments", recording.qemu_arguments.join(" ")),
        RecordingSetting::new("bursts", bursts),
        RecordingSetting::new(
            COMMAND_LINE_SETTING,
            super::kernel_command_line(recording, machine),
        ),
        RecordingSetting::new(
            "time-limit",
            format!("{} s", recording.time_limit.as_secs()),
        ),
    ];
    settings.extend(user_time_setting(recording));
    settings
}
