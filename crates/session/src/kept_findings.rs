//! Ranked findings of a profile, kept with its judgements: to name all objects again takes longer than anything else in a
//! report.

use relayout_contend::Findings;
use relayout_profile::ProfileMeta;
use serde::{Deserialize, Serialize};

use crate::JudgementCache;

/// Version of the kept files.
const FORMAT: u32 = 1;
/// Extension of the kept files.
const EXTENSION: &str = "findings";

/// Findings of a profile, with the facts about the recording that a report tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankedProfile {
    /// Facts about the recording.
    pub meta: ProfileMeta,
    /// Findings.
    pub findings: Findings,
}

#[derive(Serialize, Deserialize)]
struct KeptFindings {
    identity: String,
    ranked: RankedProfile,
}

impl JudgementCache {
    /// Returns the kept findings for a cost of pair transfers; `None` if there are none, or the files have changed.
    pub fn read_findings(&self, pair_coefficient: Option<f64>) -> Option<RankedProfile> {
        let identity = self.findings_identity(pair_coefficient)?;
        let bytes = self.read_kept(&identity, EXTENSION)?;
        let kept: KeptFindings = serde_json::from_slice(&bytes).ok()?;
        (kept.identity == identity).then_some(kept.ranked)
    }

    /// Keeps findings.
    pub fn add_findings(&self, pair_coefficient: Option<f64>, ranked: RankedProfile) {
        if let Some(identity) = self.findings_identity(pair_coefficient) {
            let kept = KeptFindings {
                identity: identity.clone(),
                ranked,
            };
            if let Ok(bytes) = serde_json::to_vec(&kept) {
                self.write_kept(&identity, EXTENSION, &bytes);
            }
        }
    }

    fn findings_identity(&self, pair_coefficient: Option<f64>) -> Option<String> {
        Some(format!(
            "{}findings {FORMAT} pairs {pair_coefficient:?}\n",
            self.identity()?
        ))
    }
}
