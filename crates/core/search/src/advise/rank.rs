//! In which order candidates come, and what is said of the first.

use std::cmp::Ordering;

use super::{AdviceVerdict, LayoutAdvice, ScoredLayout};
use crate::change::edit_count;
use crate::interval::ChangeInterval;
use crate::pareto_front::LayoutCost;
use crate::score::COST_UNITS;

/// Of what the best gains, the part that fewer changes may cost.
const NEARLY: f64 = 0.02;

/// Orders candidates: see [`Advice::candidates`].
pub fn rank_candidates(candidates: &mut [ScoredLayout], today: &ScoredLayout) {
    candidates.sort_by(by_rank);
    let Some(best) = candidates.first().map(ScoredLayout::ranked_cost) else {
        return;
    };
    let gain = today.cost.saturating_sub(best) as f64;
    let enough = best + (gain * NEARLY) as u64;
    let near = candidates.partition_point(|candidate| candidate.ranked_cost() <= enough);
    candidates[..near].sort_by_key(|candidate| {
        (
            edit_count(&candidate.changes),
            candidate.memory.bytes_per_object,
            candidate.ranked_cost(),
        )
    });
}

pub fn front_cost(scored: &ScoredLayout) -> LayoutCost {
    LayoutCost {
        transfers: scored.ranked_cost(),
        bytes: scored.memory.bytes_per_object,
        moved: scored.moved,
    }
}

fn by_rank(a: &ScoredLayout, b: &ScoredLayout) -> Ordering {
    let key = |scored: &ScoredLayout| {
        (
            scored.ranked_cost(),
            scored.cost,
            scored.tally.upgrades,
            scored.memory.bytes_per_object,
            scored.layout.size,
            edit_count(&scored.changes),
            scored.moved,
        )
    };
    key(a).cmp(&key(b))
}

/// Of what today's layout costs, the part that a change has to save to be worth it.
const WORTH: f64 = 0.01;

fn is_slight(best: u64, today: u64) -> bool {
    (today.saturating_sub(best) as f64) < today as f64 * WORTH
}

/// Its cost with upgrades, which take the line from others as transfers do.
fn events(scored: &ScoredLayout) -> u64 {
    scored.cost + COST_UNITS * scored.tally.upgrades
}

/// What can be said about the first candidate.
pub fn verdict(advice: &LayoutAdvice) -> AdviceVerdict {
    let today = &advice.current.tally;
    if advice.current.cost == 0 {
        return AdviceVerdict::NoTransfers;
    }
    match advice.candidates.first() {
        Some(best) if best.ranked_cost() < advice.current.cost => {
            let sure = |interval: Option<ChangeInterval>| {
                interval.is_some_and(|interval| interval.is_less())
            };
            match sure(best.interval) && sure(advice.held_out) {
                _ if best.is_unstable(&advice.current) => AdviceVerdict::Unstable,
                true if is_slight(best.ranked_cost(), advice.current.cost) => AdviceVerdict::Slight,
                true if events(best) > events(&advice.current) => AdviceVerdict::Traded,
                true => AdviceVerdict::Better,
                false => AdviceVerdict::Unclear,
            }
        }
        _ => {
            let least = (advice.candidates.iter().enumerate()).min_by_key(|(_, candidate)| {
                (
                    candidate.tally.false_first_touch,
                    candidate.tally.transfers(),
                )
            });
            let first_touch = least
                .filter(|(_, candidate)| {
                    candidate.tally.false_first_touch < today.false_first_touch
                })
                .map(|(index, _)| index);
            AdviceVerdict::NothingBetter { first_touch }
        }
    }
}
