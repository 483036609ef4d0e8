//! What the CPUs of a simulated machine did with their time.

use relayout_profile::{CpuTimes, RecordedRun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shares of the CPUs' time, in percent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TimeShares {
    /// They executed.
    pub(crate) running_percent: f64,
    /// They waited for the lines of loads.
    pub(crate) load_percent: f64,
    /// They waited for the lines of atomic instructions.
    pub(crate) atomic_percent: f64,
    /// They waited for their own stores.
    pub(crate) stores_percent: f64,
    /// They paused in spin loops.
    pub(crate) pause_percent: f64,
    /// They had nothing to do.
    pub(crate) idle_percent: f64,
}

impl From<CpuTimes> for TimeShares {
    fn from(times: CpuTimes) -> Self {
        let percent = |ps| percent_of_time(ps, &times);
        Self {
            running_percent: percent(times.running_ps),
            load_percent: percent(times.load_ps),
            atomic_percent: percent(times.atomic_ps),
            stores_percent: percent(times.stores_ps),
            pause_percent: percent(times.pause_ps),
            idle_percent: percent(times.idle_ps),
        }
    }
}

/// Returns the part of the CPUs' time that `ps` picoseconds are, in percent.
pub(crate) fn percent_of_time(ps: u64, times: &CpuTimes) -> f64 {
    100.0 * ps as f64 / times.total_ps().max(1) as f64
}

/// Returns the time of all CPUs in all recordings; `None` unless all were in simulated time.
pub(crate) fn recorded_cpu_times(runs: &[RecordedRun]) -> Option<CpuTimes> {
    let times: Option<Vec<CpuTimes>> = { runs.iter() }
        .map(|run| Some(run.simulated.as_ref()?.cpu_times))
        .collect();
    let times: CpuTimes = times?.into_iter().sum();
    // Early recordings in simulated time did not keep it.
    (times.total_ps() > 0).then_some(times)
}
