//! Cost of a recording so far, by which it goes over to slices of time.
//!
//! A slice costs at most its own length on each CPU, however slow the recorder makes the program. So
//! the share of the time that slices take limits their cost, and only the time before them can cost
//! more: everything is recorded then. For that time this module decides when it has to end.

use std::time::Duration;

/// Time in which the program computes while everything is recorded, before slices begin.
pub const WHOLE_TIME: Duration = Duration::from_secs(1);

/// Cost of a long program in slices, relative to the same time without a recording.
const SLICED_COST_MAX: f64 = 1.1;

/// Accesses in a second of CPU time of the recorded processes, below which the recorder itself takes
/// less than half of that second: with 64 threads, an access to a line of all of them costs it 429 ns
/// (docs/performance.md).
const CHEAP_ACCESSES_PER_SECOND: f64 = 1e6;

/// Returns the largest share of the time that slices may take: without any progress of the program
/// in them, the cost is 1 / (1 - share).
pub fn affordable_share() -> f64 {
    1.0 - 1.0 / SLICED_COST_MAX
}

/// CPU time and accesses of the recorded processes while everything was recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordingCost {
    /// Time in which the processes computed: wall time, or CPU time where that is less. Waiting for
    /// requests costs nothing.
    busy: Duration,
    cpu: Duration,
    accesses: u64,
}

impl RecordingCost {
    /// Adds a stretch of `wall` time, in which the processes took `cpu` time. `accesses` are those
    /// since the beginning.
    pub fn add_stretch(&mut self, wall: Duration, cpu: Duration, accesses: u64) {
        self.busy += wall.min(cpu);
        self.cpu += cpu;
        self.accesses = accesses;
    }

    /// Returns true once everything was recorded for `whole_time` of the program's computing, and the
    /// recorder took much of it.
    pub fn is_too_high(&self, whole_time: Duration) -> bool {
        let accesses_cheap = CHEAP_ACCESSES_PER_SECOND * self.cpu.as_secs_f64();
        self.busy >= whole_time && self.accesses as f64 > accesses_cheap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the decision after 10 stretches of 100 ms, at a limit of a second.
    #[track_caller]
    fn check(cpu_ms: u64, accesses: u64, expect: bool) {
        let mut cost = RecordingCost::default();
        for _ in 0..10 {
            assert!(!cost.is_too_high(Duration::from_secs(1)));
            let cpu = Duration::from_millis(cpu_ms);
            cost.add_stretch(Duration::from_millis(100), cpu, accesses);
        }
        let found = cost.is_too_high(Duration::from_secs(1));
        assert_eq!(found, expect, "{cpu_ms} ms, {accesses} accesses");
    }

    #[test]
    fn time_of_computing_with_many_accesses_costs() {
        check(100, 20_000_000, true);
        // Two CPUs do twice as much in a second, and no second passes faster.
        check(200, 20_000_000, true);
        check(100, 1_000_001, true);
    }

    #[test]
    fn waiting_costs_nothing() {
        check(0, 0, false);
        check(99, 20_000_000, false);
    }

    #[test]
    fn few_accesses_cost_little() {
        check(100, 1_000_000, false);
        check(200, 2_000_000, false);
    }

    #[test]
    fn slices_cost_what_they_may() {
        let cost = 1.0 / (1.0 - affordable_share());
        assert!((cost - SLICED_COST_MAX).abs() < 1e-9, "{cost}");
    }
}
