//! Saved document of an experiment: all starts with their numbers, so that others can judge them
//! again.

use std::collections::{BTreeMap, BTreeSet};

use relayout_messages::UserFacingError;
use relayout_statistics::median;
use serde::{Deserialize, Serialize};

use crate::extract::Values;
use crate::judged_change::ChangeBasis;
use crate::metric::MetricDescription;
use crate::plan::{ExperimentPlan, ExperimentSide};

/// Schema name of the document.
pub const SCHEMA: &str = "relayout/verify-runs/1";
/// Largest number of pairs of a document or experiment. The time of judging grows with its square.
pub const PAIRS_MAX: usize = 500;

/// Experiment: its setup, its metrics and the results of each start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRuns {
    /// Schema name, which is [`SCHEMA`].
    pub schema: String,
    /// Commands and settings of the experiment.
    pub setup: ExperimentSetup,
    /// Metrics that were measured.
    pub metrics: Vec<MetricDescription>,
    /// Reason for the end of the experiment.
    pub ending: ExperimentEnding,
    /// All starts, in chronological order.
    pub starts: Vec<ProgramStart>,
}

/// Reason for the end of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentEnding {
    /// All planned pairs are complete.
    Complete,
    /// No metric is unclear, so more starts were not needed.
    Decided,
    /// The time budget is used up.
    Budget,
    /// The user stopped the experiment, or a start failed.
    CutOff,
}

/// Commands and settings of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentSetup {
    /// Version of relayout.
    pub tool_version: String,
    /// Command without the change.
    pub before: String,
    /// Command with the change.
    pub after: String,
    /// Patch that makes the difference between the two sides, in patch mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// Seed of the order within the pairs.
    pub seed: u64,
    /// Number of planned pairs.
    pub pairs: usize,
    /// Ends the experiment as soon as no metric is unclear.
    pub early_stop: bool,
    /// Number of starts of each side that are discarded at the beginning.
    pub warmups: usize,
    /// Numbers of the CPUs that the starts could use.
    pub cpus: Vec<usize>,
    /// True if the starts ran under SCHED_FIFO.
    pub fifo: bool,
    /// Largest fraction of a start's demanded CPU time that may be lost. A start that loses more is
    /// disturbed.
    pub lost_max: f64,
    /// Exit code by which a program reports that it was disturbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed_code: Option<u8>,
    /// True if the starts are boots of two kernels whose transfers are counted. Such starts are not
    /// timed, and other programs do not disturb them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub are_boots: bool,
}

/// Start of one side, with its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramStart {
    /// Side that was started.
    pub side: ExperimentSide,
    /// Index of the start's pair. Warm-ups have a count of their own.
    pub pair: usize,
    /// Use of the start in the judgement.
    pub fate: StartFate,
    /// Seconds of wall-clock time from start to end.
    pub wall_s: f64,
    /// CPU seconds of the program and its children.
    pub cpu_s: f64,
    /// Fraction of the start's demanded CPU time in which other programs or other virtual machines
    /// ran instead; null if the system does not report it.
    pub lost: Option<f64>,
    /// Numbers of each metric by thread, in the order of [`ExperimentRuns::metrics`]. The list is
    /// empty if the program reported that it was disturbed.
    pub values: Vec<Values>,
}

/// Use of a start in the judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartFate {
    /// Judged, undisturbed.
    Kept,
    /// Judged, although the start was disturbed, for lack of an undisturbed one.
    KeptDisturbed,
    /// Not judged, because the start lost too much CPU time. Another start replaces it.
    Disturbed,
    /// Not judged, because the program ended with [`ExperimentSetup::disturbed_code`]. Another
    /// start replaces it.
    SaidDisturbed,
    /// Not judged, because the start is a warm-up.
    WarmUp,
}

/// Reason why a document cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    /// The text is not such a document.
    #[error("not saved by 'relayout verify --save': {0}")]
    Json(serde_json::Error),
    /// The document has another schema.
    #[error("the schema is '{found}', not {SCHEMA}; {SAVE_AGAIN}")]
    Schema {
        /// Schema name in the document.
        found: String,
    },
    /// A start contradicts the rest of the document.
    #[error("start {start}: {why}")]
    Start {
        /// Index of the start.
        start: usize,
        /// Description of the contradiction.
        why: &'static str,
    },
    /// The document has nothing to judge, or too much.
    #[error("{why}")]
    Empty {
        /// Description of what is missing or too much.
        why: &'static str,
    },
}

/// Remedy, at the end of a message.
const SAVE_AGAIN: &str = "save it again with this version";

impl RunsError {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<&'static str> {
        matches!(self, Self::Schema { .. }).then_some(SAVE_AGAIN)
    }
}

impl UserFacingError for RunsError {
    fn user_remedy(&self) -> Option<String> {
        self.remedy().map(str::to_owned)
    }
}

impl From<serde_json::Error> for RunsError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

/// Values of one metric of one thread, in pairs of starts.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSeries {
    /// Name, direction and unit of the metric. The name is `name[thread]` for a thread.
    pub description: MetricDescription,
    /// Values before and after, one tuple for each pair, in the metric's unit.
    pub pairs: Vec<(f64, f64)>,
    /// Number of pairs in which a start has no value of this thread.
    pub unmatched: usize,
}

impl ExperimentRuns {
    /// Returns how the numbers came about: transfers of kernels are counted under an emulator.
    pub fn basis(&self) -> ChangeBasis {
        match self.setup.are_boots {
            true => ChangeBasis::Counted,
            false => ChangeBasis::Measured,
        }
    }

    /// Reads a saved document.
    ///
    /// # Errors
    /// The text is not such a document, has another schema, or contradicts itself.
    pub fn parse(text: &str) -> Result<Self, RunsError> {
        #[derive(Deserialize)]
        struct RunsHead {
            schema: String,
        }
        let head: RunsHead = serde_json::from_str(text)?;
        if head.schema != SCHEMA {
            return Err(RunsError::Schema { found: head.schema });
        }
        let runs: Self = serde_json::from_str(text)?;
        runs.validate()?;
        Ok(runs)
    }

    /// Checks that the starts fit each other and the setup.
    ///
    /// # Errors
    /// They do not, or there is nothing to judge, or too much.
    pub fn validate(&self) -> Result<(), RunsError> {
        if self.metrics.is_empty() {
            return Err(RunsError::Empty {
                why: "it names no metric",
            });
        }
        if self.setup.pairs == 0 || self.setup.pairs > PAIRS_MAX {
            return Err(RunsError::Empty {
                why: "the number of pairs is not between 1 and 500",
            });
        }
        let mut seen = BTreeSet::new();
        for (index, start) in self.starts.iter().enumerate() {
            let wrong = |why| Err(RunsError::Start { start: index, why });
            if start.pair >= PAIRS_MAX {
                return wrong("its pair is beyond 500");
            }
            if !start.fate.counts() {
                continue;
            }
            if start.values.len() != self.metrics.len() {
                return wrong("not as many values as metrics");
            }
            if start
                .values
                .iter()
                .any(|v| v.is_empty() || v.values().any(Vec::is_empty))
            {
                return wrong("a metric has no value");
            }
            if !seen.insert((start.pair, start.side)) {
                return wrong("there is another one of its side in its pair");
            }
        }
        Ok(())
    }

    /// Plan of the experiment.
    pub fn plan(&self) -> ExperimentPlan {
        ExperimentPlan {
            pairs: self.setup.pairs,
            seed: self.setup.seed,
        }
    }

    /// Returns true if these starts are judged for the last time.
    pub fn is_last(&self) -> bool {
        self.ending != ExperimentEnding::Decided
    }

    /// Returns a copy with only the metrics that explain a change
    /// ([`MetricDescription::is_detail`]).
    pub fn details(&self) -> Self {
        self.with_metrics(|about| about.is_detail)
    }

    /// Returns a copy without the metrics that only explain a change.
    pub fn without_details(&self) -> Self {
        self.with_metrics(|about| !about.is_detail)
    }

    fn with_metrics(&self, kept: impl Fn(&MetricDescription) -> bool) -> Self {
        let start = |start: &ProgramStart| ProgramStart {
            values: (self.metrics.iter().zip(&start.values))
                .filter(|(about, _)| kept(about))
                .map(|(_, values)| values.clone())
                .collect(),
            ..start.clone()
        };
        Self {
            metrics: self
                .metrics
                .iter()
                .filter(|about| kept(about))
                .cloned()
                .collect(),
            starts: self.starts.iter().map(start).collect(),
            ..self.clone()
        }
    }

    /// Number of pairs in which both sides have a judged start.
    pub fn complete_pairs(&self) -> usize {
        let kept = self.starts.iter().filter(|start| start.fate.counts());
        let mut sides: BTreeMap<usize, usize> = BTreeMap::new();
        for start in kept {
            *sides.entry(start.pair).or_default() += 1;
        }
        sides.values().filter(|&&count| count == 2).count()
    }

    /// Number of starts with this fate.
    pub fn count_fate(&self, fate: StartFate) -> usize {
        self.starts
            .iter()
            .filter(|start| start.fate == fate)
            .count()
    }

    /// Returns the series to compare: one for each metric, or for each thread of a metric with
    /// threads.
    ///
    /// The value of a start is the median of its readings. Starts are independent of each other and
    /// differ more than the readings within a start.
    pub fn series(&self) -> Vec<MetricSeries> {
        self.metrics
            .iter()
            .enumerate()
            .flat_map(|(index, about)| self.metric_series(index, about))
            .collect()
    }

    fn metric_series(&self, index: usize, about: &MetricDescription) -> Vec<MetricSeries> {
        type Pair = [Option<f64>; 2];
        let mut threads: BTreeMap<&str, BTreeMap<usize, Pair>> = BTreeMap::new();
        for start in self.starts.iter().filter(|start| start.fate.counts()) {
            for (thread, readings) in &start.values[index] {
                let pair = threads
                    .entry(thread)
                    .or_default()
                    .entry(start.pair)
                    .or_default();
                pair[start.side as usize] = median(readings);
            }
        }
        let pairs_total = self.complete_pairs();
        let series = threads.into_iter().map(|(thread, by_pair)| {
            let pairs: Vec<_> = by_pair
                .into_values()
                .filter_map(|[before, after]| before.zip(after))
                .collect();
            let name = match thread {
                "" => about.name.clone(),
                thread => format!("{}[{thread}]", about.name),
            };
            MetricSeries {
                description: MetricDescription {
                    name,
                    ..about.clone()
                },
                unmatched: pairs_total.saturating_sub(pairs.len()),
                pairs,
            }
        });
        series.collect()
    }
}

impl StartFate {
    /// Returns true if starts with this fate are judged.
    pub fn counts(self) -> bool {
        matches!(self, Self::Kept | Self::KeptDisturbed)
    }
}
