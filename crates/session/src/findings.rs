//! Findings of a resolved profile.

use relayout_contend::{FindSettings, Findings, find_with};

use crate::{ResolvedNames, ResolvedProfile};

/// Ranks the contended cache lines of a profile.
///
/// `pair_coefficient` is the cost of a pair transfer in transfers. Above 0, adjacent lines are
/// findings.
pub fn rank_findings(
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    pair_coefficient: Option<f64>,
) -> Findings {
    resolved.progress.step("ranking cache lines");
    find_with(resolved.profile, names, &FindSettings { pair_coefficient })
}
