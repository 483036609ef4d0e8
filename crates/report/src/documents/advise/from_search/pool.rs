//! The documents of layouts that were scored together.

use relayout_advice::{AdvisedType, GuardAdvice, GuardableStore, LayoutPool, OtherScenario};
use relayout_search::Recommendation;
use relayout_session::advise::PatchOutcome;

use crate::documents::advise::from_search::candidates::{
    candidate_document, candidate_documents, interval_document,
};
use crate::documents::advise::pool::{
    GuardDocument, PoolConclusionDocument, ReviewAnswerDocument, ReviewDocument, ScenarioDocument,
    ScenarioScoreDocument, ScenarioTodayDocument, StatementDocument, StoreCountsDocument,
};
use crate::words::advice::PoolView;
use crate::words::advice::guards::{guard_sentences, seen_store_words};
use crate::words::advice::review::LayoutReview;
use crate::words::advice::verdict::{best_found, inner_types_sentence, verdict_sentences};

pub(super) fn conclusion_document(view: &PoolView<'_>) -> PoolConclusionDocument {
    let sentences = verdict_sentences(view);
    PoolConclusionDocument {
        has_fewer: best_found(view.pool.advice).is_some(),
        sentences: sentences.lines().map(str::to_owned).collect(),
        inner_types: inner_types_sentence(view),
        scenarios: { view.pool.scenarios.iter() }
            .map(|scenario| scenario_today_document(scenario, view.pool.statements))
            .collect(),
    }
}

/// Returns the index of a recommended layout among those that are shown.
pub(super) fn shown_place(
    pool: LayoutPool<'_>,
    recommended: &Recommendation,
    top: usize,
) -> Option<usize> {
    let mut shown = pool.advice.shown_candidates(top).into_iter();
    shown.position(|index| index == recommended.index)
}

pub(super) fn review_document(review: LayoutReview) -> ReviewDocument {
    ReviewDocument {
        title: review.title,
        number: review.number,
        guarded: review.is_guarded,
        answers: { review.answers.into_iter() }
            .map(|answer| ReviewAnswerDocument {
                question: answer.question.to_owned(),
                answer: answer.answer,
            })
            .collect(),
    }
}

/// Returns the guards, with the layouts that were scored with them.
pub(super) fn guard_document(
    advised: &AdvisedType<'_>,
    unguarded: &PoolView<'_>,
    guards: &GuardAdvice,
    patch: Option<&PatchOutcome>,
    top: usize,
) -> Option<GuardDocument> {
    let pool = advised.guarded_pool()?;
    let view = PoolView { pool, ..*unguarded };
    let recommended = advised.recommended_guarded();
    let alone = guards.guarded.guards_alone();
    let alone = alone.map(|ranked| candidate_document(&view, ranked));
    let statements = guards.statements.iter().map(statement_document);
    Some(GuardDocument {
        first: statement_document(guards.statements.first()?),
        statements: statements.collect(),
        summary: guard_sentences(guards, unguarded.pool.advice),
        conclusion: conclusion_document(&view),
        alone,
        candidates: candidate_documents(advised, &view, patch, top),
        better: advised.better_guarded_pool().is_some(),
        is_recommended: recommended.is_some(),
        recommended: { recommended.as_ref() }
            .and_then(|(pool, found)| shown_place(*pool, found, top)),
        beside_layouts_without: guards.guarded.gain_over_fewer.map(interval_document),
        beside_checks: guards.fewer_guards,
        held_out: pool.advice.held_out.map(interval_document),
    })
}

fn statement_document(statement: &GuardableStore) -> StatementDocument {
    StatementDocument {
        member: statement.member.clone(),
        function: statement.function.clone(),
        file: statement.file.clone(),
        line: statement.line,
        stores: statement.store_counts.all,
        silent: statement.store_counts.silent,
    }
}

fn scenario_today_document(
    scenario: &OtherScenario,
    guarded_statements: &[GuardableStore],
) -> ScenarioTodayDocument {
    let current = scenario
        .results
        .as_ref()
        .ok()
        .and_then(|results| results.first());
    ScenarioTodayDocument {
        name: scenario.name.clone(),
        kind: scenario.kind.as_str().to_owned(),
        workload: scenario.workload.clone(),
        transfers: current.map(|current| current.tally.transfers()),
        pair_transfers: current.and_then(|current| current.pair_transfers),
        not_judged: scenario.results.as_ref().err().cloned(),
        seen_stores: seen_store_words(scenario, guarded_statements),
    }
}

/// Returns the scores of a listed layout in other workloads and configurations.
pub(super) fn scenario_documents(
    pool: LayoutPool<'_>,
    listed_index: usize,
) -> Vec<ScenarioDocument> {
    let documents =
        { pool.scenarios.iter() }.map(|scenario| scenario_document(scenario, listed_index));
    documents.collect()
}

fn scenario_document(scenario: &OtherScenario, listed_index: usize) -> ScenarioDocument {
    let results = scenario.results_at(listed_index);
    let counts = scenario.store_counts.iter();
    ScenarioDocument {
        name: scenario.name.clone(),
        kind: scenario.kind.as_str().to_owned(),
        score: results.map(|(own, there)| ScenarioScoreDocument {
            current_transfers: own.tally.transfers(),
            transfers: there.tally.transfers(),
            current_pair_transfers: own.pair_transfers,
            pair_transfers: there.pair_transfers,
            size: there.size,
            transfers_change: there.interval.map(interval_document),
            hurts: there.is_harmful(own),
        }),
        not_judged: scenario.results.as_ref().err().cloned(),
        statements: counts
            .map(|counts| StoreCountsDocument {
                stores: counts.all,
                silent: counts.silent,
            })
            .collect(),
    }
}
