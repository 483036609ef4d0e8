//! Starts both sides in turn, and stops when there is nothing more to learn.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use relayout_host::measure::{Launch, Schedule, Starter};
use relayout_host::{Error, Interrupt, Progress as _};
use relayout_verify::extract::{Output, extract};
use relayout_verify::judge::{Outcome, Rules, judge};
use relayout_verify::metric::Metric;
use relayout_verify::plan::Side;
use relayout_verify::runs::{Ending, Fate, Runs, SCHEMA, Setup, Start};
use relayout_verify::table;

use super::Args;
use super::sides::Sides;
use crate::progress::Shown;

/// How often a disturbed start is made again before it is taken as it is.
const RETRIES_MAX: usize = 3;
/// How often in a row a program may say that it was disturbed.
const SAID_DISTURBED_MAX: usize = 20;

/// An experiment, and where it stands.
pub(super) struct Experiment<'s> {
    sides: &'s Sides,
    metrics: Vec<Metric>,
    schedule: Schedule,
    starter: Starter,
    interrupt: Interrupt,
    time_limit: Option<Duration>,
    budget: Option<Duration>,
    begun: Instant,
    /// What it came to so far.
    pub runs: Runs,
}

impl<'s> Experiment<'s> {
    pub(super) fn new(
        args: &Args,
        sides: &'s Sides,
        metrics: Vec<Metric>,
        interrupt: Interrupt,
    ) -> anyhow::Result<Self> {
        let schedule = Schedule::new(args.pin.as_deref(), args.fifo).map_err(Error::Measure)?;
        let setup = Setup {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            before: sides.command(Side::Before).text.clone(),
            after: sides.command(Side::After).text.clone(),
            patch: args.patch.as_ref().map(|patch| patch.display().to_string()),
            seed: args.seed.unwrap_or_else(some_seed),
            pairs: args.runs,
            early_stop: !args.all,
            warmups: args.warmup.into(),
            cpus: schedule.cpus.clone(),
            fifo: args.fifo,
            lost_max: args.max_lost / 100.0,
            disturbed_code: args.disturbed,
            are_boots: false,
        };
        Ok(Self {
            sides,
            schedule,
            starter: Starter::new(interrupt)?,
            interrupt,
            time_limit: args.time_limit,
            budget: args.budget,
            begun: Instant::now(),
            runs: Runs {
                schema: SCHEMA.to_owned(),
                setup,
                metrics: metrics.iter().map(|metric| metric.about.clone()).collect(),
                ending: Ending::CutOff,
                starts: Vec::new(),
            },
            metrics,
        })
    }

    /// Makes the starts.
    ///
    /// # Errors
    /// One fails or lacks a metric, or the user stops it.
    pub(super) fn run(&mut self, rules: &Rules, progress: &Shown) -> anyhow::Result<()> {
        self.begun = Instant::now();
        let plan = self.runs.plan();
        for warmup in 0..self.runs.setup.warmups {
            progress.step(&format!(
                "warming up, {} of {}",
                warmup + 1,
                self.runs.setup.warmups
            ));
            for side in plan.order(warmup) {
                let start = self.start(side, warmup, Fate::WarmUp)?;
                self.runs.starts.push(start);
            }
        }
        self.announce(progress);
        let looks = plan.looks();
        let mut found = String::new();
        for pair in 0..plan.pairs {
            if self.is_time_up() {
                self.runs.ending = Ending::Budget;
                return Ok(());
            }
            let left = self.left(plan.pairs - pair);
            progress.update(&format!(
                "pair {} of {}, {left}{found}",
                pair + 1,
                plan.pairs
            ));
            for side in plan.order(pair) {
                if !self.start_undisturbed(side, pair)? {
                    self.runs.ending = Ending::Budget;
                    return Ok(());
                }
            }
            if looks.contains(&(pair + 1)) && pair + 1 < plan.pairs {
                self.runs.ending = Ending::Decided;
                let outcome = judge(&self.runs, rules);
                if self.runs.setup.early_stop && outcome.is_decided() {
                    return Ok(());
                }
                self.runs.ending = Ending::CutOff;
                found = format!("; so far {}", so_far(&outcome));
                let left = self.left(plan.pairs - pair - 1);
                progress.step(&format!(
                    "{} pairs of {}, {left}{found}",
                    pair + 1,
                    plan.pairs
                ));
            }
        }
        self.runs.ending = Ending::Complete;
        Ok(())
    }

    fn announce(&self, progress: &Shown) {
        let pairs = self.runs.setup.pairs;
        progress.step(&format!(
            "up to {pairs} pairs of starts, {}",
            self.left(pairs)
        ));
    }

    /// Seconds that so many pairs take.
    fn estimate_s(&self, pairs: usize) -> f64 {
        let starts = &self.runs.starts;
        let total_s: f64 = starts.iter().map(|start| start.wall_s).sum();
        2.0 * pairs as f64 * total_s / (starts.len().max(1)) as f64
    }

    /// How long it may still take, in words.
    fn left(&self, pairs: usize) -> String {
        let mut seconds = self.estimate_s(pairs);
        if let Some(budget) = self.budget {
            seconds = seconds.min(budget.saturating_sub(self.begun.elapsed()).as_secs_f64());
        }
        format!("at most {:.0} s", seconds.ceil())
    }

    /// Whether another pair would not end in time.
    fn is_time_up(&self) -> bool {
        self.budget.is_some_and(|budget| {
            self.begun.elapsed().as_secs_f64() + self.estimate_s(1) > budget.as_secs_f64()
        })
    }

    /// Starts one side, again while the machine runs others instead: a few times, and in all about as often
    /// as there are pairs, over all of the experiment. One that says itself that it was disturbed is of no
    /// use, and always made again; `false` if there is no time for that.
    fn start_undisturbed(&mut self, side: Side, pair: usize) -> anyhow::Result<bool> {
        let (mut lost, mut said) = (0, 0);
        loop {
            let mut start = self.start(side, pair, Fate::Kept)?;
            let lost_max = self.runs.setup.lost_max;
            let is_disturbed = start.lost.is_some_and(|lost| lost > lost_max);
            let discarded = self.runs.count(Fate::Disturbed);
            let is_time_up = self.is_time_up();
            let is_last_try = lost == RETRIES_MAX || discarded >= pair + RETRIES_MAX || is_time_up;
            start.fate = match (start.fate, is_disturbed, is_last_try) {
                (Fate::SaidDisturbed, ..) => Fate::SaidDisturbed,
                (_, false, _) => Fate::Kept,
                (_, true, false) => Fate::Disturbed,
                (_, true, true) => Fate::KeptDisturbed,
            };
            let fate = start.fate;
            self.runs.starts.push(start);
            match fate {
                Fate::SaidDisturbed if said + 1 == SAID_DISTURBED_MAX => {
                    return Err(self.always_disturbed(side));
                }
                Fate::SaidDisturbed if is_time_up => return Ok(false),
                Fate::SaidDisturbed => said += 1,
                Fate::Disturbed => lost += 1,
                _ => return Ok(true),
            }
        }
    }

    fn always_disturbed(&self, side: Side) -> anyhow::Error {
        let error = relayout_host::measure::Error::Disturbed {
            command: self.sides.command(side).text.clone(),
            times: SAID_DISTURBED_MAX,
            code: self.runs.setup.disturbed_code.unwrap_or_default(),
        };
        Error::Measure(error).into()
    }

    fn start(&self, side: Side, pair: usize, fate: Fate) -> anyhow::Result<Start> {
        let command = self.sides.command(side);
        let ended = self.starter.run(&Launch {
            command,
            dir: self.sides.dir(side),
            schedule: Some(&self.schedule),
            time_limit: self.time_limit,
            disturbed_code: self.runs.setup.disturbed_code,
        });
        let ended = or_interrupted(ended.map_err(Error::Measure), self.interrupt)?;
        let output = Output {
            stdout: &ended.stdout,
            stderr: &ended.stderr,
            wall_s: ended.wall_s,
            cpu_s: ended.cpu_s,
        };
        let values = self.metrics.iter().map(|metric| extract(metric, &output));
        let values = match ended.said_disturbed {
            true => Ok(Vec::new()),
            false => values.collect::<Result<_, _>>(),
        };
        Ok(Start {
            side,
            pair,
            fate: match fate {
                Fate::Kept if ended.said_disturbed => Fate::SaidDisturbed,
                fate => fate,
            },
            wall_s: ended.wall_s,
            cpu_s: ended.cpu_s,
            lost: ended.lost,
            values: values.with_context(|| format!("'{}' ({})", command.text, side.as_str()))?,
        })
    }
}

/// Ctrl-C reaches also what we start for ourselves; its failure is not the news then.
pub(super) fn or_interrupted<T>(
    result: Result<T, Error>,
    interrupt: Interrupt,
) -> Result<T, Error> {
    match result {
        Err(_) if interrupt.is_set() => Err(Error::Interrupted),
        result => result,
    }
}

pub(super) fn so_far(outcome: &Outcome) -> String {
    let metrics = outcome.metrics.iter().take(3).map(|metric| {
        let change = metric
            .change
            .map(|change| table::change_text(change, metric.scale));
        format!("{} {}", metric.about.name, change.as_deref().unwrap_or("?"))
    });
    metrics.collect::<Vec<String>>().join(", ")
}

/// One that differs from time to time.
pub(super) fn some_seed() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let nanoseconds = now.as_nanos() as u64;
    // Short enough to be typed.
    nanoseconds % 1_000_000
}
