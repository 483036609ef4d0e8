//! What the best layout gains on a part of the recording that it was not chosen on.
//!
//! The best of thousands owes some of its lead to chance: it fits the recording that it was chosen on. So
//! the recording is cut into stretches, alternately of two halves; on each half the best candidate is
//! chosen anew, and what counts is what it does on the other half.

use relayout_contend::ObjectTrace;
use relayout_layout::abi::Layout;

use crate::advise::Scored;
use crate::interval::Interval;
use crate::score::{Scorer, stretches};
use crate::subject::{Instance, Subject};

/// The change of transfers from `current` when candidates are chosen on one half and counted on the
/// other; `None` where there is nothing to choose from or to count. The scorers are of `current` and of the
/// candidates, which are of `subject`. The recording is cut into `count` stretches; `budget_accesses` limits
/// what is replayed to choose.
pub(crate) fn held_out(
    subject: Subject<'_>,
    [now, then]: [&Scorer<'_>; 2],
    current: &Scored,
    candidates: &[Scored],
    count: usize,
    budget_accesses: u64,
) -> Option<Interval> {
    let choose = |half: usize| {
        let (instances, of) = half_of(subject.instances, count, half);
        let part = Subject {
            instances: &instances,
            ..subject
        };
        chosen(&then.part(part, &of), candidates, budget_accesses)
    };
    let (even, odd) = (choose(0)?, choose(1)?);
    let before = now.by_stretch(&[&current.layout], count).concat();
    let counted = then.by_stretch(&[&candidates[even].layout, &candidates[odd].layout], count);
    let [even, odd] = &counted[..] else {
        return None;
    };
    // What was chosen on the even stretches is counted on the odd ones.
    let after = (0..before.len()).map(|nth| if nth % 2 == 0 { odd[nth] } else { even[nth] });
    Interval::of(&before, &after.collect::<Vec<u64>>())
}

/// Every second stretch of all traces as instances of their own, and which ones they are of.
fn half_of(instances: &[Instance], count: usize, half: usize) -> (Vec<Instance>, Vec<usize>) {
    let pieces = stretches(instances, count).into_iter().enumerate();
    let mine = pieces.filter(|(nth, _)| nth % 2 == half);
    mine.map(|(_, (index, accesses))| {
        let whole = &instances[index];
        let trace = ObjectTrace {
            base: whole.trace.base,
            accesses: accesses.to_vec(),
            ..ObjectTrace::default()
        };
        let home = whole.home.clone();
        (
            Instance {
                trace,
                home,
                ..*whole
            },
            index,
        )
    })
    .unzip()
}

/// The candidate that costs least, by index; `None` if there is none.
fn chosen(scorer: &Scorer<'_>, candidates: &[Scored], budget_accesses: u64) -> Option<usize> {
    let layouts: Vec<&Layout> = candidates.iter().map(|one| &one.layout).collect();
    let tallies = scorer
        .tallies(&layouts, budget_accesses)
        .into_iter()
        .enumerate();
    let counted = tallies.filter_map(|(index, tallies)| {
        let transfers: u64 = tallies?.iter().map(|tally| tally.transfers()).sum();
        let one = &candidates[index];
        let pairs = scorer.pair_transfers(&one.layout).unwrap_or(0);
        Some((
            scorer.cost(transfers, pairs),
            one.memory.bytes_per_object,
            one.moved,
            index,
        ))
    });
    counted.min().map(|(.., index)| index)
}
