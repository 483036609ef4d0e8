//! Effect of a layout by replay, which is a prediction.

use serde::{Deserialize, Serialize};

/// Effect of a layout by replaying the recording of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedEffect {
    /// Benchmark, or workload of a kernel.
    pub bench: String,
    /// Transfers on the type in the recording.
    pub before: u64,
    /// The same with the new layout.
    pub after: u64,
}

impl PredictedEffect {
    /// Returns the effect in words: `64868 to 0 transfers (-100.0%)`.
    pub fn words(&self) -> String {
        let change = match self.before {
            0 => String::new(),
            before => format!(
                " ({:+.1}%)",
                100.0 * (self.after as f64 / before as f64 - 1.0)
            ),
        };
        format!("{} to {} transfers{change}", self.before, self.after)
    }
}
