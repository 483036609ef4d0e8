//! The documents of `advise` and `what-if`, made of a session's values.

mod candidates;
mod evidence;
mod pool;

use std::collections::BTreeSet;

use relayout_advice::{
    ContendedVariable, GatheredType, ResolvedProfile, SearchedType, SimulatedChange,
};
use relayout_profile::ProfileMeta;
use relayout_search::{AdviceVerdict, ComparedBy, LayoutAdvice, RankedLayout, Recommendation};
use relayout_session::advise::{AdviceRun, PatchOutcome, PatchedType};

use crate::documents::Document as _;
use crate::documents::advise::candidate::CandidateDocument;
use crate::documents::advise::evidence::BoundDocument;
use crate::documents::advise::patch::written_patch_document;
use crate::documents::advise::{
    AdviseDocument, AdvisedSubjectDocument, AdvisedTypeDocument, AdvisedVariableDocument,
    RefusedTypeDocument, SkippedTypeDocument, TypeDocument, VariableFindingDocument,
    WhatIfDocument, WhatIfOutcomeDocument, WhatIfScoresDocument,
};
use crate::documents::report::{advice_document, declaring_document, source_position};
use crate::words::advice::PoolView;
use crate::words::advice::memory::memory_sentences;
use crate::words::advice::order::order_sentences;
use crate::words::advice::recommendation::{limited_sentence, recommendation_reason};
use crate::words::advice::review::LayoutReview;
use crate::words::remedy::RemedyContext;
use crate::words::saving::OutlookWords;
use crate::words::{ContextNoun, recorded_time_words};
use candidates::{
    candidate_document, candidate_documents, given_documents, interval_document, layout_document,
};
use evidence::{
    accesses_document, compile_results, doubt_documents, left_out_document, order_fact_document,
    phase_documents,
};
use pool::{conclusion_document, guard_document, review_document, shown_place};

/// Returns the document of `advise`, with the candidates worth showing for `top`.
pub fn advise_document(
    resolved: &ResolvedProfile<'_>,
    run: &AdviceRun<'_>,
    top: usize,
) -> AdviseDocument {
    AdviseDocument {
        schema: AdviseDocument::SCHEMA.to_owned(),
        workload: resolved.profile.meta.workload.clone(),
        line_bytes: resolved.line_bytes,
        notes: run.notes.clone(),
        recorded_time: recorded_time_words(&resolved.profile.meta),
        types: { run.types.iter() }
            .map(|patched| type_document(resolved, patched, top))
            .collect(),
        skipped: { run.skipped.iter() }
            .map(|contended| SkippedTypeDocument {
                name: contended.name.clone(),
                transfers: contended.transfers,
                why: contended.skip_reason.clone(),
            })
            .collect(),
        variables: { run.variables.iter() }
            .map(|variable| variable_document(&resolved.profile.meta, variable))
            .collect(),
    }
}

fn variable_document(meta: &ProfileMeta, variable: &ContendedVariable) -> AdvisedVariableDocument {
    let outlook = OutlookWords::of_number();
    let context = RemedyContext {
        context_noun: ContextNoun::from_meta(meta).singular(),
        outlook: &outlook,
    };
    let findings = variable.findings.iter();
    AdvisedVariableDocument {
        name: variable.name.clone(),
        type_name: variable.type_name.clone(),
        declared_in: variable.declaring.as_ref().map(declaring_document),
        transfers: variable.transfers,
        findings: findings
            .map(|finding| VariableFindingDocument {
                rank: finding.rank,
                kind: finding.kind.as_str().to_owned(),
                advice: { finding.remedies.iter() }
                    .map(|remedy| advice_document(remedy, context, source_position))
                    .collect(),
            })
            .collect(),
    }
}

/// Returns the document of `what-if`. `simulated` has what each of the given layouts brings in simulated time, or nothing.
pub fn what_if_document(
    resolved: &ResolvedProfile<'_>,
    searched: &SearchedType<'_>,
    notes: &[String],
    simulated: &[SimulatedChange],
) -> WhatIfDocument {
    WhatIfDocument {
        schema: WhatIfDocument::SCHEMA.to_owned(),
        workload: resolved.profile.meta.workload.clone(),
        line_bytes: resolved.line_bytes,
        name: searched.gathered.name.clone(),
        subject: subject_document(&searched.gathered),
        notes: notes.to_vec(),
        recorded_time: recorded_time_words(&resolved.profile.meta),
        outcome: what_if_outcome(resolved, searched, simulated),
    }
}

fn what_if_outcome(
    resolved: &ResolvedProfile<'_>,
    searched: &SearchedType<'_>,
    simulated: &[SimulatedChange],
) -> WhatIfOutcomeDocument {
    let gathered = &searched.gathered;
    let view = match &searched.outcome {
        Ok(advice) => PoolView::from_given_layouts(resolved, searched, advice),
        Err(refusal) => {
            return WhatIfOutcomeDocument::Refused {
                refused: refusal.to_string(),
            };
        }
    };
    let advice = view.pool.advice;
    let given = advice.user_layouts.iter();
    let mut all_given: Vec<CandidateDocument> = given
        .map(|ranked| candidate_document(&view, ranked))
        .collect();
    for (document, change) in all_given.iter_mut().zip(simulated) {
        document.set_curve(change);
    }
    WhatIfOutcomeDocument::Scored(Box::new(WhatIfScoresDocument {
        current: layout_document(&gathered.shape, &advice.current),
        by_phase: phase_documents(advice),
        memory: memory_sentences(gathered, advice),
        given: all_given.first().cloned(),
        all_given,
    }))
}

/// Returns the document of one type, with the candidates worth showing for `top`.
pub(crate) fn type_document(
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
    top: usize,
) -> TypeDocument {
    let advised = &patched.advised;
    let gathered = &advised.searched.gathered;
    let pool = match (&advised.searched.outcome, advised.unguarded_pool()) {
        (Ok(_), Some(pool)) => pool,
        (outcome, _) => {
            let refused = outcome.as_ref().err().map(ToString::to_string);
            return TypeDocument::Refused(RefusedTypeDocument {
                name: gathered.name.clone(),
                subject: subject_document(gathered),
                refused: refused.unwrap_or_default(),
                candidates: [],
            });
        }
    };
    let advice = pool.advice;
    let view = PoolView {
        resolved,
        gathered,
        pool,
    };
    let patch = patched.patch.as_ref();
    let recommended = patched.recommended();
    let guards = advised.guards.as_ref();
    let reviewed = reviewed_layout(advice, recommended.as_ref());
    let (compared_by, compared_cpus) = comparison_keys(advice.compared_by);
    TypeDocument::Advised(Box::new(AdvisedTypeDocument {
        name: gathered.name.clone(),
        subject: subject_document(gathered),
        kept: gathered.order.pinned_first().map(str::to_owned),
        inside: gathered.size_effects.holder_counts.clone(),
        per_cpu_objects: gathered.size_effects.per_cpu_objects,
        evidence: advised.accesses.iter().map(accesses_document).collect(),
        verdict: verdict_key(&advice.verdict).to_owned(),
        compared_by: compared_by.to_owned(),
        compared_cpus,
        current: layout_document(&gathered.shape, &advice.current),
        candidates: candidate_documents(advised, &view, patch, top),
        check: guards.and_then(|guards| guard_document(advised, &view, guards, patch, top)),
        given: given_documents(advised, &view, patch),
        recommended: { recommended.as_ref() }.and_then(|found| shown_place(pool, found, top)),
        recommended_why: recommendation_reason(patched, recommended.as_ref()),
        conclusion: conclusion_document(&view),
        without_limits: limited_sentence(patched),
        review: LayoutReview::new(&view, patched, top).map(review_document),
        patch_refused: patch.and_then(patch_refusal).map(str::to_owned),
        written_patch: written_patch_document(patched),
        compiled: patch.and_then(compile_results),
        tried: advice.candidates.len(),
        ranking_configurations: advice.builds,
        left_out: left_out_document(gathered, &advice.left_out),
        bound: advice.bound.map(|bound| BoundDocument {
            transfers: bound.transfers,
            gap: bound.gap(advice.fewest_transfers()),
            fewest: advice.fewest_transfers(),
        }),
        held_out: advice.held_out.map(interval_document),
        parts: reviewed.map_or(Vec::new(), part_changes),
        worst_change: reviewed.and_then(|ranked| ranked.parts.worst()),
        doubts: doubt_documents(advised, reviewed),
        order: { gathered.order.facts.iter() }
            .chain(&gathered.order.undecided)
            .map(order_fact_document)
            .collect(),
        order_notes: order_sentences(gathered),
        memory: memory_sentences(gathered, advice),
        unrecorded_members: advice.unrecorded_members.clone(),
        by_phase: phase_documents(advice),
    }))
}

fn subject_document(gathered: &GatheredType<'_>) -> AdvisedSubjectDocument {
    let instances = gathered.instances.iter();
    let accesses = instances
        .clone()
        .map(|instance| instance.trace.accesses.len());
    let objects: BTreeSet<_> = instances
        .flat_map(|instance| {
            let starts = instance.starts();
            starts.map(move |start| (instance.run, instance.trace.base + u64::from(start)))
        })
        .collect();
    AdvisedSubjectDocument {
        objects: gathered.objects,
        title: gathered.advised_subject.title(),
        recorded_objects: objects.len(),
        recorded_accesses: accesses.sum(),
    }
}

/// Returns the measure by which candidates are compared, and the CPUs of the simulated time.
fn comparison_keys(compared_by: ComparedBy) -> (&'static str, Option<u32>) {
    match compared_by {
        ComparedBy::Transfers => ("transfers", None),
        ComparedBy::SimulatedTime { cpus } => ("simulated-time", Some(cpus)),
    }
}

/// Returns the reason why the best candidate has no patch.
fn patch_refusal(patch: &PatchOutcome) -> Option<&str> {
    match patch {
        PatchOutcome::Refused(reason) => Some(reason),
        PatchOutcome::Diff(written) => written.instead_reason.as_deref(),
    }
}

/// Returns the recommended candidate, else the first.
fn reviewed_layout<'a>(
    advice: &'a LayoutAdvice,
    recommended: Option<&Recommendation>,
) -> Option<&'a RankedLayout> {
    let found = recommended.and_then(|found| advice.candidates.get(found.index));
    found.or(advice.candidates.first())
}

/// Changes of the transfers on parts of the recording that did not choose the layout.
fn part_changes(ranked: &RankedLayout) -> Vec<f64> {
    let parts = ranked.parts.parts.iter();
    let worse = parts.map(|part| part.change.max(part.change_of_others_choice));
    worse.collect()
}

fn verdict_key(verdict: &AdviceVerdict) -> &'static str {
    match verdict {
        AdviceVerdict::NoTransfers => "no-transfers",
        AdviceVerdict::NothingBetter { .. } => "nothing-better",
        AdviceVerdict::Unclear => "unclear",
        AdviceVerdict::Unstable => "unstable",
        AdviceVerdict::Slight => "slight",
        AdviceVerdict::Uneven => "uneven",
        AdviceVerdict::Traded => "traded",
        AdviceVerdict::Slower => "slower",
        AdviceVerdict::NoFaster => "no-faster",
        AdviceVerdict::Better => "better",
    }
}
