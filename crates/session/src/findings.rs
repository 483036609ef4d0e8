//! Findings of a resolved profile.

use relayout_check::RecordedHotMember;
use relayout_contend::finding::FindingMember;
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

/// Returns a finding's member with its traffic; `None` for one before the start of its object.
pub(crate) fn recorded_member(member: &FindingMember) -> Option<RecordedHotMember> {
    Some(RecordedHotMember {
        path: member.name.clone(),
        offset: u64::try_from(member.offset).ok()?,
        size: member.size,
        reads: member.reads,
        writes: member.writes,
        contexts: member.contexts,
        transfers: member.transfers,
    })
}
