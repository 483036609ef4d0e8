//! Time that an experiment may take.

use std::time::{Duration, Instant};

/// Time after which no pair begins, from the start of an experiment.
pub(super) struct TimeBudget {
    begun: Instant,
    limit: Option<Duration>,
}

impl TimeBudget {
    pub(super) fn begin(limit: Option<Duration>) -> Self {
        Self {
            begun: Instant::now(),
            limit,
        }
    }

    /// Tells whether a step of so many seconds would end after the limit.
    pub(super) fn is_exceeded_by(&self, step_s: f64) -> bool {
        self.limit
            .is_some_and(|limit| self.begun.elapsed().as_secs_f64() + step_s > limit.as_secs_f64())
    }

    /// Describes the time that is left for steps of so many seconds.
    pub(super) fn describe_left(&self, steps_s: f64) -> String {
        let left = (self.limit).map(|limit| limit.saturating_sub(self.begun.elapsed()));
        let left_s = left.map_or(f64::INFINITY, |left| left.as_secs_f64());
        format!("at most {:.0} s", steps_s.min(left_s).ceil())
    }
}
