//! Gain of the best layout on a part of the recording that the choice did not use.
//!
//! The best of thousands of candidates owes some of its lead to chance, since it fits the recording
//! that it was chosen on. So the recording is cut into stretches, which belong alternately to two
//! halves. On each half the best candidate is chosen anew, and its cost on the other half counts.

use relayout_contend::ObjectTrace;
use relayout_layout::abi::StructLayout;

use crate::advice::{RankedLayout, ScoredLayout};
use crate::interval::ChangeInterval;
use crate::score::{LayoutScorer, stretches};
use crate::subject::{AdviceSubject, RecordedInstance};

/// Candidates that a half is chosen from: the first by rank, behind which none is close to the best.
const CANDIDATES_MAX: usize = 1000;

/// Returns the change of transfers from `current` when candidates are chosen on one half and
/// counted on the other; `None` where there is nothing to choose from or to count.
///
/// The first scorer is for `current`, the second for the candidates, which are of `subject`. The
/// recording is cut into `count` stretches; `budget_accesses` limits the replays for the choice.
pub(crate) fn held_out_change(
    subject: AdviceSubject<'_>,
    [recorded_scorer, candidate_scorer]: [&LayoutScorer<'_>; 2],
    current: &ScoredLayout,
    candidates: &[RankedLayout],
    count: usize,
    budget_accesses: u64,
) -> Option<ChangeInterval> {
    let choose = |half: usize, candidates: &[RankedLayout]| {
        let (instances, indices) = instances_of_half(subject.instances, count, half);
        let part = AdviceSubject {
            instances: &instances,
            ..subject
        };
        cheapest_candidate(
            &candidate_scorer.for_instances(part, &indices),
            candidates,
            budget_accesses,
        )
    };
    let candidates = &candidates[..candidates.len().min(CANDIDATES_MAX)];
    let choose = |half: usize| choose(half, candidates);
    let (even, odd) = (choose(0)?, choose(1)?);
    let before = recorded_scorer
        .costs_by_stretch(&[&current.layout], count)
        .concat();
    let counted = candidate_scorer
        .costs_by_stretch(&[&candidates[even].layout, &candidates[odd].layout], count);
    let [even, odd] = &counted[..] else {
        return None;
    };
    // The choice on the even stretches is counted on the odd ones.
    let after = (0..before.len()).map(|nth| if nth % 2 == 0 { odd[nth] } else { even[nth] });
    ChangeInterval::from_stretches(&before, &after.collect::<Vec<u64>>())
}

/// Returns every second stretch of all traces as an instance of its own, with the index of the
/// instance that it is a part of.
fn instances_of_half(
    instances: &[RecordedInstance],
    count: usize,
    half: usize,
) -> (Vec<RecordedInstance>, Vec<usize>) {
    let pieces = stretches(instances, count).into_iter().enumerate();
    let mine = pieces.filter(|(nth, _)| nth % 2 == half);
    mine.map(|(_, (index, accesses))| {
        let whole = &instances[index];
        let trace = ObjectTrace {
            base: whole.trace.base,
            accesses: accesses.to_vec(),
            ..ObjectTrace::default()
        };
        let part = RecordedInstance {
            run: whole.run,
            recording: whole.recording,
            trace,
            home: whole.home.clone(),
            row: whole.row.clone(),
        };
        (part, index)
    })
    .unzip()
}

/// Returns the index of the candidate that costs least; `None` without candidates.
fn cheapest_candidate(
    scorer: &LayoutScorer<'_>,
    candidates: &[RankedLayout],
    budget_accesses: u64,
) -> Option<usize> {
    let layouts: Vec<&StructLayout> = candidates
        .iter()
        .map(|candidate| &candidate.layout)
        .collect();
    let tallies = scorer
        .tallies(&layouts, budget_accesses)
        .into_iter()
        .enumerate();
    let counted = tallies.filter_map(|(index, tallies)| {
        let transfers = tallies?.mean.transfers();
        let candidate = &candidates[index];
        let pairs = scorer.pair_transfers(&candidate.layout).unwrap_or(0);
        Some((
            scorer.cost(transfers, pairs),
            candidate.memory.bytes_per_object,
            candidate.moved,
            index,
        ))
    });
    counted.min().map(|(.., index)| index)
}
