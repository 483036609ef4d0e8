//! Progress of long steps, as an interface that the command implements.

/// Receiver of progress. Libraries call it; the command prints.
pub trait RecordingProgress {
    /// Announces a step.
    fn step(&self, text: &str);
    /// Reports counts while the window of a kernel recording is open.
    fn window(&self, accesses: u64, transfers: u64, operations: u64);
    /// Reports counts while a recorded program runs; `threads` is 0 where unknown.
    fn program(&self, accesses: u64, transfers: u64, threads: u64);
    /// Reports how much of a disk image is written.
    fn disk_image(&self, written_bytes: u64, bytes: u64) {
        let _ = (written_bytes, bytes);
    }
    /// Reports something that makes the result worth less, which the user may want to stop for.
    fn warn(&self, text: &str);
}

/// Ignores steps, numbers and warnings.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentProgress;

impl RecordingProgress for SilentProgress {
    fn step(&self, _: &str) {}
    fn window(&self, _: u64, _: u64, _: u64) {}
    fn program(&self, _: u64, _: u64, _: u64) {}
    fn warn(&self, _: &str) {}
}
