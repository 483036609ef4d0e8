//! Both kernels, opened for recording.

use relayout_files::{DebugFile, InterruptFlag};
use relayout_layout::dwarf::DwarfFile;
use relayout_messages::{ErrorCategory, RecordingProgress, UserError};
use relayout_profile::Profile;
use relayout_record::{
    GuestKernel, GuestTools, GuestWork, KernelRecording, ModuleFolder, RecordedCode, record_kernel,
};
use relayout_resolve::{DebugImages, Options, Resolution, resolve};
use relayout_toolchain::kernel_build::BuiltKernel;
use relayout_verify::plan::ExperimentSide;

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

/// Both kernels, with the settings of their recordings.
pub(super) struct PreparedKernels<'k> {
    settings: &'k KernelSettings,
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
        then(&PreparedKernels {
            settings,
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
        seed: u64,
        progress: &dyn RecordingProgress,
    ) -> Result<Profile, FailedVerification> {
        let kernel = &self.kernels[side as usize];
        let recording = self.recording(setting, seed);
        let recorded = record_kernel(&recording, kernel, self.tools, progress, self.interrupt);
        recorded
            .and_then(|recorded| match recorded.problem {
                Some(problem) => Err(problem),
                None => Ok(recorded.profile),
            })
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

    fn recording(&self, setting: &BootSetting, seed: u64) -> KernelRecording {
        KernelRecording {
            code: RecordedCode::Kernel,
            work: GuestWork::Workload(setting.workload.clone()),
            modules: Vec::new(),
            module_folder: ModuleFolder::default(),
            threads: setting.cpus.into(),
            iterations: self.settings.iterations,
            cpus: setting.cpus,
            seed,
            yield_every: self.settings.yield_every,
            memory_bytes: self.settings.memory_bytes,
            append: String::new(),
            qemu_arguments: Vec::new(),
            bursts: None,
            time_limit: self.settings.time_limit,
            idle: None,
            // Each kernel is new, and each seed is recorded once.
            simulation: None,
            snapshots: None,
        }
    }
}
