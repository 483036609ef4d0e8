//! Progress for callers that show none.

use relayout_files::RecordingProgress;

/// Ignores steps, numbers and warnings.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentProgress;

impl RecordingProgress for SilentProgress {
    fn step(&self, _: &str) {}
    fn window(&self, _: u64, _: u64, _: u64) {}
    fn program(&self, _: u64, _: u64, _: u64) {}
    fn warn(&self, _: &str) {}
}
