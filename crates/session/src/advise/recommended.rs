//! The layout of a type that becomes the patch: the recommended one, or the one that was chosen.

use relayout_search::{RankedLayout, Recommendation, RecommendationRules, recommend};

use super::advised_type::AdvisedType;
use super::layout_pool::LayoutPool;

/// Layout that becomes the patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayoutChoice {
    /// The recommended candidate.
    #[default]
    Recommended,
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
    /// Returns the recommended candidate of the layouts without guards.
    pub fn recommended(&self, limits: RecommendationLimits) -> Option<Recommendation> {
        let pool = self.unguarded_pool()?;
        pool.recommendations(limits).into_iter().next()
    }
}
