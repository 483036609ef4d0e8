//! Costs of layouts in the build where they do worst.

use crate::advice::{ScoredLayout, UserLayout};
use crate::options::Options;
use crate::order::MemberOrder;
use crate::other_build::{VariantScore, score_in_build};
use crate::subject::AccessingCode;

/// Minimum number of candidates that are scored in other builds.
const POOL_MIN: usize = 32;
/// Maximum number of candidates that are scored in other builds.
const POOL_MAX: usize = 1024;

/// Candidates that were scored in all builds, and their costs in the build where they do worst.
pub(crate) struct WorstCosts {
    pub candidates: Vec<ScoredLayout>,
    /// By candidate.
    pub candidate_costs: Vec<u64>,
    /// By user layout.
    pub user_layout_costs: Vec<u64>,
    /// Number of candidates that were scored in the recorded build only.
    pub skipped: usize,
}

/// Scores `ranked` candidates and `user_layouts` in all builds of the subject.
///
/// As many of the first candidates as [`Options::budget_accesses`] allows are scored; the rest is
/// dropped. The cost of a build's own layout is scaled to `today_cost`, the cost of today's layout.
pub(crate) fn worst_build_costs(
    mut ranked: Vec<ScoredLayout>,
    today_cost: u64,
    code: AccessingCode<'_>,
    user_layouts: &[UserLayout],
    options: &Options,
) -> WorstCosts {
    let recorded = code.recorded_subject();
    let builds = recorded.builds;
    let accesses: usize = { recorded.instances.iter() }
        .map(|instance| instance.trace.accesses.len())
        .sum();
    let affordable = options.budget_accesses / (accesses.max(1) * builds.len().max(1)) as u64;
    let pool = usize::try_from(affordable).map_or(POOL_MAX, |n| n.clamp(POOL_MIN, POOL_MAX));
    let behind = ranked.split_off(pool.min(ranked.len()));
    let skipped = behind.len();
    // Today's layout with store guards is shown in any case.
    ranked.extend({ behind.into_iter() }.filter(|candidate| candidate.changes.is_empty()));
    let user_orders = user_layouts
        .iter()
        .map(|user_layout| user_layout.order.clone());
    let candidate_orders = { ranked.iter() }.map(|candidate| MemberOrder {
        arrangement: candidate.arrangement.clone(),
        pads: candidate.pads.clone(),
    });
    let orders: Vec<MemberOrder> = user_orders.chain(candidate_orders).collect();
    let orders: Vec<&MemberOrder> = orders.iter().collect();
    let mut worst = vec![0; orders.len()];
    for build in builds {
        let results = score_in_build(code, build, &orders, options.pair_coefficient);
        let Some((own, changed)) = results.split_first() else {
            continue;
        };
        for (worst, changed) in worst.iter_mut().zip(changed) {
            *worst = scale_to_today(today_cost, own, changed).max(*worst);
        }
    }
    let candidate_costs = worst.split_off(user_layouts.len());
    WorstCosts {
        candidates: ranked,
        candidate_costs,
        user_layout_costs: worst,
        skipped,
    }
}

/// Cost of a layout in a build, scaled as if that build's own layout cost `today_cost`. A build
/// whose own layout costs nothing counts only if the changed layout costs something.
fn scale_to_today(today_cost: u64, own: &VariantScore, changed: &VariantScore) -> u64 {
    match own.cost {
        0 if changed.cost == 0 => 0,
        0 => u64::MAX,
        _ => (today_cost as f64 * (changed.cost as f64 / own.cost as f64)).round() as u64,
    }
}
