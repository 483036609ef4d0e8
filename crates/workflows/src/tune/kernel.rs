//! Steps of a run with a kernel.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use relayout_advice::{BenchEffect, ChangeRejection, EffectSubject, LayoutOutcome, TrialStage};
use relayout_files::{CacheFolder, cannot};
use relayout_measure::ProgramCommand;
use relayout_messages::UserError;
use relayout_toolchain::kernel_build::{BuildWatch, BuiltKernel, KernelBuilder};
use relayout_verify::judge::{JudgedMetric, JudgingRules};

use super::outcome::RankedType;
use super::recorded::RecordedBuild;
use super::repository::TuneRepository;
use super::state::{StateFolder, no_state_folder};
use super::{TuneSettings, TuneTools, TunedKernel, TunedMachine};
use crate::logged_command::CommandRunner;
use crate::verify::kernel::{
    BootSetting, KERNEL, KernelSettings, OPERATIONS, PatchedStep, verify_kernel,
};

/// Accesses after which a CPU of a guest pauses.
const YIELD_EVERY: u32 = 1000;
/// Memory of a guest.
const MEMORY_BYTES: u64 = 2 << 30;

/// Steps of a run with a kernel.
pub(super) struct KernelSteps<'k> {
    pub(super) kernel: &'k TunedKernel,
    pub(super) settings: &'k TuneSettings,
    pub(super) tools: &'k TuneTools<'k>,
    pub(super) state: &'k StateFolder,
    pub(super) repository: &'k TuneRepository,
}

impl KernelSteps<'_> {
    /// Builds the kernel of the commit that is checked out, and records all workloads.
    pub(super) fn record(&self, folder: &str, seeds: &Range<u64>) -> Result<(), UserError> {
        let path = self.state.join(folder);
        fs::create_dir_all(&path).map_err(cannot("create", &path))?;
        let built = self.build()?;
        let recorded = RecordedBuild::new(self.state, folder);
        let runner = CommandRunner::new(self.tools.interrupt, None)?;
        for (index, workload) in self.settings.benches().into_iter().enumerate() {
            self.tools
                .progress
                .step(&format!("{folder}: recording {workload}"));
            let command = self.recording_command(&built, workload, &recorded.profile(index), seeds);
            let log = path.join(format!("record-{index}.log"));
            let ended = runner.run(&command, &path, &log)?;
            ended.map_err(|failed| failed.of_base(&format!("recording of {workload}")))?;
        }
        Ok(())
    }

    fn build(&self) -> Result<BuiltKernel, UserError> {
        let cache = CacheFolder::locate().ok_or_else(no_state_folder)?;
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let config = self.kernel.config.as_deref();
        self.tools.progress.step("looking at the source");
        let builder = KernelBuilder::open(&cache, &self.repository.source(), config, jobs)?;
        let watch = BuildWatch {
            progress: self.tools.progress,
            update: &|text: &str| self.tools.progress.update(text),
            interrupt: self.tools.interrupt,
        };
        Ok(builder.build(None, "the kernel", &watch)?)
    }

    fn recording_command(
        &self,
        built: &BuiltKernel,
        workload: &str,
        profile: &Path,
        seeds: &Range<u64>,
    ) -> ProgramCommand {
        let path = |path: &Path| path.display().to_string();
        let mut words = vec![path(&self.tools.relayout)];
        words.extend(["record", "kernel", "--force"].map(str::to_owned));
        words.extend(self.order_words());
        words.extend(["--image".to_owned(), path(&built.image)]);
        words.extend(["--debug".to_owned(), path(&built.debug)]);
        let options = [
            ("--workload", workload.to_owned()),
            ("--cpus", self.kernel.cpus.to_string()),
            ("--seed", seeds.start.to_string()),
            ("--repeat", (seeds.end - seeds.start).to_string()),
            ("--time-limit", self.kernel.limit_s.to_string()),
            ("-o", path(profile)),
        ];
        words.extend(
            options
                .into_iter()
                .flat_map(|(name, value)| [name.to_owned(), value]),
        );
        if let Some(iterations) = self.kernel.iterations {
            words.extend(["--iterations".to_owned(), iterations.to_string()]);
        }
        ProgramCommand {
            text: format!("relayout record kernel --workload {workload}"),
            words,
            environment: Vec::new(),
        }
    }

    /// Returns the options for the order of the accesses.
    fn order_words(&self) -> Vec<String> {
        let Some(machine) = &self.kernel.machine else {
            // Each kernel is new: its snapshots would take the place of others, and simulated guests need them.
            return ["--order", "host", "--no-snapshot"]
                .map(str::to_owned)
                .into();
        };
        let mut words = vec!["--machine".to_owned(), machine.name.display().to_string()];
        words.extend(["--placement".to_owned(), machine.placement.clone()]);
        for (key, value) in &machine.rules {
            words.extend(["--rule".to_owned(), format!("{key}={value}")]);
        }
        if let Some(nanoseconds) = machine.window_ns {
            let microseconds = nanoseconds as f64 / 1e3;
            words.extend(["--simulate".to_owned(), format!("{microseconds}us")]);
        }
        words
    }

    /// Builds the kernel with the patch, and counts the transfers of both kernels in all workloads.
    ///
    /// # Errors
    /// The kernel without the patch fails, or the user interrupts. A patch that does not build or
    /// boot is in the inner result.
    pub(super) fn count(
        &self,
        folder: &str,
        patch: &Path,
        ranked: &RankedType,
        seed: u64,
    ) -> Result<LayoutOutcome, UserError> {
        let rules = JudgingRules {
            margin: self.settings.margin,
        };
        let settings = self.verify_settings(folder, patch, ranked, seed)?;
        let (progress, interrupt) = (self.tools.progress, self.tools.interrupt);
        match verify_kernel(&settings, &rules, progress, interrupt) {
            Ok(verified) => {
                let outcome = &verified.judged.outcome;
                let effects = outcome.metrics.iter();
                Ok(Ok(effects
                    .filter_map(|metric| self.effect(metric, outcome.pairs))
                    .collect()))
            }
            Err(failed) => {
                let stage = match failed.failed_step {
                    Some(PatchedStep::Build) => TrialStage::Build,
                    Some(PatchedStep::Boot) => TrialStage::Test,
                    None => return Err(failed.error),
                };
                let text = failed.error.chain_text();
                let reason = text.lines().next().unwrap_or_default().to_owned();
                Ok(Err(ChangeRejection::new(stage, reason)))
            }
        }
    }

    fn verify_settings(
        &self,
        folder: &str,
        patch: &Path,
        ranked: &RankedType,
        seed: u64,
    ) -> Result<KernelSettings, UserError> {
        let is_held = ranked.counted != ranked.name;
        let machine = self.kernel.machine.as_ref();
        Ok(KernelSettings {
            source: Some(self.repository.source()),
            patch: patch.to_owned(),
            reverse: false,
            workloads: self
                .settings
                .benches()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            cpus: vec![self.kernel.cpus],
            iterations: self.kernel.iterations,
            pairs: self.settings.pairs,
            early_stop: true,
            budget: None,
            types: { is_held.then(|| ranked.counted.clone()).into_iter() }.collect(),
            seed: Some(seed),
            simulated: machine.map(TunedMachine::find).transpose()?,
            yield_every: YIELD_EVERY,
            memory_bytes: MEMORY_BYTES,
            time_limit: Duration::from_secs(self.kernel.limit_s),
            config: self.kernel.config.clone(),
            jobs: None,
            qemu: None,
            save: Some(self.state.join(&format!("{folder}/boots.json"))),
            keep: None,
            command: Vec::new(),
        })
    }

    /// Returns the effect that a metric tells; `None` for one of another setting.
    fn effect(&self, metric: &JudgedMetric, pairs: usize) -> Option<BenchEffect> {
        let name = metric.description.name.strip_suffix(']')?;
        let (subject, setting) = name.split_once('[')?;
        let is_of = |workload: &&&str| {
            let boot = BootSetting {
                workload: (**workload).to_owned(),
                cpus: self.kernel.cpus,
            };
            boot.to_string() == setting
        };
        let benches = self.settings.benches();
        let bench = benches.iter().find(is_of)?;
        let subject = match subject {
            OPERATIONS => EffectSubject::Metric {
                name: OPERATIONS.to_owned(),
                unit: metric.description.unit.clone(),
            },
            KERNEL => EffectSubject::Memory,
            type_name => EffectSubject::Type(type_name.to_owned()),
        };
        Some(BenchEffect {
            bench: (*bench).to_owned(),
            subject,
            judged: metric.judged.clone(),
            is_paired: true,
            samples: pairs,
        })
    }
}
