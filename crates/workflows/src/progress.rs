//! Progress of a part of a longer work.

use relayout_messages::RecordingProgress;

use crate::verify::ExperimentProgress;

/// Progress of a part of a longer work: its steps are shown on a terminal only.
pub(crate) struct PrefixedProgress<'s> {
    pub(crate) shown: &'s dyn ExperimentProgress,
    pub(crate) prefix: String,
}

impl<'s> PrefixedProgress<'s> {
    /// Makes it without a prefix.
    pub(crate) fn quiet(shown: &'s dyn ExperimentProgress) -> Self {
        let prefix = String::new();
        Self { shown, prefix }
    }
}

impl RecordingProgress for PrefixedProgress<'_> {
    fn step(&self, text: &str) {
        self.shown.update(&format!("{}{text}", self.prefix));
    }

    fn window(&self, accesses: u64, transfers: u64, operations: u64) {
        self.shown.update(&format!(
            "{}recording: {:.1} M accesses, {:.1} k transfers, {operations} operations",
            self.prefix,
            accesses as f64 / 1e6,
            transfers as f64 / 1e3
        ));
    }

    fn program(&self, accesses: u64, transfers: u64, threads: u64) {
        self.shown.program(accesses, transfers, threads);
    }

    fn warn(&self, text: &str) {
        self.shown.warn(text);
    }
}
