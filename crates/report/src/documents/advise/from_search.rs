//! The documents of `advise` and `what-if`, made of a session's values.

use std::collections::BTreeSet;

use relayout_advice::{
    AdviceDoubt, AdvisedType, ContendedVariable, GatheredType, GuardAdvice, GuardableStore,
    LayoutPool, MemberAccesses, OtherScenario, PoolLayout, ResolvedProfile, SearchedType,
};
use relayout_contend::CoherenceTally;
use relayout_contend::throughput::{GainRatio, ThroughputGain};
use relayout_layout::abi::StructShape;
use relayout_patch::{OrderFact, OrderReliance};
use relayout_profile::ProfileMeta;
use relayout_search::{
    AdviceVerdict, ChangeInterval, ComparedBy, EditSize, GroupCrossing, LayoutAdvice, LineGroups,
    RankedLayout, Recommendation, ScoredLayout, SkippedCandidates, change,
};
use relayout_session::advise::{
    AdviceRun, CompileTest, CompileVerdict, EditedCandidate, PatchOutcome, PatchedType,
    WrittenPatch,
};

use crate::documents::Document as _;
use crate::documents::advise::curve::CurveDocument;
use crate::documents::advise::{
    AdviseDocument, AdvisedSubjectDocument, AdvisedTypeDocument, AdvisedVariableDocument,
    BoundDocument, CandidateDocument, ChangePercentDocument, CompileDocument, ContextGainDocument,
    DoubtDocument, EditsDocument, FunctionDocument, GainDocument, GroupCrossingDocument,
    GuardDocument, IntervalDocument, LayoutDocument, LeftOutDocument, MemberAccessesDocument,
    OrderFactDocument, PerOperationDocument, PhaseDocument, PlaceChangesDocument,
    PlacedMemberDocument, PoolConclusionDocument, RefusedTypeDocument, ReviewAnswerDocument,
    ReviewDocument, RunGainDocument, ScenarioDocument, ScenarioScoreDocument,
    ScenarioTodayDocument, SkippedTypeDocument, StatementDocument, StoreCountsDocument,
    TypeDocument, VariableFindingDocument, WhatIfDocument, WhatIfOutcomeDocument,
    WhatIfScoresDocument,
};
use crate::documents::report::{advice_document, declaring_document, source_position};
use crate::words::advice::doubts::part_sentence;
use crate::words::advice::guards::{guard_sentences, seen_store_words};
use crate::words::advice::line_changes::line_sentences;
use crate::words::advice::memory::memory_sentences;
use crate::words::advice::order::{fact_words, order_sentences};
use crate::words::advice::places::place_sentence;
use crate::words::advice::recommendation::{limited_sentence, recommendation_reason};
use crate::words::advice::review::LayoutReview;
use crate::words::advice::verdict::{best_found, inner_types_sentence, verdict_sentences};
use crate::words::advice::{PoolView, change_words};
use crate::words::remedy::RemedyContext;
use crate::words::saving::OutlookWords;
use crate::words::{ContextNoun, recorded_time_words};

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

/// Returns the document of `what-if`.
pub fn what_if_document(
    resolved: &ResolvedProfile<'_>,
    searched: &SearchedType<'_>,
    notes: &[String],
) -> WhatIfDocument {
    WhatIfDocument {
        schema: WhatIfDocument::SCHEMA.to_owned(),
        workload: resolved.profile.meta.workload.clone(),
        line_bytes: resolved.line_bytes,
        name: searched.gathered.name.clone(),
        subject: subject_document(&searched.gathered),
        notes: notes.to_vec(),
        recorded_time: recorded_time_words(&resolved.profile.meta),
        outcome: what_if_outcome(resolved, searched),
    }
}

fn what_if_outcome(
    resolved: &ResolvedProfile<'_>,
    searched: &SearchedType<'_>,
) -> WhatIfOutcomeDocument {
    let gathered = &searched.gathered;
    let view = match &searched.outcome {
        Ok(advice) => PoolView::given(resolved, searched, advice),
        Err(refusal) => {
            return WhatIfOutcomeDocument::Refused {
                refused: refusal.to_string(),
            };
        }
    };
    let advice = view.pool.advice;
    let given = advice.user_layouts.iter();
    let all_given: Vec<CandidateDocument> = given
        .map(|ranked| candidate_document(&view, ranked))
        .collect();
    WhatIfOutcomeDocument::Scored(Box::new(WhatIfScoresDocument {
        current: layout_document(&gathered.shape, &advice.current),
        by_phase: phase_documents(advice),
        memory: memory_sentences(gathered, advice),
        given: all_given.first().cloned(),
        all_given,
    }))
}

fn type_document(
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
    let (compared_by, compared_cpus) = match advice.compared_by {
        ComparedBy::Transfers => ("transfers", None),
        ComparedBy::PredictedTime { cpus } => ("predicted-time", Some(cpus)),
    };
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
        given: given_documents(&view, patch),
        recommended: { recommended.as_ref() }.and_then(|found| shown_place(pool, found, top)),
        recommended_why: recommendation_reason(patched, recommended.as_ref()),
        conclusion: conclusion_document(&view),
        without_limits: limited_sentence(patched),
        review: LayoutReview::new(&view, patched, top).map(review_document),
        patch_refused: patch.and_then(patch_refusal).map(str::to_owned),
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

fn conclusion_document(view: &PoolView<'_>) -> PoolConclusionDocument {
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
        transfers: current.map(|current| current.tally.transfers()),
        pair_transfers: current.and_then(|current| current.pair_transfers),
        not_judged: scenario.results.as_ref().err().cloned(),
        seen_stores: seen_store_words(scenario, guarded_statements),
    }
}

/// Returns the index of a recommended layout among those that are shown.
fn shown_place(pool: LayoutPool<'_>, recommended: &Recommendation, top: usize) -> Option<usize> {
    let mut shown = pool.advice.shown_candidates(top).into_iter();
    shown.position(|index| index == recommended.index)
}

/// Returns the reason why the best candidate has no patch.
fn patch_refusal(patch: &PatchOutcome) -> Option<&str> {
    match patch {
        PatchOutcome::Refused(reason) => Some(reason),
        PatchOutcome::Diff(written) => written.instead_reason.as_deref(),
    }
}

fn compile_results(patch: &PatchOutcome) -> Option<Vec<CompileDocument>> {
    match patch {
        PatchOutcome::Refused(_) => None,
        PatchOutcome::Diff(written) => Some(compile_documents(written)),
    }
}

fn review_document(review: LayoutReview) -> ReviewDocument {
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

/// Returns the recommended candidate, else the first.
fn reviewed_layout<'a>(
    advice: &'a LayoutAdvice,
    recommended: Option<&Recommendation>,
) -> Option<&'a RankedLayout> {
    let found = recommended.and_then(|found| advice.candidates.get(found.index));
    found.or(advice.candidates.first())
}

fn doubt_documents(
    advised: &AdvisedType<'_>,
    reviewed: Option<&RankedLayout>,
) -> Vec<DoubtDocument> {
    let doubts = match reviewed {
        Some(ranked) => advised.doubts_about(ranked),
        None => advised.doubts.clone(),
    };
    doubts.iter().map(doubt_document).collect()
}

/// Changes of the transfers on parts of the recording that did not choose the layout.
fn part_changes(ranked: &RankedLayout) -> Vec<f64> {
    let parts = ranked.parts.parts.iter();
    let worse = parts.map(|part| part.change.max(part.change_of_others_choice));
    worse.collect()
}

fn left_out_document(gathered: &GatheredType<'_>, left_out: &SkippedCandidates) -> LeftOutDocument {
    let groups = LineGroups::from_shape(&gathered.shape);
    LeftOutDocument {
        unrecorded: left_out.unrecorded,
        kept: left_out.kept,
        grouped: left_out.grouped,
        groups: groups.names().map(str::to_owned).collect(),
        order: left_out.order_rules,
        budget: left_out.budget,
        two_moves: left_out.two_moves,
        builds: left_out.builds,
    }
}

fn given_documents(view: &PoolView<'_>, patch: Option<&PatchOutcome>) -> Vec<CandidateDocument> {
    let given = view.pool.advice.user_layouts.iter().enumerate();
    let documents = given.map(|(index, ranked)| CandidateDocument {
        elsewhere: Some(scenario_documents(view.pool, index)),
        ..candidate_document(view, ranked)
    });
    let mut documents: Vec<CandidateDocument> = documents.collect();
    if let Some(PatchOutcome::Diff(written)) = patch
        && let PoolLayout::Given(index) = written.edited.layout
        && let Some(document) = documents.get_mut(index)
    {
        document.set_patch(&written.edited);
    }
    documents
}

impl CandidateDocument {
    fn set_patch(&mut self, edited: &EditedCandidate) {
        self.patch = Some(edited.diff.clone());
        self.edits.lines = Some(edited.changed_lines());
    }
}

/// Returns the candidates worth showing, and the one that the patch makes.
fn candidate_documents(
    advised: &AdvisedType<'_>,
    view: &PoolView<'_>,
    patch: Option<&PatchOutcome>,
    top: usize,
) -> Vec<CandidateDocument> {
    let pool = view.pool;
    let shown = pool.advice.shown_candidates(top);
    let mut candidates: Vec<CandidateDocument> = { shown.iter().enumerate() }
        .map(|(place, index)| {
            let ranked = &pool.advice.candidates[*index];
            let listed_index = pool.user_layouts.len() + place;
            CandidateDocument {
                elsewhere: Some(scenario_documents(pool, listed_index)),
                needs_allocation: view.gathered.calls_to_change(ranked),
                number: Some(place + 1),
                doubts: doubt_documents(advised, Some(ranked)),
                ..candidate_document(view, ranked)
            }
        })
        .collect();
    if let Some(PatchOutcome::Diff(written)) = patch
        && written.edited.is_guarded != pool.statements.is_empty()
    {
        add_patch_document(view, written, &shown, &mut candidates);
    }
    candidates
}

/// Adds the patch to its candidate, which comes last if it is not shown.
fn add_patch_document(
    view: &PoolView<'_>,
    written: &WrittenPatch,
    shown: &[usize],
    candidates: &mut Vec<CandidateDocument>,
) {
    let edited = &written.edited;
    let PoolLayout::Candidate(patched_index) = edited.layout else {
        return;
    };
    let mut shown = shown.iter();
    if let Some(place) = shown.position(|index| *index == patched_index) {
        candidates[place].set_patch(edited);
        return;
    }
    if let Some(ranked) = edited.layout.ranked(view.pool) {
        let mut document = candidate_document(view, ranked);
        document.set_patch(edited);
        candidates.push(document);
    }
}

/// Returns the guards, with the layouts that were scored with them.
fn guard_document(
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

/// Returns the scores of a listed layout in other workloads and configurations.
fn scenario_documents(pool: LayoutPool<'_>, listed_index: usize) -> Vec<ScenarioDocument> {
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

fn compile_documents(written: &WrittenPatch) -> Vec<CompileDocument> {
    written.compile_tests.iter().map(compile_document).collect()
}

fn compile_document(test: &CompileTest) -> CompileDocument {
    let (verdict, units, why) = match &test.verdict {
        CompileVerdict::Good { units, as_scored } => {
            let verdict = if *as_scored { "as-scored" } else { "good" };
            (verdict, units.clone(), None)
        }
        CompileVerdict::Unknown(why) => ("not-judged", Vec::new(), Some(why.clone())),
        CompileVerdict::Bad { unit, why } => ("bad", vec![unit.clone()], Some(why.clone())),
    };
    CompileDocument {
        configuration: test.configuration.clone(),
        verdict: verdict.to_owned(),
        units,
        why,
    }
}

fn accesses_document(accesses: &MemberAccesses) -> MemberAccessesDocument {
    let functions = accesses.functions.iter();
    MemberAccessesDocument {
        member: accesses.member.clone(),
        access: if accesses.is_store { "write" } else { "read" }.to_owned(),
        count: accesses.count,
        contexts: accesses.contexts,
        functions: functions
            .map(|(name, count)| FunctionDocument {
                function: name.clone(),
                count: *count,
            })
            .collect(),
    }
}

fn phase_documents(advice: &LayoutAdvice) -> Vec<PhaseDocument> {
    let phases = advice.transfers_by_phase.iter();
    phases
        .map(|(offset, transfers)| PhaseDocument {
            offset: *offset,
            transfers: *transfers,
        })
        .collect()
}

fn interval_document(interval: ChangeInterval) -> IntervalDocument {
    IntervalDocument {
        ratio: interval.change,
        low: interval.low,
        high: interval.high,
    }
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
        AdviceVerdict::Better => "better",
    }
}

fn layout_document(shape: &StructShape, scored: &ScoredLayout) -> LayoutDocument {
    let tally = &scored.tally;
    let order = scored.arrangement.order.iter();
    LayoutDocument {
        size: scored.layout.size,
        align: scored.layout.align,
        transfers: tally.transfers(),
        transfers_as_recorded: scored.placed.as_recorded.transfers(),
        transfers_by_place: { scored.placed.by_place.iter() }
            .map(CoherenceTally::transfers)
            .collect(),
        places_are_recorded: scored.placed.are_recorded,
        read_transfers: tally.read_transfers,
        write_transfers: tally.write_transfers,
        upgrades: tally.upgrades,
        false_first_touch: tally.false_first_touch,
        false_lifetime: tally.false_lifetime,
        pair_transfers: scored.pair_transfers,
        per_operation: scored.per_operation.map(|events| PerOperationDocument {
            transfers: events.transfers(),
            read_transfers: events.read_transfers,
            write_transfers: events.write_transfers,
            upgrades: events.upgrades,
            false_first_touch: events.false_first_touch,
            false_lifetime: events.false_lifetime,
        }),
        bytes_per_object: scored.memory.bytes_per_object,
        slab_class: scored.memory.cache.clone(),
        layout: order
            .map(|&atom| PlacedMemberDocument {
                name: shape.atoms[atom].name.clone(),
                offset: scored.layout.places[atom].offset,
                size: shape.atoms[atom].size,
            })
            .collect(),
    }
}

fn candidate_document(view: &PoolView<'_>, ranked: &RankedLayout) -> CandidateDocument {
    let (shape, advice) = (&view.gathered.shape, view.pool.advice);
    let edit = EditSize::new(advice, ranked);
    CandidateDocument {
        edits: EditsDocument {
            members: edit.members,
            attributes: edit.attributes,
            lines: None,
            grown_bytes: edit.grown_bytes,
        },
        change_percent: change_percent_document(advice, ranked),
        layout: layout_document(shape, ranked),
        name: ranked.name.clone(),
        number: None,
        edit: change_words(view, ranked),
        line_changes: line_sentences(view, ranked),
        parts_sentence: part_sentence(ranked),
        doubts: Vec::new(),
        changes: change::describe_edits(&ranked.changes, shape),
        moved: ranked.moved,
        needs_allocation: Vec::new(),
        pareto: ranked.pareto,
        unjudged: ranked.unjudged,
        group_crossings: group_crossing_documents(shape, ranked),
        predicted_gain: ranked.gain.as_ref().map(gain_document),
        predicted_curve: ranked.curve.as_ref().map(CurveDocument::new),
        transfers_change: ranked.interval.map(interval_document),
        places: place_changes_document(&advice.current, ranked),
        worst_change: ranked.parts.worst(),
        elsewhere: None,
        run_growth_elements: { ranked.layout.run_align > 1 }.then_some(ranked.run_growth),
        patch: None,
    }
}

fn place_changes_document(
    today: &ScoredLayout,
    then: &ScoredLayout,
) -> Option<PlaceChangesDocument> {
    let places = then.place_changes(today)?;
    Some(PlaceChangesDocument {
        count: places.count,
        mean_change: places.mean,
        worst_change: places.worst,
        without_gain: places.without_gain,
        are_recorded: places.are_recorded,
        sentence: place_sentence(today, then)?,
    })
}

fn group_crossing_documents(
    shape: &StructShape,
    ranked: &RankedLayout,
) -> Vec<GroupCrossingDocument> {
    let crossings = LineGroups::from_shape(shape).crossings(shape, &ranked.arrangement.order);
    let document = |crossing: GroupCrossing| GroupCrossingDocument {
        member: crossing.member,
        group: crossing.group,
        leaves: crossing.leaves,
    };
    crossings.into_iter().map(document).collect()
}

fn change_percent_document(advice: &LayoutAdvice, ranked: &RankedLayout) -> ChangePercentDocument {
    let percent = |ratio: f64| ratio * 100.0;
    let (before, after) = (advice.current.cost, ranked.cost);
    ChangePercentDocument {
        value: match before {
            0 => 0.0,
            _ => percent(after as f64 / before as f64 - 1.0),
        },
        low: ranked.interval.map(|interval| percent(interval.low)),
        high: ranked.interval.map(|interval| percent(interval.high)),
    }
}

fn gain_document(gain: &ThroughputGain) -> GainDocument {
    let contexts = gain.by_context.iter();
    let runs = gain.by_run.iter();
    GainDocument {
        ratio: ratio_document(&gain.ratio),
        cpus: gain.contexts,
        contexts: contexts
            .map(|(context, ratio)| ContextGainDocument {
                ratio: ratio_document(ratio),
                context: context.0,
            })
            .collect(),
        runs: runs
            .map(|(run, ratio)| RunGainDocument {
                run: run.0,
                ratio: *ratio,
            })
            .collect(),
        unstable: gain.is_unstable(),
    }
}

fn ratio_document(ratio: &GainRatio) -> IntervalDocument {
    IntervalDocument {
        ratio: ratio.value,
        low: ratio.low,
        high: ratio.high,
    }
}

fn doubt_document(doubt: &AdviceDoubt) -> DoubtDocument {
    DoubtDocument {
        kind: doubt.key().to_owned(),
        sentence: doubt.to_string(),
    }
}

fn order_fact_document(fact: &OrderFact) -> OrderFactDocument {
    OrderFactDocument {
        kind: match &fact.reliance {
            OrderReliance::Range { .. } => "range",
            OrderReliance::DefinitionBorder { .. } => "border",
            OrderReliance::Assertion { .. } => "assertion",
            OrderReliance::OffsetLimit { .. } => "offset-limit",
            OrderReliance::FirstMember(_) => "first-member",
            OrderReliance::Initializer { .. } => "initializer",
            OrderReliance::Randomized => "randomized",
            OrderReliance::Undecided { .. } => OrderFactDocument::UNDECIDED,
        }
        .to_owned(),
        file: fact.place.file.clone(),
        line: fact.place.line,
        sentence: fact_words(fact),
        text: fact.text.clone(),
    }
}
