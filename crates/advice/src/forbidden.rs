//! The layout that a source tree forbids: what its limits cost.
//!
//! Without a tree, few members have to stay. With one, no member crosses a border that code relies
//! on, so the recommended layout may save less. The difference needs a reason: the layout that would
//! be recommended without the tree, and the file and line that forbid it.

use relayout_search::{
    LayoutAdvice, Options, RankedLayout, Recommendation, RecommendationRules, recommend,
};

use super::crowded::CrowdedLayouts;
use super::order::OrderEvidence;
use super::searched::SearchedType;
use crate::ResolvedProfile;

/// Part of the transfers that the limits cost at least, to be worth a sentence.
const COST_MIN: f64 = 0.01;

/// A layout that would be recommended if a source tree set no limits.
#[derive(Clone, Debug)]
pub struct ForbiddenLayout {
    /// The layout.
    pub ranked: RankedLayout,
    /// Change of the transfers from today's layout: -0.424.
    pub change: f64,
    /// Limit that forbids it: file, line and use.
    pub limit: String,
}

impl ForbiddenLayout {
    /// Searches again without the limits of the source tree. `None` where there is no tree, its
    /// limits forbid nothing, or no layout saves more without them.
    pub(super) fn find(
        resolved: &ResolvedProfile<'_>,
        searched: &SearchedType<'_>,
        moves_max: Option<usize>,
        options: &Options,
    ) -> Option<Self> {
        let gathered = &searched.gathered;
        let limited = searched.outcome.as_ref().ok()?;
        gathered.order.search?;
        let without_tree = OrderEvidence::from_layout(&gathered.order_names, &gathered.shape);
        let is_same = without_tree.rules == gathered.order.rules
            && without_tree
                .pinned_members()
                .eq(gathered.order.pinned_members());
        if is_same {
            return None;
        }
        let step = format!(
            "replaying layouts of {} that the source forbids",
            gathered.name
        );
        resolved.progress.step(&step);
        let free_options = Options {
            keep: { gathered.pinned.iter().cloned() }
                .chain(without_tree.pinned_members())
                .collect(),
            order_rules: without_tree.rules,
            ..gathered.pinned_options(options)
        };
        let subject = searched.subject(resolved.line_bytes);
        let free = relayout_search::advise(subject, &[], &free_options).ok()?;
        let crowded = CrowdedLayouts::find(resolved, gathered, &free);
        let found = recommended(&free, &crowded, moves_max)?;
        let ranked = free.candidates.get(found.index)?;
        let kept = recommended(limited, &searched.crowded, moves_max);
        let kept = kept.and_then(|kept| limited.candidates.get(kept.index));
        let cost = kept.map_or(limited.current.cost, |kept| kept.ranked_cost());
        let today = limited.current.cost.max(1) as f64;
        let costs = cost.saturating_sub(ranked.ranked_cost()) as f64 / today;
        if costs < COST_MIN {
            return None;
        }
        let order = &ranked.arrangement.order;
        Some(Self {
            change: ranked.ranked_cost() as f64 / today - 1.0,
            limit: gathered
                .order
                .obstacle(&gathered.shape, order, &ranked.layout)?,
            ranked: ranked.clone(),
        })
    }
}

fn recommended(
    advice: &LayoutAdvice,
    crowded: &CrowdedLayouts,
    moves_max: Option<usize>,
) -> Option<Recommendation> {
    let rules = RecommendationRules {
        moves_max,
        is_allowed: &|index| !crowded.candidates.contains(&index),
    };
    recommend(advice, &rules).into_iter().next()
}
