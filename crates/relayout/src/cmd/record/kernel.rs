//! `relayout record kernel`: a kernel under QEMU.

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use relayout_files::{CacheFolder, DebugFile, InterruptFlag};
use relayout_messages::UserError;
use relayout_record::{
    GuestKernel, GuestTools, GuestWork, GuestWorkload, IdleWindow, KernelRecording, ModuleFolder,
    RecordedCode, SimulationSettings, SnapshotStore, find_workload, record_kernel, workloads,
};
use relayout_report::text::record::kernel_summary;
use relayout_session::record::{KernelFiles, require_writable};

use super::guest_program::ProgramArgs;
use super::simulation::{OrderedGuest, SimulationArgs};
use super::{RepeatedRecording, default_profile, print_window};
use crate::complete;
use crate::exit::ExitStatus;
use crate::option_groups::{GuestArgs, ProfileArgs, RepeatArgs, WorkArgs};
use crate::print::print_text;
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  relayout record kernel --workload mntns -o out.relayout
  relayout record kernel --run ./server-test --cpus 8 --repeat 3 -o out.relayout
  relayout record kernel --workload stat-one --machine sapphire-rapids-2s --cpus 20 --rates
  relayout record kernel --run ./bench.sh --file /usr/bin/hackbench --after 2s --for 10s -o out.relayout";

/// Boot a kernel under QEMU and record what its code touches while a workload runs
///
/// The kernel is not modified and no hardware counters are needed. Without --image and --debug the
/// kernel that `relayout setup` fetched is recorded.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("output", |output| output.help(
        "Write the profile to this folder [default: the name of the workload or program, with .relayout]"
    )),
    mut_arg("seed", |seed| seed.help(
        "Seed the workload, and where CPUs yield, with N; --repeat counts up from it"
    ))
)]
pub struct Args {
    /// Run this workload in the guest; `list` names them
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "run",
        add = ArgValueCandidates::new(complete::workloads)
    )]
    workload: Option<String>,
    /// Run this program or script instead, with the arguments in --run-arg; its libraries and
    /// interpreter come along. Recorded from its first marker (see collectors/guest/marker.h), else
    /// from exec to exit
    #[arg(long, value_name = "PROGRAM")]
    run: Option<PathBuf>,
    #[command(flatten)]
    program: ProgramArgs,
    /// Load these modules of the kernel, and those that they need, into the guest first: names, or
    /// files FILE.ko; `relayout setup --module NAME` fetches them for the kernels in the cache folder
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',')]
    module: Vec<String>,
    #[command(flatten)]
    profile: ProfileArgs,
    /// Record this kernel: one that `relayout setup --kernel` fetched (6.12, newest, 6.12-arm64), or
    /// the folder of a source tree that was built
    #[arg(long, value_name = "NAME|DIR", conflicts_with_all = ["image", "debug"],
          add = ArgValueCandidates::new(complete::kernels))]
    kernel: Option<PathBuf>,
    /// Boot this kernel image, a bzImage of x86-64 or an Image of arm64 [default: the cached stock
    /// kernel]
    #[arg(long, value_name = "IMAGE")]
    image: Option<PathBuf>,
    /// Use its vmlinux with debug information [default: the cached stock kernel's]
    #[arg(long, value_name = "VMLINUX")]
    debug: Option<PathBuf>,
    /// Give the guest N CPUs
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    cpus: u16,
    /// Run the workload in N threads [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    repeat: RepeatArgs,
    #[command(flatten)]
    guest: GuestArgs,
    #[command(flatten)]
    simulation: SimulationArgs,
    /// Append this to the kernel command line
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    append: String,
    /// Open the window but record nothing, and print the CPU time used in it: the baseline for what
    /// recording costs. With =accesses, count what would be recorded; with =lines, follow which CPU
    /// has each line, too
    #[arg(
        long = "idle",
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "time",
        conflicts_with_all = ["output", "repeat", "rates"]
    )]
    idle: Option<IdleMeasure>,
    /// Boot the guest, also if there is a snapshot of it, and keep none. Snapshots of guests that are about to
    /// begin their work lie in the cache folder, at most 4 GiB ($RELAYOUT_SNAPSHOTS_MIB)
    #[arg(long)]
    no_snapshot: bool,
    /// Pass these to QEMU too: NUMA nodes, disks
    #[arg(last = true, value_name = "QEMU-ARGS")]
    qemu_arguments: Vec<String>,
}

/// What --idle measures.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum IdleMeasure {
    /// CPU time of the window, with nothing watched
    Time,
    /// Accesses of kernel code in the window
    Accesses,
    /// CPU time while lines are followed from CPU to CPU, and nothing else is recorded
    Lines,
}

impl IdleMeasure {
    fn window(self) -> IdleWindow {
        match self {
            Self::Time => IdleWindow::Time,
            Self::Accesses => IdleWindow::Accesses,
            Self::Lines => IdleWindow::Lines,
        }
    }
}

/// Runs `relayout record kernel`.
///
/// # Errors
/// Bad input, a missing tool, or a guest of which nothing was recorded.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    if args.workload.is_none() && args.run.is_none() {
        return Err(UserError::input("nothing is to run in the guest")
            .with_remedy("give --workload NAME (`--workload list` names them) or --run PROGRAM"));
    }
    if args.workload.as_deref() == Some("list") {
        return print_workloads();
    }
    if let Some(name) = &args.workload {
        find_workload(name)?;
    }
    let ordered_guest = args.ordered_guest();
    let chosen = args.simulation.choose_simulation(&ordered_guest)?;
    let output = match args.idle.is_some() || args.simulation.rates.rates {
        true => None,
        false => Some(
            args.profile
                .output
                .clone()
                .unwrap_or_else(|| default_output(args)),
        ),
    };
    if let Some(output) = &output {
        require_writable(output, args.profile.force)?;
    }
    let cache = CacheFolder::locate();
    let files = match &args.kernel {
        Some(kernel) => KernelFiles::find_kernel(kernel, cache.as_ref())?,
        None => KernelFiles::find(args.image.as_deref(), args.debug.as_deref(), cache.as_ref())?,
    };
    let debug = DebugFile::open(&files.debug)?;
    let kernel = GuestKernel::open(&files.image, &debug)?;
    let order = args
        .simulation
        .requested_order(chosen, &ordered_guest, kernel.machine)?;
    let tools = GuestTools::find(kernel.machine, args.guest.qemu.as_deref(), cache.as_ref())?;
    let modules = match &files.modules {
        Some(folder) => ModuleFolder::read(folder)?,
        None => ModuleFolder::default(),
    };
    let interrupt = InterruptFlag::catch();
    let snapshots = SnapshotStore::locate().filter(|_| !args.no_snapshot);
    let record = |number: u16, progress: &TerminalProgress| {
        let seed = args.repeat.seed.wrapping_add(number.into());
        order.record(progress, |simulation| {
            let recording =
                requested_recording(args, seed, modules.clone(), simulation, snapshots.clone());
            record_kernel(&recording, &kernel, &tools, progress, interrupt)
        })
    };
    let Some(output) = output else {
        return print_window(|progress| record(0, progress), args.simulation.rates.json);
    };
    let repeated = RepeatedRecording {
        times: args.repeat.repeat,
        progress: TerminalProgress::new,
        signal_count: &|| interrupt.count(),
    };
    repeated.run(&output, args.profile.force, kernel_summary, record)
}

/// Returns the folder for a profile that the user gives no name.
fn default_output(args: &Args) -> PathBuf {
    match (&args.workload, &args.run) {
        (Some(workload), _) => default_profile(workload.as_ref()),
        (None, run) => default_profile(run.as_deref().unwrap_or("kernel".as_ref())),
    }
}

fn print_workloads() -> Result<ExitStatus, UserError> {
    let line = |workload: GuestWorkload| {
        format!(
            "{:<12} {:>10}  {}\n",
            workload.name, workload.iterations, workload.description
        )
    };
    let heading = format!(
        "{:<12} {:>10}  what each thread repeats\n",
        "workload", "iterations"
    );
    print_text(&(heading + &workloads().map(line).collect::<String>()))?;
    Ok(ExitStatus::Done)
}

impl Args {
    fn ordered_guest(&self) -> OrderedGuest {
        let host_options = [
            ("--idle", self.idle.is_some()),
            ("--yield", self.guest.yield_every.is_some()),
        ];
        OrderedGuest {
            cpus: self.cpus,
            runs_program: self.run.is_some(),
            has_end: self.work.iterations.is_some(),
            host_option: { host_options.into_iter() }
                .find_map(|(name, is_given)| is_given.then_some(name)),
        }
    }
}

/// Returns the recording that the options ask for.
fn requested_recording(
    args: &Args,
    seed: u64,
    module_folder: ModuleFolder,
    simulation: Option<SimulationSettings>,
    snapshots: Option<SnapshotStore>,
) -> KernelRecording {
    let work = match (&args.run, &args.workload) {
        (Some(path), _) => GuestWork::Program(args.program.work(path.clone())),
        (None, name) => GuestWork::Workload(name.clone().unwrap_or_default()),
    };
    KernelRecording {
        work,
        code: RecordedCode::Kernel,
        modules: args.module.clone(),
        module_folder,
        threads: args.threads.unwrap_or_else(|| args.cpus.into()),
        iterations: args.work.iterations,
        cpus: args.cpus,
        seed,
        yield_every: args.guest.yield_every(),
        memory_bytes: args.guest.memory,
        append: args.append.clone(),
        qemu_arguments: args.qemu_arguments.clone(),
        bursts: args.repeat.bursts,
        time_limit: args.guest.time_limit,
        simulation,
        idle: match args.simulation.rates.rates {
            true => Some(IdleWindow::Time),
            false => args.idle.map(IdleMeasure::window),
        },
        snapshots,
    }
}
