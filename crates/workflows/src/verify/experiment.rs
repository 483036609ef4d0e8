//! An experiment with programs: starts both sides in turn, and stops when every metric is decided.

use relayout_files::InterruptFlag;
use relayout_measure::{CpuSchedule, ProgramLaunch, ProgramStarter};
use relayout_messages::UserError;
use relayout_verify::extract::{ExtractError, StartOutput, extract_values};
use relayout_verify::judge::{JudgingRules, judge_runs};
use relayout_verify::plan::ExperimentSide;
use relayout_verify::runs::{
    ExperimentEnding, ExperimentRuns, ExperimentSetup, ProgramStart, SCHEMA, StartFate,
};

use super::budget::TimeBudget;
use super::interrupted::or_interrupted;
use super::sides::ComparedSides;
use super::{
    ComparedPrograms, ExperimentProgress, ProgramSettings, changes_so_far, seed_from_clock,
};

/// Repetitions of a disturbed start before it counts as it is.
const RETRIES_MAX: usize = 3;
/// Starts in a row that may say that they were disturbed.
const SAID_DISTURBED_MAX: usize = 20;

/// An experiment in progress.
pub(super) struct ProgramExperiment<'s> {
    sides: &'s ComparedSides,
    settings: &'s ProgramSettings,
    schedule: CpuSchedule,
    starter: ProgramStarter,
    interrupt: InterruptFlag,
    budget: TimeBudget,
    /// Starts so far.
    pub runs: ExperimentRuns,
}

impl<'s> ProgramExperiment<'s> {
    pub(super) fn new(
        settings: &'s ProgramSettings,
        sides: &'s ComparedSides,
        interrupt: InterruptFlag,
    ) -> Result<Self, UserError> {
        let schedule = CpuSchedule::new(settings.pin.as_deref(), settings.fifo)?;
        let patch = match &settings.programs {
            ComparedPrograms::Commands { .. } => None,
            ComparedPrograms::Patch(build) => Some(build.patch.display().to_string()),
        };
        let setup = ExperimentSetup {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            before: sides.command(ExperimentSide::Before).text.clone(),
            after: sides.command(ExperimentSide::After).text.clone(),
            patch,
            seed: settings.seed.unwrap_or_else(seed_from_clock),
            pairs: settings.pairs,
            early_stop: settings.early_stop,
            warmups: settings.warmups,
            cpus: schedule.cpus.clone(),
            fifo: settings.fifo,
            lost_max: settings.lost_max,
            disturbed_code: settings.disturbed_code,
            are_boots: false,
        };
        let metrics = settings.metrics.iter();
        Ok(Self {
            sides,
            settings,
            schedule,
            starter: ProgramStarter::new(interrupt)?,
            interrupt,
            budget: TimeBudget::begin(settings.budget),
            runs: ExperimentRuns {
                schema: SCHEMA.to_owned(),
                setup,
                metrics: metrics.map(|metric| metric.description.clone()).collect(),
                ending: ExperimentEnding::CutOff,
                starts: Vec::new(),
            },
        })
    }

    /// Makes the starts.
    ///
    /// # Errors
    /// One fails or lacks a metric, or the user stops it.
    pub(super) fn run(
        &mut self,
        rules: &JudgingRules,
        progress: &dyn ExperimentProgress,
    ) -> Result<(), UserError> {
        self.budget = TimeBudget::begin(self.settings.budget);
        let plan = self.runs.plan();
        for warmup in 0..self.runs.setup.warmups {
            progress.step(&format!(
                "warming up, {} of {}",
                warmup + 1,
                self.runs.setup.warmups
            ));
            for side in plan.order(warmup) {
                let start = self.start(side, warmup, StartFate::WarmUp)?;
                self.runs.starts.push(start);
            }
        }
        self.announce(progress);
        let looks = plan.looks();
        let mut found = String::new();
        for pair in 0..plan.pairs {
            if self.is_time_up() {
                self.runs.ending = ExperimentEnding::Budget;
                return Ok(());
            }
            let left = self.time_left(plan.pairs - pair);
            progress.update(&format!(
                "pair {} of {}, {left}{found}",
                pair + 1,
                plan.pairs
            ));
            for side in plan.order(pair) {
                if !self.start_undisturbed(side, pair)? {
                    self.runs.ending = ExperimentEnding::Budget;
                    return Ok(());
                }
            }
            if looks.contains(&(pair + 1)) && pair + 1 < plan.pairs {
                self.runs.ending = ExperimentEnding::Decided;
                let outcome = judge_runs(&self.runs, rules);
                if self.runs.setup.early_stop && outcome.is_decided() {
                    return Ok(());
                }
                self.runs.ending = ExperimentEnding::CutOff;
                found = format!("; so far {}", changes_so_far(&outcome));
                let left = self.time_left(plan.pairs - pair - 1);
                progress.step(&format!(
                    "{} pairs of {}, {left}{found}",
                    pair + 1,
                    plan.pairs
                ));
            }
        }
        self.runs.ending = ExperimentEnding::Complete;
        Ok(())
    }

    fn announce(&self, progress: &dyn ExperimentProgress) {
        let pairs = self.runs.setup.pairs;
        progress.step(&format!(
            "up to {pairs} pairs of starts, {}",
            self.time_left(pairs)
        ));
    }

    /// Estimates the seconds that so many pairs take.
    fn estimate_s(&self, pairs: usize) -> f64 {
        let starts = &self.runs.starts;
        let total_s: f64 = starts.iter().map(|start| start.wall_s).sum();
        2.0 * pairs as f64 * total_s / (starts.len().max(1)) as f64
    }

    fn time_left(&self, pairs: usize) -> String {
        self.budget.describe_left(self.estimate_s(pairs))
    }

    /// Tells whether another pair would end after the budget.
    fn is_time_up(&self) -> bool {
        self.budget.is_exceeded_by(self.estimate_s(1))
    }

    /// Starts one side, and again while the machine runs other programs: a few times, and over the
    /// whole experiment about as often as there are pairs. A start that says that it was disturbed
    /// is always repeated; `false` if there is no time for that.
    fn start_undisturbed(&mut self, side: ExperimentSide, pair: usize) -> Result<bool, UserError> {
        let (mut lost, mut said) = (0, 0);
        loop {
            let mut start = self.start(side, pair, StartFate::Kept)?;
            let lost_max = self.runs.setup.lost_max;
            let is_disturbed = start.lost.is_some_and(|lost| lost > lost_max);
            let discarded = self.runs.count_fate(StartFate::Disturbed);
            let is_time_up = self.is_time_up();
            let is_last_try = lost == RETRIES_MAX || discarded >= pair + RETRIES_MAX || is_time_up;
            start.fate = match (start.fate, is_disturbed, is_last_try) {
                (StartFate::SaidDisturbed, ..) => StartFate::SaidDisturbed,
                (_, false, _) => StartFate::Kept,
                (_, true, false) => StartFate::Disturbed,
                (_, true, true) => StartFate::KeptDisturbed,
            };
            let fate = start.fate;
            self.runs.starts.push(start);
            match fate {
                StartFate::SaidDisturbed if said + 1 == SAID_DISTURBED_MAX => {
                    return Err(self.always_disturbed(side));
                }
                StartFate::SaidDisturbed if is_time_up => return Ok(false),
                StartFate::SaidDisturbed => said += 1,
                StartFate::Disturbed => lost += 1,
                _ => return Ok(true),
            }
        }
    }

    fn always_disturbed(&self, side: ExperimentSide) -> UserError {
        let error = relayout_measure::Error::Disturbed {
            command: self.sides.command(side).text.clone(),
            times: SAID_DISTURBED_MAX,
            code: self.runs.setup.disturbed_code.unwrap_or_default(),
        };
        error.into()
    }

    fn start(
        &self,
        side: ExperimentSide,
        pair: usize,
        fate: StartFate,
    ) -> Result<ProgramStart, UserError> {
        let command = self.sides.command(side);
        let ended = self.starter.run(&ProgramLaunch {
            command,
            dir: self.sides.dir(side),
            schedule: Some(&self.schedule),
            time_limit: self.settings.time_limit,
            disturbed_code: self.runs.setup.disturbed_code,
        });
        let ended = or_interrupted(ended, self.interrupt)?;
        let output = StartOutput {
            stdout: &ended.stdout,
            stderr: &ended.stderr,
            wall_s: ended.wall_s,
            cpu_s: ended.cpu_s,
        };
        let values = self
            .settings
            .metrics
            .iter()
            .map(|metric| extract_values(metric, &output));
        let values = match ended.said_disturbed {
            true => Ok(Vec::new()),
            false => values.collect::<Result<_, _>>(),
        };
        Ok(ProgramStart {
            side,
            pair,
            fate: match fate {
                StartFate::Kept if ended.said_disturbed => StartFate::SaidDisturbed,
                fate => fate,
            },
            wall_s: ended.wall_s,
            cpu_s: ended.cpu_s,
            lost: ended.lost,
            values: values.map_err(UserError::wrap::<ExtractError>(format!(
                "'{}' ({})",
                command.text,
                side.as_str()
            )))?,
        })
    }
}
