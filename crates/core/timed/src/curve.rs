//! Gain over the number of CPUs, with what is not known of the machine drawn at random.

use rayon::prelude::*;
use relayout_statistics::SortedSample;
use relayout_statistics::random::SplitMix64;

use crate::PUBLISHED_CPUS;
use crate::machine::{ModelRules, TimedMachine};
use crate::placed::PlacedOperations;
use crate::simulate::{SimulatedThroughput, ThroughputSimulation};

/// Draws of the rules for an interval.
const DRAWS: u64 = 30;
/// Simulations of the expected rules, of which the one with the median ratio counts.
const EXPECTED_SEEDS: u64 = 9;
/// Smallest and largest values of rules, drawn evenly between them.
const RANGES: [RuleRange; 10] = [
    RuleRange::new("time to move a line", 0.75, 1.33, |rules, value| {
        rules.transfer_factor = value
    }),
    RuleRange::new("time of an instruction", 0.12, 0.35, |rules, value| {
        rules.tick_ns = value
    }),
    RuleRange::new(
        "time of an atomic instruction",
        3.0,
        10.0,
        |rules, value| rules.locked_ns = value,
    ),
    RuleRange::new("cost of an upgrade", 0.5, 1.0, |rules, value| {
        rules.upgrade = value
    }),
    RuleRange::new("cost of a clean read", 0.3, 0.8, |rules, value| {
        rules.clean_read = value
    }),
    RuleRange::new(
        "time for which a clean read keeps the line from others",
        2.0,
        40.0,
        |rules, value| rules.clean_hold_ns = value,
    ),
    RuleRange::new("time for which a line is kept", 0.2, 0.8, |rules, value| {
        rules.hold = value
    }),
    RuleRange::new("code that hides a wait", 0.0, 100.0, |rules, value| {
        rules.overlap_ns = value
    }),
    RuleRange::new(
        "a load fetches the line for a store close behind",
        0.0,
        1.0,
        |rules, value| {
            rules.merges_loads = value >= 0.5;
        },
    ),
    RuleRange::new(
        "time to wake up who waits",
        1500.0,
        8000.0,
        |rules, value| rules.wake_ns = value,
    ),
];

/// A rule that was not measured, and the values that it may have.
struct RuleRange {
    name: &'static str,
    low: f64,
    high: f64,
    set: fn(&mut ModelRules, f64),
}

impl RuleRange {
    const fn new(name: &'static str, low: f64, high: f64, set: fn(&mut ModelRules, f64)) -> Self {
        Self {
            name,
            low,
            high,
            set,
        }
    }
}

/// Operations under two layouts, and the machine that is to execute them.
#[derive(Clone, Copy, Debug)]
pub struct CurveInputs<'a> {
    /// Operations with today's layout.
    pub today: &'a PlacedOperations,
    /// Operations with the changed one.
    pub changed: &'a PlacedOperations,
    /// Machine.
    pub machine: &'a TimedMachine,
    /// Expected rules.
    pub rules: ModelRules,
    /// Seed.
    pub seed: u64,
}

/// Gain with some number of CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// CPUs.
    pub cpus: u32,
    /// Throughput with the changed layout over that with today's, by the expected rules.
    pub ratio: f64,
    /// Ends of the interval of 95% of the draws, which holds `ratio`.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// Operations in a second with today's layout.
    pub today_per_second: f64,
    /// Operations in a second with the changed layout.
    pub changed_per_second: f64,
    /// Fraction of the CPUs' time that they wait for contended lines, with today's layout.
    pub today_waiting: f64,
    /// The same with the changed layout.
    pub changed_waiting: f64,
    /// The same by line of [`PlacedOperations::lines`], with today's layout.
    pub today_waiting_by_line: Vec<f64>,
}

/// Predicted gain over the number of CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedCurve {
    /// Name of the machine.
    pub machine: String,
    /// CPUs up to which the model was held against published gains. Beyond, the curve is an extrapolation.
    pub published_to: u32,
    /// Points by number of CPUs.
    pub points: Vec<CurvePoint>,
    /// Member or variable with the most accesses on each line of the points.
    pub lines: Vec<String>,
    /// CPUs from which on each further one adds less than a tenth of what the first ones did, with today's layout.
    pub saturates_at: Option<u32>,
    /// Rules that were not measured, and how far each moves the gain with as many CPUs as were published; the
    /// largest first.
    pub rule_effects: Vec<RuleEffect>,
}

impl PredictedCurve {
    /// Returns the lines that CPUs wait for at a point with today's layout, in words, with the fraction of their time;
    /// the most first.
    pub fn waiting_lines(&self, point: &CurvePoint) -> Vec<(&str, f64)> {
        let waiting = point.today_waiting_by_line.iter().copied();
        let mut lines: Vec<(&str, f64)> = { self.lines.iter().map(String::as_str) }
            .zip(waiting)
            .filter(|(_, waiting)| *waiting > 0.0)
            .collect();
        lines.sort_by(|a, b| b.1.total_cmp(&a.1));
        lines
    }
}

/// Gain if one rule has its smallest or largest value.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleEffect {
    /// Rule.
    pub rule: &'static str,
    /// Gain with the smallest value.
    pub at_low: f64,
    /// Gain with the largest value.
    pub at_high: f64,
}

impl RuleEffect {
    /// Returns how far the rule moves the gain.
    pub fn extent(&self) -> f64 {
        (self.at_high - self.at_low).abs()
    }
}

impl CurveInputs<'_> {
    /// Computes the curve over `cpus`, in ascending order. `lines` says what lies on each contended line of today's
    /// layout. `None` if operations wait for each other's locks for ever
    /// ([`SimulatedThroughput::is_stuck`]).
    pub fn curve(&self, cpus: &[u32], lines: Vec<String>) -> Option<PredictedCurve> {
        let points = self.points(cpus)?;
        Some(PredictedCurve {
            machine: self.machine.name.clone(),
            published_to: PUBLISHED_CPUS,
            saturates_at: saturation(&points),
            points,
            lines,
            rule_effects: self.rule_effects(PUBLISHED_CPUS.min(self.machine.cpus())),
        })
    }

    /// Computes the points of a curve; `None` as in [`curve`](Self::curve).
    pub fn points(&self, cpus: &[u32]) -> Option<Vec<CurvePoint>> {
        cpus.par_iter().map(|cpus| self.point(*cpus)).collect()
    }

    fn point(&self, cpus: u32) -> Option<CurvePoint> {
        let mut expected: Vec<RunPair> = (0..EXPECTED_SEEDS)
            .into_par_iter()
            .map(|nth| self.pair(&self.rules, cpus, self.seed.wrapping_add(nth)))
            .collect();
        let drawn: Vec<RunPair> = (0..DRAWS)
            .into_par_iter()
            .map(|nth| {
                let seed = self.seed ^ (nth + 1) << 32;
                self.pair(&self.drawn_rules(seed), cpus, seed)
            })
            .collect();
        if expected.iter().chain(&drawn).any(RunPair::is_stuck) {
            return None;
        }
        let drawn = SortedSample::new(drawn.iter().map(RunPair::ratio).collect());
        expected.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        let median = expected.swap_remove(expected.len() / 2);
        let ratio = median.ratio();
        Some(CurvePoint {
            cpus,
            ratio,
            low: drawn.nearest_quantile(0.025).unwrap_or(ratio).min(ratio),
            high: drawn.nearest_quantile(0.975).unwrap_or(ratio).max(ratio),
            today_per_second: median.today.operations_per_second,
            changed_per_second: median.changed.operations_per_second,
            today_waiting: median.today.waiting.iter().sum(),
            changed_waiting: median.changed.waiting.iter().sum(),
            today_waiting_by_line: median.today.waiting,
        })
    }

    /// Returns the effects of the rules with so many CPUs, the largest first.
    pub fn rule_effects(&self, cpus: u32) -> Vec<RuleEffect> {
        let mut effects: Vec<RuleEffect> = { RANGES.par_iter() }
            .map(|range| {
                let with = |value| {
                    let mut rules = self.rules;
                    (range.set)(&mut rules, value);
                    self.pair(&rules, cpus, self.seed).ratio()
                };
                RuleEffect {
                    rule: range.name,
                    at_low: with(range.low),
                    at_high: with(range.high),
                }
            })
            .collect();
        effects.sort_by(|a, b| b.extent().total_cmp(&a.extent()));
        effects
    }

    fn drawn_rules(&self, seed: u64) -> ModelRules {
        let mut random = SplitMix64::new(seed);
        let mut rules = self.rules;
        for range in &RANGES {
            let value = range.low + (range.high - range.low) * random.unit();
            (range.set)(&mut rules, value);
        }
        rules
    }

    fn pair(&self, rules: &ModelRules, cpus: u32, seed: u64) -> RunPair {
        let simulation = ThroughputSimulation {
            machine: self.machine,
            rules,
            cpus,
            seed,
        };
        RunPair {
            today: simulation.run(self.today),
            changed: simulation.run(self.changed),
        }
    }
}

/// Returns the number of CPUs from which on today's throughput hardly grows.
fn saturation(points: &[CurvePoint]) -> Option<u32> {
    let first = points.first()?;
    let each = first.today_per_second / f64::from(first.cpus.max(1));
    let hardly_grows = |pair: &&[CurvePoint]| {
        let [before, after] = *pair else {
            return false;
        };
        let cpus = f64::from(after.cpus.saturating_sub(before.cpus).max(1));
        (after.today_per_second - before.today_per_second) / cpus < each / 10.0
    };
    Some(points.windows(2).find(hardly_grows)?[0].cpus)
}

/// One simulation of each layout.
struct RunPair {
    today: SimulatedThroughput,
    changed: SimulatedThroughput,
}

impl RunPair {
    fn is_stuck(&self) -> bool {
        self.today.is_stuck || self.changed.is_stuck
    }

    fn ratio(&self) -> f64 {
        match self.today.operations_per_second > 0.0 {
            true => self.changed.operations_per_second / self.today.operations_per_second,
            false => 1.0,
        }
    }
}
