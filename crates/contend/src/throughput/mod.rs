//! What fewer waits are worth: the throughput that a machine, whose costs were measured, is to be expected
//! to have with another layout.
//!
//! A closed queueing network: contexts are its customers, contended lines its stations, and what a
//! context does without waiting is its think time. The recording says how often each context waits on
//! which line, replay says how often it would with another layout, and the probe says what that costs.
//!
//! # What is assumed
//! - **Think time.** A context's loads, stores and exchanges in the recorded window, each at what it costs
//!   alone ([`Costs`]), and as much again for the code between them, of which nothing was recorded. The
//!   interval goes from none to three times as much. Code that computes for longer gains less than is
//!   predicted. Of a kernel, only kernel code was recorded: the gain is that of the time in the kernel.
//! - **Service time** is what moving a line between two CPUs takes, for upgrades too.
//! - **Windows.** A processor goes on while it waits: it has dozens of loads under way, stores wait in a
//!   buffer. So accesses of one kind that wait for one line within so many of that kind wait once. How
//!   many follows from the probe's loops, in which two CPUs do nothing but take a line from each other, and
//!   each has it once in two service times `S`: a window is `2 * S / (contended - alone)` accesses. For a
//!   locked exchange, which waits for all before it, that is about one.
//! - **The order is the recorded one**, as in all of replay. A recorder makes accesses slow, so that contexts
//!   meet on nearly every access where they use a line all the time; what that overstates, windows bound.
//! - **More contexts** ([`Question::contexts`]) do what those that were recorded do, in the same
//!   proportions. A context with `a` accesses to a line, `v` of which waited, meets `k` times as many
//!   stores by others: `a*k*v / (a - v + k*v)` of them wait, by the rule of two random streams
//!   ([`crate::rates`]).
//!
//! A gain is a ratio, so that errors of the costs cancel as far as they are in both. Its interval is
//! that of resampled stretches of the recording, with think times from the shortest to the longest.

mod load;
mod network;

use std::collections::BTreeMap;

pub use load::Load;

use crate::replay::{ByKind, ContextWaits};
use network::{Class, Visit, cycle_times};

/// Lines that are stations of their own, on either side; what is waited for on others is a delay.
const STATIONS_MAX: usize = 64;
/// Times that the stretches are drawn again.
const RESAMPLES: usize = 100;
/// Think time over what a context's accesses cost alone: expected, and the ends of what is reckoned with.
const WORK: f64 = 2.0;
const WORK_ENDS: [f64; 2] = [1.0, 4.0];

/// What an access costs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccessNs {
    /// On a line that no other context uses.
    pub alone: f64,
    /// On one that another takes away all the time.
    pub contended: f64,
}

/// What accesses cost on a machine, in loops that do nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Moving a line from one CPU to another, in nanoseconds.
    pub transfer_ns: f64,
    /// A load; contended by stores.
    pub load: AccessNs,
    /// A store; contended by loads.
    pub store: AccessNs,
    /// A read-write, taken to be locked; contended by others.
    pub exchange: AccessNs,
}

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

/// A stretch of the recording, replayed under two layouts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    /// Under today's.
    pub today: Vec<StretchLine>,
    /// Under the other.
    pub changed: Vec<StretchLine>,
}

/// Whose throughput is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What the recording says besides the subject's replay.
    pub load: &'a Load,
    /// The machine.
    pub costs: &'a Costs,
    /// Contexts that run; `None`: as many as were recorded.
    pub contexts: Option<u32>,
}

/// Throughput with the changed layout over that with today's.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// Of all contexts together: the time that they need for what they did in the recording.
    pub ratio: Ratio,
    /// For how many contexts.
    pub contexts: u32,
    /// Of each recorded context by itself, in order of their numbers.
    pub by_context: Vec<(u16, Ratio)>,
}

/// A ratio, and between what 95 % of the resamples lie, with the shortest and the longest think times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Over the whole recording, with the expected think time.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Question<'_> {
    /// The gain by a change that was replayed in `stretches`; `None` where fewer than two contexts were
    /// recorded, or nobody waits for the subject today.
    pub fn gain(&self, stretches: &[Stretch]) -> Option<Gain> {
        let contexts = self.load.contexts().count();
        let replayed: u64 = stretches.iter().map(|stretch| waits(&stretch.today)).sum();
        if contexts < 2 || replayed == 0 {
            return None;
        }
        let whole: Vec<&Stretch> = stretches.iter().collect();
        let found = self.ratios(&whole, replayed, WORK)?;
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let drawn: Vec<Vec<f64>> = (0..RESAMPLES)
            .flat_map(|_| {
                let draw = |_| &stretches[random.below(stretches.len())];
                let sample: Vec<&Stretch> = (0..stretches.len()).map(draw).collect();
                let replayed = sample.iter().map(|stretch| waits(&stretch.today)).sum();
                WORK_ENDS.map(|work| self.ratios(&sample, replayed, work))
            })
            .flatten()
            .collect();
        let ratio = |place: usize| {
            let mut values: Vec<f64> = drawn.iter().map(|one| one[place]).collect();
            values.sort_unstable_by(f64::total_cmp);
            let value = found[place];
            let at = |share: f64| values.get((share * values.len() as f64) as usize).copied();
            Ratio {
                value,
                low: at(0.025).map_or(value, |low| low.min(value)),
                high: at(0.975).map_or(value, |high| high.max(value)),
            }
        };
        let each = self.load.contexts().enumerate();
        Some(Gain {
            ratio: ratio(contexts),
            contexts: self.contexts.unwrap_or(contexts as u32),
            by_context: each
                .map(|(place, context)| (context, ratio(place)))
                .collect(),
        })
    }

    /// By context, and then of all, the ratio of throughputs; `replayed` waits of the stretches stand for
    /// all that the recording has on the subject. For `work` see [`WORK`].
    fn ratios(&self, stretches: &[&Stretch], replayed: u64, work: f64) -> Option<Vec<f64>> {
        if replayed == 0 {
            return None;
        }
        let scale = self.load.subject_waits() as f64 / replayed as f64;
        let today = stretches.iter().flat_map(|stretch| &stretch.today);
        let changed = stretches.iter().flat_map(|stretch| &stretch.changed);
        let before = self.cycles(today, scale, work);
        let after = self.cycles(changed, scale, work);
        let mut ratios: Vec<f64> = before.iter().zip(&after).map(|(b, a)| b / a).collect();
        ratios.push(before.iter().sum::<f64>() / after.iter().sum::<f64>());
        ratios
            .iter()
            .all(|ratio| ratio.is_finite())
            .then_some(ratios)
    }

    /// Time that each context takes for what it did in the recorded window, in nanoseconds.
    fn cycles<'s>(
        &self,
        subject: impl Iterator<Item = &'s StretchLine>,
        scale: f64,
        work: f64,
    ) -> Vec<f64> {
        let recorded = self.load.contexts().count() as f64;
        let wanted = self.contexts.map_or(recorded, f64::from);
        let others = ((wanted - 1.0) / (recorded - 1.0)).max(0.0);
        let mut lines: Vec<Vec<(ContextWaits, f64)>> = self
            .load
            .lines()
            .map(|line| line.iter().map(|one| (*one, 1.0)).collect())
            .collect();
        let mut own: BTreeMap<(usize, u32), Vec<(ContextWaits, f64)>> = BTreeMap::new();
        for line in subject {
            let of_line = own.entry((line.object, line.line)).or_default();
            of_line.extend(line.contexts.iter().map(|one| (*one, scale)));
        }
        lines.extend(own.into_values());
        let weight = |line: &Vec<(ContextWaits, f64)>| {
            line.iter()
                .map(|(one, scale)| scale * one.waits.all() as f64)
                .sum::<f64>()
        };
        lines.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        let mut classes: Vec<Class> = self
            .load
            .contexts()
            .map(|context| Class {
                count: wanted / recorded,
                think_ns: work * self.alone(&self.load.accesses(context)),
                visits: Vec::new(),
            })
            .collect();
        let service_ns = self.costs.transfer_ns;
        for (station, line) in lines.iter().enumerate() {
            for (class, context) in classes.iter_mut().zip(self.load.contexts()) {
                let own = line.iter().filter(|(one, _)| one.context == context);
                let visits = self.visits(own, &self.load.accesses(context), others);
                if visits > 0.0 && station < STATIONS_MAX {
                    class.visits.push(Visit {
                        station,
                        count: visits,
                        service_ns,
                    });
                } else {
                    class.think_ns += visits * service_ns;
                }
            }
        }
        for (class, context) in classes.iter_mut().zip(self.load.contexts()) {
            let rest: Vec<(ContextWaits, f64)> =
                self.load.rest().iter().map(|one| (*one, 1.0)).collect();
            let own = rest.iter().filter(|(one, _)| one.context == context);
            class.think_ns += service_ns * self.visits(own, &self.load.accesses(context), others);
        }
        cycle_times(&classes, STATIONS_MAX)
    }

    /// How often a context waits for a line, where it recorded waited so and meets `others` times as many
    /// stores; `all` are its accesses to everything.
    fn visits<'s>(
        &self,
        waits: impl Iterator<Item = &'s (ContextWaits, f64)>,
        all: &ByKind,
        others: f64,
    ) -> f64 {
        let mut kinds = [0.0; 3];
        for (one, scale) in waits {
            let scale = scale * more(one, others) / (one.waits.all() as f64).max(1.0);
            kinds[0] += scale * one.waits.loads as f64;
            kinds[1] += scale * one.waits.stores as f64;
            kinds[2] += scale * one.waits.exchanges as f64;
        }
        let limit = |all: u64, cost: &AccessNs| all as f64 / self.window(cost);
        let Costs {
            load,
            store,
            exchange,
            ..
        } = self.costs;
        kinds[0].min(limit(all.loads, load))
            + kinds[1].min(limit(all.stores, store))
            + kinds[2].min(limit(all.exchanges, exchange))
    }

    /// Accesses that are under way at once.
    fn window(&self, cost: &AccessNs) -> f64 {
        let more_ns = cost.contended - cost.alone;
        match more_ns > 0.0 {
            true => (2.0 * self.costs.transfer_ns / more_ns).max(1.0),
            // Contention cannot be seen at all.
            false => f64::INFINITY,
        }
    }

    /// Time for these accesses where nothing is waited for.
    fn alone(&self, accesses: &ByKind) -> f64 {
        accesses.loads as f64 * self.costs.load.alone
            + accesses.stores as f64 * self.costs.store.alone
            + accesses.exchanges as f64 * self.costs.exchange.alone
    }
}

/// Waits where the others' stores are `k` times as many.
fn more(one: &ContextWaits, k: f64) -> f64 {
    let waits = one.waits.all() as f64;
    let accesses = (one.accesses as f64).max(waits);
    let left = accesses - waits + k * waits;
    if left > 0.0 {
        accesses * k * waits / left
    } else {
        0.0
    }
}

fn waits(lines: &[StretchLine]) -> u64 {
    let contexts = lines.iter().flat_map(|line| &line.contexts);
    contexts.map(|one| one.waits.all()).sum()
}

/// Marsaglia's xorshift64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}
