//! Candidates by what they cost in the build where they do worst.

use crate::advise::{LayoutAdvice, Options, UserLayout};
use crate::order::MemberOrder;
use crate::other_build::{VariantScore, score_in_build};
use crate::subject::AccessingCode;

/// Candidates scored in other builds: no fewer, ...
const POOL_MIN: usize = 32;
/// ... and no more.
const POOL_MAX: usize = 1024;

/// Adds to the candidates, which are ranked as recorded, and to the given layouts what they cost where they do
/// worst: as recorded, or in one of the subject's builds. As many of the first as
/// [`Options::budget_accesses`] allows are scored in all builds; the others leave the list and are counted
/// in [`LeftOut::builds`](crate::LeftOut::builds).
pub(crate) fn add_worst_build_costs(
    advice: &mut LayoutAdvice,
    code: AccessingCode<'_>,
    user_layouts: &[UserLayout],
    options: &Options,
) {
    let recorded = code.recorded_subject();
    let builds = recorded.builds;
    let accesses: usize = { recorded.instances.iter() }
        .map(|instance| instance.trace.accesses.len())
        .sum();
    let affordable = options.budget_accesses / (accesses.max(1) * builds.len().max(1)) as u64;
    let pool = usize::try_from(affordable).map_or(POOL_MAX, |n| n.clamp(POOL_MIN, POOL_MAX));
    let behind = advice
        .candidates
        .split_off(pool.min(advice.candidates.len()));
    advice.left_out.builds = behind.len();
    // Today's layout with checks is asked about in any case.
    let alone = behind
        .into_iter()
        .filter(|candidate| candidate.changes.is_empty());
    advice.candidates.extend(alone);
    advice.builds = builds.len();

    let found = advice.candidates.iter();
    let orders: Vec<MemberOrder> = (user_layouts
        .iter()
        .map(|user_layout| user_layout.order.clone()))
    .chain(found.map(|candidate| MemberOrder::from_arrangement(candidate.arrangement.clone())))
    .collect();
    let orders: Vec<&MemberOrder> = orders.iter().collect();
    let today = advice.current.cost;
    let mut worst = vec![0; orders.len()];
    for build in builds {
        let results = score_in_build(code, build, &orders, options.pair_coefficient);
        let Some((own, there)) = results.split_first() else {
            continue;
        };
        for (worst, there) in worst.iter_mut().zip(there) {
            *worst = scale_to_today(today, own, there).max(*worst);
        }
    }
    let scored = advice.user_layouts.iter_mut().chain(&mut advice.candidates);
    for (layout, worst) in scored.zip(worst) {
        layout.worst_build_cost = Some(worst.max(layout.cost));
    }
}

/// What a layout costs in a build, if that build's own layout cost as much as `today`'s. A build whose
/// own layout costs nothing has a say only if the other has.
fn scale_to_today(today: u64, own: &VariantScore, there: &VariantScore) -> u64 {
    match own.cost {
        0 if there.cost == 0 => 0,
        0 => u64::MAX,
        _ => (today as f64 * (there.cost as f64 / own.cost as f64)).round() as u64,
    }
}
