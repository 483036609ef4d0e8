//! CPU time of a recorded process while its window is open.

use std::sync::atomic::Ordering::*;

use relayout_shadow::control::RecordingControl;

use crate::host_load::process_cpu_ns;

/// CPU time of one recorded process while its window is open, as far as it is known.
#[derive(Debug, Default)]
pub struct WindowCpu {
    /// Reading of the process's clock at the last call, in nanoseconds.
    last_ns: Option<u64>,
    counted_ns: u64,
}

impl WindowCpu {
    /// Returns the CPU time in nanoseconds so far. What the process itself has noted at the end of
    /// its window is exact; until then its clock is read.
    pub fn read_ns(&mut self, control: &RecordingControl) -> u64 {
        let now = process_cpu_ns(control.process.load(Acquire));
        if is_window_open(control)
            && let Some((last, now)) = self.last_ns.zip(now)
        {
            self.counted_ns += now.saturating_sub(last);
        }
        self.last_ns = now.or(self.last_ns);
        self.counted_ns = self.counted_ns.max(control.window_cpu_ns.load(Acquire));
        self.counted_ns
    }
}

/// Returns true while a process is recorded and has its window open.
pub fn is_window_open(control: &RecordingControl) -> bool {
    control.process.load(Acquire) != 0 && control.stopped.load(Acquire) == 0
}
