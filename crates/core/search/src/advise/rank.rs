//! Order of candidates, and the verdict about the first.

use relayout_contend::throughput::ThroughputGain;

use crate::advice::{AdviceVerdict, RankedLayout, ScoredLayout};
use crate::change::edit_count;
use crate::interval::ChangeInterval;
use crate::judged_parts::JudgedParts;
use crate::pareto_front::LayoutCost;
use crate::score::COST_UNITS;
use crate::source_blocks::SourceBlocks;

/// Part of the best gain that a candidate with fewer edits may lack.
const NEARLY: f64 = 0.02;
/// Part of today's cost that a change has to save to be worth it.
const WORTH: f64 = 0.01;

/// A scored layout with the cost that it is ranked by.
pub(super) struct CostedLayout {
    pub scored: ScoredLayout,
    /// As [`RankedLayout::worst_build_cost`].
    worst_build_cost: Option<u64>,
}

impl CostedLayout {
    /// Layouts that are ranked by their cost in the recorded build.
    pub(super) fn from_scored(layouts: Vec<ScoredLayout>) -> Vec<Self> {
        let costed = layouts.into_iter().map(|scored| Self {
            scored,
            worst_build_cost: None,
        });
        costed.collect()
    }

    /// Layouts that are ranked by their cost in the build where they do worst.
    pub(super) fn from_worst_costs(layouts: Vec<ScoredLayout>, costs: Vec<u64>) -> Vec<Self> {
        let costed = layouts.into_iter().zip(costs).map(|(scored, cost)| Self {
            scored,
            worst_build_cost: Some(cost),
        });
        costed.collect()
    }

    fn ranked_cost(&self) -> u64 {
        self.worst_build_cost.unwrap_or(self.scored.cost)
    }

    pub(super) fn front_cost(&self) -> LayoutCost {
        front_cost(&self.scored, self.ranked_cost())
    }

    pub(super) fn into_ranked(
        layouts: Vec<Self>,
        front: Vec<bool>,
        intervals: Vec<Option<ChangeInterval>>,
    ) -> Vec<RankedLayout> {
        { layouts.into_iter().zip(front).zip(intervals) }
            .map(|((costed, pareto), interval)| RankedLayout {
                scored: costed.scored,
                worst_build_cost: costed.worst_build_cost,
                pareto,
                interval,
                parts: JudgedParts::default(),
                gain: None,
                simulated: None,
            })
            .collect()
    }
}

/// Sorts candidates as [`LayoutAdvice::candidates`](crate::LayoutAdvice::candidates) are;
/// `today_cost` is the cost of today's layout.
pub(super) fn rank_candidates(
    candidates: &mut [CostedLayout],
    today_cost: u64,
    blocks: &SourceBlocks,
) {
    candidates.sort_by_cached_key(|costed| rank_key(costed, blocks));
    let Some(best) = candidates.first().map(CostedLayout::ranked_cost) else {
        return;
    };
    let gain = today_cost.saturating_sub(best) as f64;
    let cost_max = best + (gain * NEARLY) as u64;
    let near = candidates.partition_point(|candidate| candidate.ranked_cost() <= cost_max);
    // Larger elements never come before runs that begin at lines: they cost memory for each
    // element.
    let rounds = |candidate: &CostedLayout| candidate.scored.layout.run_align > 1;
    let has_rounded = candidates[..near].iter().any(rounds);
    candidates[..near].sort_by_key(|candidate| {
        (
            has_rounded && !rounds(candidate),
            edit_count(&candidate.scored.changes) + usize::from(candidate.scored.needs_allocation),
            candidate.scored.memory.bytes_per_object,
            candidate.scored.moved,
            candidate.ranked_cost(),
        )
    });
}

/// Cost on the Pareto front of a layout that is ranked by `ranked_cost`.
pub(super) fn front_cost(scored: &ScoredLayout, ranked_cost: u64) -> LayoutCost {
    LayoutCost {
        transfers: ranked_cost,
        bytes: scored.memory.bytes_per_object,
        moved: scored.moved,
    }
}

/// Costs in the order of their weight; the last is what a layout cuts apart in the source.
fn rank_key(costed: &CostedLayout, blocks: &SourceBlocks) -> [u64; 8] {
    let scored = &costed.scored;
    [
        costed.ranked_cost(),
        scored.cost,
        scored.tally.upgrades,
        scored.memory.bytes_per_object,
        scored.layout.size,
        edit_count(&scored.changes) as u64 + u64::from(scored.needs_allocation),
        scored.moved as u64,
        blocks.cuts(&scored.arrangement) as u64,
    ]
}

/// Returns true if a candidate is clearly better than today's layout: in all recordings, by at
/// least 1%, on all parts that did not choose it, without more of transfers and upgrades together,
/// and without a predicted loss.
pub(crate) fn is_worth_it(current: &ScoredLayout, candidate: &RankedLayout) -> bool {
    let is_less = candidate
        .interval
        .is_some_and(|interval| interval.is_less());
    let is_loss = candidate.gain.as_ref().is_some_and(ThroughputGain::is_loss);
    is_less
        && !is_loss
        && candidate.ranked_cost() < current.cost
        && !candidate.is_unstable(current)
        && !candidate.parts.lacks_gain()
        && !is_slight(candidate.ranked_cost(), current.cost)
        && cost_with_upgrades(candidate) <= cost_with_upgrades(current)
}

/// Returns true if a cost is less than 1% below today's, or not below it.
pub(crate) fn is_slight(best: u64, today: u64) -> bool {
    (today.saturating_sub(best) as f64) < today as f64 * WORTH
}

/// Cost of a layout plus its upgrades, which take the line from others as transfers do.
fn cost_with_upgrades(scored: &ScoredLayout) -> u64 {
    scored.cost + COST_UNITS * scored.tally.upgrades
}

/// Concludes about the first of the ranked `candidates`.
pub(super) fn verdict(
    current: &ScoredLayout,
    candidates: &[RankedLayout],
    held_out: Option<ChangeInterval>,
) -> AdviceVerdict {
    if current.cost == 0 {
        return AdviceVerdict::NoTransfers;
    }
    let best = match candidates.first() {
        Some(best) if best.ranked_cost() < current.cost => best,
        _ => return nothing_better(current, candidates),
    };
    let is_less =
        |interval: Option<ChangeInterval>| interval.is_some_and(|interval| interval.is_less());
    match is_less(best.interval) && is_less(held_out) {
        _ if best.is_unstable(current) => AdviceVerdict::Unstable,
        true if is_slight(best.ranked_cost(), current.cost) => AdviceVerdict::Slight,
        true if cost_with_upgrades(best) > cost_with_upgrades(current) => AdviceVerdict::Traded,
        true if best.parts.lacks_gain() => AdviceVerdict::Uneven,
        true => AdviceVerdict::Better,
        false => AdviceVerdict::Unclear,
    }
}

fn nothing_better(current: &ScoredLayout, candidates: &[RankedLayout]) -> AdviceVerdict {
    let first_touch = { candidates.iter().enumerate() }
        .min_by_key(|(_, candidate)| {
            let tally = &candidate.tally;
            (tally.false_first_touch, tally.transfers())
        })
        .filter(|(_, least)| least.tally.false_first_touch < current.tally.false_first_touch)
        .map(|(index, _)| index);
    AdviceVerdict::NothingBetter { first_touch }
}
