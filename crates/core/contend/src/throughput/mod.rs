//! Throughput with fewer waits: a prediction of the throughput with another layout, on a machine
//! whose costs were measured.
//!
//! The model is a closed queueing network: contexts are its customers, contended lines are its
//! stations, and the work of a context without waits is its think time. The recording tells how
//! often each context waits on which line, replay tells how often it would with another layout, and
//! the probe measured the cost of a wait.
//!
//! # Assumptions
//!
//! - **Think time.** A context's loads, stores and exchanges in the recorded window, each at its
//!   cost alone ([`MachineCosts`]), and the code between them as it was timed
//!   ([`RecordedLoad::code`]). Where the code was not timed (kernels, recordings by earlier
//!   versions), or takes too short a time to be distinct from 0, it is assumed to take as long as
//!   the accesses; for the interval, from 0 to three times as long. Of a kernel, only kernel code
//!   was recorded: the gain is that of the time in the kernel.
//! - **Overlap.** While an access waits for its line, the processor goes on with independent work
//!   until its reorder buffer is full: some hundreds of instructions, so some tens of nanoseconds.
//!   As much of the timed code hides in each wait. The probe's loops have no such code, so that
//!   their times do not include this.
//! - **Service time** is the time to move a line between two CPUs, for upgrades too.
//! - **Waits.** The order is the recorded one, as in all of replay. But a recorder makes accesses
//!   slow, so that contexts meet on nearly every access where they use a line all the time.
//!   Natively, a context that has a line goes on for a while before it has lost the line and has to
//!   wait again. That time follows from the probe's loops ([`MachineCosts`], `keeps_ns`), by the
//!   uses of both contexts ([`LineHabit`]). So between two waits there is the work that was
//!   recorded between them, or that time if it is longer: of `r` recorded waits in work that takes
//!   `Z`, `min(r, Z / keeps)` are left.
//! - **Contexts are independent** but for the lines that they fight for. A context that waits until
//!   another has stored something is as fast as that one: where [`find_spin_waits`] finds such
//!   contexts, nothing should be predicted.
//! - **Store guards** ([`GuardCounts`]) are one load more each, which may wait for the line as any
//!   other; stores that are known to have changed nothing do not happen then. The code between
//!   accesses stays the same.
//! - **More contexts** ([`ThroughputInputs::contexts`]) do the same as the recorded ones, in the
//!   same proportions. A context with `a` accesses to a line, `v` of which waited, meets `k` times
//!   as many stores by others: `a*k*v / (a - v + k*v)` of them wait, by the rule of two random
//!   streams ([`crate::rates`]).
//!
//! A gain is a ratio, so that errors of the costs cancel as far as they are in both. Its interval
//! combines resampled stretches of the recording, think times from the shortest to the longest,
//! processors that look far ahead or not at all, and lines that are kept for two thirds to one and
//! a half times as long as in the loops.

mod costs;
mod load;
mod network;
mod spin_waits;
mod store_guards;

use relayout_profile::{ContextId, RunId};
use std::collections::{BTreeMap, BTreeSet};

pub use costs::{LineHabit, MachineCosts};
pub use load::{CodeTime, RecordedLoad};
use relayout_statistics::random::XorShift64;
use relayout_statistics::{SortedSample, resample};
pub use spin_waits::{SpinWait, find_spin_waits};
pub use store_guards::GuardCounts;
use store_guards::GuardedLoad;

use crate::replay::{AccessCounts, ContextWaits};
use network::{ContextClass, StationVisit, cycle_times};

/// Maximum number of lines that are stations; waits on others are a delay.
const STATIONS_MAX: usize = 64;
/// Number of resamples of the stretches.
const RESAMPLES: usize = 100;
/// Expected assumptions. A processor looks 200 to 500 instructions ahead, of which it runs two to
/// four in a nanosecond.
const EXPECTED: GainAssumptions = GainAssumptions {
    unknown_code: 1.0,
    errors: 0.0,
    ahead_ns: 50.0,
    keeps: 1.0,
};
/// Ends of the assumptions: those with the largest gains, and those with the smallest. Loops that
/// use a line in other ways keep it for times that differ as much.
const ENDS: [GainAssumptions; 2] = [
    GainAssumptions {
        unknown_code: 0.0,
        errors: -1.0,
        ahead_ns: 0.0,
        keeps: 2.0 / 3.0,
    },
    GainAssumptions {
        unknown_code: 3.0,
        errors: 1.0,
        ahead_ns: 100.0,
        keeps: 1.5,
    },
];

/// A line of an object in a stretch of its replay.
#[derive(Clone, Debug, PartialEq)]
pub struct StretchLine {
    /// Number of the object.
    pub object: usize,
    /// Line of the object, see [`crate::LineWaits::line`].
    pub line: u32,
    /// Contexts that used the line, with their waits.
    pub contexts: Vec<ContextWaits>,
}

/// A stretch of the recording, replayed under two layouts, with store guards under the second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayedStretch {
    /// First run of the recording that the stretch is a part of.
    pub run: RunId,
    /// Waits under today's layout.
    pub today: Vec<StretchLine>,
    /// Waits under the other layout.
    pub changed: Vec<StretchLine>,
    /// Effect of the guards on the accesses by context; empty without guards.
    pub guards: BTreeMap<ContextId, GuardCounts>,
}

/// Inputs of a throughput prediction.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputInputs<'a> {
    /// Load in the recording besides the subject's replay.
    pub load: &'a RecordedLoad,
    /// Costs on the machine.
    pub costs: &'a MachineCosts,
    /// Number of contexts that run; `None` for as many as were recorded.
    pub contexts: Option<u32>,
}

/// Throughput with the changed layout over that with today's layout.
#[derive(Clone, Debug, PartialEq)]
pub struct ThroughputGain {
    /// Gain of all contexts together: of the time for their work in the recording.
    pub ratio: GainRatio,
    /// Number of contexts.
    pub contexts: u32,
    /// Gain of each recorded context by itself, in the order of their numbers.
    pub by_context: Vec<(ContextId, GainRatio)>,
    /// Gain of all contexts together by recording, where there are several.
    pub by_run: Vec<(RunId, f64)>,
}

impl ThroughputGain {
    /// Returns true if the gain is a loss of more than 5% over its whole interval.
    pub fn is_loss(&self) -> bool {
        self.ratio.high < 0.95
    }

    /// Returns true if it is a gain in some recordings and a loss in others.
    pub fn is_unstable(&self) -> bool {
        let any = |is: fn(f64) -> bool| self.by_run.iter().any(|(_, ratio)| is(*ratio));
        any(|ratio| ratio > 1.0) && any(|ratio| ratio < 1.0)
    }
}

/// A ratio with the interval of 95% of the resamples, with the shortest and the longest think
/// times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GainRatio {
    /// Ratio over the whole recording, with the expected think time.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Assumptions that were not measured.
#[derive(Clone, Copy, Debug)]
struct GainAssumptions {
    /// Time of the code between accesses over the cost of the accesses alone, where it was not
    /// timed.
    unknown_code: f64,
    /// Number of standard errors that the timed code takes longer than measured.
    errors: f64,
    /// Time that a processor goes on while an access waits, in nanoseconds.
    ahead_ns: f64,
    /// Time that a line is kept over that of [`MachineCosts`].
    keeps: f64,
}

/// Use of a line by a context.
#[derive(Clone, Copy, Debug)]
struct LineUse {
    context: ContextId,
    /// Number of waits for it in the recorded window.
    waits: f64,
    habit: LineHabit,
}

/// Accesses and waits under one layout and its code.
struct LayoutLoad<'a> {
    /// Uses of the subject's lines.
    lines: Vec<Vec<LineUse>>,
    code: GuardedLoad<'a>,
}

impl ThroughputInputs<'_> {
    /// Predicts the gain of a change that was replayed in `stretches`; `None` where fewer than two
    /// contexts were recorded, or no context waits for the subject today.
    pub fn gain(&self, stretches: &[ReplayedStretch]) -> Option<ThroughputGain> {
        let contexts = self.load.contexts().count();
        let replayed: u64 = stretches
            .iter()
            .map(|stretch| total_waits(&stretch.today))
            .sum();
        if contexts < 2 || replayed == 0 {
            return None;
        }
        let whole: Vec<&ReplayedStretch> = stretches.iter().collect();
        let found = self.ratios(&whole, replayed, EXPECTED)?;
        let mut random = XorShift64::new(1);
        let drawn = resample(&whole, RESAMPLES, &mut random, |sample| {
            let replayed = { sample.iter() }
                .map(|stretch| total_waits(&stretch.today))
                .sum();
            ENDS.map(|assumed| self.ratios(sample, replayed, assumed))
        });
        let drawn: Vec<Vec<f64>> = drawn.into_iter().flatten().flatten().collect();
        let ratio = |place: usize| {
            let sample = SortedSample::new(drawn.iter().map(|ratios| ratios[place]).collect());
            let value = found[place];
            GainRatio {
                value,
                low: sample
                    .lower_quantile(0.025)
                    .map_or(value, |low| low.min(value)),
                high: sample
                    .lower_quantile(0.975)
                    .map_or(value, |high| high.max(value)),
            }
        };
        let each = self.load.contexts().enumerate();
        Some(ThroughputGain {
            ratio: ratio(contexts),
            contexts: self.contexts.unwrap_or(contexts as u32),
            by_context: each
                .map(|(place, context)| (context, ratio(place)))
                .collect(),
            by_run: self.by_run(stretches),
        })
    }

    /// Predicts the gain of all contexts by recording in which they wait for the subject; nothing
    /// with one recording.
    fn by_run(&self, stretches: &[ReplayedStretch]) -> Vec<(RunId, f64)> {
        let runs: BTreeSet<RunId> = stretches.iter().map(|stretch| stretch.run).collect();
        if runs.len() < 2 {
            return Vec::new();
        }
        let of_run = |run: RunId| {
            let own = stretches.iter().filter(|stretch| stretch.run == run);
            let own: Vec<&ReplayedStretch> = own.collect();
            let replayed = own.iter().map(|stretch| total_waits(&stretch.today)).sum();
            let ratios = self.ratios(&own, replayed, EXPECTED)?;
            Some((run, *ratios.last()?))
        };
        runs.into_iter().filter_map(of_run).collect()
    }

    /// Returns the ratio of throughputs by context, and then of all. `replayed` waits of the
    /// stretches stand for all waits on the subject in the recording.
    fn ratios(
        &self,
        stretches: &[&ReplayedStretch],
        replayed: u64,
        assumed: GainAssumptions,
    ) -> Option<Vec<f64>> {
        if replayed == 0 {
            return None;
        }
        let scale = self.load.subject_waits() as f64 / replayed as f64;
        let today = stretches.iter().flat_map(|stretch| &stretch.today);
        let changed = stretches.iter().flat_map(|stretch| &stretch.changed);
        let before = self.cycles(
            &self.layout_load(today, scale, GuardedLoad::unguarded(self.load)),
            assumed,
        );
        let code = GuardedLoad::new(self.load, stretches);
        let after = self.cycles(&self.layout_load(changed, scale, code), assumed);
        let mut ratios: Vec<f64> = before.iter().zip(&after).map(|(b, a)| b / a).collect();
        ratios.push(before.iter().sum::<f64>() / after.iter().sum::<f64>());
        ratios
            .iter()
            .all(|ratio| ratio.is_finite())
            .then_some(ratios)
    }

    /// Returns the number of contexts that run over the number that was recorded.
    fn context_scale(&self) -> f64 {
        let recorded = self.load.contexts().count() as f64;
        self.contexts
            .map_or(1.0, |wanted| f64::from(wanted) / recorded)
    }

    /// Returns the time that each context takes for its work in the recorded window, in
    /// nanoseconds.
    fn cycles(&self, layout_load: &LayoutLoad<'_>, assumed: GainAssumptions) -> Vec<f64> {
        let subject = layout_load.lines.iter().cloned();
        let mut lines: Vec<Vec<LineUse>> =
            self.other_lines(&layout_load.code).chain(subject).collect();
        let weight = |line: &Vec<LineUse>| line.iter().map(|line_use| line_use.waits).sum::<f64>();
        lines.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        let service_ns = self.costs.transfer_ns;
        let class = |context| {
            let (work_ns, timed_ns) = self.work(context, &layout_load.code, assumed);
            let rest = self.load.rest(context) as f64;
            let mut class = ContextClass {
                count: self.context_scale(),
                think_ns: work_ns + service_ns * rest,
                visits: Vec::new(),
            };
            let mut waits = rest;
            for (station, line) in lines.iter().enumerate() {
                let count = self.visits(context, line, work_ns, assumed);
                waits += count;
                if count > 0.0 && station < STATIONS_MAX {
                    class.visits.push(StationVisit {
                        station,
                        count,
                        service_ns,
                    });
                } else {
                    class.think_ns += count * service_ns;
                }
            }
            class.think_ns -= timed_ns.min(waits * service_ns.min(assumed.ahead_ns));
            class
        };
        let classes: Vec<ContextClass> = self.load.contexts().map(class).collect();
        cycle_times(&classes, STATIONS_MAX)
    }

    /// Returns the time of a context's work without waits in the recorded window, and the part of
    /// it that is timed code; in nanoseconds.
    fn work(
        &self,
        context: ContextId,
        code: &GuardedLoad<'_>,
        assumed: GainAssumptions,
    ) -> (f64, f64) {
        let recorded = self.load.accesses(context);
        let alone_ns = self.costs.alone(&code.accesses(context));
        let code = self.load.code(context).unwrap_or_default();
        match code.told_ns() {
            Some(told_ns) => {
                let each_ns = (told_ns + assumed.errors * code.error_ns).max(0.0);
                let timed_ns = each_ns * recorded.total() as f64;
                (alone_ns + timed_ns, timed_ns)
            }
            None => {
                let code_ns = assumed.unknown_code * self.costs.alone(&recorded);
                (alone_ns + code_ns, 0.0)
            }
        }
    }

    /// Returns the number of waits of a context for a line if its work takes `work_ns`.
    fn visits(
        &self,
        context: ContextId,
        line: &[LineUse],
        work_ns: f64,
        assumed: GainAssumptions,
    ) -> f64 {
        let Some(own) = line.iter().find(|line_use| line_use.context == context) else {
            return 0.0;
        };
        let others = line.iter().filter(|line_use| line_use.context != context);
        // An unknown context counts as one that stores.
        let other = others
            .map(|line_use| line_use.habit)
            .max()
            .unwrap_or(LineHabit::Store);
        let keeps_ns = assumed.keeps * self.costs.keeps_ns(own.habit, other);
        match own.waits > 0.0 && work_ns > 0.0 {
            true => own.waits.min(work_ns / keeps_ns),
            false => 0.0,
        }
    }

    /// Returns the uses of lines that are not the subject's.
    fn other_lines(&self, code: &GuardedLoad<'_>) -> impl Iterator<Item = Vec<LineUse>> {
        let of_line = |line: &[ContextWaits]| {
            let own = line.iter().map(|context_waits| {
                let stores = code.accesses(context_waits.context).stores;
                LineUse {
                    context: context_waits.context,
                    waits: self.scaled_waits(context_waits),
                    habit: LineHabit::from_accesses(
                        &context_waits.accesses,
                        stores.saturating_sub(context_waits.accesses.stores),
                    ),
                }
            });
            own.collect()
        };
        self.load.lines().map(of_line)
    }

    /// Returns the uses of the subject's lines as replayed with this code; each wait stands for
    /// `scale`.
    fn layout_load<'s>(
        &self,
        replayed: impl Iterator<Item = &'s StretchLine>,
        scale: f64,
        code: GuardedLoad<'s>,
    ) -> LayoutLoad<'s> {
        let mut lines: BTreeMap<(usize, u32), BTreeMap<ContextId, ContextWaits>> = BTreeMap::new();
        let mut subject_accesses: BTreeMap<ContextId, AccessCounts> = BTreeMap::new();
        for line in replayed {
            let of_line = lines.entry((line.object, line.line)).or_default();
            for context_waits in &line.contexts {
                let sum = of_line.entry(context_waits.context).or_default();
                sum.context = context_waits.context;
                sum.waits += context_waits.waits;
                sum.accesses += context_waits.accesses;
                *subject_accesses.entry(context_waits.context).or_default() +=
                    context_waits.accesses;
            }
        }
        let of_line = |context_waits: &ContextWaits| {
            let on_subject = code.on_subject(context_waits.context);
            let on_line = scale_counts(
                &on_subject,
                &context_waits.accesses,
                &subject_accesses[&context_waits.context],
            );
            let stores = code.accesses(context_waits.context).stores;
            LineUse {
                context: context_waits.context,
                waits: scale * self.scaled_waits(context_waits),
                habit: LineHabit::from_accesses(&on_line, stores.saturating_sub(on_line.stores)),
            }
        };
        let lines = lines
            .values()
            .map(|line| line.values().map(of_line).collect())
            .collect();
        LayoutLoad { lines, code }
    }

    /// Returns the waits with the others' stores multiplied by the number of other contexts.
    fn scaled_waits(&self, context_waits: &ContextWaits) -> f64 {
        let recorded = self.load.contexts().count() as f64;
        let others = ((self.context_scale() * recorded - 1.0) / (recorded - 1.0)).max(0.0);
        waits_with_more_stores(context_waits, others)
    }
}

/// Scales `recorded` accesses to a line by its `part` of `all` replayed accesses. A log leaves
/// repeats out, so that it has fewer.
fn scale_counts(recorded: &AccessCounts, part: &AccessCounts, all: &AccessCounts) -> AccessCounts {
    let scale_count = |recorded: u64, part: u64, all: u64| {
        (recorded as f64 * part as f64 / all.max(1) as f64) as u64
    };
    AccessCounts {
        loads: scale_count(recorded.loads, part.loads, all.loads),
        stores: scale_count(recorded.stores, part.stores, all.stores),
        exchanges: scale_count(recorded.exchanges, part.exchanges, all.exchanges),
    }
}

/// Returns the waits with `k` times as many stores by others.
fn waits_with_more_stores(context_waits: &ContextWaits, k: f64) -> f64 {
    let waits = context_waits.waits as f64;
    let accesses = (context_waits.accesses.total() as f64).max(waits);
    let left = accesses - waits + k * waits;
    if left > 0.0 {
        accesses * k * waits / left
    } else {
        0.0
    }
}

fn total_waits(lines: &[StretchLine]) -> u64 {
    let contexts = lines.iter().flat_map(|line| &line.contexts);
    contexts.map(|context_waits| context_waits.waits).sum()
}
