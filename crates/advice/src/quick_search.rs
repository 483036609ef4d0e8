//! A quick search of one type, for the judgement that `report` shows.

use relayout_contend::Findings;
use relayout_search::Options;

use super::advised_type::AdvisedType;
use super::gathered::gather_type;
use super::objects::struct_in_wrapper;
use super::recommended::RecommendationLimits;
use super::search_request::{SearchRequest, search_effort};
use super::searched::SearchedType;
use crate::ResolvedProfile;
use crate::judgement::{INNER_DEPTH_MAX, TypeJudgement, TypeJudgements, deciding_type};

/// Types that `report --by saving` searches at most.
const TYPES_SEARCHED_MAX: usize = 12;
/// Candidates that get an interval, so that they can be recommended.
const CANDIDATES_SHOWN: usize = SearchRequest::TOP_DEFAULT;

/// Adds the judgements of the types of the first findings, and of the structs in them that decide,
/// by a quick search, unless they are known.
pub fn judge_findings(
    resolved: &ResolvedProfile<'_>,
    findings: &Findings,
    judgements: &mut TypeJudgements,
) {
    let mut searches_left = TYPES_SEARCHED_MAX;
    for finding in &findings.findings {
        // The judgement of the type may name a struct in it.
        for _ in 0..INNER_DEPTH_MAX {
            let Some(name) = deciding_type(finding, judgements).map(str::to_owned) else {
                break;
            };
            if judgements.contains_key(&name) {
                break;
            }
            if searches_left == 0 {
                return;
            }
            searches_left -= 1;
            let judgement = judge_quickly(resolved, &name);
            judgements.insert(name, judgement);
        }
    }
}

/// Searches layouts of the struct `name` with a part of the effort, without store guards, and
/// returns what can be saved.
fn judge_quickly(resolved: &ResolvedProfile<'_>, name: &str) -> TypeJudgement {
    if let Some(Some(held)) = struct_in_wrapper(resolved, name) {
        let reason =
            format!("the standard library lays it out; `relayout advise` is about {held} in it");
        return TypeJudgement::without_saving(name, &reason, false);
    }
    let gathered = match gather_type(resolved, name, &[]) {
        Ok(gathered) => gathered,
        Err(error) => return TypeJudgement::without_saving(name, &error.to_string(), true),
    };
    if let Some(reason) = gathered.skip_reason(resolved.line_bytes) {
        return TypeJudgement::without_saving(&gathered.name, &reason, true);
    }
    let options = Options {
        intervals: CANDIDATES_SHOWN,
        ..search_effort(true)
    };
    let searched = SearchedType::search(gathered, Vec::new(), Vec::new(), resolved, &options);
    let limits = RecommendationLimits {
        top: CANDIDATES_SHOWN,
        moves_max: None,
    };
    let advised = AdvisedType::new(searched, limits);
    TypeJudgement::from_advised(&advised, resolved.resolution.types(), false)
}
