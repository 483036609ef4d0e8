//! Experiments on layouts: a layout is tried, and kept or rejected by what that tells.
//!
//! Advice does not know how an experiment runs. A caller gives it one [`LayoutExperiment`] after the other, cheap ones
//! first, and a [`LayoutTrial`] judges the effects of each by themselves: numbers that came about in two ways are never
//! joined.

mod bench_effect;
mod rejection;

use std::ops::Range;

use relayout_messages::UserError;
use relayout_verify::judged_change::{ChangeBasis, ChangeVerdict};

pub use bench_effect::{BenchEffect, EffectSubject};
pub use rejection::{ChangeRejection, TrialStage};

/// A layout that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriedLayout<'l> {
    /// Type, without tag.
    pub type_name: &'l str,
    /// Change of the source that makes the layout, as a unified diff.
    pub diff: &'l str,
}

/// Effects of a layout on benchmarks; or the step that failed with it, and why.
pub type LayoutOutcome = Result<Vec<BenchEffect>, ChangeRejection>;

/// A way to try layouts out: recordings of changed builds, a machine in simulated time, measurements.
pub trait LayoutExperiment {
    /// Returns how the numbers of its effects come about.
    fn basis(&self) -> ChangeBasis;

    /// Runs each layout with each of the consecutive seeds, and today's beside it. Returns an outcome for each layout,
    /// in order.
    ///
    /// # Errors
    /// Today's layout fails, or the user interrupts. What fails with a layout only is its outcome.
    fn run_layouts(
        &mut self,
        layouts: &[TriedLayout<'_>],
        seeds: Range<u64>,
    ) -> Result<Vec<LayoutOutcome>, UserError>;
}

/// Rules for keeping a layout.
#[derive(Clone, Copy, Debug)]
pub struct TrialRules<'r> {
    /// Type whose transfers are counted: the layout's, or one that holds it by value.
    pub counted_type: &'r str,
    /// Benchmark that must gain.
    pub main_bench: &'r str,
    /// True if counts decide: the gain must be certain, because nothing is measured afterwards.
    pub counts_decide: bool,
}

/// A layout that is being tried, with its effects so far.
#[derive(Debug)]
pub struct LayoutTrial<'t> {
    layout: TriedLayout<'t>,
    seeds: Range<u64>,
    rules: TrialRules<'t>,
    effects: Vec<BenchEffect>,
}

impl<'t> LayoutTrial<'t> {
    /// Makes a trial without effects.
    pub fn new(layout: TriedLayout<'t>, seeds: Range<u64>, rules: TrialRules<'t>) -> Self {
        Self {
            layout,
            seeds,
            rules,
            effects: Vec::new(),
        }
    }

    /// Runs an experiment, and judges its effects with earlier ones of the same basis. The inner error says why the
    /// layout is not kept.
    ///
    /// # Errors
    /// Those of the experiment.
    pub fn run(
        &mut self,
        experiment: &mut dyn LayoutExperiment,
    ) -> Result<Result<(), ChangeRejection>, UserError> {
        let basis = experiment.basis();
        let mut outcomes = experiment.run_layouts(&[self.layout], self.seeds.clone())?;
        let effects = match outcomes.pop() {
            Some(Ok(effects)) => effects,
            Some(Err(rejection)) => return Ok(Err(rejection)),
            None => Vec::new(),
        };
        let foreign = effects.iter().find(|effect| effect.judged.basis != basis);
        if let Some(effect) = foreign {
            return Err(UserError::input(format!(
                "an effect on {} is {}, in an experiment whose effects are {}",
                effect.bench,
                effect.judged.basis.as_str(),
                basis.as_str()
            )));
        }
        self.effects.extend(effects);
        let of_basis = effects_of(&self.effects, basis);
        Ok(match basis {
            ChangeBasis::Measured => self.rules.judge_measured(&of_basis),
            ChangeBasis::Simulated => judge_simulated(&of_basis),
            ChangeBasis::Counted | ChangeBasis::Replayed => self.rules.judge_counted(&of_basis),
        })
    }

    /// Returns true if the main benchmark is better by numbers that came about in this way.
    pub fn has_gain(&self, basis: ChangeBasis) -> bool {
        let gains = |effect: &&BenchEffect| {
            effect.bench == self.rules.main_bench && effect.judged.verdict == ChangeVerdict::Better
        };
        effects_of(&self.effects, basis).iter().any(gains)
    }

    /// Returns the effects of all experiments, in order.
    pub fn into_effects(self) -> Vec<BenchEffect> {
        self.effects
    }
}

/// Returns the effects whose numbers came about in one way.
pub fn effects_of(effects: &[BenchEffect], basis: ChangeBasis) -> Vec<&BenchEffect> {
    let is_of_basis = |effect: &&BenchEffect| effect.judged.basis == basis;
    effects.iter().filter(is_of_basis).collect()
}

impl TrialRules<'_> {
    /// Judges counts: the type must have fewer transfers in the main benchmark, and no benchmark may lose.
    fn judge_counted(&self, effects: &[&BenchEffect]) -> Result<(), ChangeRejection> {
        let rejected = |reason| Err(ChangeRejection::new(TrialStage::Count, reason));
        if let Some(loss) = loss_words(effects) {
            return rejected(loss);
        }
        let is_of_main = |effect: &&&BenchEffect| {
            effect.bench == self.main_bench && effect.subject.is_type(self.counted_type)
        };
        match effects.iter().find(is_of_main) {
            // Nothing was counted, so that measuring decides.
            None if effects.is_empty() && !self.counts_decide => Ok(()),
            None => rejected(format!(
                "{} was not seen in the new recordings of {}",
                self.counted_type, self.main_bench
            )),
            Some(effect) if effect.judged.after >= effect.judged.before => rejected(format!(
                "recorded again, it saves nothing: {}",
                effect.words()
            )),
            Some(effect)
                if self.counts_decide && effect.judged.verdict != ChangeVerdict::Better =>
            {
                rejected(format!("the gain is not certain: {}", effect.words()))
            }
            Some(_) => Ok(()),
        }
    }

    /// Judges measurements: the main benchmark must be better, and none may be worse.
    fn judge_measured(&self, effects: &[&BenchEffect]) -> Result<(), ChangeRejection> {
        let rejected = |reason| Err(ChangeRejection::new(TrialStage::Measurement, reason));
        if let Some(loss) = loss_words(effects) {
            return rejected(loss);
        }
        let is_of_main = |effect: &&&BenchEffect| effect.bench == self.main_bench;
        let mut of_main = effects.iter().filter(is_of_main);
        let is_better = |effect: &&BenchEffect| effect.judged.verdict == ChangeVerdict::Better;
        match of_main.clone().any(is_better) {
            true => Ok(()),
            false => {
                let words = of_main
                    .next()
                    .map_or(String::new(), |effect| effect.words());
                rejected(format!(
                    "{} is not clearly better: {words}",
                    self.main_bench
                ))
            }
        }
    }
}

/// Judges rates in simulated time: no benchmark may be worse in all draws of the machine's rules. Where the draws disagree,
/// something else decides.
fn judge_simulated(effects: &[&BenchEffect]) -> Result<(), ChangeRejection> {
    loss_words(effects).map_or(Ok(()), |loss| {
        Err(ChangeRejection::new(TrialStage::Simulation, loss))
    })
}

/// Returns the words of the first effect that is a loss.
fn loss_words(effects: &[&BenchEffect]) -> Option<String> {
    let mut effects = effects.iter();
    let loss = effects.find(|effect| effect.judged.verdict == ChangeVerdict::Worse)?;
    Some(format!("{} loses: {}", loss.bench, loss.words()))
}
