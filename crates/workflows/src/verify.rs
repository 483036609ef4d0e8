//! Experiments on a change: programs started many times without and with it, and judged.

mod budget;
mod experiment;
mod interrupted;
pub mod kernel;
mod sides;

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use experiment::ProgramExperiment;
use relayout_files::{InterruptFlag, cannot, read_regular_text, write_atomically};
use relayout_messages::{RecordingProgress, UserError};
use relayout_verify::judge::{ExperimentOutcome, JudgedMetric, JudgingRules, judge_runs};
use relayout_verify::metric::Metric;
use relayout_verify::runs::ExperimentRuns;

pub use sides::{ComparedPrograms, PatchedBuild};
pub(crate) use sides::{ComparedSides, prepare_sides};

/// Metrics of an interim outcome that progress names.
const METRICS_NAMED_MAX: usize = 3;

/// Receiver of the progress of an experiment.
pub trait ExperimentProgress: RecordingProgress {
    /// Replaces the line about the current start; without a terminal it is not shown.
    fn update(&self, text: &str);
}

/// Settings of an experiment with programs.
#[derive(Clone, Debug)]
pub struct ProgramSettings {
    /// The two programs.
    pub programs: ComparedPrograms,
    /// Runs commands by `sh -c`.
    pub shell: bool,
    /// Metrics to compare.
    pub metrics: Vec<Metric>,
    /// Pairs of starts.
    pub pairs: usize,
    /// Time after which no pair begins.
    pub budget: Option<Duration>,
    /// Stops when every metric is decided.
    pub early_stop: bool,
    /// Discarded starts of each side at the beginning.
    pub warmups: usize,
    /// CPUs to run on, as `0-3,8`; `None` for all.
    pub pin: Option<String>,
    /// Runs with real-time priority.
    pub fifo: bool,
    /// Fraction of the CPU time that a start may lose to others.
    pub lost_max: f64,
    /// Exit code by which a start says that it was disturbed.
    pub disturbed_code: Option<u8>,
    /// Longest time of a start.
    pub time_limit: Option<Duration>,
    /// Seed of the order; `None` for one from the clock.
    pub seed: Option<u64>,
}

/// An experiment with its notes.
#[derive(Debug)]
pub struct MeasuredRuns {
    /// All starts.
    pub runs: ExperimentRuns,
    /// Sentences for the user.
    pub notes: Vec<String>,
    /// Failure to save the starts, which must not cost the result.
    pub save_error: Option<UserError>,
}

/// An experiment, judged.
#[derive(Clone, Debug)]
pub struct JudgedRuns {
    /// Metrics that the verdict is about.
    pub outcome: ExperimentOutcome,
    /// Metrics that tell where a change comes from.
    pub details: ExperimentOutcome,
}

/// Judges the metrics of an experiment.
pub fn judge(runs: &ExperimentRuns, rules: &JudgingRules) -> JudgedRuns {
    JudgedRuns {
        outcome: judge_runs(&runs.without_details(), rules),
        details: judge_runs(&runs.details(), rules),
    }
}

/// Starts the programs in turn until the experiment is decided or complete, and saves the starts.
///
/// # Errors
/// A command fails, a metric does not appear, or the user interrupts.
pub fn measure_programs(
    settings: &ProgramSettings,
    rules: &JudgingRules,
    save: Option<&Path>,
    progress: &dyn ExperimentProgress,
    interrupt: InterruptFlag,
) -> Result<MeasuredRuns, UserError> {
    let sides = prepare_sides(settings, interrupt, progress)?;
    let mut experiment = ProgramExperiment::new(settings, &sides, interrupt)?;
    let ended = experiment.run(rules, progress);
    let save_error = save_runs(save, &experiment.runs).err();
    if let Err(error) = ended {
        return Err(save_error.unwrap_or(error));
    }
    Ok(MeasuredRuns {
        notes: sides.notes(),
        runs: experiment.runs,
        save_error,
    })
}

/// Reads saved starts.
///
/// # Errors
/// The file cannot be read, or is none that `--save` wrote.
pub fn load_runs(path: &Path) -> Result<ExperimentRuns, UserError> {
    let text = read_regular_text(path).map_err(cannot("read", path))?;
    ExperimentRuns::parse(&text).map_err(UserError::wrap(format!("cannot use {}", path.display())))
}

/// Writes the starts to `path`, if there are any.
pub(crate) fn save_runs(path: Option<&Path>, runs: &ExperimentRuns) -> Result<(), UserError> {
    match path {
        Some(path) if !runs.starts.is_empty() => {
            let text = serde_json::to_string(runs)? + "\n";
            Ok(write_atomically(path, text.as_bytes())?)
        }
        _ => Ok(()),
    }
}

/// Describes the first changes of an interim outcome.
pub(crate) fn changes_so_far(outcome: &ExperimentOutcome) -> String {
    let describe = |metric: &JudgedMetric| {
        let change = metric
            .judged
            .change
            .map(|change| metric.judged.scale.change_text(change));
        format!(
            "{} {}",
            metric.description.name,
            change.as_deref().unwrap_or("?")
        )
    };
    outcome
        .metrics
        .iter()
        .take(METRICS_NAMED_MAX)
        .map(describe)
        .collect::<Vec<String>>()
        .join(", ")
}

/// Returns a seed that differs from time to time, short enough to be typed.
pub(crate) fn seed_from_clock() -> u64 {
    let nanoseconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos() as u64;
    nanoseconds % 1_000_000
}
