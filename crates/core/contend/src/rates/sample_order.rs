//! Turns of contexts at a line, from the order of its samples.

use relayout_profile::{AccessCoverage, AccessKind, Addr, BurstRow, ContextId, Profile, RunId};
use rustc_hash::FxHashMap;

use super::alternation::alternations;

/// Added to the seen and to the expected alternations, so that lines with few samples stay near
/// random order.
const PRIOR: f64 = 1.0;

/// Turns of each line by run and line. Empty where the order of samples is unknown.
#[derive(Default)]
pub(super) struct SampleOrder(FxHashMap<(RunId, Addr), LineTurns>);

/// Alternations of a line's samples of the kind that needs a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LineTurns {
    /// Number of samples of a context before which another stored since its last one.
    seen: f64,
    /// Mean of this number over all orders of the same samples.
    random: f64,
}

impl LineTurns {
    /// Returns the part of `expected` transfers that remains of those in random order, at most 1.
    ///
    /// Samples alternate as often as random ones do, or less often where a context has the line for
    /// long. Where there are more samples than episodes, the expected number is that of the
    /// episodes.
    pub fn share(&self, expected: f64) -> f64 {
        let random = self.random.min(expected);
        ((self.seen + PRIOR) / (random + PRIOR)).min(1.0)
    }
}

impl SampleOrder {
    pub fn new(profile: &Profile, line_bytes: u64) -> Self {
        // Collectors' logs leave out repeats; samples do not.
        if profile.meta.coverage != AccessCoverage::Samples {
            return Self::default();
        }
        let mut walk = SampleWalk::default();
        for burst in &profile.bursts {
            let last = burst.addr.saturating_add(u64::from(burst.size).max(1) - 1);
            let lines = [burst.addr, last].map(|addr| addr - addr % line_bytes);
            walk.step(burst, lines[0]);
            if lines[1] != lines[0] {
                walk.step(burst, lines[1]);
            }
        }
        walk.finish()
    }

    pub fn turns_at(&self, run: RunId, line: Addr) -> Option<&LineTurns> {
        self.0.get(&(run, line))
    }
}

/// Samples of a line so far.
#[derive(Default)]
struct LineSamples {
    samples: u64,
    stores: u64,
    seen: u64,
    /// The last store, and the last store by another context than that: rank among the samples,
    /// from 1 (0 for none), and context.
    last: [(u64, ContextId); 2],
}

/// Samples of a line by one context so far.
#[derive(Default)]
struct ContextSamples {
    samples: u64,
    stores: u64,
    /// Rank of the last sample.
    last: u64,
}

#[derive(Default)]
struct SampleWalk {
    lines: FxHashMap<(RunId, Addr), LineSamples>,
    users: FxHashMap<(RunId, Addr, ContextId), ContextSamples>,
}

impl SampleWalk {
    fn step(&mut self, burst: &BurstRow, address: Addr) {
        let line = self.lines.entry((burst.run, address)).or_default();
        let key = (burst.run, address, burst.context);
        let user = self.users.entry(key).or_default();
        line.samples += 1;
        user.samples += 1;
        let [latest, before] = line.last;
        let others = if latest.1 == burst.context {
            before.0
        } else {
            latest.0
        };
        if others > user.last {
            line.seen += 1;
        }
        user.last = line.samples;
        if burst.access != AccessKind::Read {
            line.stores += 1;
            user.stores += 1;
            if latest.1 != burst.context {
                line.last[1] = latest;
            }
            line.last[0] = (line.samples, burst.context);
        }
    }

    fn finish(self) -> SampleOrder {
        let turns = |line: &LineSamples| LineTurns {
            seen: line.seen as f64,
            random: 0.0,
        };
        let mut order: FxHashMap<_, _> = { self.lines.iter() }
            .map(|(key, line)| (*key, turns(line)))
            .collect();
        // Sorted, so that sums do not depend on other lines.
        let mut users: Vec<_> = self.users.into_iter().collect();
        users.sort_unstable_by_key(|(key, _)| *key);
        for ((run, address, _), user) in users {
            let key = (run, address);
            let others = self.lines[&key].stores - user.stores;
            let turns = order.get_mut(&key).expect("each user is of a line");
            turns.random += alternations(user.samples as f64, others as f64);
        }
        SampleOrder(order)
    }
}

#[cfg(test)]
mod tests {
    use relayout_profile::ProfileMeta;
    use relayout_profile::SiteId;

    use super::*;

    fn samples(contexts: impl IntoIterator<Item = (u16, AccessKind)>) -> Profile {
        let burst = |(ticket, (context, access))| BurstRow {
            run: RunId(0),
            ticket,
            context: ContextId(context),
            site: SiteId(0),
            addr: Addr(64 + u64::from(context)),
            size: 1,
            access,
            silent: None,
        };
        Profile {
            meta: ProfileMeta {
                coverage: AccessCoverage::Samples,
                ..ProfileMeta::default()
            },
            bursts: (0..).zip(contexts).map(burst).collect(),
            ..Profile::default()
        }
    }

    fn turns(contexts: impl IntoIterator<Item = (u16, AccessKind)>) -> LineTurns {
        *SampleOrder::new(&samples(contexts), 64)
            .turns_at(RunId(0), Addr(64))
            .unwrap()
    }

    /// The mean over all orders of a reader's and a writer's samples is the value called random.
    #[test]
    fn random_is_the_mean_of_all_orders() {
        for (reads, stores) in [(1, 1), (1, 6), (6, 1), (3, 4), (5, 5)] {
            let all = reads + stores;
            let orders = (0..1_u32 << all).filter(|order| order.count_ones() == stores);
            let turns_in = |order: u32| {
                let context = |at| match order >> at & 1 {
                    0 => (0, AccessKind::Read),
                    _ => (1, AccessKind::Write),
                };
                turns((0..all).map(context))
            };
            let seen: Vec<f64> = orders.clone().map(|order| turns_in(order).seen).collect();
            let mean = seen.iter().sum::<f64>() / seen.len() as f64;
            let random = turns_in(orders.min().unwrap()).random;
            assert!((mean - random).abs() < 1e-9, "{mean} and {random}");
        }
    }

    #[test]
    fn long_turns_alternate_less() {
        let writer = |context| (context, AccessKind::Write);
        let share = |each: usize| {
            let turn = |n: usize| writer((n / each % 2) as u16);
            turns((0..400).map(turn)).share(1e9)
        };
        // Of 400 samples, 200 alternate in random order: 100 into each context.
        assert_eq!(share(1), 1.0);
        assert_eq!(share(2), 200.0 / 201.0);
        assert_eq!(share(20), 20.0 / 201.0);
        assert_eq!(share(200), 2.0 / 201.0);
        // But for no more episodes than 50, not so few.
        let turns = turns((0..400).map(|n| writer((n / 20 % 2) as u16)));
        assert_eq!(turns.share(50.0), 20.0 / 51.0);
    }

    /// A third context's store comes between, its load does not.
    #[test]
    fn others_are_taken_together() {
        let seen = |third| {
            turns([
                (0, AccessKind::Read),
                (1, AccessKind::Write),
                (2, third),
                (1, AccessKind::Write),
            ])
            .seen
        };
        assert_eq!(seen(AccessKind::Read), 1.0);
        assert_eq!(seen(AccessKind::Write), 2.0);
    }

    #[test]
    fn collectors_logs_are_no_samples() {
        let mut profile = samples([(0, AccessKind::Read), (1, AccessKind::Write)]);
        profile.meta.coverage = AccessCoverage::Complete;
        assert!(
            SampleOrder::new(&profile, 64)
                .turns_at(RunId(0), Addr(64))
                .is_none()
        );
    }
}
