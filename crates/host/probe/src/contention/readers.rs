//! Clean reads: by how much each further reader lengthens the writer's wait for its line.
//!
//! A CPU adds to a word all the time, others load it all the time. When the writer has lost the line, each of the
//! readers gets a copy once, and the writer waits until it may have the line alone again. The last value that a
//! reader sees before the writer goes on is a change, so a reader's changes are the writer's ownerships.

use std::sync::atomic::{AtomicBool, Ordering::*};

use crate::Error;
use crate::contention::document::{ReaderPoint, ReaderTest};
use crate::contention::series::WindowSeries;
use crate::cpu_position::{CpuPosition, doubling_counts};
use crate::crew::{CrewWork, WindowJob, WindowPart, WorkCount};
use crate::crew_lines::CrewLines;
use crate::loops::{repeat_for, repeat_until};
use crate::tally::{UnknownReason, WindowTally};

/// Readers that a slope needs: the first one reads a modified line, which costs something else.
const SLOPE_READERS_MIN: usize = 2;

struct ReaderWork {
    lines: CrewLines,
}

/// Result of a window.
#[derive(Clone, Copy, Debug)]
struct ReaderWindow {
    ownership_ns: f64,
    reads: f64,
}

impl CrewWork for ReaderWork {
    /// Number of readers.
    type Arrangement = usize;
    type Outcome = ReaderWindow;

    fn threads(&self, readers: usize) -> usize {
        1 + readers
    }

    fn prepare(&self, job: &WindowJob<usize>) {
        self.lines.clear(job);
    }

    fn work(&self, job: &WindowJob<usize>, thread: usize, over: &AtomicBool) -> WorkCount {
        let [word, ..] = self.lines.words(job);
        let mut events = 0;
        let operations = match thread {
            0 => {
                let operations = repeat_for(job.window, |_| {
                    word.fetch_add(1, Relaxed);
                });
                over.store(true, Release);
                operations
            }
            _ => {
                let mut last = 0;
                repeat_until(over, || {
                    let value = word.load(Relaxed);
                    events += u64::from(value != last);
                    last = value;
                })
            }
        };
        WorkCount { operations, events }
    }

    fn outcome(&self, _: &WindowJob<usize>, parts: &[WindowPart]) -> Option<ReaderWindow> {
        let (writer, readers) = parts.split_first()?;
        let changes = readers.iter().map(|part| part.count.events);
        let ownerships = changes.clone().max().unwrap_or(writer.count.operations);
        let window = ReaderWindow {
            ownership_ns: writer.wall_ns / ownerships as f64,
            reads: changes.sum::<u64>() as f64 / ownerships as f64,
        };
        (ownerships > 0).then_some(window)
    }
}

/// Measures the writer's wait by the number of readers. `positions` has one CPU of each core, the nearest to the
/// first one first.
pub fn measure_readers(
    positions: &[CpuPosition],
    tally: &mut WindowTally<'_>,
) -> Result<ReaderTest, Error> {
    let cpus: Vec<u32> = positions.iter().map(|position| position.cpu).collect();
    let readers_max = cpus.len().saturating_sub(1);
    tally.step(&format!("one writer, and up to {readers_max} readers"));
    let counts = [vec![0], doubling_counts(readers_max)].concat();
    let work = ReaderWork {
        lines: CrewLines::new(),
    };
    let series = WindowSeries::new(tally.run_work(&cpus, &work, counts.clone())?);
    let mut points = Vec::new();
    for &readers in &counts {
        let key = format!("contention.readers.points[{readers}]");
        let time = series.estimate(readers, |window| window.ownership_ns);
        let reads = series.estimate(readers, |window| window.reads);
        points.push(ReaderPoint {
            readers: readers as u32,
            ownership_ns: tally.value_or_unknown(&format!("{key}.ownership_ns"), time),
            reads: tally.value_or_unknown(&format!("{key}.reads"), reads),
        });
    }
    let slope_counts = slope_counts(&counts, positions);
    let slope = if readers_max < SLOPE_READERS_MIN {
        Err(UnknownReason::System(format!(
            "takes {} cores, and the process may use {}; the only reader reads a line that was \
             modified",
            1 + SLOPE_READERS_MIN,
            cpus.len()
        )))
    } else {
        let places: Vec<f64> = slope_counts.iter().map(|&readers| readers as f64).collect();
        series.slope(&slope_counts, &places, |window| window.ownership_ns)
    };
    Ok(ReaderTest {
        points,
        slope_ns: tally.value_or_unknown("contention.readers.slope_ns", slope),
    })
}

/// Numbers of other CPUs, from one on, over which a slope is taken: those that share the writer's last-level cache,
/// so that distance does not change; all where less than two of the numbers do.
pub fn slope_counts(counts: &[usize], positions: &[CpuPosition]) -> Vec<usize> {
    let first_cluster = positions.first().map(|position| position.cluster);
    let is_near = |position: &&CpuPosition| Some(position.cluster) == first_cluster;
    let near = positions
        .iter()
        .take_while(is_near)
        .count()
        .saturating_sub(1);
    let counts_up_to = |max: usize| {
        let counts = counts.iter().copied();
        counts
            .filter(|count| (1..=max).contains(count))
            .collect::<Vec<_>>()
    };
    let in_cluster = counts_up_to(near);
    if in_cluster.len() < SLOPE_READERS_MIN {
        return counts_up_to(usize::MAX);
    }
    in_cluster
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_position::{CpuChoice, cpu_positions};
    use crate::topology::CpuTopology;

    /// Cores of which so many share a cache.
    fn positions(cores: u32, cluster: u32) -> Vec<CpuPosition> {
        let cpu = |number: u32| CpuTopology {
            number,
            cache: (number / cluster).to_string(),
            ..CpuTopology::default()
        };
        let cpus: Vec<CpuTopology> = (0..cores).map(cpu).collect();
        CpuChoice::Pack.order(&cpu_positions(&cpus))
    }

    #[test]
    fn a_slope_is_taken_over_one_distance() {
        let counts = [0, 1, 2, 4, 8, 15];
        assert_eq!(slope_counts(&counts, &positions(16, 8)), [1, 2, 4]);
        assert_eq!(slope_counts(&counts, &positions(16, 16)), [1, 2, 4, 8, 15]);
        assert_eq!(slope_counts(&counts, &positions(16, 2)), [1, 2, 4, 8, 15]);
    }

    #[test]
    fn changes_of_readers_are_ownerships_of_the_writer() {
        let part = |operations, events| WindowPart {
            count: WorkCount { operations, events },
            wall_ns: 1000.0,
            cpu_ns: 1000.0,
        };
        let work = ReaderWork {
            lines: CrewLines::new(),
        };
        let job = |readers| WindowJob {
            round: 0,
            arrangement: readers,
            place: 0,
            is_odd_line: false,
            window: std::time::Duration::ZERO,
        };
        let alone = work.outcome(&job(0), &[part(100, 0)]).unwrap();
        assert_eq!((alone.ownership_ns, alone.reads), (10.0, 0.0));
        let read = work.outcome(&job(2), &[part(100, 0), part(900, 20), part(900, 10)]);
        let read = read.unwrap();
        assert_eq!((read.ownership_ns, read.reads), (50.0, 1.5));
        assert!(
            work.outcome(&job(1), &[part(100, 0), part(900, 0)])
                .is_none()
        );
    }
}
