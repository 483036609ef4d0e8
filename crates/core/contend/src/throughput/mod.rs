//! What fewer waits are worth: the throughput that a machine, whose costs were measured, is to be expected
//! to have with another layout.
//!
//! A closed queueing network: contexts are its customers, contended lines its stations, and what a
//! context does without waiting is its think time. The recording says how often each context waits on
//! which line, replay says how often it would with another layout, and the probe says what that costs.
//!
//! # What is assumed
//! - **Think time.** A context's loads, stores and exchanges in the recorded window, each at what it costs
//!   alone ([`Costs`]), and the code between them, as it was timed ([`Load::code`]). Where it was not (kernels,
//!   recordings by earlier versions), or is too short to be told from nothing, as much again as the accesses cost, and for the interval from nothing to three
//!   times as much. Of a kernel, only kernel code was recorded: the gain is that of the time in the kernel.
//! - **Overlap.** While an access waits for its line, the processor goes on with what does not need it, until its
//!   reorder buffer is full: some hundreds of instructions, so some tens of nanoseconds. As much of the timed
//!   code hides in each wait. The probe's loops have no such code, so that what they say has no part of this.
//! - **Service time** is what moving a line between two CPUs takes, for upgrades too.
//! - **Waits.** The order is the recorded one, as in all of replay. But a recorder makes accesses slow, so that
//!   contexts meet on nearly every access where they use a line all the time. Natively, one that has a line goes
//!   on for a while before it has lost it and has to wait again. That while follows from the probe's loops
//!   ([`Costs`], `keeps_ns`), by what both contexts do to the line ([`Habit`]). So between two waits there is the
//!   work that was recorded between them, or that while if it is longer: of `r` recorded waits in work that takes
//!   `Z`, `min(r, Z / keeps)` are left.
//! - **Contexts are independent** but for the lines that they fight for. One that waits until another has stored
//!   something is as fast as that one: where [`waiting`] finds such, nothing should be predicted.
//! - **Checks before stores** ([`Checks`]) are one load more each, which may have to wait for the line as any other;
//!   stores that are known to have changed nothing do not happen then. The code between accesses stays what it was.
//! - **More contexts** ([`Question::contexts`]) do what those that were recorded do, in the same
//!   proportions. A context with `a` accesses to a line, `v` of which waited, meets `k` times as many
//!   stores by others: `a*k*v / (a - v + k*v)` of them wait, by the rule of two random streams
//!   ([`crate::rates`]).
//!
//! A gain is a ratio, so that errors of the costs cancel as far as they are in both. Its interval is
//! that of resampled stretches of the recording, with think times from the shortest to the longest, processors that
//! look far ahead or not at all, and lines that are kept for two thirds of the time that loops say to one and a
//! half times that.

mod costs;
mod load;
mod network;
mod spin_waits;
mod store_guards;

use relayout_profile::{ContextId, RunId};
use std::collections::{BTreeMap, BTreeSet};

pub use costs::{LineHabit, MachineCosts};
pub use load::{CodeTime, RecordedLoad};
use relayout_statistics::SortedSample;
use relayout_statistics::random::XorShift64;
pub use spin_waits::{SpinWait, find_spin_waits};
pub use store_guards::GuardCounts;
use store_guards::GuardedLoad;

use crate::replay::{AccessCounts, ContextWaits};
use network::{ContextClass, StationVisit, cycle_times};

/// Lines that are stations of their own, on either side; what is waited for on others is a delay.
const STATIONS_MAX: usize = 64;
/// Times that the stretches are drawn again.
const RESAMPLES: usize = 100;
/// What is expected, and the ends of what is reckoned with: those with the largest gains, and the smallest.
/// Loops that differ in how many words of a line they use, and how, differ by as much in how long they keep it.
/// What a processor looks ahead: 200 to 500 instructions, of which it does two to four in a nanosecond.
const EXPECTED: GainAssumptions = GainAssumptions {
    unknown_code: 1.0,
    errors: 0.0,
    ahead_ns: 50.0,
    keeps: 1.0,
};
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

/// One line of one object in a stretch of its replay.
#[derive(Clone, Debug, PartialEq)]
pub struct StretchLine {
    /// Number of the object.
    pub object: usize,
    /// Line of the object, as [`crate::LineWaits::line`].
    pub line: u32,
    /// Who waited.
    pub contexts: Vec<ContextWaits>,
}

/// A stretch of the recording, replayed under two layouts, and with checks before stores under the second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayedStretch {
    /// Recording that it is a part of.
    pub run: RunId,
    /// Under today's.
    pub today: Vec<StretchLine>,
    /// Under the other.
    pub changed: Vec<StretchLine>,
    /// By context: what the checks make of its accesses; empty where there are none.
    pub guards: BTreeMap<ContextId, GuardCounts>,
}

/// Whose throughput is asked about.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputInputs<'a> {
    /// What the recording says besides the subject's replay.
    pub load: &'a RecordedLoad,
    /// The machine.
    pub costs: &'a MachineCosts,
    /// Contexts that run; `None`: as many as were recorded.
    pub contexts: Option<u32>,
}

/// Throughput with the changed layout over that with today's.
#[derive(Clone, Debug, PartialEq)]
pub struct ThroughputGain {
    /// Of all contexts together: the time that they need for what they did in the recording.
    pub ratio: GainRatio,
    /// For how many contexts.
    pub contexts: u32,
    /// Of each recorded context by itself, in order of their numbers.
    pub by_context: Vec<(ContextId, GainRatio)>,
    /// Of all contexts together, by each recording alone where there are several.
    pub by_run: Vec<(RunId, f64)>,
}

impl ThroughputGain {
    /// Whether it is none, but a loss of more than 5 %, wherever in its interval.
    pub fn is_loss(&self) -> bool {
        self.ratio.high < 0.95
    }

    /// Whether it is a gain in some recordings and a loss in others: no advice.
    pub fn is_unstable(&self) -> bool {
        let any = |is: fn(f64) -> bool| self.by_run.iter().any(|(_, ratio)| is(*ratio));
        any(|ratio| ratio > 1.0) && any(|ratio| ratio < 1.0)
    }
}

/// A ratio, and between what 95 % of the resamples lie, with the shortest and the longest think times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GainRatio {
    /// Over the whole recording, with the expected think time.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What nobody measured.
#[derive(Clone, Copy, Debug)]
struct GainAssumptions {
    /// Code between accesses over what they cost alone, where it was not timed.
    unknown_code: f64,
    /// How many times its error the timed code takes longer than was measured.
    errors: f64,
    /// How long a processor goes on while an access waits, in nanoseconds.
    ahead_ns: f64,
    /// How long a line is kept over what [`Costs`] say.
    keeps: f64,
}

/// How a context uses a line.
#[derive(Clone, Copy, Debug)]
struct LineUse {
    context: ContextId,
    /// How often it waits for it in the recorded window.
    waits: f64,
    habit: LineHabit,
}

/// What contexts do with one layout and its code.
struct LayoutLoad<'a> {
    /// The subject's lines.
    lines: Vec<Vec<LineUse>>,
    code: GuardedLoad<'a>,
}

impl ThroughputInputs<'_> {
    /// The gain by a change that was replayed in `stretches`; `None` where fewer than two contexts were
    /// recorded, or nobody waits for the subject today.
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
        let drawn: Vec<Vec<f64>> = (0..RESAMPLES)
            .flat_map(|_| {
                let draw = |_| &stretches[random.below(stretches.len())];
                let sample: Vec<&ReplayedStretch> = (0..stretches.len()).map(draw).collect();
                let replayed = sample
                    .iter()
                    .map(|stretch| total_waits(&stretch.today))
                    .sum();
                ENDS.map(|assumed| self.ratios(&sample, replayed, assumed))
            })
            .flatten()
            .collect();
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

    /// Of all contexts, by recording in which they wait for the subject; nothing with one recording.
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

    /// By context, and then of all, the ratio of throughputs; `replayed` waits of the stretches stand for
    /// all that the recording has on the subject.
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

    /// Contexts that run, over those that were recorded.
    fn context_scale(&self) -> f64 {
        let recorded = self.load.contexts().count() as f64;
        self.contexts
            .map_or(1.0, |wanted| f64::from(wanted) / recorded)
    }

    /// Time that each context takes for what it did in the recorded window, in nanoseconds.
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

    /// What a context does without waiting in the recorded window, and how much of it is code that was timed; in
    /// nanoseconds.
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

    /// How often a context waits for a line, where its work takes `work_ns`.
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
        // Who is not known stores.
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

    /// Lines that are not the subject's.
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

    /// The subject's lines as replayed with this code, where each wait stands for `scale`.
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

    /// Waits where the others' stores are as many times as many as there are other contexts now.
    fn scaled_waits(&self, context_waits: &ContextWaits) -> f64 {
        let recorded = self.load.contexts().count() as f64;
        let others = ((self.context_scale() * recorded - 1.0) / (recorded - 1.0)).max(0.0);
        waits_with_more_stores(context_waits, others)
    }
}

/// Of `recorded` accesses, those to a line that has `part` of `all` that were replayed: a log leaves
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

/// Waits where the others' stores are `k` times as many.
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
