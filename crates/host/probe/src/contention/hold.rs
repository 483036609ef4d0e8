//! Hold after loss: for how long a CPU goes on using a line that another CPU waits for.
//!
//! One CPU adds to a word twice, with a computation in between. The other adds all the time, so that it waits for the
//! line as soon as it has lost it. While the first CPU may go on using the line, its two tickets are consecutive.

use std::sync::atomic::{AtomicBool, Ordering::*};

use crate::Error;
use crate::contention::document::{HoldPoint, HoldTest};
use crate::contention::series::{WindowSeries, crossing};
use crate::crew::{CrewWork, WindowJob, WindowPart, WorkCount};
use crate::crew_lines::CrewLines;
use crate::estimate::{ProbeEstimate, ROUNDS_MIN, estimate_values};
use crate::loops::{repeat_for, repeat_until};
use crate::tally::{UnknownReason, WindowTally};
use crate::topology::CpuPair;
use crate::visits::{word_after, work};

/// Steps of computation between the two adds.
const GAP_STEPS: [u32; 12] = [0, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384];
/// Steps of a computation that is timed.
const TIMED_STEPS: u32 = 512;
/// Steps between two pairs of adds, in which the other CPU gets the line: a fixed part, and up to as many more at
/// random.
const PAUSE_STEPS: u32 = 256;
/// A power of two.
const RANDOM_STEPS: u32 = 128;

#[derive(Clone, Copy, Debug, PartialEq)]
enum HoldLoop {
    /// Two adds with so many steps in between: the share with consecutive tickets.
    Adds(u32),
    /// A computation of [`TIMED_STEPS`], on one CPU: nanoseconds for a step.
    Computation,
}

struct HoldWork {
    lines: CrewLines,
}

impl CrewWork for HoldWork {
    type Arrangement = HoldLoop;
    type Outcome = f64;

    fn threads(&self, hold_loop: HoldLoop) -> usize {
        match hold_loop {
            HoldLoop::Adds(_) => 2,
            HoldLoop::Computation => 1,
        }
    }

    fn prepare(&self, job: &WindowJob<HoldLoop>) {
        self.lines.clear(job);
    }

    fn work(&self, job: &WindowJob<HoldLoop>, thread: usize, over: &AtomicBool) -> WorkCount {
        let [word, ..] = self.lines.words(job);
        if thread > 0 {
            let operations = repeat_until(over, || {
                word.fetch_add(1, Relaxed);
            });
            return WorkCount {
                operations,
                events: 0,
            };
        }
        let mut value = 1;
        let mut events = 0;
        let operations = match job.arrangement {
            HoldLoop::Adds(steps) => repeat_for(job.window, |_| {
                let first = word.fetch_add(1, Relaxed);
                value = work(value ^ first, steps);
                let second = word_after(word, value).fetch_add(1, Relaxed);
                events += u64::from(second == first + 1);
                let random = (value >> 32) as u32 & (RANDOM_STEPS - 1);
                value = work(value ^ second, PAUSE_STEPS + random);
            }),
            HoldLoop::Computation => repeat_for(job.window, |_| value = work(value, TIMED_STEPS)),
        };
        over.store(true, Release);
        WorkCount { operations, events }
    }

    fn outcome(&self, job: &WindowJob<HoldLoop>, parts: &[WindowPart]) -> Option<f64> {
        let leader = parts.first()?;
        let operations = leader.count.operations as f64;
        Some(match job.arrangement {
            HoldLoop::Adds(_) => leader.count.events as f64 / operations,
            HoldLoop::Computation => leader.wall_ns / operations / f64::from(TIMED_STEPS),
        })
    }
}

/// Measures the share of consecutive tickets over the time between two adds.
pub fn measure_hold(pair: CpuPair, tally: &mut WindowTally<'_>) -> Result<HoldTest, Error> {
    let CpuPair { cpu_a, cpu_b, .. } = pair;
    tally.step(&format!(
        "adds some time apart, on CPU {cpu_a} and CPU {cpu_b}"
    ));
    let work = HoldWork {
        lines: CrewLines::new(),
    };
    let adds = GAP_STEPS.map(HoldLoop::Adds);
    let arrangements = [&adds[..], &[HoldLoop::Computation]].concat();
    let windows = tally.run_work(&[cpu_a, cpu_b], &work, arrangements)?;
    let series = WindowSeries::new(windows);
    let key = format!("contention.hold[{cpu_a},{cpu_b}]");
    let step = series.estimate(HoldLoop::Computation, |ns| *ns);
    let step_ns = tally
        .value_or_unknown(&format!("{key}.points[].ns"), step)
        .value;
    let gap_ns = |steps: u32| step_ns.map(|ns| ns * f64::from(steps));
    let mut points = Vec::new();
    for steps in GAP_STEPS {
        let share = series.estimate(HoldLoop::Adds(steps), |share| *share);
        let share_key = format!("{key}.points[{steps} steps].share");
        let share = tally.value_or_unknown(&share_key, share);
        points.extend(gap_ns(steps).map(|ns| HoldPoint { ns, share }));
    }
    let gaps: Option<Vec<f64>> = GAP_STEPS.into_iter().map(gap_ns).collect();
    let half = match gaps {
        Some(gaps) => half_time(&series, &adds, &gaps),
        None => Err(UnknownReason::System(
            "the computation has no time".to_owned(),
        )),
    };
    Ok(HoldTest {
        cpu_a,
        cpu_b,
        relation: pair.relation,
        points,
        half_ns: tally.value_or_unknown(&format!("{key}.half_ns"), half),
    })
}

/// Estimates the gap at which half of the pairs have consecutive tickets.
fn half_time(
    series: &WindowSeries<HoldLoop, f64>,
    adds: &[HoldLoop],
    gaps_ns: &[f64],
) -> Result<ProbeEstimate, UnknownReason> {
    let longest = gaps_ns.last().copied().unwrap_or_default();
    let crossings = series.by_round(adds, |shares| {
        let shares: Vec<f64> = shares.into_iter().copied().collect();
        crossing(gaps_ns, &shares, 0.5)
    })?;
    let rounds = crossings.len();
    let crossed = crossings.iter().flatten().count();
    if rounds >= ROUNDS_MIN && crossed * 2 < rounds {
        return Err(UnknownReason::System(format!(
            "the share does not fall from above to below a half between 0 and {longest:.0} ns"
        )));
    }
    Ok(estimate_values(&crossings)?)
}
