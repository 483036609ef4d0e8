//! Gain over the number of CPUs, with what is not known of the machine drawn at random.

use rayon::prelude::*;
use relayout_profile::ContextId;
use relayout_statistics::random::{RandomSequence, SplitMix64};
use relayout_statistics::{SortedSample, median};

use crate::PUBLISHED_CPUS;
use crate::machine::TimedMachine;
use crate::placed::{OperationPart, PlacedOperations};
use crate::rules::{MachineRules, ModelRules};
use crate::simulate::{SimulatedThroughput, ThroughputSimulation};

/// Draws of the rules for an interval.
const DRAWS: u64 = 30;
/// Simulations of the expected rules, of which the one with the median ratio counts.
const EXPECTED_SEEDS: u64 = 9;
/// Fraction of the accesses that take and give back locks, up to which CPUs wait for lines rather than for locks.
const LOCKING_SHARE_MAX: f64 = 0.02;

/// Nanoseconds of the program's own time between two operations, for which the gain is told as well.
const THINK_NS: [f64; 4] = [0.0, 200.0, 1000.0, 5000.0];

/// Operations under two layouts, and the machine that is to execute them.
#[derive(Clone, Copy, Debug)]
pub struct CurveInputs<'a> {
    /// Operations with today's layout.
    pub today: &'a PlacedOperations,
    /// Operations with the changed one.
    pub changed: &'a PlacedOperations,
    /// Machine.
    pub machine: &'a TimedMachine,
    /// Rules of the machine, each with its range.
    pub rules: &'a MachineRules,
    /// Nanoseconds from one operation to the next.
    pub between_ns: f64,
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
    /// Fraction of their time for which CPUs, or contexts if those are more, wait for contended lines and for locks on them,
    /// with today's layout.
    pub today_waiting: f64,
    /// The same with the changed layout.
    pub changed_waiting: f64,
    /// The same by line of [`PlacedOperations::lines`], with today's layout.
    pub today_waiting_by_line: Vec<f64>,
    /// Gains by recorded context, where each does something else. None are told where contexts sleep for futexes: they take
    /// turns, and the gain is that of the work in a second.
    pub by_context: Vec<ContextGain>,
}

/// Gain of what one recorded context does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextGain {
    /// Context.
    pub context: ContextId,
    /// Speed with the changed layout over that with today's.
    pub ratio: f64,
    /// Ends of the interval, as in [`CurvePoint`].
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

/// Predicted gain over the number of CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedCurve {
    /// Name of the machine.
    pub machine: String,
    /// CPUs up to which the model was held against published gains. Beyond, the curve is an extrapolation.
    pub published_to: u32,
    /// The workload marks its operations, so that operations in a second mean something.
    pub has_marks: bool,
    /// The model was held against a published gain of a case like this one: CPUs wait for lines, and hardly for locks.
    pub is_tested: bool,
    /// Points by number of CPUs.
    pub points: Vec<CurvePoint>,
    /// Member or variable with the most accesses on each line of the points.
    pub lines: Vec<String>,
    /// CPUs from which on each further one adds less than a tenth of what the first ones did, with today's layout.
    pub saturates_at: Option<u32>,
    /// CPUs of the effects that follow: as many as were published, or all of the machine.
    pub effect_cpus: u32,
    /// Gains at both ends of the range of each rule; the rule that moves the gain most comes first.
    pub rule_effects: Vec<RuleEffect>,
    /// Gain by the program's own time between two operations; empty where the workload marks none.
    pub think_effects: Vec<ThinkEffect>,
}

impl PredictedCurve {
    /// Returns the point by which layouts are compared: that of the most CPUs up to which the model was held against
    /// published gains, or the first.
    pub fn compared_point(&self) -> Option<&CurvePoint> {
        let is_published = |point: &&CurvePoint| point.cpus <= self.published_to;
        let published = self.points.iter().filter(is_published);
        published
            .max_by_key(|point| point.cpus)
            .or(self.points.first())
    }

    /// Returns the part of the time of an operation that the layout saves at the compared point; below 0 if it takes
    /// longer.
    pub fn time_saved(&self) -> f64 {
        let ratio = self.compared_point().map_or(1.0, |point| point.ratio);
        1.0 - 1.0 / ratio
    }

    /// Returns true if the whole interval at the compared point is a loss of more than 2%.
    pub fn is_loss(&self) -> bool {
        self.compared_point().is_some_and(|point| point.high < 0.98)
    }

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

/// Gain if the program takes so much time of its own between two operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThinkEffect {
    /// Nanoseconds, beside those between operations that were asked for.
    pub think_ns: f64,
    /// Gain.
    pub ratio: f64,
}

/// Gain if one rule has its smallest or largest value.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleEffect {
    /// Rule.
    pub rule: &'static str,
    /// Its value was measured on the machine.
    pub is_measured: bool,
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
        let has_marks = { self.today.parts.iter() }.all(|part| part.context.is_none());
        let published = PUBLISHED_CPUS.min(self.machine.cpus());
        Some(PredictedCurve {
            think_effects: match has_marks {
                true => self.think_effects(published),
                false => Vec::new(),
            },
            machine: self.machine.name.clone(),
            published_to: PUBLISHED_CPUS,
            is_tested: self.today.locking_share() <= LOCKING_SHARE_MAX,
            has_marks,
            effect_cpus: published,
            saturates_at: saturation(&points),
            points,
            lines,
            rule_effects: self.rule_effects(published),
        })
    }

    /// Computes the points of a curve; `None` as in [`curve`](Self::curve).
    pub fn points(&self, cpus: &[u32]) -> Option<Vec<CurvePoint>> {
        cpus.par_iter().map(|cpus| self.point(*cpus)).collect()
    }

    fn point(&self, cpus: u32) -> Option<CurvePoint> {
        let expected_rules = self.expected_rules();
        let mut expected: Vec<RunPair> = (0..EXPECTED_SEEDS)
            .into_par_iter()
            .map(|nth| self.pair(&expected_rules, cpus, self.seed.wrapping_add(nth)))
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
        let measure = GainMeasure::new(self.today);
        let told_parts = match measure {
            GainMeasure::RecordedWork(_) => self.today.parts.as_slice(),
            GainMeasure::WorkPerSecond(_) => &[],
        };
        let by_context = { told_parts.iter().enumerate() }
            .filter_map(|(number, part)| {
                let of_part = |pair: &RunPair| pair.part_ratio(number);
                let [ratio, low, high] = median_and_interval(&expected, &drawn, of_part);
                Some(ContextGain {
                    context: part.context?,
                    ratio,
                    low,
                    high,
                })
            })
            .collect();
        let [ratio, low, high] = median_and_interval(&expected, &drawn, |pair| measure.ratio(pair));
        expected.sort_by(|a, b| measure.ratio(a).total_cmp(&measure.ratio(b)));
        let median = expected.swap_remove(expected.len() / 2);
        Some(CurvePoint {
            cpus,
            ratio,
            low,
            high,
            by_context,
            today_per_second: median.today.operations_per_second,
            changed_per_second: median.changed.operations_per_second,
            today_waiting: median.today.waiting.iter().sum(),
            changed_waiting: median.changed.waiting.iter().sum(),
            today_waiting_by_line: median.today.waiting,
        })
    }

    /// Returns the effects of the rules with so many CPUs, the largest first.
    pub fn rule_effects(&self, cpus: u32) -> Vec<RuleEffect> {
        let measure = GainMeasure::new(self.today);
        let mut effects: Vec<RuleEffect> = { self.rules.ranges.par_iter() }
            .map(|range| {
                let with = |value| {
                    let mut rules = self.expected_rules();
                    range.rule.set(&mut rules, value);
                    measure.ratio(&self.pair(&rules, cpus, self.seed))
                };
                RuleEffect {
                    rule: range.rule.name(),
                    is_measured: range.is_measured,
                    at_low: with(range.low),
                    at_high: with(range.high),
                }
            })
            .collect();
        effects.sort_by(|a, b| b.extent().total_cmp(&a.extent()));
        effects
    }

    /// Returns the gains by the program's own time.
    fn think_effects(&self, cpus: u32) -> Vec<ThinkEffect> {
        let measure = GainMeasure::new(self.today);
        let effect = |think_ns: &f64| {
            let mut rules = self.expected_rules();
            rules.between_ns += think_ns;
            ThinkEffect {
                think_ns: *think_ns,
                ratio: measure.ratio(&self.pair(&rules, cpus, self.seed)),
            }
        };
        THINK_NS.par_iter().map(effect).collect()
    }

    fn drawn_rules(&self, seed: u64) -> ModelRules {
        let mut random = SplitMix64::new(seed);
        let mut rules = self.expected_rules();
        for range in &self.rules.ranges {
            range.rule.set(&mut rules, range.draw(random.unit()));
        }
        rules
    }

    fn expected_rules(&self) -> ModelRules {
        ModelRules {
            between_ns: self.between_ns,
            ..self.rules.expected()
        }
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

    /// Returns the ratio of the speeds of one part.
    fn part_ratio(&self, part: usize) -> f64 {
        known_ratio(self.changed.by_part[part], self.today.by_part[part])
    }
}

/// Measure by which two layouts are compared.
enum GainMeasure {
    /// Time for the recorded work: so many operations of each part.
    RecordedWork(Vec<f64>),
    /// Work in a second, where an operation of each part has so many ticks. Tasks that sleep for a futex come in long
    /// turns, so that the speed of each by itself says little about a short while.
    WorkPerSecond(Vec<f64>),
}

impl GainMeasure {
    fn new(placed: &PlacedOperations) -> Self {
        let has_futex = placed.locks.iter().any(|lock| lock.kind.is_futex());
        let by_part = |of_part: &dyn Fn(&OperationPart) -> f64| -> Vec<f64> {
            placed.parts.iter().map(of_part).collect()
        };
        match has_futex {
            true => Self::WorkPerSecond(by_part(&|part| {
                let operations = part.operations.iter();
                let ticks = operations.map(|number| placed.operations[*number as usize].ticks());
                ticks.sum::<u64>() as f64 / part.operations.len().max(1) as f64
            })),
            false => Self::RecordedWork(by_part(&|part| part.operations.len() as f64)),
        }
    }

    /// Returns by how much the changed layout is better.
    fn ratio(&self, pair: &RunPair) -> f64 {
        let RunPair { today, changed } = pair;
        match self {
            Self::RecordedWork(operations) => {
                let time = |run: &SimulatedThroughput| -> f64 {
                    let parts = operations.iter().zip(&run.by_part);
                    parts.map(|(count, rate)| count / rate).sum()
                };
                known_ratio(time(today), time(changed))
            }
            Self::WorkPerSecond(ticks) => {
                let work = |run: &SimulatedThroughput| -> f64 {
                    let parts = ticks.iter().zip(&run.by_part);
                    parts.map(|(ticks, rate)| ticks * rate).sum()
                };
                known_ratio(work(changed), work(today))
            }
        }
    }
}

/// Returns a ratio, or 1 where there is none: of what does not happen.
fn known_ratio(over: f64, under: f64) -> f64 {
    Some(over / under)
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .unwrap_or(1.0)
}

/// Returns the median of the expected simulations, and the ends of the interval of 95% of the drawn ones, which holds it.
fn median_and_interval(
    expected: &[RunPair],
    drawn: &[RunPair],
    ratio_of: impl Fn(&RunPair) -> f64,
) -> [f64; 3] {
    let ratios: Vec<f64> = expected.iter().map(&ratio_of).collect();
    let ratio = median(&ratios).unwrap_or(1.0);
    let drawn = SortedSample::new(drawn.iter().map(ratio_of).collect());
    let low = drawn.nearest_quantile(0.025).unwrap_or(ratio).min(ratio);
    let high = drawn.nearest_quantile(0.975).unwrap_or(ratio).max(ratio);
    [ratio, low, high]
}
