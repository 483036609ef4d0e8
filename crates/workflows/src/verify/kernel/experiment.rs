//! An experiment with kernels: boots both in turn until every metric is decided.

use std::collections::BTreeMap;
use std::time::Instant;

use relayout_files::cannot;
use relayout_messages::UserError;
use relayout_profile::{Profile, WriteOptions};
use relayout_session::record::sign_profile;
use relayout_verify::judge::{JudgingRules, judge_runs};
use relayout_verify::plan::{ExperimentPlan, ExperimentSide};
use relayout_verify::runs::{ExperimentEnding, ExperimentSetup};

use super::boots::{BootPair, BootSetting, PreparedKernels};
use super::counts::count_transfers;
use super::samples::{BootSample, BootSamples, DetailSelection};
use super::{FailedVerification, KernelSettings};
use crate::progress::PrefixedProgress;
use crate::verify::budget::TimeBudget;
use crate::verify::{ExperimentProgress, changes_so_far, seed_from_clock};

/// Recordings of the first kernel that are kept for replay, for each setting.
const KEPT_MAX: usize = 2;

/// An experiment in progress.
pub(super) struct KernelExperiment<'a> {
    settings: &'a KernelSettings,
    boots: Vec<BootSetting>,
    names: Vec<String>,
    plan: ExperimentPlan,
    budget: TimeBudget,
    pub samples: BootSamples,
    /// Recordings of the first kernel, by setting.
    pub kept: BTreeMap<String, Vec<Profile>>,
}

impl<'a> KernelExperiment<'a> {
    pub fn new(settings: &'a KernelSettings, boots: Vec<BootSetting>, names: Vec<String>) -> Self {
        let plan = ExperimentPlan {
            pairs: settings.pairs,
            seed: settings.seed.unwrap_or_else(seed_from_clock),
        };
        let side = |with: &str| format!("the kernel {with} the patch");
        let setup = ExperimentSetup {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            before: side("without"),
            after: side("with"),
            patch: Some(settings.patch.display().to_string()),
            seed: plan.seed,
            pairs: plan.pairs,
            early_stop: settings.early_stop,
            warmups: 0,
            cpus: Vec::new(),
            fifo: false,
            lost_max: 1.0,
            disturbed_code: None,
            are_boots: true,
        };
        Self {
            settings,
            boots,
            names,
            plan,
            budget: TimeBudget::begin(settings.budget),
            samples: BootSamples {
                setup,
                ending: ExperimentEnding::CutOff,
                boots: Vec::new(),
            },
            kept: BTreeMap::new(),
        }
    }

    /// Boots the kernels.
    pub fn run(
        &mut self,
        boots: &PreparedKernels<'_>,
        rules: &JudgingRules,
        shown: &dyn ExperimentProgress,
    ) -> Result<(), FailedVerification> {
        self.budget = TimeBudget::begin(self.settings.budget);
        let looks = self.plan.looks();
        for pair in 0..self.plan.pairs {
            if self.is_time_up() {
                self.samples.ending = ExperimentEnding::Budget;
                return Ok(());
            }
            shown.step(&format!(
                "pair {} of {}{}",
                pair + 1,
                self.plan.pairs,
                self.time_left(pair)
            ));
            // Both sides of a setting next to each other in time.
            for setting in self.boots.clone() {
                for side in self.plan.order(pair) {
                    self.boot(boots, side, pair, &setting, shown)?;
                }
            }
            if looks.contains(&(pair + 1)) && pair + 1 < self.plan.pairs {
                self.samples.ending = ExperimentEnding::Decided;
                let outcome = judge_runs(&self.samples.runs(DetailSelection::Without), rules);
                if self.settings.early_stop && outcome.is_decided() {
                    return Ok(());
                }
                self.samples.ending = ExperimentEnding::CutOff;
                shown.step(&format!(
                    "{} pairs; so far {}",
                    pair + 1,
                    changes_so_far(&outcome)
                ));
            }
        }
        self.samples.ending = ExperimentEnding::Complete;
        Ok(())
    }

    fn boot(
        &mut self,
        boots: &PreparedKernels<'_>,
        side: ExperimentSide,
        pair: usize,
        setting: &BootSetting,
        shown: &dyn ExperimentProgress,
    ) -> Result<(), FailedVerification> {
        let begun = Instant::now();
        let progress = PrefixedProgress {
            shown,
            prefix: format!(
                "pair {} of {}, {}, {setting}: ",
                pair + 1,
                self.plan.pairs,
                side.as_str()
            ),
        };
        let boot_pair = BootPair {
            index: pair,
            seed: self.plan.seed.wrapping_add(pair as u64),
        };
        let recorded = boots.record(side, setting, boot_pair, &progress)?;
        let mut profile = recorded.profile;
        let counts = boots.resolve(side, &profile, |resolution| {
            count_transfers(&profile, resolution, &self.names)
        })?;
        if counts.operations == 0 {
            let why = format!("{setting}: no operation was recorded, so nothing can be compared");
            let error = UserError::input("the number of operations is 0").with_remedy(why);
            return Err(error.into());
        }
        self.samples.boots.push(BootSample {
            side,
            pair,
            setting: setting.to_string(),
            counts,
            operations_per_second: recorded.operations_per_second,
            wall_s: begun.elapsed().as_secs_f64(),
        });
        if pair == 0 {
            self.keep(side, setting, &mut profile)?;
        }
        let kept = self.kept.entry(setting.to_string()).or_default();
        // The order of other rules is another order, which is not replayed with it.
        let kept_max = match self.settings.simulated {
            Some(_) => 1,
            None => KEPT_MAX,
        };
        if side == ExperimentSide::Before && kept.len() < kept_max {
            kept.push(profile);
        }
        Ok(())
    }

    /// Writes a recording to the folder that keeps them.
    fn keep(
        &self,
        side: ExperimentSide,
        setting: &BootSetting,
        profile: &mut Profile,
    ) -> Result<(), UserError> {
        let Some(dir) = &self.settings.keep else {
            return Ok(());
        };
        let name = format!("{}-{}-{}", side.as_str(), setting.workload, setting.cpus);
        let options = WriteOptions { overwrite: true };
        std::fs::create_dir_all(dir).map_err(cannot("create", dir))?;
        sign_profile(profile, &self.settings.command);
        Ok(relayout_profile::write(&dir.join(name), profile, &options)?)
    }

    /// Seconds that a pair takes.
    fn pair_s(&self) -> f64 {
        let all = &self.samples.boots;
        let total_s: f64 = all.iter().map(|sample| sample.wall_s).sum();
        let boots = 2 * self.boots.len();
        total_s / all.len().max(1) as f64 * boots as f64
    }

    fn time_left(&self, pair: usize) -> String {
        let pairs_left = self.plan.pairs - pair;
        match self.samples.is_empty() {
            true => String::new(),
            false => format!(
                ", {}",
                self.budget.describe_left(self.pair_s() * pairs_left as f64)
            ),
        }
    }

    /// Returns true if another pair would exceed the time budget.
    fn is_time_up(&self) -> bool {
        self.budget.is_exceeded_by(self.pair_s())
    }
}
