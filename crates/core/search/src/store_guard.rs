//! Layouts together with store guards: `if (x != v) x = v;`.
//!
//! A store that changes nothing invalidates the other copies of its line like any store. With a
//! guard it becomes a load, and then another layout may be best. A member that is set to the same
//! value again and again (`cpu` of `struct optimistic_spin_node`) gains little by a line of its own
//! and little by a guard alone, but much by both. Two such stores to one line may both need a
//! guard, because each of them invalidates it.

use relayout_contend::TraceAccess;

use crate::advice::{AdviceVerdict, LayoutAdvice, RankedLayout, ScoredLayout, UserLayout};
use crate::advise::{LayoutSearch, new_scorer, stretch_count};
use crate::interval::ChangeInterval;
use crate::options::Options;
use crate::score::LayoutScorer;
use crate::subject::{AccessingCode, RecordedInstance};

/// Advice for a type whose code gets store guards.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardedAdvice {
    /// Advice in which all candidates have the guards. Today's layout with the guards is a
    /// candidate without changes; `current` is today's layout without the guards.
    pub advice: LayoutAdvice,
    /// Change from the best layout with fewer guards to the best with these.
    pub gain_over_fewer: Option<ChangeInterval>,
}

impl GuardedAdvice {
    /// Returns the index of the candidate that is today's layout with the guards.
    pub fn guards_alone_index(&self) -> Option<usize> {
        let mut candidates = self.advice.candidates.iter();
        candidates.position(|candidate| candidate.changes.is_empty())
    }

    /// Returns today's layout with the guards.
    pub fn guards_alone(&self) -> Option<&RankedLayout> {
        self.guards_alone_index()
            .map(|index| &self.advice.candidates[index])
    }

    /// Returns true if the best layout with the guards clearly has fewer transfers than today's
    /// layout, and than the best with fewer guards.
    pub fn is_better(&self) -> bool {
        let improves = self.gain_over_fewer.is_some_and(|change| change.is_less());
        // Where the best lacks a gain on some part, one behind it may have one on all.
        let has_fewer = matches!(
            self.advice.verdict,
            AdviceVerdict::Better | AdviceVerdict::Uneven
        );
        improves && has_fewer
    }
}

/// Returns the recorded instances with a guard before each store that is `guarded`; `None` if no
/// such store is known to have changed nothing, so that guards make no difference.
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

/// Tries layouts with the guards of `code`, and scores `user_layouts` with them. `fewer` is the
/// advice with fewer guards, or without any, and its code.
pub fn advise_with_guards(
    code: AccessingCode<'_>,
    user_layouts: &[UserLayout],
    (fewer_code, fewer): (AccessingCode<'_>, &LayoutAdvice),
    options: &Options,
) -> GuardedAdvice {
    let search = LayoutSearch::new(code, options);
    let advice = search.find_advice(user_layouts);
    let without = { fewer.candidates.first() }
        .filter(|best| best.ranked_cost() < fewer.current.cost)
        .map_or(&fewer.current, |best| &best.scored);
    let fewer_code = match without.guarded {
        true => fewer_code.changed_subject(),
        false => fewer_code.recorded_subject(),
    };
    let count = stretch_count(&advice.current);
    let gain_over_fewer = advice.candidates.first().and_then(|best| {
        let scorer = new_scorer(fewer_code, options);
        change_interval((&scorer, without), (search.candidate_scorer(), best), count)
    });
    GuardedAdvice {
        advice,
        gain_over_fewer,
    }
}

/// Returns the change of the cost from the first layout to the second, over `count` stretches.
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
