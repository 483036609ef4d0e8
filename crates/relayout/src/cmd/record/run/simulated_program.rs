//! `relayout record run --machine`: a program in a guest in simulated time.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap_complete::ArgValueCandidates;
use relayout_files::{CacheFolder, DebugFile, InterruptFlag};
use relayout_messages::UserError;
use relayout_record::{
    GuestKernel, GuestTools, GuestWork, IdleWindow, KernelRecording, ModuleFolder, ProgramWork,
    RecordedCode, SimulationSettings, SnapshotStore, record_kernel,
};
use relayout_report::text::record::simulated_program_summary;
use relayout_session::record::{KernelFiles, require_writable};

use crate::arguments;
use crate::cmd::record::{RepeatedRecording, default_profile, print_window};
use crate::complete;
use crate::exit::ExitStatus;
use crate::option_groups::{ProfileArgs, RatesArgs, RepeatArgs, SimulatedMachineArgs};
use crate::progress::TerminalProgress;

/// CPUs of a guest that is asked for none.
const CPUS_DEFAULT: u16 = 4;
/// Memory of a guest that is asked for none.
const MEMORY_DEFAULT: u64 = 2 << 30;
/// Limit of the host's time for a boot, and again for a window.
const TIME_LIMIT_DEFAULT: Duration = Duration::from_secs(300);

/// Options that are for programs in the time of the host.
const HOST_OPTIONS: [&str; 6] = [
    "slices",
    "slices_after",
    "counts",
    "yield_every",
    "follow_forks",
    "stop_after",
];

/// Options of programs in simulated time.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "In simulated time",
    mut_arg("rule", |rule| rule.requires("machine")),
    mut_arg("placement", |placement| placement.requires("machine")),
    mut_arg("rates", |rates| rates.requires("machine")),
    mut_arg("machine", |machine| machine.help(
        "Execute the program in the simulated time of this machine, in a guest whose kernel puts threads on CPUs: \
         they wait for cache lines as they would there. `relayout probe --machines` lists names; a FILE is one \
         that `relayout probe -o` or `relayout probe --machines NAME -o` wrote. Line latencies only: no core, no \
         caches' size"
    ).conflicts_with_all(HOST_OPTIONS)),
    mut_arg("simulate", |simulate| simulate.requires("machine").help(
        "Record for this long in simulated time, or until the program ends: 5ms, 200us [default: 5ms]"
    ))
)]
pub struct SimulatedProgramArgs {
    #[command(flatten)]
    machine: SimulatedMachineArgs,
    #[command(flatten)]
    rates: RatesArgs,
    /// Give the guest N CPUs [default: 4]
    #[arg(long, requires = "machine", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    cpus: Option<u16>,
    /// Begin to record this long after the program's start, in the guest's time: 2s, 500ms [default: at the start,
    /// or at the program's first marker]
    #[arg(long, requires = "machine", value_name = "TIME", value_parser = arguments::time)]
    after: Option<Duration>,
    /// Bring this file or folder to the same place in the guest, programs with their libraries; may be given more
    /// than once
    #[arg(long, requires = "machine", value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Boot this kernel: one that `relayout setup --kernel` fetched, or the folder of a source tree that was built
    /// [default: the cached stock kernel]
    #[arg(long, requires = "machine", value_name = "NAME|DIR", add = ArgValueCandidates::new(complete::kernels))]
    kernel: Option<PathBuf>,
    /// Give the guest this much memory, in MiB or with a suffix: 4G [default: 2G]
    #[arg(long, requires = "machine", value_name = "SIZE", value_parser = arguments::size)]
    memory: Option<u64>,
}

/// Program in simulated time, and what becomes of its recording.
pub struct SimulatedProgram<'a> {
    pub program: &'a [OsString],
    pub profile: &'a ProfileArgs,
    pub repeat: &'a RepeatArgs,
    pub time_limit: Option<Duration>,
}

impl SimulatedProgramArgs {
    /// Returns whether the program is to be executed in simulated time.
    pub fn is_asked_for(&self) -> bool {
        self.machine.machine.is_some()
    }

    /// Records the program.
    ///
    /// # Errors
    /// Bad input, a missing tool, or a program of which nothing was recorded.
    pub fn run(&self, subject: &SimulatedProgram<'_>) -> Result<ExitStatus, UserError> {
        let default_output = || default_profile(subject.program[0].as_ref());
        let output = { subject.profile.output.clone() }.unwrap_or_else(default_output);
        if !self.rates.rates {
            require_writable(&output, subject.profile.force)?;
        }
        let recording = self.recording(subject)?;
        let cache = CacheFolder::locate();
        let files = self.kernel_files(cache.as_ref())?;
        let debug = DebugFile::open(&files.debug)?;
        let kernel = GuestKernel::open(&files.image, &debug)?;
        let tools = GuestTools::find(kernel.machine, None, cache.as_ref())?;
        let interrupt = InterruptFlag::catch();
        let record = |number: u16, progress: &TerminalProgress| {
            let recording = KernelRecording {
                seed: subject.repeat.seed.wrapping_add(number.into()),
                ..recording.clone()
            };
            record_kernel(&recording, &kernel, &tools, progress, interrupt)
        };
        if self.rates.rates {
            return print_window(|progress| record(0, progress), self.rates.json);
        }
        let repeated = RepeatedRecording {
            times: subject.repeat.repeat,
            progress: TerminalProgress::new,
            signal_count: &|| interrupt.count(),
        };
        let force = subject.profile.force;
        repeated.run(&output, force, simulated_program_summary, record)
    }

    fn kernel_files(&self, cache: Option<&CacheFolder>) -> Result<KernelFiles, UserError> {
        match &self.kernel {
            Some(kernel) => KernelFiles::find_kernel(kernel, cache),
            None => KernelFiles::find_cached(cache),
        }
    }

    fn recording(&self, subject: &SimulatedProgram<'_>) -> Result<KernelRecording, UserError> {
        let (program, arguments) = subject.program.split_first().expect("clap asks for it");
        let mut work = ProgramWork::inspect(program, arguments)?;
        work.files.clone_from(&self.file);
        work.window.after = self.after.unwrap_or_default();
        let cpus = self.cpus.unwrap_or(CPUS_DEFAULT);
        Ok(KernelRecording {
            work: GuestWork::Program(work),
            code: RecordedCode::Program,
            modules: Vec::new(),
            module_folder: ModuleFolder::default(),
            threads: cpus.into(),
            iterations: None,
            cpus,
            seed: subject.repeat.seed,
            yield_every: 0,
            memory_bytes: self.memory.unwrap_or(MEMORY_DEFAULT),
            append: String::new(),
            qemu_arguments: Vec::new(),
            bursts: subject.repeat.bursts,
            simulation: Some(self.simulation(cpus)?),
            time_limit: subject.time_limit.unwrap_or(TIME_LIMIT_DEFAULT),
            idle: self.rates.rates.then_some(IdleWindow::Time),
            snapshots: SnapshotStore::locate(),
        })
    }

    /// Returns the simulation of a program, which is recorded from the beginning of its window.
    fn simulation(&self, cpus: u16) -> Result<SimulationSettings, UserError> {
        let machine = self.machine.machine.as_deref().expect("clap asks for it");
        let machine = self.machine.find_machine(machine)?;
        let mut settings = self.machine.place(machine, cpus)?;
        settings.warm_up = Duration::ZERO;
        Ok(settings)
    }
}
