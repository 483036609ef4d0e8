//! All starts of an experiment, as they are saved, so that others can judge them again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::extract::Values;
use crate::metric::MetricDescription;
use crate::plan::{ExperimentPlan, ExperimentSide};
use relayout_statistics::median;

/// Schema of the document.
pub const SCHEMA: &str = "relayout/verify-runs/1";
/// Pairs that a document, or an experiment, may have: judging takes time in their square.
pub const PAIRS_MAX: usize = 500;

/// An experiment: what was run, how, and what each start gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRuns {
    /// [`SCHEMA`].
    pub schema: String,
    /// What was run, and how.
    pub setup: ExperimentSetup,
    /// What was measured.
    pub metrics: Vec<MetricDescription>,
    /// Why there are no more starts.
    pub ending: ExperimentEnding,
    /// Every start, in the order in which they were made.
    pub starts: Vec<ProgramStart>,
}

/// Why an experiment has no more starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentEnding {
    /// All pairs were made.
    Complete,
    /// It was decided.
    Decided,
    /// The time was up.
    Budget,
    /// The user stopped it, or a start failed.
    CutOff,
}

/// What was run, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentSetup {
    /// Version of relayout.
    pub tool_version: String,
    /// Command without the change.
    pub before: String,
    /// Command with the change.
    pub after: String,
    /// Patch that makes the difference, in patch mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// Seed of the order.
    pub seed: u64,
    /// Pairs that were planned.
    pub pairs: usize,
    /// Whether to stop as soon as it is decided.
    pub early_stop: bool,
    /// Discarded starts of each side at the beginning.
    pub warmups: usize,
    /// CPUs that the starts could use.
    pub cpus: Vec<usize>,
    /// Whether they ran under SCHED_FIFO.
    pub fifo: bool,
    /// A start is disturbed if more than this fraction of the CPU time that it wanted was lost.
    pub lost_max: f64,
    /// Exit code by which a start says that it was disturbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed_code: Option<u8>,
    /// Whether the starts are boots of two kernels whose transfers are counted: nothing is timed, and other
    /// programs do not disturb it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub are_boots: bool,
}

/// One start of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramStart {
    /// Which side.
    pub side: ExperimentSide,
    /// Index of its pair; warm-ups count for themselves.
    pub pair: usize,
    /// What becomes of it.
    pub fate: StartFate,
    /// Seconds from start to end.
    pub wall_s: f64,
    /// CPU seconds of the program and what it started.
    pub cpu_s: f64,
    /// Fraction of the CPU time that it wanted in which other programs, or other virtual machines,
    /// ran instead; null where the system does not tell.
    pub lost: Option<f64>,
    /// Numbers of each metric, in the order of [`Runs::metrics`], by thread; none of a start that said
    /// that it was disturbed.
    pub values: Vec<Values>,
}

/// What becomes of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartFate {
    /// Counts.
    Kept,
    /// Counts, although the machine did not run it all the time: there was no other.
    KeptDisturbed,
    /// Does not count, for the machine did not run it all the time; another was made instead.
    Disturbed,
    /// Does not count, for it ended with the exit code that says so; another was made instead.
    SaidDisturbed,
    /// Does not count: a warm-up.
    WarmUp,
}

/// Why a document cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    /// It is not such a document.
    #[error("not saved by 'relayout verify --save': {0}")]
    Json(#[from] serde_json::Error),
    /// Another version, or another document.
    #[error("the schema is '{found}', not {SCHEMA}; save it again with this version")]
    Schema {
        /// What it says.
        found: String,
    },
    /// What it says cannot be.
    #[error("start {start}: {why}")]
    Start {
        /// Index of the start.
        start: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// Nothing to judge.
    #[error("{why}")]
    Empty {
        /// What is missing or too much.
        why: &'static str,
    },
}

/// What both starts of each pair gave of one metric of one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSeries {
    /// Name, direction and unit; `name[thread]` for a thread.
    pub description: MetricDescription,
    /// Before and after, by pair.
    pub pairs: Vec<(f64, f64)>,
    /// Pairs in which one of the two did not name this thread.
    pub unmatched: usize,
}

impl ExperimentRuns {
    /// Reads a saved document.
    ///
    /// # Errors
    /// It is none, or says what cannot be.
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

    fn validate(&self) -> Result<(), RunsError> {
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

    /// The plan that they followed.
    pub fn plan(&self) -> ExperimentPlan {
        ExperimentPlan {
            pairs: self.setup.pairs,
            seed: self.setup.seed,
        }
    }

    /// Whether the look at these starts is the last of all.
    pub fn is_last(&self) -> bool {
        self.ending != ExperimentEnding::Decided
    }

    /// The same with the metrics alone that say where a change comes from.
    pub fn details(&self) -> Self {
        self.with_metrics(|about| about.is_detail)
    }

    /// The same without them.
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

    /// Complete pairs.
    pub fn complete_pairs(&self) -> usize {
        let kept = self.starts.iter().filter(|start| start.fate.counts());
        let mut sides: BTreeMap<usize, usize> = BTreeMap::new();
        for start in kept {
            *sides.entry(start.pair).or_default() += 1;
        }
        sides.values().filter(|&&count| count == 2).count()
    }

    /// Starts with this fate.
    pub fn count_fate(&self, fate: StartFate) -> usize {
        self.starts
            .iter()
            .filter(|start| start.fate == fate)
            .count()
    }

    /// What there is to compare: each metric, and of those with threads each thread. Of the readings of
    /// a start the median counts: starts differ more among each other than readings within a start,
    /// and only they are independent.
    pub fn series(&self) -> Vec<MetricSeries> {
        let indices = self.metrics.iter().enumerate();
        indices
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
    /// Whether it is judged.
    pub fn counts(self) -> bool {
        matches!(self, Self::Kept | Self::KeptDisturbed)
    }
}
