//! Layouts together with a check before a store: `if (x != v) x = v;`.
//!
//! A store that changes nothing takes the line from the others like any other. With a check it is a load,
//! and then another layout may be best: a member that is set to the same value time and again gains little by a
//! line of its own, and little by the check among members that do change, but much by both (`cpu` of
//! `struct optimistic_spin_node`).

use relayout_contend::TraceAccess;

use crate::advise::{Advice, Options, Scored, Verdict, finish, scorer_of, searched, stretch_count};
use crate::interval::Interval;
use crate::score::Scorer;
use crate::subject::{Instance, Subject};

/// What a check gains, by itself and with layouts.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// As [`advise()`](crate::advise()) makes it, of candidates that all have the check; today's layout
    /// with it is one of them, without a change. `current` is today's layout without it.
    pub advice: Advice,
    /// The change from the best without the check to the best with it.
    pub beside: Option<Interval>,
}

impl Checked {
    /// Today's layout with the check.
    pub fn alone(&self) -> Option<&Scored> {
        let mut candidates = self.advice.candidates.iter();
        candidates.find(|one| one.changes.is_empty())
    }

    /// Whether the best with the check clearly has fewer transfers than today's layout, and than the best
    /// without it.
    pub fn is_better(&self) -> bool {
        let beside = self.beside.is_some_and(|beside| beside.is_less());
        beside && self.advice.verdict == Verdict::Better
    }
}

/// Tries layouts of `subject` with a check before the stores that are `guarded`; `plain` is what was found
/// without it. `None` where the check makes no difference: no such store is known to have changed nothing,
/// or there are no transfers.
pub fn with_check(
    subject: Subject<'_>,
    plain: &Advice,
    options: &Options,
    guarded: impl Fn(&TraceAccess) -> bool,
) -> Option<Checked> {
    let check = |one: &Instance| Instance {
        trace: one.trace.with_checks(&guarded),
        ..one.clone()
    };
    let instances: Vec<Instance> = subject.instances.iter().map(check).collect();
    if plain.current.cost == 0 || instances == subject.instances {
        return None;
    }
    let checked = Subject {
        instances: &instances,
        ..subject
    };
    let (now, then) = (scorer_of(subject, options), scorer_of(checked, options));
    let mut advice = searched(checked, &then, &[], options);
    let alone = std::mem::replace(&mut advice.current, plain.current.clone());
    advice.candidates.push(alone);
    for one in &mut advice.candidates {
        one.checked = true;
    }
    finish(&mut advice, checked, [&now, &then], options);
    let best_without = { plain.candidates.first() }
        .filter(|best| best.ranked_cost() < plain.current.cost)
        .unwrap_or(&plain.current);
    let count = stretch_count(&plain.current);
    let beside = { advice.candidates.first() }
        .and_then(|best| change((&now, best_without), (&then, best), count));
    Some(Checked { advice, beside })
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
