//! Recordings of a program: starts it with a collector attached, watches it, and makes a profile of
//! the collector's files.

mod assemble;
mod backend;
mod compiled;
mod empty;
mod emulated;
mod facts;
mod inspect;
mod launch;
mod memory_limit;
mod processes;
mod recording_cost;
mod sampled;
mod signals;
mod slices;
mod watch;
mod window_cpu;

use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

use relayout_messages::RecordingProgress;

pub use self::backend::ProgramBackend;
pub use self::inspect::{ProgramKind, find_program, inspect_program};
pub use self::launch::can_fix_addresses;
pub(crate) use self::launch::{describe_failure, ending_signal};
pub use self::memory_limit::MemoryLimit;
pub use self::signals::StopSignals;
pub use self::slices::SlicePlan;

use relayout_profile::program::SiteNaming;

use self::backend::AvailableBackends;
use self::facts::RecordingFacts;
use self::inspect::InspectedProgram;
use self::sampled::SampledProgram;
use crate::host_load::{HostLoad, own_cpu_ns};
use crate::perf::{InstructionDecoder, PerfSampler};
use crate::workspace::RecordingWorkspace;
use crate::{Error, RecordingOutcome};

/// Accesses that are counted by address and instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountedAccesses {
    /// Accesses to lines that are written and shared.
    #[default]
    Shared,
    /// All accesses.
    All,
}

/// Everything that makes one recording of a program.
#[derive(Clone, Debug)]
pub struct ProgramRecording {
    /// The program, as on a command line.
    pub program: OsString,
    /// Its arguments, without its own name.
    pub arguments: Vec<OsString>,
    /// The backend; `None` for the one that fits the program.
    pub backend: Option<ProgramBackend>,
    /// Part of the time that is recorded, the same for all threads; `None` for the backend's
    /// default.
    pub slices: Option<SlicePlan>,
    /// Accesses that are counted.
    pub counts: CountedAccesses,
    /// Silent stores are found out, by the compiled-in runtime.
    pub values: bool,
    /// Ordered accesses kept in all, if not the collector's default.
    pub bursts: Option<u64>,
    /// Accesses of a thread between yields of its CPU, on average; 0 for none, `None`: as is good
    /// for how it is recorded.
    pub yield_every: Option<u32>,
    /// Seed of the yields, and of where slices begin.
    pub seed: u64,
    /// Processes that the program forks or executes are recorded, too; `None`: if the
    /// backend can.
    pub follow_forks: Option<bool>,
    /// Time limit of the program, which is then stopped; that is a failure.
    pub time_limit: Option<Duration>,
    /// Time after which the program is told to end (SIGTERM), as is usual for servers.
    pub stop_after: Option<Duration>,
}

impl ProgramRecording {
    /// The program and its arguments, with spaces between.
    fn command_line(&self) -> String {
        let words: Vec<_> = std::iter::once(&self.program)
            .chain(&self.arguments)
            .map(|word| word.to_string_lossy())
            .collect();
        words.join(" ")
    }
}

/// The parts that differ between backends that run the program themselves.
struct AttachedProgram {
    /// The program with its collector.
    command: Command,
    /// Naming of sites in the collector's files.
    naming: SiteNaming,
    /// Collector and its version.
    collector: String,
}

/// Records once. `decode` reads x86-64 instructions, for samples of accesses.
///
/// # Errors
/// Nothing was recorded. A failure of the program, or Ctrl-C, is in [`RecordingOutcome::problem`].
pub fn record_program(
    recording: &ProgramRecording,
    progress: &dyn RecordingProgress,
    signals: StopSignals,
    decode: InstructionDecoder<'_>,
) -> Result<RecordingOutcome, Error> {
    let inspected = inspect_program(&recording.program)?;
    let (backend, why) =
        backend::choose_backend(recording.backend, &inspected, AvailableBackends::detect)?;
    if let Some(why) = why {
        progress.step(&format!("{}: {why}", inspected.path.display()));
    }
    if inspected.has_debug_info == Some(false) {
        progress.warn(&debug_warning(&inspected));
    }
    if available_cpus() == 1 {
        progress.warn(single_cpu_warning(backend, backend.yield_every(recording)));
    }
    signals.begin_recording();
    let workspace = RecordingWorkspace::create()?;
    let attached = match backend {
        ProgramBackend::CompiledIn => compiled::attach_runtime(recording, &inspected, &workspace)?,
        ProgramBackend::QemuUser => emulated::attach_qemu(recording, &inspected, &workspace)?,
        ProgramBackend::Perf => {
            let sampled = SampledProgram::new(recording, &inspected, PerfSampler::find()?)?;
            return sampled.record(&workspace, progress, signals, decode);
        }
    };
    progress.step(&format!("recording with {backend}"));
    if backend.follows_forks(recording) {
        processes::follow_processes(&workspace);
    }
    let (began, load, cpu_ns_before) = (Instant::now(), HostLoad::begin(), own_cpu_ns());
    let mut program = launch::start_program(attached.command, &inspected.path)?;
    let ending = watch::watch_program(
        &mut program,
        &workspace,
        recording,
        backend,
        progress,
        signals,
    )?;
    let lost_share = load.lost_share(own_cpu_ns() - cpu_ns_before);
    let signals_seen = signals.begin_last_phase();
    progress.step("reading what was recorded");
    let facts = RecordingFacts {
        recording,
        inspected: &inspected,
        backend,
        naming: attached.naming,
        collector: attached.collector,
        fixed_addresses: program.fixed_addresses,
        wall: began.elapsed(),
        lost_share,
        is_aborted: &|| signals.count() > signals_seen,
    };
    assemble::assemble_profile(facts, &workspace, ending)
}

fn debug_warning(inspected: &InspectedProgram) -> String {
    format!(
        "{} has no debug information: its functions, types and members will have no names. Build it with \
         -g (relayout cc does so unless told otherwise), and do not strip it",
        inspected.path.display()
    )
}

/// CPUs that this process, and so the program, may use.
fn available_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get())
}

/// Returns the warning for a recording on one CPU.
fn single_cpu_warning(backend: ProgramBackend, yield_every: u32) -> &'static str {
    match (backend, yield_every) {
        (ProgramBackend::Perf, _) => {
            "one CPU only: threads take turns, so no line moves between CPUs, and hardware sees no transfer"
        }
        (_, 0) => {
            "one CPU only: threads take turns, and with --yield 0 for long: they seldom meet on a line"
        }
        _ => {
            "one CPU only: threads take turns, and meet on a line only as often as they yield (see --yield)"
        }
    }
}
