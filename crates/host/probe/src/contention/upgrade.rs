//! Upgrades: what it costs to get a line alone that the CPU reads already, by the number of other CPUs that read it.
//!
//! In each step all CPUs load the word and say so on lines of their own. Then the first one adds to the word, and
//! takes the time of that add with the processor's counter. The same with a word that nobody else reads is
//! subtracted.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Instant;

use crate::Error;
use crate::contention::document::{UpgradePoint, UpgradeTest};
use crate::contention::readers::slope_counts;
use crate::contention::series::{WindowSeries, least_squares_slope};
use crate::cpu_position::{CpuPosition, doubling_counts};
use crate::crew::{CrewWork, LinePadded, WindowJob, WindowPart, WorkCount};
use crate::crew_lines::CrewLines;
use crate::estimate::estimate_values;
use crate::instructions::read_ticks;
use crate::loops::{repeat_for, spin_until};
use crate::tally::{UnknownReason, WindowTally};

/// Step that ends the window.
const OVER: u64 = u64::MAX;

/// Other CPUs that read, and the word that is added to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct UpgradeLoop {
    sharers: usize,
    /// True for the word that all read; false for one of the writer's own.
    is_shared: bool,
}

struct UpgradeWork {
    lines: CrewLines,
    /// Step that each CPU has read in.
    readings: Vec<LinePadded<AtomicU64>>,
}

impl UpgradeWork {
    fn add_to_shared(&self, job: &WindowJob<UpgradeLoop>) -> WorkCount {
        let [shared, own, step, _] = self.lines.words(job);
        let target = if job.arrangement.is_shared {
            shared
        } else {
            own
        };
        let readings = &self.readings[1..=job.arrangement.sharers];
        let (begun, ticks_begun) = (Instant::now(), read_ticks());
        let mut ticks = 0;
        let operations = repeat_for(job.window, |number| {
            step.store(number + 1, Release);
            for reading in readings {
                spin_until(|| reading.load(Acquire) > number);
            }
            black_box((shared.load(Relaxed), own.load(Relaxed)));
            let before = read_ticks();
            target.fetch_add(1, Relaxed);
            ticks += read_ticks().saturating_sub(before);
        });
        step.store(OVER, Release);
        let tick_ps = begun.elapsed().as_nanos() as f64 * 1e3 / (read_ticks() - ticks_begun) as f64;
        WorkCount {
            operations,
            events: (ticks as f64 * tick_ps) as u64,
        }
    }

    fn read_shared(&self, job: &WindowJob<UpgradeLoop>, thread: usize) -> WorkCount {
        let [shared, _, step, _] = self.lines.words(job);
        let reading = &self.readings[thread];
        for number in 0.. {
            let mut found = 0;
            spin_until(|| {
                found = step.load(Acquire);
                found > number
            });
            if found == OVER {
                break;
            }
            black_box(shared.load(Acquire));
            reading.store(number + 1, Release);
        }
        WorkCount::default()
    }
}

impl CrewWork for UpgradeWork {
    type Arrangement = UpgradeLoop;
    /// Nanoseconds of an add, with the reading of the counter.
    type Outcome = f64;

    fn threads(&self, upgrade_loop: UpgradeLoop) -> usize {
        1 + upgrade_loop.sharers
    }

    fn prepare(&self, job: &WindowJob<UpgradeLoop>) {
        self.lines.clear(job);
        for reading in &self.readings {
            reading.store(0, Relaxed);
        }
    }

    fn work(&self, job: &WindowJob<UpgradeLoop>, thread: usize, over: &AtomicBool) -> WorkCount {
        if thread > 0 {
            return self.read_shared(job, thread);
        }
        let count = self.add_to_shared(job);
        over.store(true, Release);
        count
    }

    fn outcome(&self, _: &WindowJob<UpgradeLoop>, parts: &[WindowPart]) -> Option<f64> {
        let WorkCount { operations, events } = parts.first()?.count;
        Some(events as f64 / 1e3 / operations as f64)
    }
}

/// Measures the cost of an upgrade by the number of other copies. `positions` has one CPU of each core, the nearest
/// to the first one first.
pub fn measure_upgrade(
    positions: &[CpuPosition],
    tally: &mut WindowTally<'_>,
) -> Result<UpgradeTest, Error> {
    let cpus: Vec<u32> = positions.iter().map(|position| position.cpu).collect();
    let sharers_max = cpus.len().saturating_sub(1);
    tally.step(&format!("upgrades over up to {sharers_max} other copies"));
    let counts = doubling_counts(sharers_max);
    let work = UpgradeWork {
        lines: CrewLines::new(),
        readings: cpus.iter().map(|_| LinePadded::default()).collect(),
    };
    let pair = |sharers: usize| [true, false].map(|is_shared| UpgradeLoop { sharers, is_shared });
    let loops = counts.iter().flat_map(|&sharers| pair(sharers)).collect();
    let series = WindowSeries::new(tally.run_work(&cpus, &work, loops)?);
    let cost = |counts: &[usize], value_of: &dyn Fn(Vec<f64>) -> Option<f64>| {
        let loops: Vec<UpgradeLoop> = counts.iter().flat_map(|&sharers| pair(sharers)).collect();
        let costs = series.by_round(&loops, |times| {
            value_of(
                times
                    .chunks_exact(2)
                    .map(|pair| pair[0] - pair[1])
                    .collect(),
            )
        })?;
        Ok::<_, UnknownReason>(estimate_values(&costs)?)
    };
    let mut points = Vec::new();
    for &sharers in &counts {
        let ns = cost(&[sharers], &|costs: Vec<f64>| costs.first().copied());
        let key = format!("contention.upgrade.points[{sharers}].ns");
        points.push(UpgradePoint {
            sharers: sharers as u32,
            ns: tally.value_or_unknown(&key, ns),
        });
    }
    let slope_counts = slope_counts(&counts, positions);
    let slope = if slope_counts.len() < 2 {
        let cores = cpus.len();
        let why = format!("takes 3 cores, and the process may use {cores}");
        Err(UnknownReason::System(why))
    } else {
        let places: Vec<f64> = slope_counts.iter().map(|&sharers| sharers as f64).collect();
        cost(&slope_counts, &|costs: Vec<f64>| {
            least_squares_slope(&places, &costs)
        })
    };
    Ok(UpgradeTest {
        points,
        slope_ns: tally.value_or_unknown("contention.upgrade.slope_ns", slope),
    })
}
