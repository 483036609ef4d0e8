//! Both kernels, ready to be recorded.

use std::path::Path;

use anyhow::Context as _;
use relayout_host::kernel_build::BuiltKernel;
use relayout_host::{
    DebugFile, GuestKernel, GuestWork, InterruptFlag, KernelRecording, QemuCollector,
    RecordingProgress, record_kernel,
};
use relayout_layout::dwarf::DwarfFile;
use relayout_profile::Profile;
use relayout_resolve::{DebugImages, Options, Resolution, resolve};
use relayout_verify::plan::ExperimentSide;

use super::Args;
use crate::progress::TerminalProgress;

/// What is run in the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BootSetting {
    pub workload: String,
    pub cpus: u16,
}

impl std::fmt::Display for BootSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} CPUs", self.workload, self.cpus)
    }
}

/// Both kernels, and how they are recorded.
pub(super) struct PreparedKernels<'k> {
    args: &'k Args,
    kernels: [GuestKernel<'k>; 2],
    collector: &'k QemuCollector,
    interrupt: InterruptFlag,
}

impl PreparedKernels<'_> {
    /// Opens the kernels.
    ///
    /// # Errors
    /// One cannot be read, and those of `then`.
    pub fn with<T>(
        args: &Args,
        built: &[BuiltKernel; 2],
        collector: &QemuCollector,
        interrupt: InterruptFlag,
        then: impl FnOnce(&PreparedKernels<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let [before, after] = built;
        let files = [
            DebugFile::open(&before.debug)?,
            DebugFile::open(&after.debug)?,
        ];
        let kernel = |image: &Path, debug| GuestKernel::open(image, debug);
        let kernels = [
            kernel(&before.image, &files[0])?,
            kernel(&after.image, &files[1])?,
        ];
        then(&PreparedKernels {
            args,
            kernels,
            collector,
            interrupt,
        })
    }

    /// Of the kernels.
    pub fn release(&self) -> &str {
        &self.kernels[0].release
    }

    /// Boots one of them, and records one workload.
    ///
    /// # Errors
    /// It does not boot, or not all of the workload was recorded.
    pub fn record(
        &self,
        side: ExperimentSide,
        setting: &BootSetting,
        seed: u64,
        progress: &dyn RecordingProgress,
    ) -> anyhow::Result<Profile> {
        let kernel = &self.kernels[side as usize];
        let recording = self.recording(setting, seed);
        let recorded = record_kernel(&recording, kernel, self.collector, progress, self.interrupt);
        let recorded = recorded.and_then(|recorded| match recorded.problem {
            Some(problem) => Err(problem),
            None => Ok(recorded.profile),
        });
        recorded.with_context(|| {
            let with = ["without", "with"][side as usize];
            format!("the kernel {with} the patch, {setting}")
        })
    }

    /// Names what a recording of one of them holds.
    pub fn resolve<T>(
        &self,
        side: ExperimentSide,
        profile: &Profile,
        then: impl FnOnce(&Resolution) -> T,
    ) -> anyhow::Result<T> {
        let dwarf: &DwarfFile<'_> = &self.kernels[side as usize].dwarf;
        let images = DebugImages::from_single_file(dwarf);
        Ok(then(&resolve(profile, &images, Options::default())?))
    }

    fn recording(&self, setting: &BootSetting, seed: u64) -> KernelRecording {
        KernelRecording {
            work: GuestWork::Workload(setting.workload.clone()),
            threads: setting.cpus.into(),
            iterations: self.args.iterations,
            cpus: setting.cpus,
            seed,
            yield_every: self.args.yield_every,
            memory_bytes: self.args.memory,
            append: String::new(),
            qemu_arguments: Vec::new(),
            bursts: None,
            time_limit: self.args.time_limit,
            idle: false,
        }
    }
}

/// One of many recordings: shown where lines are drawn over, and silent elsewhere.
pub(super) struct PrefixedProgress<'s> {
    pub shown: &'s TerminalProgress,
    pub prefix: String,
}

impl RecordingProgress for PrefixedProgress<'_> {
    fn step(&self, text: &str) {
        self.shown.update(&format!("{}{text}", self.prefix));
    }

    fn window(&self, accesses: u64, transfers: u64, operations: u64) {
        self.shown.update(&format!(
            "{}recording: {:.1} M accesses, {:.1} k transfers, {operations} operations",
            self.prefix,
            accesses as f64 / 1e6,
            transfers as f64 / 1e3
        ));
    }

    fn program(&self, accesses: u64, transfers: u64, threads: u64) {
        self.shown.program(accesses, transfers, threads);
    }

    fn warn(&self, text: &str) {
        self.shown.warn(text);
    }
}
