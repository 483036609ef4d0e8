//! Both kernels, ready to be recorded.

use std::path::Path;

use anyhow::Context as _;
use relayout_host::kernel_build::Built;
use relayout_host::{Collector, DebugFile, Interrupt, Kernel, Progress, Recording, Work, record};
use relayout_layout::dwarf::DwarfFile;
use relayout_profile::Profile;
use relayout_resolve::{Images, Options, Resolution, resolve};
use relayout_verify::plan::Side;

use super::Args;
use crate::progress::Shown;

/// What is run in the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub workload: String,
    pub cpus: u16,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} CPUs", self.workload, self.cpus)
    }
}

/// Both kernels, and how they are recorded.
pub(super) struct Boots<'k> {
    args: &'k Args,
    kernels: [Kernel<'k>; 2],
    collector: &'k Collector,
    interrupt: Interrupt,
}

impl Boots<'_> {
    /// Opens the kernels.
    ///
    /// # Errors
    /// One cannot be read, and those of `then`.
    pub fn with<T>(
        args: &Args,
        built: &[Built; 2],
        collector: &Collector,
        interrupt: Interrupt,
        then: impl FnOnce(&Boots<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let [before, after] = built;
        let files = [
            DebugFile::open(&before.debug)?,
            DebugFile::open(&after.debug)?,
        ];
        let kernel = |image: &Path, debug| Kernel::open(image, debug);
        let kernels = [
            kernel(&before.image, &files[0])?,
            kernel(&after.image, &files[1])?,
        ];
        then(&Boots {
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
        side: Side,
        setting: &Setting,
        seed: u64,
        progress: &dyn Progress,
    ) -> anyhow::Result<Profile> {
        let kernel = &self.kernels[side as usize];
        let recording = self.recording(setting, seed);
        let recorded = record(&recording, kernel, self.collector, progress, self.interrupt);
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
        side: Side,
        profile: &Profile,
        then: impl FnOnce(&Resolution) -> T,
    ) -> anyhow::Result<T> {
        let dwarf: &DwarfFile<'_> = &self.kernels[side as usize].dwarf;
        let images = Images::one(dwarf);
        Ok(then(&resolve(profile, &images, Options::default())?))
    }

    fn recording(&self, setting: &Setting, seed: u64) -> Recording {
        Recording {
            work: Work::Workload(setting.workload.clone()),
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
pub(super) struct One<'s> {
    pub shown: &'s Shown,
    pub prefix: String,
}

impl Progress for One<'_> {
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
