//! Types of a recording by what a layout of them can save.

use std::path::Path;

use relayout_advice::{
    ResolvedNames, finding_saving, judge_findings, judged_type_name, rank_findings,
};
use relayout_messages::{RecordingProgress, UserError};
use relayout_session::{ProfileCache, with_resolved_profile};

use super::outcome::RankedType;

/// Saving that is worth a change, as a fraction of all transfers of the main benchmark.
pub const SHARE_MIN: f64 = 0.01;

/// Returns the types of which a layout saves enough in the recording, most first.
pub(super) fn rank_types(
    profile: &Path,
    progress: &dyn RecordingProgress,
) -> Result<Vec<RankedType>, UserError> {
    let mut ranked: Vec<RankedType> = Vec::new();
    with_resolved_profile(profile, &[], progress, |resolved, images| {
        let names = ResolvedNames::new(resolved, images);
        let findings = rank_findings(resolved, &names, None);
        let cache = ProfileCache::locate(profile, &[]);
        let mut judgements = cache.read_judgements();
        judge_findings(resolved, &findings, &mut judgements);
        cache.add_judgements(&judgements);
        for finding in &findings.findings {
            let (Some(counted), Some(saving)) = (
                judged_type_name(finding),
                finding_saving(finding, &findings, &judgements),
            ) else {
                continue;
            };
            let is_new = ranked.iter().all(|known| known.name != saving.type_name);
            if is_new && saving.share >= SHARE_MIN {
                ranked.push(RankedType {
                    name: saving.type_name,
                    counted: counted.to_owned(),
                    share: saving.share,
                });
            }
        }
        Ok::<(), UserError>(())
    })?;
    ranked.sort_by(|a, b| {
        b.share
            .total_cmp(&a.share)
            .then_with(|| a.name.cmp(&b.name))
    });
    Ok(ranked)
}
