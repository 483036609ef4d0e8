//! Judgements of types in the user's cache.

use relayout_advice::{ResolvedProfile, TypeJudgements, advised_judgements};
use serde::Serialize;

use crate::advise::{AdviceRequest, AdviceRun};
use crate::{ProfileCache, ProfileQuestion};

/// Question for the judgements that all searches of a profile have left.
#[derive(Serialize)]
struct JudgementsQuestion;

impl ProfileQuestion for JudgementsQuestion {
    const KIND: &'static str = "judged";
    type Answer = TypeJudgements;
}

impl ProfileCache {
    /// Returns the kept judgements; none if there are none, or the files have changed.
    pub fn read_judgements(&self) -> TypeJudgements {
        self.read(&JudgementsQuestion).unwrap_or_default()
    }

    /// Keeps judgements beside those that are kept. A thorough one is not replaced by a quick one.
    pub fn add_judgements(&self, judgements: &TypeJudgements) {
        let mut types = self.read_judgements();
        let before = types.clone();
        for (name, judgement) in judgements {
            let is_better_known =
                { types.get(name) }.is_some_and(|kept| kept.is_thorough && !judgement.is_thorough);
            if !is_better_known {
                types.insert(name.clone(), judgement.clone());
            }
        }
        if types != before {
            self.keep(&JudgementsQuestion, &types);
        }
    }
}

/// Returns the judgements of an advice run; none if the user's options lead to another search than the one that
/// `report` shows.
pub fn run_judgements(
    resolved: &ResolvedProfile<'_>,
    run: &AdviceRun<'_>,
    request: &AdviceRequest,
) -> TypeJudgements {
    if !request.is_plain() {
        return TypeJudgements::new();
    }
    let types = run.types.iter().map(|patched| &patched.advised);
    advised_judgements(resolved, types, !request.search.types.is_empty())
}
