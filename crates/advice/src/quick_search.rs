//! A quick search of one type, for the judgement that `report` shows.

use relayout_search::Options;

use super::advised_type::AdvisedType;
use super::gathered::gather_type;
use super::objects::struct_in_wrapper;
use super::recommended::RecommendationLimits;
use super::search_request::SearchRequest;
use super::searched::SearchedType;
use super::stages::search_effort;
use crate::ResolvedProfile;
use crate::judgement::TypeJudgement;

/// Candidates that get an interval, so that they can be recommended.
const CANDIDATES_SHOWN: usize = SearchRequest::TOP_DEFAULT;

/// Searches layouts of the struct `name` with a part of the effort, without store guards, and
/// returns what can be saved.
pub(crate) fn judge_quickly(resolved: &ResolvedProfile<'_>, name: &str) -> TypeJudgement {
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
