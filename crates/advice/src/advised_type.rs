//! A type with all that advice says of it, but for a patch.

use relayout_search::{LayoutAdvice, RankedLayout, Recommendation};

use super::accesses::MemberAccesses;
use super::doubts::{AdviceDoubt, has_evidence};
use super::guards::GuardAdvice;
use super::layout_pool::LayoutPool;
use super::recommended::{PoolLayout, RecommendationLimits};
use super::scenarios::ScenarioScores;
use super::searched::SearchedType;
use super::simulated_layouts::{LayoutSimulated, ProposedLayout};

/// A type with scores, guards, scenarios and gains.
pub struct AdvisedType<'a> {
    /// Candidates and scores.
    pub searched: SearchedType<'a>,
    /// Members with the functions that access them.
    pub accesses: Vec<MemberAccesses>,
    /// Guards of stores that mostly change nothing.
    pub guards: Option<GuardAdvice>,
    /// Scores in other workloads and configurations.
    pub scenarios: ScenarioScores,
    /// Reasons for which no gain may hold; see [`AdvisedType::doubts_about`] for all of a layout.
    pub doubts: Vec<AdviceDoubt>,
    /// Windows in simulated time of layouts; none where they were not asked for.
    pub simulated: Vec<(ProposedLayout, LayoutSimulated)>,
    /// Limits of the recommendation.
    pub limits: RecommendationLimits,
}

impl<'a> AdvisedType<'a> {
    /// Returns the advice that a search alone gives.
    pub(crate) fn new(searched: SearchedType<'a>, limits: RecommendationLimits) -> Self {
        Self {
            searched,
            accesses: Vec::new(),
            guards: None,
            scenarios: ScenarioScores::default(),
            doubts: Vec::new(),
            simulated: Vec::new(),
            limits,
        }
    }
}

impl AdvisedType<'_> {
    /// Returns the recommended candidate of the layouts without guards: the `written` one, or the first that is worth
    /// its edits.
    pub fn recommended(&self, written: Option<PoolLayout>) -> Option<Recommendation> {
        let mut recommended = self.unguarded_pool()?.recommendations(self.limits);
        let is_written =
            |found: &Recommendation| written == Some(PoolLayout::Candidate(found.index));
        let index = recommended.iter().position(is_written).unwrap_or(0);
        (index < recommended.len()).then(|| recommended.swap_remove(index))
    }

    /// Returns the candidate that would have become the patch if its edits could be written, with
    /// its pool.
    pub fn most_recommended(&self) -> Option<(LayoutPool<'_>, Recommendation)> {
        if let Some(guarded) = self.recommended_guarded() {
            return Some(guarded);
        }
        let pool = self.unguarded_pool()?;
        let first = pool.recommendations(self.limits).into_iter().next()?;
        Some((pool, first))
    }

    /// Returns the recommended candidate with guards, with its pool, where guards are clearly better.
    pub fn recommended_guarded(&self) -> Option<(LayoutPool<'_>, Recommendation)> {
        let (pool, found) = self.guarded_recommendations()?;
        Some((pool, found.into_iter().next()?))
    }

    /// Returns the layouts without guards; `None` if nothing was searched.
    pub fn unguarded_pool(&self) -> Option<LayoutPool<'_>> {
        Some(LayoutPool {
            statements: &[],
            user_layouts: &self.searched.user_layouts,
            advice: self.searched.outcome.as_ref().ok()?,
            scenarios: &self.scenarios.unguarded,
            crowded: Some(&self.searched.crowded),
        })
    }

    /// Returns the layouts with guards.
    pub fn guarded_pool(&self) -> Option<LayoutPool<'_>> {
        let guards = self.guards.as_ref()?;
        Some(LayoutPool {
            statements: &guards.statements,
            user_layouts: &[],
            advice: &guards.guarded.advice,
            scenarios: &self.scenarios.guarded,
            crowded: None,
        })
    }

    /// Returns the layouts with guards if they are clearly better than those without.
    pub fn better_guarded_pool(&self) -> Option<LayoutPool<'_>> {
        self.guards
            .as_ref()
            .filter(|guards| guards.guarded.is_better())
            .and_then(|_| self.guarded_pool())
    }

    /// True if enough was replayed, and no layout that was found saves at least 1% of the transfers,
    /// with or without guards: all that a search can say against layouts.
    pub fn finds_nothing(&self) -> bool {
        let is_known = |advice: &LayoutAdvice| {
            advice.saves_nothing() && has_evidence(&self.searched.gathered, advice)
        };
        self.advice().is_some_and(is_known) && self.better_guarded_pool().is_none()
    }

    /// Returns the best candidate, with guards or without.
    pub fn best_candidate(&self) -> Option<&RankedLayout> {
        self.better_guarded_pool()
            .or_else(|| self.unguarded_pool())?
            .best()
    }

    /// Returns the advice without guards; `None` if nothing was searched.
    pub fn advice(&self) -> Option<&LayoutAdvice> {
        self.searched.outcome.as_ref().ok()
    }
}
