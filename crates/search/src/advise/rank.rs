//! In which order candidates come, and what is said of the first.

use std::cmp::Ordering;

use super::{Advice, Scored, Verdict};
use crate::change::edit_count;
use crate::front::Cost;
use crate::interval::Interval;
use crate::score::COST_UNITS;

/// Of what the best gains, the part that fewer changes may cost.
const NEARLY: f64 = 0.02;

/// Orders candidates: see [`Advice::candidates`].
pub fn rank(candidates: &mut [Scored], today: &Scored) {
    candidates.sort_by(by_rank);
    let Some(best) = candidates.first().map(Scored::ranked_cost) else {
        return;
    };
    let gain = today.cost.saturating_sub(best) as f64;
    let enough = best + (gain * NEARLY) as u64;
    let near = candidates.partition_point(|one| one.ranked_cost() <= enough);
    candidates[..near].sort_by_key(|one| {
        (
            edit_count(&one.changes),
            one.memory.bytes_per_object,
            one.ranked_cost(),
        )
    });
}

pub fn cost(scored: &Scored) -> Cost {
    Cost {
        transfers: scored.ranked_cost(),
        bytes: scored.memory.bytes_per_object,
        moved: scored.moved,
    }
}

fn by_rank(a: &Scored, b: &Scored) -> Ordering {
    let key = |scored: &Scored| {
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
fn events(scored: &Scored) -> u64 {
    scored.cost + COST_UNITS * scored.tally.upgrades
}

/// What can be said about the first candidate.
pub fn verdict(advice: &Advice) -> Verdict {
    let today = &advice.current.tally;
    if advice.current.cost == 0 {
        return Verdict::NoTransfers;
    }
    match advice.candidates.first() {
        Some(best) if best.ranked_cost() < advice.current.cost => {
            let sure = |interval: Option<Interval>| interval.is_some_and(|it| it.is_less());
            match sure(best.interval) && sure(advice.held_out) {
                _ if best.is_unstable(&advice.current) => Verdict::Unstable,
                true if is_slight(best.ranked_cost(), advice.current.cost) => Verdict::Slight,
                true if events(best) > events(&advice.current) => Verdict::Traded,
                true => Verdict::Better,
                false => Verdict::Unclear,
            }
        }
        _ => {
            let least = (advice.candidates.iter().enumerate())
                .min_by_key(|(_, one)| (one.tally.false_first_touch, one.tally.transfers()));
            let first_touch = least
                .filter(|(_, one)| one.tally.false_first_touch < today.false_first_touch)
                .map(|(index, _)| index);
            Verdict::NothingBetter { first_touch }
        }
    }
}
