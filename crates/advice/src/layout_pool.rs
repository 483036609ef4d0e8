//! The layouts of a search, with their scores in other scenarios.

use relayout_search::{
    LayoutAdvice, RankedLayout, Recommendation, RecommendationRules, UserLayout, recommend,
};

use super::crowded::CrowdedLayouts;
use super::guards::GuardableStore;
use super::scenarios::OtherScenario;

/// The layouts of a search, with their scores in other scenarios.
#[derive(Clone, Copy)]
pub struct LayoutPool<'a> {
    /// Statements that have a guard in these layouts.
    pub statements: &'a [GuardableStore],
    /// Layouts given by the user.
    pub user_layouts: &'a [UserLayout],
    /// Candidates and scores.
    pub advice: &'a LayoutAdvice,
    /// Scores in other scenarios.
    pub scenarios: &'a [OtherScenario],
    /// Candidates that would move transfers to other variables; `None` where none was looked for.
    pub crowded: Option<&'a CrowdedLayouts>,
}

impl<'a> LayoutPool<'a> {
    /// Returns the best candidate.
    pub fn best(&self) -> Option<&'a RankedLayout> {
        self.advice.candidates.first()
    }

    /// Returns the candidates that are worth their edits without the limits of a request and the other scenarios, the
    /// recommended one first.
    pub fn unlimited_recommendations(&self) -> Vec<Recommendation> {
        let rules = RecommendationRules {
            moves_max: None,
            is_allowed: &|_| true,
        };
        recommend(self.advice, &rules)
    }

    /// Returns the scenarios that a layout clearly hurts; `listed_index` is its place in
    /// the layouts that are scored in other scenarios.
    pub fn scenarios_hurt_by(&self, listed_index: usize) -> Vec<&'a OtherScenario> {
        let is_hurt = |scenario: &&OtherScenario| {
            scenario
                .results_at(listed_index)
                .is_some_and(|(own, there)| there.is_harmful(own))
        };
        self.scenarios.iter().filter(is_hurt).collect()
    }

    /// Returns the place in the layouts that are scored in other scenarios of a candidate, by its index; `None` if it is not
    /// listed.
    pub fn listed_index(&self, top: usize, candidate: usize) -> Option<usize> {
        let mut shown = self.advice.shown_candidates(top).into_iter();
        let index = shown.position(|shown| shown == candidate)?;
        Some(self.user_layouts.len() + index)
    }

    /// True if a candidate, by its index, was scored in all scenarios and hurts none, nor the
    /// variables beside the objects.
    pub fn is_harmless(&self, top: usize, candidate: usize) -> bool {
        let is_harmless_at = |index| self.scenarios_hurt_by(index).is_empty();
        let is_crowded =
            { self.crowded }.is_some_and(|crowded| crowded.candidates.contains(&candidate));
        if is_crowded {
            return false;
        }
        self.scenarios.is_empty()
            || self
                .listed_index(top, candidate)
                .is_some_and(is_harmless_at)
    }
}
