//! Reasons for which a change is not kept.

use serde::{Deserialize, Serialize};

/// Step at which a change was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrialStage {
    /// Search and patch.
    Advice,
    /// Build with the change.
    Build,
    /// Test command.
    Test,
    /// Second recording.
    Count,
    /// Execution in simulated time.
    Simulation,
    /// Measurement on hardware.
    Measurement,
}

impl TrialStage {
    /// Name of the stage in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Advice => "advice",
            Self::Build => "build",
            Self::Test => "test",
            Self::Count => "count",
            Self::Simulation => "simulation",
            Self::Measurement => "measurement",
        }
    }
}

/// Reason why a change is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRejection {
    /// Step that rejected it.
    pub stage: TrialStage,
    /// Reason, as a sentence without its full stop.
    pub reason: String,
}

impl ChangeRejection {
    /// Makes a rejection.
    pub fn new(stage: TrialStage, reason: String) -> Self {
        Self { stage, reason }
    }
}
