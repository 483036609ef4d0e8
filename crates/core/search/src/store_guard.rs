//! Layouts together with checks before stores: `if (x != v) x = v;`.
//!
//! A store that changes nothing takes the line from the others like any other. With a check it is a load,
//! and then another layout may be best: a member that is set to the same value time and again gains little by a
//! line of its own, and little by the check among members that do change, but much by both (`cpu` of
//! `struct optimistic_spin_node`). Two such stores to one line may have to be checked both, as each of them
//! takes it.

use relayout_contend::TraceAccess;

use crate::advise::{
    AdviceVerdict, LayoutAdvice, LayoutSearch, Options, ScoredLayout, UserLayout, new_scorer,
    stretch_count,
};
use crate::interval::ChangeInterval;
use crate::score::LayoutScorer;
use crate::subject::{AccessingCode, RecordedInstance};

/// What checks gain, by themselves and with layouts.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardedAdvice {
    /// As [`advise()`](crate::advise()) makes it, of candidates that all have the checks; today's layout
    /// with them is one of them, without a change. `current` is today's layout without them.
    pub advice: LayoutAdvice,
    /// The change from the best with fewer checks to the best with these.
    pub gain_over_fewer: Option<ChangeInterval>,
}

impl GuardedAdvice {
    /// Today's layout with the checks: its place among the candidates.
    pub fn guards_alone_index(&self) -> Option<usize> {
        let mut candidates = self.advice.candidates.iter();
        candidates.position(|candidate| candidate.changes.is_empty())
    }

    /// Today's layout with the checks.
    pub fn guards_alone(&self) -> Option<&ScoredLayout> {
        self.guards_alone_index()
            .map(|at| &self.advice.candidates[at])
    }

    /// Whether the best with the checks clearly has fewer transfers than today's layout, and than the best
    /// with fewer of them.
    pub fn is_better(&self) -> bool {
        let improves = self.gain_over_fewer.is_some_and(|beside| beside.is_less());
        improves && self.advice.verdict == AdviceVerdict::Better
    }
}

/// What was recorded, with a check before the stores that are `guarded`; `None` where it makes no difference: no
/// such store is known to have changed nothing.
pub fn guard_stores(
    instances: &[RecordedInstance],
    guarded: impl Fn(&TraceAccess) -> bool,
) -> Option<Vec<RecordedInstance>> {
    let guard = |instance: &RecordedInstance| RecordedInstance {
        trace: instance.trace.with_store_guards(&guarded),
        ..instance.clone()
    };
    let guarded_instances: Vec<RecordedInstance> = instances.iter().map(guard).collect();
    (guarded_instances != instances).then_some(guarded_instances)
}

/// Tries layouts with the checks of `code`, and scores `given` with them. `fewer` is what was found best with
/// fewer checks, or none, and its code.
pub fn advise_with_guards(
    code: AccessingCode<'_>,
    user_layouts: &[UserLayout],
    (fewer_code, fewer): (AccessingCode<'_>, &LayoutAdvice),
    options: &Options,
) -> GuardedAdvice {
    let search = LayoutSearch::new(code, options);
    let mut advice = search.find_advice(user_layouts);
    for scored in advice.candidates.iter_mut().chain(&mut advice.user_layouts) {
        scored.guarded = true;
    }
    let without = { fewer.candidates.first() }
        .filter(|best| best.ranked_cost() < fewer.current.cost)
        .unwrap_or(&fewer.current);
    let fewer_code = match without.guarded {
        true => fewer_code.changed_subject(),
        false => fewer_code.recorded_subject(),
    };
    let count = stretch_count(&advice.current);
    let beside = advice.candidates.first().and_then(|best| {
        let scorer = new_scorer(fewer_code, options);
        change_interval((&scorer, without), (search.candidate_scorer(), best), count)
    });
    GuardedAdvice {
        advice,
        gain_over_fewer: beside,
    }
}

/// The change of the cost from one to the other, over `count` stretches.
fn change_interval(
    (now, before): (&LayoutScorer<'_>, &ScoredLayout),
    (then, after): (&LayoutScorer<'_>, &ScoredLayout),
    count: usize,
) -> Option<ChangeInterval> {
    let by_stretch = |scorer: &LayoutScorer<'_>, scored: &ScoredLayout| {
        let counted = scorer.costs_by_stretch(&[&scored.layout], count);
        counted.concat()
    };
    let spread = ChangeInterval::from_stretches(&by_stretch(now, before), &by_stretch(then, after));
    spread.map(|interval| interval.centered_on(before.cost, after.cost))
}
