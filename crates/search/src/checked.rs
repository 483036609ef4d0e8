//! Layouts together with checks before stores: `if (x != v) x = v;`.
//!
//! A store that changes nothing takes the line from the others like any other. With a check it is a load,
//! and then another layout may be best: a member that is set to the same value time and again gains little by a
//! line of its own, and little by the check among members that do change, but much by both (`cpu` of
//! `struct optimistic_spin_node`). Two such stores to one line may have to be checked both, as each of them
//! takes it.

use relayout_contend::TraceAccess;

use crate::advise::{Advice, Given, Options, Scored, Search, Verdict, scorer_of, stretch_count};
use crate::interval::Interval;
use crate::score::Scorer;
use crate::subject::{Code, Instance};

/// What checks gain, by themselves and with layouts.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// As [`advise()`](crate::advise()) makes it, of candidates that all have the checks; today's layout
    /// with them is one of them, without a change. `current` is today's layout without them.
    pub advice: Advice,
    /// The change from the best with fewer checks to the best with these.
    pub beside: Option<Interval>,
}

impl Checked {
    /// Today's layout with the checks: its place among the candidates.
    pub fn alone_at(&self) -> Option<usize> {
        let mut candidates = self.advice.candidates.iter();
        candidates.position(|one| one.changes.is_empty())
    }

    /// Today's layout with the checks.
    pub fn alone(&self) -> Option<&Scored> {
        self.alone_at().map(|at| &self.advice.candidates[at])
    }

    /// Whether the best with the checks clearly has fewer transfers than today's layout, and than the best
    /// with fewer of them.
    pub fn is_better(&self) -> bool {
        let beside = self.beside.is_some_and(|beside| beside.is_less());
        beside && self.advice.verdict == Verdict::Better
    }
}

/// What was recorded, with a check before the stores that are `guarded`; `None` where it makes no difference: no
/// such store is known to have changed nothing.
pub fn checked(
    instances: &[Instance],
    guarded: impl Fn(&TraceAccess) -> bool,
) -> Option<Vec<Instance>> {
    let check = |one: &Instance| Instance {
        trace: one.trace.with_checks(&guarded),
        ..one.clone()
    };
    let checked: Vec<Instance> = instances.iter().map(check).collect();
    (checked != instances).then_some(checked)
}

/// Tries layouts with the checks of `code`, and scores `given` with them. `fewer` is what was found best with
/// fewer checks, or none, and its code.
pub fn with_checks(
    code: Code<'_>,
    given: &[Given],
    (fewer_code, fewer): (Code<'_>, &Advice),
    options: &Options,
) -> Checked {
    let search = Search::new(code, options);
    let mut advice = search.advice(given);
    for one in advice.candidates.iter_mut().chain(&mut advice.given) {
        one.checked = true;
    }
    let without = { fewer.candidates.first() }
        .filter(|best| best.ranked_cost() < fewer.current.cost)
        .unwrap_or(&fewer.current);
    let fewer_code = match without.checked {
        true => fewer_code.then(),
        false => fewer_code.now(),
    };
    let count = stretch_count(&advice.current);
    let beside = advice.candidates.first().and_then(|best| {
        let scorer = scorer_of(fewer_code, options);
        change((&scorer, without), (search.then(), best), count)
    });
    Checked { advice, beside }
}

/// The change of the cost from one to the other, over `count` stretches.
fn change(
    (now, before): (&Scorer<'_>, &Scored),
    (then, after): (&Scorer<'_>, &Scored),
    count: usize,
) -> Option<Interval> {
    let by_stretch = |scorer: &Scorer<'_>, one: &Scored| {
        let counted = scorer.by_stretch(&[&one.layout], count);
        counted.concat()
    };
    let spread = Interval::of(&by_stretch(now, before), &by_stretch(then, after));
    spread.map(|it| it.around(before.cost, after.cost))
}
