//! What a kit is about, in one line of JSON that its result repeats.

use relayout_verify::metric::Metric;
use relayout_verify::plan::ExperimentPlan;
use serde::{Deserialize, Serialize};

use super::KitError;
use super::evidence::KitEvidence;

/// Format of the document.
pub(super) const FORMAT: &str = "relayout/kit/1";

/// What a kit is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KitManifest {
    /// Format, which is [`FORMAT`].
    pub(super) format: String,
    /// Number that tells kits apart.
    pub id: String,
    /// Version of relayout that made it.
    pub version: String,
    /// What changes, for people: the subject of the patch, or the two commands.
    pub subject: String,
    /// Command without the change.
    pub before: String,
    /// Command with the change.
    pub after: String,
    /// Metrics, as `--metric` takes them.
    pub metrics: Vec<String>,
    /// Seed of the order.
    pub seed: u64,
    /// Pairs of starts.
    pub pairs: usize,
    /// Starts of each side that are discarded at the beginning.
    pub warmups: usize,
    /// Exit code by which a start says that it was disturbed.
    pub disturbed_code: Option<u8>,
    /// What was predicted and counted.
    pub evidence: KitEvidence,
}

impl KitManifest {
    /// Order of the starts.
    pub fn plan(&self) -> ExperimentPlan {
        ExperimentPlan {
            pairs: self.pairs,
            seed: self.seed,
        }
    }

    /// Reads the metrics.
    ///
    /// # Errors
    /// A metric is none.
    pub(super) fn parsed_metrics(&self) -> Result<Vec<Metric>, KitError> {
        Metric::parse_all(&self.metrics).map_err(|error| KitError::Metrics(error.to_string()))
    }
}
