//! What a kit is about, in one line of JSON that its result repeats.

use std::time::{SystemTime, UNIX_EPOCH};

use relayout_files::fnv1a;
use relayout_messages::UserError;
use relayout_verify::metric::Metric;
use relayout_verify::plan::ExperimentPlan;
use serde::{Deserialize, Serialize};

use super::evidence::KitEvidence;

/// Format of the document.
pub(super) const FORMAT: &str = "relayout/kit/2";

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
    /// Kernels, of a kit with kernels; a start is then a boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<KitKernels>,
    /// What was predicted and counted.
    pub evidence: KitEvidence,
}

/// Kernels of a kit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KitKernels {
    /// Release without the change.
    pub before: String,
    /// Release with it.
    pub after: String,
    /// Runs of the benchmark in each boot.
    pub runs: u32,
}

impl KitManifest {
    /// Runs of the benchmark in each start.
    pub(super) fn runs_in_start(&self) -> u32 {
        self.kernels
            .as_ref()
            .map_or(1, |kernels| kernels.runs.max(1))
    }

    /// Gives the kit its number, of all that it is about.
    ///
    /// # Errors
    /// The manifest cannot be written as JSON.
    pub(super) fn with_id(mut self) -> Result<Self, UserError> {
        let text = serde_json::to_string(&self)?;
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let text = format!("{text}{}", now.as_nanos());
        self.id = format!("{:016x}", fnv1a(text.as_bytes()));
        Ok(self)
    }

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
    pub(super) fn parsed_metrics(&self) -> Result<Vec<Metric>, UserError> {
        Ok(Metric::parse_all(&self.metrics)?)
    }
}
