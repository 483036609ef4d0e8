//! The layout of a type that becomes the patch: the recommended one, or the one that was chosen.

use relayout_search::{
    ComparedBy, EditSize, RankedLayout, Recommendation, RecommendationRules, recommend,
};

use super::advised_type::AdvisedType;
use super::layout_pool::LayoutPool;

/// Layout that becomes the patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayoutChoice {
    /// The recommended candidate.
    #[default]
    Recommended,
    /// The candidate that is recommended after so many others, without guards.
    NextRecommended(usize),
    /// The candidate of this number in the table of layouts, from 1.
    Picked(usize),
    /// The first given layout.
    Given,
}

/// Limits of a recommendation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecommendationLimits {
    /// Candidates worth showing, by rank.
    pub top: usize,
    /// Members that may move at most; `None` for any number.
    pub moves_max: Option<usize>,
}

/// A layout of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolLayout {
    /// A candidate, by its index.
    Candidate(usize),
    /// A given layout, by its index.
    Given(usize),
}

impl PoolLayout {
    /// Returns the layout with its scores.
    pub fn ranked<'a>(self, pool: LayoutPool<'a>) -> Option<&'a RankedLayout> {
        match self {
            Self::Candidate(index) => pool.advice.candidates.get(index),
            Self::Given(index) => pool.advice.user_layouts.get(index),
        }
    }

    /// Returns its place in the layouts that are scored in other scenarios; `None` if it is not
    /// listed.
    pub fn listed_index(self, pool: LayoutPool<'_>, top: usize) -> Option<usize> {
        match self {
            Self::Candidate(index) => pool.listed_index(top, index),
            Self::Given(index) => Some(index),
        }
    }
}

impl LayoutPool<'_> {
    /// Returns the candidates that are worth their edits and hurt no other scenario, the
    /// recommended one first.
    pub fn recommendations(&self, limits: RecommendationLimits) -> Vec<Recommendation> {
        let rules = RecommendationRules {
            moves_max: limits.moves_max,
            is_allowed: &|index| self.is_harmless(limits.top, index),
        };
        recommend(self.advice, &rules)
    }
}

impl AdvisedType<'_> {
    /// Returns the recommended candidates of the layouts with guards, the first one first, if they
    /// are clearly better and worth more than what is recommended without guards. A check before a
    /// store is an edit as a moved member is.
    pub fn guarded_recommendations(&self) -> Option<(LayoutPool<'_>, Vec<Recommendation>)> {
        let (unguarded, guarded) = (self.unguarded_pool()?, self.better_guarded_pool()?);
        let limits = self.limits;
        let decides = |pool: LayoutPool<'_>| pool.advice.compared_by != ComparedBy::Transfers;
        let is_executed = |pool: LayoutPool<'_>| pool.advice.is_simulated();
        if decides(guarded) && !decides(unguarded) {
            let found = guarded.recommendations(limits);
            return Some((guarded, found)).filter(|(_, found)| !found.is_empty());
        }
        if decides(unguarded) && !decides(guarded)
            || is_executed(unguarded) && !is_executed(guarded)
        {
            // What was not executed, or is not faster by all draws, is not held against what is.
            return None;
        }
        let cost = |pool: LayoutPool<'_>, index: usize| pool.advice.candidates[index].ranked_cost();
        let mut found = guarded.recommendations(limits);
        let Some(plain) = unguarded.recommendations(limits).into_iter().next() else {
            let least = unguarded.best().map_or(u64::MAX, RankedLayout::ranked_cost);
            found.retain(|found| cost(guarded, found.index) < least);
            return Some((guarded, found));
        };
        let today = unguarded.advice.current.cost;
        let saved = |pool: LayoutPool<'_>, index: usize| {
            if decides(pool) {
                pool.advice.saved_by(&pool.advice.candidates[index])
            } else {
                today.saturating_sub(cost(pool, index)) as f64
            }
        };
        let most = |found: &Recommendation, pool: LayoutPool<'_>| saved(pool, found.most.0);
        let most_guarded = found.first().map_or(0.0, |found| most(found, guarded));
        let most_saved = most(&plain, unguarded).max(most_guarded);
        let comparable = |found: &Recommendation, pool: LayoutPool<'_>| Recommendation {
            gain_kept: saved(pool, found.index) / most_saved,
            edit: EditSize {
                guards: pool.statements.len(),
                ..found.edit
            },
            ..found.clone()
        };
        let plain = comparable(&plain, unguarded);
        found.retain(|found| comparable(found, guarded).preference(&plain).is_lt());
        Some((guarded, found)).filter(|(_, found)| !found.is_empty())
    }
}
