//! Both kernels, opened for recording.

use relayout_files::{DebugFile, InterruptFlag};
use relayout_layout::dwarf::DwarfFile;
use relayout_messages::{ErrorCategory, RecordingProgress, UserError};
use relayout_profile::Profile;
use relayout_record::{
    Error, GuestKernel, GuestTools, GuestWork, KernelRecording, ModuleFolder, RecordedCode,
    SnapshotStore, TemporarySnapshots, record_kernel,
};
use relayout_resolve::{DebugImages, Options, Resolution, resolve};
use relayout_toolchain::kernel_build::BuiltKernel;
use relayout_verify::plan::ExperimentSide;

use super::simulated_boots::DrawnBoots;
use super::{FailedVerification, KernelSettings, PatchedStep};

/// A workload with a number of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootSetting {
    /// Workload.
    pub workload: String,
    /// Number of CPUs.
    pub cpus: u16,
}

impl std::fmt::Display for BootSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} CPUs", self.workload, self.cpus)
    }
}

/// A pair of boots, one of each kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct BootPair {
    /// Number, from 0.
    pub index: usize,
    /// Seed of both boots, so that the workload does the same.
    pub seed: u64,
}

/// Recording of a boot, with its rate.
pub(super) struct RecordedBoot {
    /// Its recording.
    pub profile: Profile,
    /// Operations a second in simulated time; `None` in the time of the host, and where none happened.
    pub operations_per_second: Option<f64>,
}

/// Both kernels, with the settings of their recordings.
pub(super) struct PreparedKernels<'k> {
    settings: &'k KernelSettings,
    /// Machine in whose simulated time they execute; `None` for the time of the host.
    simulated: Option<DrawnBoots<'k>>,
    kernels: [GuestKernel<'k>; 2],
    tools: &'k GuestTools,
    interrupt: InterruptFlag,
}

impl PreparedKernels<'_> {
    /// Opens the kernels and calls `then` with them.
    pub fn with<T>(
        settings: &KernelSettings,
        built: &[BuiltKernel; 2],
        tools: &GuestTools,
        interrupt: InterruptFlag,
        then: impl FnOnce(&PreparedKernels<'_>) -> Result<T, FailedVerification>,
    ) -> Result<T, FailedVerification> {
        let [before, after] = built;
        let files = [
            DebugFile::open(&before.debug)?,
            DebugFile::open(&after.debug)?,
        ];
        let kernels = [
            GuestKernel::open(&before.image, &files[0])?,
            GuestKernel::open(&after.image, &files[1])?,
        ];
        let simulated = settings.simulated.as_ref();
        then(&PreparedKernels {
            settings,
            simulated: simulated.map(|boots| DrawnBoots::new(boots, settings.pairs)),
            kernels,
            tools,
            interrupt,
        })
    }

    /// Release of the kernels.
    pub fn release(&self) -> &str {
        &self.kernels[0].release
    }

    /// Boots a kernel and records a workload. Fails unless all of the workload was recorded.
    pub fn record(
        &self,
        side: ExperimentSide,
        setting: &BootSetting,
        pair: BootPair,
        progress: &dyn RecordingProgress,
    ) -> Result<RecordedBoot, FailedVerification> {
        let kernel = &self.kernels[side as usize];
        self.record_guest(kernel, setting, pair, progress)
            .map_err(|cause| {
                let (patched, is_patched) = match side {
                    ExperimentSide::Before => ("without", false),
                    ExperimentSide::After => ("with", true),
                };
                let is_of_patch = is_patched && cause.category() == ErrorCategory::Guest;
                let message = format!("the kernel {patched} the patch, {setting}");
                FailedVerification {
                    error: UserError::input(message).caused_by(cause),
                    failed_step: is_of_patch.then_some(PatchedStep::Boot),
                }
            })
    }

    /// Resolves a recording.
    pub fn resolve<T>(
        &self,
        side: ExperimentSide,
        profile: &Profile,
        then: impl FnOnce(&Resolution) -> T,
    ) -> Result<T, UserError> {
        let dwarf: &DwarfFile<'_> = &self.kernels[side as usize].dwarf;
        let images = DebugImages::from_single_file(dwarf);
        let resolution = resolve(profile, &images, Options::default());
        Ok(then(&resolution?))
    }

    fn record_guest(
        &self,
        kernel: &GuestKernel<'_>,
        setting: &BootSetting,
        pair: BootPair,
        progress: &dyn RecordingProgress,
    ) -> Result<RecordedBoot, UserError> {
        let mut recording = self.recording(setting, pair)?;
        let store = { recording.simulation.as_ref() }.and_then(|_| SnapshotStore::locate());
        let snapshots = store.map(|store| store.begin_temporary()).transpose()?;
        recording.snapshots = snapshots.as_ref().map(TemporarySnapshots::store);
        let recorded = record_kernel(&recording, kernel, self.tools, progress, self.interrupt)?;
        recorded.problem.map_or(Ok(()), Err)?;
        let window = recorded.rates.as_ref().map(|rates| &rates.window);
        Ok(RecordedBoot {
            operations_per_second: window.and_then(|window| window.operations_per_second()),
            profile: recorded.profile,
        })
    }

    fn recording(&self, setting: &BootSetting, pair: BootPair) -> Result<KernelRecording, Error> {
        let has_end = self.settings.iterations.is_some();
        let simulated = self.simulated.as_ref();
        let simulation = simulated
            .map(|boots| boots.simulation(setting.cpus, pair.index, has_end))
            .transpose()?;
        // A parameter that nobody reads makes another boot, with its own state of the kernel's memory.
        let append = match &simulation {
            Some(_) => format!("verify.boot={}", pair.index),
            None => String::new(),
        };
        Ok(KernelRecording {
            code: RecordedCode::Kernel,
            work: GuestWork::Workload(setting.workload.clone()),
            modules: Vec::new(),
            module_folder: ModuleFolder::default(),
            threads: setting.cpus.into(),
            iterations: self.settings.iterations,
            cpus: setting.cpus,
            seed: pair.seed,
            yield_every: self.settings.yield_every,
            memory_bytes: self.settings.memory_bytes,
            append,
            qemu_arguments: Vec::new(),
            bursts: None,
            time_limit: self.settings.time_limit,
            idle: None,
            simulation,
            // Each kernel is new, and each seed is recorded once.
            snapshots: None,
        })
    }
}
