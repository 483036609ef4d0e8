//! Layouts in simulated time: the recorded workload, executed as it was and with members that lie elsewhere.
//!
//! Advice does not know how a guest executes: see [`LayoutSimulator`].

use std::time::Duration;

use relayout_layout::abi::StructLayout;
use relayout_messages::UserError;
use relayout_profile::rates::SimulatedRates;
use relayout_profile::{CpuTimes, SimulatedMachineName};
use relayout_search::{LayoutAdvice, SimulatedRatio};
use relayout_statistics::{DrawnRatio, RatioVerdict};
use serde::{Deserialize, Serialize};

use crate::ResolvedProfile;
use crate::advised_type::AdvisedType;
use crate::gathered::GatheredType;
use crate::mapped_objects::TypeMapping;
use crate::recommended::PoolLayout;
use crate::waiting::{NamedWaiting, WaitedLine};

/// Candidates of a type that are executed at most.
const CANDIDATES_MAX: usize = 3;

/// A window in simulated time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatedWindow {
    /// Its simulated time.
    pub length: Duration,
    /// Operations in a second; `None` if the window is empty.
    pub operations_per_second: Option<f64>,
    /// Time of all CPUs.
    pub times: CpuTimes,
    /// Events of the host that broke the order of the accesses: without any, the window is the same each time.
    pub order_breaks: u64,
    /// Lock, or else line, for which CPUs stood still longest.
    pub most_waited: Option<MostWaited>,
}

/// Lock or line for which CPUs stood still longest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MostWaited {
    /// Its name: `dentry.d_lockref`.
    pub name: String,
    /// Part of the CPUs' time.
    pub share: f64,
}

/// Share of the time that CPUs spin or sleep, from which on locks decide the rate.
const LOCKED_SHARE_MIN: f64 = 0.05;

impl SimulatedWindow {
    /// Shortest window that shows how CPUs fall into step at locks.
    pub const LOCKED_LENGTH_MIN: Duration = Duration::from_millis(20);

    /// Returns true if CPUs spin or sleep for locks, so that these decide the rate.
    pub fn waits_for_locks(&self) -> bool {
        let waiting = self.times.pause_ps.saturating_add(self.times.idle_ps) as f64;
        waiting > LOCKED_SHARE_MIN * self.times.total_ps() as f64
    }

    /// Returns true if CPUs wait for locks, and the window is too short to tell the rate that they settle at.
    pub fn is_too_short(&self) -> bool {
        self.waits_for_locks() && self.length < Self::LOCKED_LENGTH_MIN
    }

    /// Makes the window of its rates and of what CPUs waited for.
    pub fn new(rates: &SimulatedRates, names: &NamedWaiting) -> Self {
        let times: CpuTimes = rates.cpus.iter().map(|cpu| cpu.times).sum();
        let locks = names
            .locks
            .iter()
            .map(|lock| (lock.wait_ps, Some(lock.name.clone())));
        let lines = { rates.lines.iter().zip(&names.lines) }
            .filter(|(_, named)| named.lock.is_none())
            .map(|(line, named)| (line.wait_ps, line_name(named)));
        let most = locks.chain(lines).max_by_key(|(wait_ps, _)| *wait_ps);
        Self {
            length: Duration::from_nanos(rates.window.length_ps / 1000),
            operations_per_second: rates.window.operations_per_second(),
            times,
            order_breaks: rates.window.order.order_breaks,
            most_waited: most
                .filter(|(wait_ps, _)| *wait_ps > 0)
                .map(|(wait_ps, name)| MostWaited {
                    name: name.unwrap_or_else(|| "memory without a name".to_owned()),
                    share: wait_ps as f64 / times.total_ps().max(1) as f64,
                }),
        }
    }
}

/// Returns the name of a line by its first waited-for member: `dentry.d_iname[]`; else that of its variable or type.
fn line_name(line: &WaitedLine) -> Option<String> {
    let object = line.object.as_ref()?;
    let owner = object.variable.clone().or(object.type_name.clone())?;
    Some(match line.members.first() {
        Some(member) => format!("{owner}.{member}"),
        None => owner,
    })
}

/// Windows with a number of CPUs, as it is and with another layout.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedPoint {
    /// CPUs of the guest.
    pub cpus: u16,
    /// With today's layout, and the expected rules.
    pub today: SimulatedWindow,
    /// With the other one.
    pub then: SimulatedWindow,
    /// Operations of then over those of today.
    pub ratio: DrawnRatio,
    /// Part of the type's recorded transfers on objects that stay as they are.
    pub unmapped_share: f64,
}

impl SimulatedPoint {
    /// Returns true if CPUs wait for locks, and the window is too short to tell the rate that they settle at.
    pub fn is_too_short(&self) -> bool {
        self.today.is_too_short()
    }

    /// Returns the verdict of all draws of the rules.
    pub fn verdict(&self) -> RatioVerdict {
        match self.is_too_short() {
            true => RatioVerdict::Unclear,
            false => self.ratio.verdict(),
        }
    }
}

/// Windows in simulated time of a layout, beside today's.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedChange {
    /// Machine.
    pub machine: SimulatedMachineName,
    /// By the number of CPUs.
    pub points: Vec<SimulatedPoint>,
}

impl SimulatedChange {
    /// CPUs up to which simulated gains without locks were held against published ones (docs/predicted-and-published.md).
    pub const PUBLISHED_CPUS: u16 = 20;

    /// Returns what decides between layouts: the point with the most CPUs. `None` if its window is empty.
    fn deciding_ratio(&self) -> Option<SimulatedRatio> {
        let point = self.points.iter().max_by_key(|point| point.cpus)?;
        Some(SimulatedRatio {
            cpus: point.cpus.into(),
            ratio: point.ratio.expected?,
            verdict: point.verdict(),
        })
    }
}

/// Change that a layout makes in simulated time, or the reason why it was not executed.
pub type LayoutSimulated = Result<SimulatedChange, UserError>;

/// Type with layouts that are to be executed.
#[derive(Clone, Copy)]
pub struct SimulatedType<'t, 'p> {
    /// Recorded objects.
    pub gathered: &'t GatheredType<'p>,
    /// Places of its objects in the guest.
    pub mapping: &'t TypeMapping,
    /// Today's layout.
    pub current: &'t StructLayout,
}

/// Executes the recorded workload with other layouts of a type.
pub trait LayoutSimulator {
    /// Returns without an error if a layout can be executed.
    ///
    /// # Errors
    /// The guest does not find the type's objects, or cannot take them for having this layout.
    fn verify_layout(
        &self,
        subject: SimulatedType<'_, '_>,
        layout: &StructLayout,
    ) -> Result<(), UserError>;

    /// Executes today's layout and each of the others. Returns what each brings, in order.
    ///
    /// # Errors
    /// Today's layout fails, or the user interrupts.
    fn simulate_layouts(
        &self,
        subject: SimulatedType<'_, '_>,
        layouts: &[&StructLayout],
    ) -> Result<Vec<LayoutSimulated>, UserError>;
}

/// Executes the best candidates of each type and the layouts of the user, and lets that decide which candidate is recommended.
///
/// # Errors
/// Those of the simulator.
pub fn simulate_best(
    resolved: &ResolvedProfile<'_>,
    types: &mut [AdvisedType<'_>],
    simulator: &dyn LayoutSimulator,
) -> Result<(), UserError> {
    for advised in types {
        let Some(advice) = advised.advice() else {
            continue;
        };
        let gathered = &advised.searched.gathered;
        let subject = SimulatedType {
            gathered,
            mapping: &TypeMapping::find(resolved, gathered),
            current: &advice.current.layout,
        };
        let mut executed = Vec::new();
        let mut refused = Vec::new();
        for layout in layouts_by_rank(advised, advice) {
            let pool = advised.unguarded_pool();
            let Some(ranked) = pool.and_then(|pool| layout.ranked(pool)) else {
                continue;
            };
            match simulator.verify_layout(subject, &ranked.layout) {
                Ok(()) => executed.push((layout, &ranked.layout)),
                Err(error) => refused.push((layout, Err(error))),
            }
            if executed.len() == CANDIDATES_MAX + advice.user_layouts.len() {
                break;
            }
        }
        let layouts: Vec<&StructLayout> = executed.iter().map(|(_, layout)| *layout).collect();
        let outcomes = match layouts.is_empty() {
            true => Vec::new(),
            false => simulator.simulate_layouts(subject, &layouts)?,
        };
        let executed = executed.into_iter().map(|(layout, _)| layout);
        advised.simulated = executed.zip(outcomes).chain(refused).collect();
        advised.decide_by_simulation();
    }
    Ok(())
}

/// Returns the layouts of the user and the candidates: those that transfers recommend first, then the others worth showing.
fn layouts_by_rank(advised: &AdvisedType<'_>, advice: &LayoutAdvice) -> Vec<PoolLayout> {
    let recommended = { advised.unguarded_pool() }
        .map(|pool| pool.recommendations(advised.limits))
        .unwrap_or_default();
    let mut candidates: Vec<usize> = { recommended.first().into_iter() }
        .flat_map(|first| [first.index, first.most.0])
        .chain(advice.shown_candidates(advised.limits.top))
        .collect();
    let mut seen = Vec::new();
    candidates.retain(|index| {
        let is_new = !seen.contains(index);
        seen.push(*index);
        is_new
    });
    let given = (0..advice.user_layouts.len()).map(PoolLayout::Given);
    given
        .chain(candidates.into_iter().map(PoolLayout::Candidate))
        .collect()
}

impl AdvisedType<'_> {
    /// Returns the change that a layout without guards makes; `None` if it was not to be executed.
    pub fn simulated_layout(&self, layout: PoolLayout) -> Option<&LayoutSimulated> {
        let mut simulated = self.simulated.iter();
        let (_, outcome) = simulated.find(|(executed, _)| *executed == layout)?;
        Some(outcome)
    }

    fn decide_by_simulation(&mut self) {
        let ratio = |layout: PoolLayout| {
            let change = self.simulated_layout(layout)?.as_ref().ok()?;
            change.deciding_ratio()
        };
        let candidates: Vec<(usize, SimulatedRatio)> = { self.simulated.iter() }
            .filter_map(|&(layout, _)| match layout {
                PoolLayout::Candidate(index) => Some((index, ratio(layout)?)),
                PoolLayout::Given(_) => None,
            })
            .collect();
        let given = self.searched.user_layouts.len();
        let user_layouts: Vec<Option<SimulatedRatio>> = { 0..given }
            .map(|index| ratio(PoolLayout::Given(index)))
            .collect();
        if let Ok(advice) = &mut self.searched.outcome {
            advice.set_simulated(candidates, user_layouts);
        }
    }
}
