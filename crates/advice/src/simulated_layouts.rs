//! Layouts in simulated time: the recorded workload, executed as it was and with members that lie elsewhere.
//!
//! Advice does not know how a guest executes: see [`LayoutSimulator`].

use std::ops::Range;
use std::time::Duration;

use relayout_layout::abi::StructLayout;
use relayout_messages::UserError;
use relayout_profile::rates::SimulatedRates;
use relayout_profile::{CpuTimes, SimulatedMachineName};
use relayout_search::SimulatedRatio;
use relayout_statistics::{DrawnRatio, RatioVerdict};
use serde::{Deserialize, Serialize};

use crate::ResolvedProfile;
use crate::advised_type::AdvisedType;
use crate::gathered::GatheredType;
use crate::layout_pool::LayoutPool;
use crate::mapped_objects::TypeMapping;
use crate::recommended::{PoolLayout, RecommendationLimits};
use crate::waiting::{NamedWaiting, WaitedLine};

/// Candidates of a type that are executed at most, without guards and with guards.
const CANDIDATES_MAX: usize = 3;
const GUARDED_MAX: usize = 2;

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

/// Layout, with bytes that code compares before it stores to them: `if (x != v) x = v;`.
#[derive(Clone, Copy)]
pub struct CheckedLayout<'l> {
    /// Layout.
    pub layout: &'l StructLayout,
    /// Bytes of today's layout whose stores are left out where they change nothing.
    pub checked: &'l [Range<u32>],
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
        layout: CheckedLayout<'_>,
    ) -> Result<(), UserError>;

    /// Executes today's layout and each of the others. Returns what each brings, in order.
    ///
    /// # Errors
    /// Today's layout fails, or the user interrupts.
    fn simulate_layouts(
        &self,
        subject: SimulatedType<'_, '_>,
        layouts: &[CheckedLayout<'_>],
    ) -> Result<Vec<LayoutSimulated>, UserError>;
}

/// Layout that was to be executed, of those with guards or of those without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProposedLayout {
    /// Layout of its pool.
    pub layout: PoolLayout,
    /// True for one with guards.
    pub is_guarded: bool,
}

/// Executes the best candidates of each type, with guards and without, and the layouts of the user, and lets that decide which
/// candidate is recommended.
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
        let guards = advised.guards.as_ref();
        let checked = guards.map_or(Vec::new(), |guards| {
            guards.checked_bytes(&gathered.shape, subject.current)
        });
        let pools = [
            (advised.unguarded_pool(), &[][..], CANDIDATES_MAX),
            (advised.better_guarded_pool(), &checked, GUARDED_MAX),
        ];
        let (mut executed, mut refused) = (Vec::new(), Vec::new());
        for (pool, checked, most) in pools {
            let Some(pool) = pool else { continue };
            let mut left = most + pool.user_layouts.len();
            for (proposed, layout) in layouts_by_rank(pool, advised.limits) {
                let layout = CheckedLayout { layout, checked };
                match simulator.verify_layout(subject, layout) {
                    Ok(()) if left == 0 => break,
                    Ok(()) => {
                        executed.push((proposed, layout));
                        left -= 1;
                    }
                    Err(error) => refused.push((proposed, Err(error))),
                }
            }
        }
        let layouts: Vec<CheckedLayout<'_>> = executed.iter().map(|(_, layout)| *layout).collect();
        let outcomes = if layouts.is_empty() {
            Vec::new()
        } else {
            simulator.simulate_layouts(subject, &layouts)?
        };
        let executed = executed.into_iter().map(|(proposed, _)| proposed);
        advised.simulated = executed.zip(outcomes).chain(refused).collect();
        advised.decide_by_simulation();
    }
    Ok(())
}

/// Returns the layouts of the user and the candidates: those that transfers recommend first, then the others worth showing.
fn layouts_by_rank<'p>(
    pool: LayoutPool<'p>,
    limits: RecommendationLimits,
) -> impl Iterator<Item = (ProposedLayout, &'p StructLayout)> {
    let recommended = pool.recommendations(limits);
    let mut candidates: Vec<usize> = { recommended.first().into_iter() }
        .flat_map(|first| [first.index, first.most.0])
        .chain(pool.advice.shown_candidates(limits.top))
        .collect();
    let mut seen = Vec::new();
    candidates.retain(|index| {
        let is_new = !seen.contains(index);
        seen.push(*index);
        is_new
    });
    let given = (0..pool.user_layouts.len()).map(PoolLayout::Given);
    let layouts = given.chain(candidates.into_iter().map(PoolLayout::Candidate));
    layouts.filter_map(move |layout| {
        let proposed = ProposedLayout {
            layout,
            is_guarded: !pool.statements.is_empty(),
        };
        Some((proposed, &layout.ranked(pool)?.layout))
    })
}

impl AdvisedType<'_> {
    /// Returns the change that a layout makes; `None` if it was not to be executed.
    pub fn simulated_layout(&self, proposed: ProposedLayout) -> Option<&LayoutSimulated> {
        let mut simulated = self.simulated.iter();
        let (_, outcome) = simulated.find(|(executed, _)| *executed == proposed)?;
        Some(outcome)
    }

    fn decide_by_simulation(&mut self) {
        let [candidates, guarded] =
            [false, true].map(|is_guarded| self.simulated_ratios(is_guarded));
        let given = self.searched.user_layouts.len();
        let user_layouts: Vec<Option<SimulatedRatio>> = { 0..given }
            .map(|index| {
                self.simulated_ratio(ProposedLayout {
                    layout: PoolLayout::Given(index),
                    is_guarded: false,
                })
            })
            .collect();
        if let Ok(advice) = &mut self.searched.outcome {
            advice.set_simulated(candidates, user_layouts);
        }
        if let Some(guards) = self.guards.as_mut().filter(|_| !guarded.is_empty()) {
            guards.guarded.advice.set_simulated(guarded, Vec::new());
        }
    }

    fn simulated_ratio(&self, proposed: ProposedLayout) -> Option<SimulatedRatio> {
        let change = self.simulated_layout(proposed)?.as_ref().ok()?;
        change.deciding_ratio()
    }

    /// Returns the ratios of the candidates with guards, or of those without.
    fn simulated_ratios(&self, has_guards: bool) -> Vec<(usize, SimulatedRatio)> {
        let simulated = self.simulated.iter().map(|(proposed, _)| *proposed);
        simulated
            .filter_map(|proposed| match proposed.layout {
                PoolLayout::Candidate(index) if proposed.is_guarded == has_guards => {
                    Some((index, self.simulated_ratio(proposed)?))
                }
                PoolLayout::Candidate(_) | PoolLayout::Given(_) => None,
            })
            .collect()
    }
}
