//! Recordings of a kernel: boots it under QEMU, watches its window, and makes a profile of the
//! collector's files.

mod assemble;
mod boot_progress;
mod modules;
mod program_modules;
mod program_profile;
mod start;
mod watch;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use relayout_files::{CacheFolder, InterruptFlag, cannot};
use relayout_messages::{ErrorCategory, RecordingProgress};

use self::modules::ModuleFiles;
use self::start::{ReadyGuest, StartedGuest};
use self::watch::{WatchedWindow, WindowEnding, watch_window};
use crate::guest_disks::DiskPlan;
use crate::guest_program::{PackedProgram, ProgramWork};
use crate::guest_snapshots::SnapshotStore;
use crate::kernel_modules::ModulesToLoad;
use crate::kernel_needs::require_support;
use crate::memory::{MemoryReaders, MovedTypes, ProcessReader};
use crate::outcome::RecordingOutcome;
use crate::qemu::find_collector;
use crate::workspace::{RecordingWorkspace, collector_options};
use crate::{
    Error, GuestKernel, GuestMachine, GuestProgram, ModuleFolder, QemuCollector, RequestedMove,
    SimulationSettings, initramfs,
};

/// Variable of the kernel with the frequency of its time stamp counter in kHz.
const TSC_FREQUENCY: &str = "tsc_khz";

/// Seed of the workload in simulated time.
const WORKLOAD_SEED: u64 = 1;

/// The work of the guest.
#[derive(Clone, Debug)]
pub enum GuestWork {
    /// One of the guest's workloads.
    Workload(String),
    /// A program of the user's.
    Program(ProgramWork),
}

/// Code in a guest whose accesses are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordedCode {
    /// The kernel's.
    #[default]
    Kernel,
    /// That of the user's program and its libraries, in simulated time.
    Program,
}

/// Tools that run a guest: QEMU with its plugin, and the program in the guest.
#[derive(Clone, Debug)]
pub struct GuestTools {
    /// QEMU for the guest's machine.
    pub collector: QemuCollector,
    /// Init and workloads.
    pub program: GuestProgram,
}

impl GuestTools {
    /// Finds the tools of a machine: QEMU as [`find_collector`] does.
    ///
    /// # Errors
    /// Those of [`find_collector`], or the machine's program was not built.
    pub fn find(
        machine: GuestMachine,
        requested_qemu: Option<&Path>,
        cache: Option<&CacheFolder>,
    ) -> Result<Self, Error> {
        Ok(Self {
            collector: find_collector(machine, requested_qemu, cache)?,
            program: GuestProgram::find(machine, cache)?,
        })
    }
}

/// Everything that makes one recording.
#[derive(Clone, Debug)]
pub struct KernelRecording {
    /// The work of the guest.
    pub work: GuestWork,
    /// Code whose accesses are recorded. That of a program needs [`GuestWork::Program`] and a simulation.
    pub code: RecordedCode,
    /// Modules that the guest loads before: names, or files.
    pub modules: Vec<String>,
    /// Modules of the kernel.
    pub module_folder: ModuleFolder,
    /// Threads (or processes) of the workload.
    pub threads: u32,
    /// Operations of each; the workload's default if `None`.
    pub iterations: Option<u64>,
    /// CPUs of the guest.
    pub cpus: u16,
    /// Seed of workload and yields.
    pub seed: u64,
    /// Accesses of a CPU between yields of its host thread, on average; 0 for none.
    pub yield_every: u32,
    /// Memory of the guest.
    pub memory_bytes: u64,
    /// Added to the kernel's command line.
    pub append: String,
    /// Added to QEMU's arguments.
    pub qemu_arguments: Vec<String>,
    /// Ordered accesses kept in all, if not the collector's default.
    pub bursts: Option<u64>,
    /// Machine in whose time the guest executes in its window; none for the host's order.
    pub simulation: Option<SimulationSettings>,
    /// Time limit of the boot, and again of the window.
    pub time_limit: Duration,
    /// Open the window but record nothing: the baseline for the cost of recording.
    pub idle: Option<IdleWindow>,
    /// Snapshots to start from and to add to; `None` boots.
    pub snapshots: Option<SnapshotStore>,
}

impl KernelRecording {
    /// Returns the members that are said to lie elsewhere.
    fn moves(&self) -> &[RequestedMove] {
        let simulation = self.simulation.as_ref();
        simulation.map_or(&[], |simulation| &simulation.moves)
    }
}

/// What is measured of a window that is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleWindow {
    /// Its CPU time, with nothing watched.
    Time,
    /// The accesses of kernel code, which are counted.
    Accesses,
    /// CPU time while lines are followed from CPU to CPU, and nothing else is recorded.
    Lines,
}

/// Records once. Boots a second time where the first boot fails by an event that is rare under QEMU: a
/// timer interrupt was lost, or the kernel crashed.
///
/// # Errors
/// Nothing was recorded. A failure of the guest, or Ctrl-C, after the window opened is in
/// [`RecordingOutcome::problem`].
pub fn record_kernel(
    recording: &KernelRecording,
    kernel: &GuestKernel<'_>,
    tools: &GuestTools,
    progress: &dyn RecordingProgress,
    interrupt: InterruptFlag,
) -> Result<RecordingOutcome, Error> {
    require_support(kernel, recording.cpus)?;
    let record = || record_boot(recording, kernel, tools, progress, interrupt);
    let recorded = match record() {
        Err(Error::BootFault { event, .. }) => {
            progress.warn(&format!(
                "the boot of the guest failed: {event}; booting again"
            ));
            record()
        }
        recorded => recorded,
    };
    recorded.map_err(|error| match (error, recording.code) {
        (Error::Simulation(why), RecordedCode::Program) => Error::SimulatedProgram(why),
        (error, _) => error,
    })
}

/// Boots the guest and records its window.
fn record_boot(
    recording: &KernelRecording,
    kernel: &GuestKernel<'_>,
    tools: &GuestTools,
    progress: &dyn RecordingProgress,
    interrupt: InterruptFlag,
) -> Result<RecordingOutcome, Error> {
    let collector = &tools.collector;
    let files = RecordingWorkspace::create()?;
    let folder = &recording.module_folder;
    let mut packed = pack_work(recording, kernel.machine)?;
    let disk_plan = DiskPlan::make(&mut packed.files, kernel, &recording.modules, folder)?;
    let wanted = disk_plan.add_modules(&recording.modules);
    let modules = ModulesToLoad::find(&wanted, folder, &kernel.release)?;
    modules.pack(&mut packed.files)?;
    let orders = packed.files.own_paths();
    tools
        .program
        .require_orders(orders.iter().map(String::as_str))?;
    let initrd = files.file_path("initrd");
    initramfs::write_archive(&initrd, tools.program.bytes(), &packed.files)?;
    let disks = disk_plan.make_images(&packed.files, &files, progress, interrupt)?;
    let readers = MemoryReaders::find(kernel);
    for left_out in readers.left_out() {
        progress.warn(&assemble::describe_left_out(&left_out));
    }
    let processes = find_processes(recording.code, kernel)?;
    let guest = ReadyGuest {
        recording,
        kernel_machine: kernel.machine,
        build_id: &kernel.build_id,
        collector,
        folder: files.dir(),
        image: bootable_image(kernel, &files)?,
        initrd,
        disks: &disks,
        command_line: kernel_command_line(recording, kernel.machine),
        plugin_options: plugin_options(recording, kernel, &packed),
        has_marker: packed.has_marker,
        moved_types: MovedTypes::find(kernel, &readers, recording.moves())?,
        processes: processes.as_ref(),
        readers: &readers,
        tsc_khz_address: kernel.image_offset(TSC_FREQUENCY),
        progress,
        interrupt,
    };
    let (started, window) = run_guest(&guest)?;
    // A signal that came after the window aborts; the next one ends relayout at once.
    let signals_seen = match window.ending {
        WindowEnding::CutShort(Error::Interrupted) => interrupt.count(),
        _ => 0,
    };
    let is_aborted = || interrupt.count() > signals_seen;
    let files = assemble::GuestFiles {
        workspace: &started.workspace,
        memory: &started.memory,
        disks: &disks,
        readers: &readers,
        process: { processes.as_ref() }.zip(started.process.as_ref()),
        modules: ModuleFiles {
            loaded: &modules,
            folder,
        },
        is_aborted: &is_aborted,
    };
    let machine = &started.machine;
    let recorded =
        assemble::assemble_profile(recording, kernel, collector, machine, files, window)?;
    match is_aborted() {
        true => Err(Error::Interrupted),
        false => Ok(recorded),
    }
}

fn pack_work(recording: &KernelRecording, machine: GuestMachine) -> Result<PackedProgram, Error> {
    let memory_bytes = recording.memory_bytes;
    match &recording.work {
        GuestWork::Program(work) => PackedProgram::pack(work, machine, memory_bytes),
        GuestWork::Workload(_) => Ok(PackedProgram::without_program(memory_bytes)),
    }
}

/// Returns what tells a program in the guest from others; `None` if the kernel is recorded.
fn find_processes(
    code: RecordedCode,
    kernel: &GuestKernel<'_>,
) -> Result<Option<ProcessReader>, Error> {
    if code == RecordedCode::Kernel {
        return Ok(None);
    }
    let found = ProcessReader::find(kernel).map(Some);
    found.map_err(|missing| Error::NotAKernel {
        path: kernel.debug_path.clone(),
        missing,
    })
}

/// Starts the guest, and ends QEMU after its window.
fn run_guest(guest: &ReadyGuest<'_>) -> Result<(StartedGuest, WatchedWindow), Error> {
    let mut started = guest.start()?;
    let machine = &mut started.machine;
    let (progress, interrupt) = (guest.progress, guest.interrupt);
    let window = watch_window(
        machine,
        &started.workspace,
        guest.recording,
        progress,
        interrupt,
    );
    let error = match &window {
        Ok(window) => window.ending.error(),
        Err(error) => Some(error),
    };
    if error.is_some_and(|error| error.category() == ErrorCategory::Guest) {
        // The next guest would fail likewise if its boot had left it broken.
        guest.forget_snapshot();
    }
    let window = window?;
    if machine.exit_status().is_none() {
        // Memory stays as it is now, also when QEMU is gone: its file is open here.
        machine.stop()?;
    }
    progress.step("reading what was recorded");
    machine.quit()?;
    Ok((started, window))
}

/// Returns the file of the boot image as QEMU can load it.
fn bootable_image(
    kernel: &GuestKernel<'_>,
    workspace: &RecordingWorkspace,
) -> Result<PathBuf, Error> {
    let Some(image) = &kernel.unpacked_image else {
        return Ok(kernel.image_path.clone());
    };
    let path = workspace.file_path("image");
    fs::write(&path, image).map_err(cannot("write", &path))?;
    Ok(path)
}

fn kernel_command_line(recording: &KernelRecording, machine: GuestMachine) -> String {
    let work = match &recording.work {
        GuestWork::Workload(name) => {
            let iterations = recording
                .iterations
                .map(|n| format!(" relayout.iterations={n}"))
                .unwrap_or_default();
            format!(
                "relayout.workload={name} relayout.threads={}{iterations}",
                recording.threads
            )
        }
        GuestWork::Program(work) => {
            let after = work.window.after.as_millis();
            let length = { work.window.length }
                .map(|length| format!(" relayout.length_ms={}", length.as_millis().max(1)))
                .unwrap_or_default();
            let after_exec = match recording.code {
                RecordedCode::Kernel => "",
                // Each boot gives the program the addresses of all others.
                RecordedCode::Program => " relayout.after_exec=1 norandmaps",
            };
            format!("relayout.run=1 relayout.after_ms={after}{length}{after_exec}")
        }
    };
    // In simulated time the seed draws what the machine does: all seeds start from one snapshot.
    let seed = match recording.simulation {
        Some(_) => WORKLOAD_SEED,
        None => recording.seed,
    };
    format!(
        "{} {work} relayout.seed={seed} {}",
        machine.model().parameters,
        recording.append
    )
    .trim()
    .into()
}

fn plugin_options(
    recording: &KernelRecording,
    kernel: &GuestKernel<'_>,
    program: &PackedProgram,
) -> String {
    let skip: Vec<String> = kernel
        .bulk_code()
        .map(|(_, (from, to))| format!("{from:x}-{to:x}"))
        .collect();
    // Turns take the place of yields.
    let yield_every = match recording.simulation {
        Some(_) => 0,
        None => recording.yield_every,
    };
    let mut options = collector_options(yield_every, recording.seed, recording.bursts);
    options.push_str(&format!(",skip={}", skip.join("+")));
    match recording.idle {
        None => {}
        Some(IdleWindow::Time) => options.push_str(",mode=idle"),
        Some(IdleWindow::Accesses) => options.push_str(",mode=count"),
        Some(IdleWindow::Lines) => options.push_str(",mode=lines"),
    }
    if program.has_marker {
        options.push_str(",own=1");
    }
    options
}
