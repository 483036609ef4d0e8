//! Load of the host while a recording ran: how much of the CPU time that the recorded processes
//! wanted went to others.

use relayout_files::{CpuCounters, allowed_cpus};

/// Counters of the host from the beginning of a recording's window on.
pub struct HostLoad {
    cpus: Vec<usize>,
    start: Option<CpuCounters>,
}

impl HostLoad {
    /// Reads the counters of the CPUs that this process, and so what it starts, may use.
    pub fn begin() -> Self {
        let cpus = allowed_cpus();
        let start = CpuCounters::read(&cpus);
        Self { cpus, start }
    }

    /// Returns [`RecordedRun::lost_share`](relayout_profile::RecordedRun::lost_share) of processes
    /// that have used `own_ns` of CPU time since the beginning. `None` if that is not known (0).
    pub fn lost_share(&self, own_ns: u64) -> Option<f64> {
        if own_ns == 0 {
            return None;
        }
        let end = CpuCounters::read(&self.cpus)?;
        Some(self.start?.lost_share(&end, own_ns as f64 / 1e9))
    }
}

/// Returns the CPU time in nanoseconds of this process and of all its children that have ended.
pub fn own_cpu_ns() -> u64 {
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN]
        .into_iter()
        .map(|who| {
            // SAFETY: all-zero bytes are a valid `rusage`.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            // SAFETY: the call fills `usage`.
            match unsafe { libc::getrusage(who, &mut usage) } {
                0 => [usage.ru_utime, usage.ru_stime]
                    .iter()
                    .map(|time| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000)
                    .sum(),
                _ => 0,
            }
        })
        .sum()
}

/// Returns the CPU time of all threads of a process, in nanoseconds; `None` if it does not run.
pub fn process_cpu_ns(process: u32) -> Option<u64> {
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
