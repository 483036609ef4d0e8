//! Layouts of a type as patches, scored in the recordings of all benchmarks.

use std::path::{Path, PathBuf};

use relayout_advice::{
    LayoutChoice, LayoutPool, OtherScenario, ResolvedNames, ResolvedProfile, SearchRequest,
    TypeJudgement,
};
use relayout_messages::{RecordingProgress, UserError};
use relayout_session::advise::{
    AdviceRequest, PatchOutcome, PatchedType, WrittenPatch, advise_types,
};
use relayout_session::{read_machine, with_resolved_profile};
use serde::{Deserialize, Serialize};

use super::ChangeWriter;
use super::outcome::{ChangeDescription, ChangeProposal};
use super::predicted_effect::PredictedEffect;

/// Candidates that are scored in the other recordings.
const TOP: usize = SearchRequest::TOP_DEFAULT;

/// Answer to the question for the next layout of a type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ProposalAnswer {
    /// A patch.
    Proposed(Box<ChangeProposal>),
    /// No patch, with the reason.
    Refused(String),
    /// All layouts that are recommended were proposed.
    Exhausted,
}

/// Recordings of the benchmarks and the source that they were built from.
pub(super) struct ProposalInputs<'i> {
    /// Names of the benchmarks, the main one first.
    pub(super) benches: &'i [&'i str],
    /// Their profiles.
    pub(super) profiles: &'i [PathBuf],
    /// Source.
    pub(super) source: &'i Path,
    /// Writer of descriptions.
    pub(super) writer: &'i dyn ChangeWriter,
    /// Receiver of progress.
    pub(super) progress: &'i dyn RecordingProgress,
}

impl ProposalInputs<'_> {
    /// Proposes the recommended layout of the type, after so many others that were tried.
    ///
    /// A layout that another recording clearly loses by is not proposed. A layout that is in doubt
    /// is: recording and measuring it decides.
    ///
    /// # Errors
    /// A profile, debug file or source file cannot be read.
    pub(super) fn propose(
        &self,
        type_name: &str,
        skipped: usize,
    ) -> Result<ProposalAnswer, UserError> {
        let request = AdviceRequest {
            search: SearchRequest {
                types: vec![type_name.to_owned()],
                top: TOP,
                machine: read_machine(None, None, None)?,
                force: true,
                ..SearchRequest::default()
            },
            workloads: self.profiles[1..].to_vec(),
            source: Some(self.source.to_owned()),
            choice: match skipped {
                0 => LayoutChoice::Recommended,
                _ => LayoutChoice::NextRecommended(skipped),
            },
            ..AdviceRequest::default()
        };
        with_resolved_profile(&self.profiles[0], &[], self.progress, |resolved, images| {
            let names = ResolvedNames::new(resolved, images);
            let run = advise_types(resolved, &names, &request, None)?;
            let patched = run.types.first();
            Ok::<_, UserError>(match patched.map(|patched| (patched, &patched.patch)) {
                Some((patched, Some(PatchOutcome::Diff(written)))) => {
                    self.describe(resolved, patched, written)
                }
                _ if skipped > 0 => ProposalAnswer::Exhausted,
                Some((patched, refused)) => {
                    ProposalAnswer::Refused(self.refusal(resolved, patched, refused.as_ref()))
                }
                None => ProposalAnswer::Refused("it has no order to change".to_owned()),
            })
        })
    }

    fn describe(
        &self,
        resolved: &ResolvedProfile<'_>,
        patched: &PatchedType<'_>,
        written: &WrittenPatch,
    ) -> ProposalAnswer {
        let description: Option<ChangeDescription> = self.writer.describe_patch(resolved, patched);
        let predicted = self.predict(patched, written);
        match (description, predicted) {
            (Some(description), Some(predicted)) => {
                ProposalAnswer::Proposed(Box::new(ChangeProposal {
                    description,
                    diff: written.edited.diff.clone(),
                    predicted,
                }))
            }
            _ => ProposalAnswer::Refused("the patch makes none of the scored layouts".to_owned()),
        }
    }

    fn predict(
        &self,
        patched: &PatchedType<'_>,
        written: &WrittenPatch,
    ) -> Option<Vec<PredictedEffect>> {
        let pool = written.edited.pool(&patched.advised)?;
        let candidate = written.edited.candidate(&patched.advised)?;
        let mut predicted = vec![PredictedEffect {
            bench: self.benches[0].to_owned(),
            before: pool.advice.current.tally.transfers(),
            after: candidate.tally.transfers(),
        }];
        if let Some(listed) = written.edited.layout.listed_index(pool, TOP) {
            let scenarios = pool.scenarios.iter();
            predicted.extend(scenarios.filter_map(|scenario| self.scenario(scenario, listed)));
        }
        Some(predicted)
    }

    fn scenario(&self, scenario: &OtherScenario, listed: usize) -> Option<PredictedEffect> {
        let (own, there) = scenario.results_at(listed)?;
        let is_of = |profile: &PathBuf| profile.display().to_string() == scenario.name;
        let bench = self.profiles.iter().position(is_of)?;
        Some(PredictedEffect {
            bench: self.benches[bench].to_owned(),
            before: own.tally.transfers(),
            after: there.tally.transfers(),
        })
    }

    /// Returns the reason why no patch is proposed, with the numbers of the benchmark that would
    /// lose.
    fn refusal(
        &self,
        resolved: &ResolvedProfile<'_>,
        patched: &PatchedType<'_>,
        outcome: Option<&PatchOutcome>,
    ) -> String {
        match outcome {
            Some(PatchOutcome::Refused(reason)) => match self.harm_words(patched) {
                Some(harm) => format!("{reason}: {harm}"),
                None => reason.clone(),
            },
            _ => {
                TypeJudgement::from_advised(&patched.advised, resolved.resolution.types(), true)
                    .reason
            }
        }
    }

    fn harm_words(&self, patched: &PatchedType<'_>) -> Option<String> {
        let pool: LayoutPool<'_> = patched.advised.unguarded_pool()?;
        let best = pool.unlimited_recommendations().into_iter().next()?;
        let listed = pool.listed_index(TOP, best.index)?;
        let hurt = pool.scenarios_hurt_by(listed).into_iter();
        let words = hurt.filter_map(|scenario| {
            let effect = self.scenario(scenario, listed)?;
            Some(format!(
                "by replay, {} goes from {}",
                effect.bench,
                effect.words()
            ))
        });
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}
