//! Arbitration: which CPU gets a line after which, when all of a set want it all the time.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, PoisonError};

use crate::Error;
use crate::contention::document::{OwnerOrder, OwnerRuns};
use crate::contention::tickets::{
    NearHandOvers, OwnerSequence, RunLengths, TicketDefect, group_count, in_turn_length,
    renumber_groups,
};
use crate::cpu_position::{CpuChoice, CpuPosition, doubling_counts};
use crate::crew::{CrewWork, MeasuredWindow, WindowJob, WindowPart, WorkCount};
use crate::crew_lines::CrewLines;
use crate::estimate::{ProbeEstimate, estimate_values};
use crate::tally::{UnknownReason, WindowTally};

/// Tickets of a window: 2 to 30 ms.
const TICKETS: u32 = 1 << 15;
/// First tickets, in which CPUs begin one after the other.
const FIRST_TICKETS: usize = TICKETS as usize / 8;

/// Measures who owns a line after whom, in sets of 2, 4, 8 and more CPUs.
pub fn measure_owners(
    positions: &[CpuPosition],
    tally: &mut WindowTally<'_>,
) -> Result<Vec<OwnerOrder>, Error> {
    let mut measured: Vec<OwnerOrder> = Vec::new();
    let mut sets: Vec<Vec<CpuPosition>> = Vec::new();
    for choice in CpuChoice::ALL {
        let ordered = choice.order(positions);
        for count in doubling_counts(ordered.len()) {
            let set = &ordered[..count];
            // The whole machine is one set, and so are both choices on a machine without clusters.
            let is_known = sets.iter().any(|known| has_same_cpus(known, set));
            if count < 2 || is_known {
                continue;
            }
            tally.step(&format!(
                "tickets of one line, on {count} CPUs ({})",
                choice.name()
            ));
            measured.push(measure_set(set, choice, tally)?);
            sets.push(set.to_vec());
        }
    }
    note_single_groups(positions, tally);
    Ok(measured)
}

fn has_same_cpus(set: &[CpuPosition], other: &[CpuPosition]) -> bool {
    set.len() == other.len() && set.iter().all(|position| other.contains(position))
}

/// Notes groups of which there is only one.
fn note_single_groups(positions: &[CpuPosition], tally: &mut WindowTally<'_>) {
    for group in CpuGroup::ALL {
        if group_count(&group.of_cpus(positions)) < 2 {
            let key = format!("contention.owners.{}", group.name());
            tally.note_unknown(&key, &format!("all CPUs belong to one {}", group.name()));
        }
    }
}

/// Groups of CPUs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CpuGroup {
    Core,
    Cluster,
    Socket,
}

impl CpuGroup {
    const ALL: [Self; 3] = [Self::Core, Self::Cluster, Self::Socket];

    fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Cluster => "cluster",
            Self::Socket => "socket",
        }
    }

    /// Groups of CPUs, numbered from 0.
    fn of_cpus(self, set: &[CpuPosition]) -> Vec<u16> {
        renumber_groups(set.iter().map(|position| match self {
            Self::Core => position.core,
            Self::Cluster => position.cluster,
            Self::Socket => position.socket,
        }))
    }
}

/// Result of a window.
#[derive(Clone, Debug)]
struct OwnerWindow {
    ticket_ns: f64,
    smallest_share: f64,
    largest_share: f64,
    runs: [Option<RunLengths>; CpuGroup::ALL.len()],
    near: [Option<NearHandOvers>; CpuGroup::ALL.len()],
}

/// CPUs of a set take tickets.
struct TicketWork {
    lines: CrewLines,
    logs: Vec<Mutex<Vec<u32>>>,
    groups: [Vec<u16>; CpuGroup::ALL.len()],
    defect: Mutex<Option<TicketDefect>>,
}

impl CrewWork for TicketWork {
    type Arrangement = ();
    type Outcome = OwnerWindow;

    fn threads(&self, (): ()) -> usize {
        self.logs.len()
    }

    fn prepare(&self, job: &WindowJob<()>) {
        self.lines.clear(job);
    }

    fn work(&self, job: &WindowJob<()>, thread: usize, over: &AtomicBool) -> WorkCount {
        let [line, ..] = self.lines.words(job);
        let mut log = { self.logs[thread].lock() }.unwrap_or_else(PoisonError::into_inner);
        log.clear();
        loop {
            let ticket = line.fetch_add(1, Relaxed);
            if ticket >= u64::from(TICKETS) {
                break;
            }
            log.push(ticket as u32);
        }
        over.store(true, Relaxed);
        WorkCount {
            operations: log.len() as u64,
            events: 0,
        }
    }

    fn outcome(&self, _: &WindowJob<()>, parts: &[WindowPart]) -> Option<OwnerWindow> {
        let logs = self.logs.iter();
        let logs: Vec<Vec<u32>> = logs
            .map(|log| log.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .collect();
        let owners = match OwnerSequence::merge(&logs, TICKETS) {
            Ok(owners) => owners.without_first(FIRST_TICKETS),
            Err(defect) => {
                *{ self.defect.lock() }.unwrap_or_else(PoisonError::into_inner) = Some(defect);
                return None;
            }
        };
        let shares = owners.relative_shares(logs.len());
        let [cores, ..] = &self.groups;
        Some(OwnerWindow {
            ticket_ns: parts.first()?.wall_ns / f64::from(TICKETS),
            smallest_share: shares.iter().copied().fold(f64::INFINITY, f64::min),
            largest_share: shares.iter().copied().fold(0.0, f64::max),
            runs: self
                .groups
                .each_ref()
                .map(|groups| owners.run_lengths(groups)),
            near: { self.groups.each_ref() }.map(|groups| owners.near_hand_overs(cores, groups)),
        })
    }
}

fn measure_set(
    set: &[CpuPosition],
    choice: CpuChoice,
    tally: &mut WindowTally<'_>,
) -> Result<OwnerOrder, Error> {
    let log = || Mutex::new(Vec::with_capacity(TICKETS as usize));
    let work = TicketWork {
        lines: CrewLines::new(),
        logs: set.iter().map(|_| log()).collect(),
        groups: CpuGroup::ALL.map(|group| group.of_cpus(set)),
        defect: Mutex::default(),
    };
    let cpus: Vec<u32> = set.iter().map(|position| position.cpu).collect();
    let windows = tally.run_work(&cpus, &work, vec![()])?;
    let defect = work
        .defect
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let windows = match defect {
        Some(defect) => Err(format!("tickets are not those of one word: {defect}")),
        None => windows,
    };
    let key = format!("contention.owners[{},{}]", choice.name(), set.len());
    let mut estimator = OwnerEstimator {
        key,
        windows,
        tally,
    };
    let runs = CpuGroup::ALL.into_iter().zip(&work.groups).enumerate();
    let runs = runs.filter(|(_, (_, groups))| group_count(groups) > 1);
    let runs = runs.map(|(at, (group, groups))| estimator.runs(at, group, groups));
    let runs = runs.collect();
    Ok(OwnerOrder {
        placement: choice.name().to_owned(),
        cpus: set.len() as u32,
        ticket_ns: estimator.value("ticket_ns", |window| Some(window.ticket_ns)),
        largest_share: estimator.value("largest_share", |window| Some(window.largest_share)),
        smallest_share: estimator.value("smallest_share", |window| Some(window.smallest_share)),
        runs,
    })
}

/// Windows of one set of CPUs.
struct OwnerEstimator<'t, 'w> {
    key: String,
    windows: Result<Vec<MeasuredWindow<(), OwnerWindow>>, String>,
    tally: &'t mut WindowTally<'w>,
}

impl OwnerEstimator<'_, '_> {
    fn values(&self, value_of: impl Fn(&OwnerWindow) -> Option<f64>) -> Vec<Option<f64>> {
        let windows = self.windows.iter().flatten();
        windows
            .map(|window| window.outcome.as_ref().and_then(&value_of))
            .collect()
    }

    fn value(
        &mut self,
        name: &str,
        value_of: impl Fn(&OwnerWindow) -> Option<f64>,
    ) -> ProbeEstimate {
        let estimate = match &self.windows {
            Ok(_) => estimate_values(&self.values(value_of)).map_err(UnknownReason::from),
            Err(why) => Err(UnknownReason::System(why.clone())),
        };
        let key = format!("{}.{name}", self.key);
        self.tally.value_or_unknown(&key, estimate)
    }

    fn middle(&self, value_of: impl Fn(&OwnerWindow) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.values(value_of).into_iter().flatten().collect();
        relayout_statistics::median(&values)
    }

    fn runs(&mut self, at: usize, group: CpuGroup, groups: &[u16]) -> OwnerRuns {
        let name = group.name();
        let runs_of = move |window: &OwnerWindow| window.runs[at];
        let near_of = move |window: &OwnerWindow| window.near[at];
        let (near_share, near_share_by_chance) = match group {
            CpuGroup::Core => (ProbeEstimate::default(), None),
            CpuGroup::Cluster | CpuGroup::Socket => (
                self.value(&format!("{name}.near_share"), |window| {
                    Some(near_of(window)?.share)
                }),
                self.middle(|window| Some(near_of(window)?.by_chance)),
            ),
        };
        OwnerRuns {
            group: name.to_owned(),
            groups: group_count(groups) as u32,
            length: self.value(&format!("{name}.length"), |window| {
                Some(runs_of(window)?.mean)
            }),
            random_length: self.middle(|window| Some(runs_of(window)?.random)),
            in_turn_length: in_turn_length(groups),
            near_share,
            near_share_by_chance,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cpu_position::cpu_positions;
    use crate::topology::CpuTopology;

    /// Real threads, on whatever CPUs there are: each ticket is in one log, once.
    #[test]
    fn logs_of_threads_are_one_sequence() {
        let cpu = |number: u32| CpuTopology {
            number,
            ..CpuTopology::default()
        };
        let set = cpu_positions(&[0, 1, 2].map(cpu));
        let work = TicketWork {
            lines: CrewLines::new(),
            logs: (0..3).map(|_| Mutex::default()).collect(),
            groups: CpuGroup::ALL.map(|group| group.of_cpus(&set)),
            defect: Mutex::default(),
        };
        let job = WindowJob {
            round: 0,
            arrangement: (),
            place: 3,
            is_odd_line: false,
            window: Duration::ZERO,
        };
        work.prepare(&job);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (work, job, over) = (&work, &job, &over);
                scope.spawn(move || work.work(job, thread, over));
            }
        });
        let part = WindowPart {
            count: WorkCount::default(),
            wall_ns: f64::from(TICKETS) * 20.0,
            cpu_ns: 0.0,
        };
        let window = work.outcome(&job, &[part; 3]).expect("no ticket is lost");
        assert_eq!(window.ticket_ns, 20.0);
        assert!(window.smallest_share <= 1.0 && window.largest_share >= 1.0);
        let [cores, clusters, sockets] = window.runs.map(|runs| runs.unwrap().mean);
        assert!(cores >= 1.0);
        let tickets = f64::from(TICKETS) - FIRST_TICKETS as f64;
        assert_eq!([clusters, sockets], [tickets; 2]);
        work.logs[1].lock().unwrap().push(7);
        assert!(work.outcome(&job, &[part; 3]).is_none());
        let defect = *work.defect.lock().unwrap();
        assert_eq!(defect, Some(TicketDefect::GivenTwice(7)));
    }
}
