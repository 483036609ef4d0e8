//! CPU time of a recorded process while its window is open.

use std::sync::atomic::Ordering::*;

use relayout_shadow::control::RecordingControl;

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

/// Returns the CPU time of all threads of a process, in nanoseconds; `None` if it does not run.
fn process_cpu_ns(process: u32) -> Option<u64> {
    let process = libc::pid_t::try_from(process).ok().filter(|&id| id != 0)?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the calls fill `clock` and `time`.
    unsafe {
        if libc::clock_getcpuclockid(process, &mut clock) != 0 {
            return None;
        }
        let mut time: libc::timespec = std::mem::zeroed();
        let is_read = libc::clock_gettime(clock, &mut time) == 0;
        is_read.then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_has_cpu_time() {
        let own = process_cpu_ns(std::process::id());
        assert!(own.is_some_and(|ns| ns > 0), "{own:?}");
        assert_eq!(process_cpu_ns(0), None);
        assert_eq!(process_cpu_ns(u32::MAX), None);
    }
}
