//! The documents `relayout/advise/1` and `relayout/what-if/1`.

use relayout_contend::throughput::{GainRatio, ThroughputGain};
use relayout_layout::abi::StructShape;
use relayout_profile::RunId;
use relayout_search::{
    AdviceVerdict, ChangeInterval, LayoutAdvice, RankedLayout, ScoredLayout, change,
};
use serde_json::{Value, json};

use super::TypeAdvice;
use super::check::{GuardAdvice, GuardableStore};
use super::compiled::CompileVerdict;
use super::gather::ContendedType;
use super::others::{LayoutPool, OtherScenario};
use super::patch::{PatchOutcome, WrittenPatch};
use crate::resolved::ResolvedProfile;

/// The document of `advise`.
pub fn advise_json(
    input: &ResolvedProfile<'_>,
    advised: &[TypeAdvice<'_>],
    patches: &[Option<PatchOutcome>],
    skipped: &[ContendedType],
    top: usize,
    notes: &[String],
) -> anyhow::Result<String> {
    let passed_over = |contended: &ContendedType| json!({ "name": contended.name, "transfers": contended.transfers, "why": contended.skip_reason });
    let types: Vec<Value> = advised
        .iter()
        .zip(patches)
        .map(|(type_advice, patch)| type_document(type_advice, patch.as_ref(), top))
        .collect();
    render(&json!({
        "schema": "relayout/advise/1",
        "workload": input.profile.meta.workload,
        "line_bytes": input.line_bytes,
        "notes": notes,
        "types": types,
        "skipped": skipped.iter().map(passed_over).collect::<Vec<Value>>(),
    }))
}

/// The document of `what-if`.
pub fn what_if_json(
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    notes: &[String],
) -> anyhow::Result<String> {
    let mut document = json!({
        "schema": "relayout/what-if/1",
        "workload": input.profile.meta.workload,
        "line_bytes": input.line_bytes,
        "name": type_advice.name,
        "notes": notes,
    });
    match &type_advice.search_outcome {
        Ok(advice) => {
            document["current"] = layout_document(&type_advice.shape, &advice.current);
            document["by_phase"] = phase_documents(advice);
            let given: Vec<Value> = advice
                .user_layouts
                .iter()
                .map(|given| candidate_document(&type_advice.shape, given))
                .collect();
            // The first by itself: mostly there is one.
            document["given"] = given.first().cloned().unwrap_or_default();
            document["all_given"] = Value::Array(given);
        }
        Err(why) => document["refused"] = json!(why),
    }
    render(&document)
}

fn render(document: &Value) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(text)
}

fn type_document(type_advice: &TypeAdvice<'_>, patch: Option<&PatchOutcome>, top: usize) -> Value {
    let pool = match (&type_advice.search_outcome, type_advice.unguarded_pool()) {
        (Ok(_), Some(pool)) => pool,
        (outcome, _) => {
            let reason = outcome.as_ref().err();
            return json!({ "name": type_advice.name, "objects": type_advice.objects, "refused": reason, "candidates": [] });
        }
    };
    let advice = pool.advice;
    let patch_refused = match patch {
        Some(PatchOutcome::Refused(why)) => json!(why),
        Some(PatchOutcome::Diff(written)) => json!(written.instead_reason),
        None => Value::Null,
    };
    let given: Vec<Value> = { advice.user_layouts.iter().enumerate() }
        .map(|(place, given)| candidate_in_scenarios(type_advice, pool, given, place))
        .collect();
    let left_out = &advice.left_out;
    json!({
        "name": type_advice.name,
        "objects": type_advice.objects,
        "kept": type_advice.first_member,
        "inside": type_advice.memory.holder_counts,
        "per_cpu_objects": type_advice.memory.per_cpu_objects,
        "evidence": use_documents(type_advice),
        "verdict": verdict_key(&advice.verdict),
        "current": layout_document(&type_advice.shape, &advice.current),
        "candidates": candidates(type_advice, pool, patch, top),
        "check": type_advice.guard_advice.as_ref().map_or(Value::Null, |check| guard_document(type_advice, check, patch, top)),
        "given": given,
        "patch_refused": patch_refused,
        "compiled": compile_documents(patch),
        "tried": advice.candidates.len(),
        "left_out": {
            "unrecorded": left_out.unrecorded,
            "kept": left_out.kept,
            "budget": left_out.budget,
            "two_moves": left_out.two_moves,
            "builds": left_out.builds,
        },
        "bound": bound_document(advice),
        "held_out": advice.held_out.map(interval_document),
        "unrecorded_members": advice.unrecorded_members,
        "by_phase": phase_documents(advice),
    })
}

/// The candidates that are shown, and the one that the patch makes.
fn candidates(
    type_advice: &TypeAdvice<'_>,
    pool: LayoutPool<'_>,
    patch: Option<&PatchOutcome>,
    top: usize,
) -> Vec<Value> {
    let shown = pool.advice.shown_candidates(top);
    let mut candidates: Vec<Value> = { shown.iter().enumerate() }
        .map(|(place, index)| {
            let scored = &pool.advice.candidates[*index];
            candidate_in_scenarios(type_advice, pool, scored, pool.given_layouts.len() + place)
        })
        .collect();
    if let Some(PatchOutcome::Diff(written)) = patch
        && written.guarded != pool.guarded_statements.is_empty()
    {
        add_patch_document(type_advice, written, &shown, &mut candidates);
    }
    candidates
}

/// As [`changed`], with what the layout, at a place of [`Pool::listed`], does elsewhere.
fn candidate_in_scenarios(
    type_advice: &TypeAdvice<'_>,
    pool: LayoutPool<'_>,
    scored: &RankedLayout,
    listed_index: usize,
) -> Value {
    let mut value = candidate_document(&type_advice.shape, scored);
    value["elsewhere"] = scenario_documents(pool, listed_index);
    value
}

/// Adds the patch to the candidate that it makes, which comes last if it is not among those shown.
fn add_patch_document(
    type_advice: &TypeAdvice<'_>,
    written: &WrittenPatch,
    shown: &[usize],
    candidates: &mut Vec<Value>,
) {
    let diff = json!(written.diff);
    match shown
        .iter()
        .position(|index| *index == written.candidate_index)
    {
        Some(place) => candidates[place]["patch"] = diff,
        None => {
            let patched = written
                .scored_candidate(type_advice)
                .map(|scored| candidate_document(&type_advice.shape, scored));
            if let Some(mut patched) = patched {
                patched["patch"] = diff;
                candidates.push(patched);
            }
        }
    }
}

/// The checks before stores, and layouts with them. The first statement is named by itself: mostly there is one.
fn guard_document(
    type_advice: &TypeAdvice<'_>,
    guard_advice: &GuardAdvice,
    patch: Option<&PatchOutcome>,
    top: usize,
) -> Value {
    let statements: Vec<Value> = guard_advice
        .statements
        .iter()
        .map(statement_document)
        .collect();
    let mut value = statements.first().cloned().unwrap_or_default();
    let alone = guard_advice.guarded.guards_alone();
    value["statements"] = Value::Array(statements);
    value["alone"] = alone.map_or(Value::Null, |alone| {
        candidate_document(&type_advice.shape, alone)
    });
    value["candidates"] = candidates(type_advice, guard_advice.candidate_pool(), patch, top).into();
    value["better"] = guard_advice.guarded.is_better().into();
    value["beside_layouts_without"] = guard_advice
        .guarded
        .gain_over_fewer
        .map_or(Value::Null, interval_document);
    value["beside_checks"] = guard_advice.fewer_guards.into();
    let held_out = guard_advice.guarded.advice.held_out;
    value["held_out"] = held_out.map_or(Value::Null, interval_document);
    value
}

fn statement_document(statement: &GuardableStore) -> Value {
    json!({
        "member": statement.member,
        "function": statement.function,
        "file": statement.file,
        "line": statement.line,
        "stores": statement.store_counts.all,
        "silent": statement.store_counts.silent,
    })
}

/// What the layout at a place of [`Pool::listed`] does to other workloads and configurations.
fn scenario_documents(pool: LayoutPool<'_>, listed_index: usize) -> Value {
    let scenario_document = |scenario: &OtherScenario| {
        let mut value = json!({ "name": scenario.name, "kind": scenario.kind.as_str() });
        match (&scenario.results, scenario.results_at(listed_index)) {
            (Ok(_), Some((own, there))) => {
                value["current_transfers"] = json!(own.tally.transfers());
                value["transfers"] = json!(there.tally.transfers());
                value["current_pair_transfers"] = json!(own.pair_transfers);
                value["pair_transfers"] = json!(there.pair_transfers);
                value["size"] = json!(there.size);
                value["transfers_change"] = there.interval.map_or(Value::Null, interval_document);
                value["hurts"] = json!(there.is_harmful(own));
            }
            (Ok(_), None) => {}
            (Err(why), _) => value["not_judged"] = json!(why),
        }
        // Of another recording only: a configuration has the same stores.
        if !scenario.store_counts.is_empty() {
            let stores = { scenario.store_counts.iter() }
                .map(|stores| json!({ "stores": stores.all, "silent": stores.silent }));
            value["statements"] = stores.collect();
        }
        value
    };
    pool.scenarios.iter().map(scenario_document).collect()
}

/// What came of compiling the patch.
fn compile_documents(patch: Option<&PatchOutcome>) -> Value {
    let Some(PatchOutcome::Diff(written)) = patch else {
        return Value::Null;
    };
    let compiled = written.compile_tests.iter();
    compiled
        .map(|compile_test| {
            let (verdict, units, why) = match &compile_test.verdict {
                CompileVerdict::Good { units, as_scored: true } => ("as-scored", units.clone(), None),
                CompileVerdict::Good { units, as_scored: false } => ("good", units.clone(), None),
                CompileVerdict::Unknown(why) => ("not-judged", Vec::new(), Some(why)),
                CompileVerdict::Bad { unit, why } => ("bad", vec![unit.clone()], Some(why)),
            };
            json!({ "configuration": compile_test.configuration, "verdict": verdict, "units": units, "why": why })
        })
        .collect()
}

/// How few transfers any layout can have, and how far the best found may be from that.
fn bound_document(advice: &LayoutAdvice) -> Value {
    match advice.bound {
        Some(bound) => {
            json!({ "transfers": bound.transfers, "gap": bound.gap(advice.fewest_transfers()) })
        }
        None => Value::Null,
    }
}

fn use_documents(type_advice: &TypeAdvice<'_>) -> Value {
    let uses = type_advice.member_uses.iter();
    uses.map(|member_use| {
        let functions: Vec<Value> = (member_use.functions.iter())
            .map(|(name, count)| json!({ "function": name, "count": count }))
            .collect();
        json!({
            "member": member_use.member,
            "access": if member_use.is_store { "write" } else { "read" },
            "count": member_use.count,
            "contexts": member_use.contexts,
            "functions": functions,
        })
    })
    .collect()
}

/// Transfers by the place of a line where objects begin.
fn phase_documents(advice: &LayoutAdvice) -> Value {
    let phases = advice.transfers_by_phase.iter();
    phases
        .map(|(phase, transfers)| json!({ "offset": phase, "transfers": transfers }))
        .collect()
}

fn interval_document(interval: ChangeInterval) -> Value {
    json!({ "ratio": interval.change, "low": interval.low, "high": interval.high })
}

fn verdict_key(verdict: &AdviceVerdict) -> &'static str {
    match verdict {
        AdviceVerdict::NoTransfers => "no-transfers",
        AdviceVerdict::NothingBetter { .. } => "nothing-better",
        AdviceVerdict::Unclear => "unclear",
        AdviceVerdict::Unstable => "unstable",
        AdviceVerdict::Slight => "slight",
        AdviceVerdict::Slower => "slower",
        AdviceVerdict::Traded => "traded",
        AdviceVerdict::Better => "better",
    }
}

fn layout_document(shape: &StructShape, scored: &ScoredLayout) -> Value {
    let members: Vec<Value> = (scored.arrangement.order.iter())
        .map(|&atom| {
            let name = &shape.atoms[atom].name;
            json!({ "name": name, "offset": scored.layout.places[atom].offset })
        })
        .collect();
    let per_operation = scored.per_operation.map(|per| {
        json!({
            "transfers": per.transfers(),
            "read_transfers": per.read_transfers,
            "write_transfers": per.write_transfers,
            "upgrades": per.upgrades,
            "false_first_touch": per.false_first_touch,
            "false_lifetime": per.false_lifetime,
        })
    });
    json!({
        "size": scored.layout.size,
        "align": scored.layout.align,
        "transfers": scored.tally.transfers(),
        "read_transfers": scored.tally.read_transfers,
        "write_transfers": scored.tally.write_transfers,
        "upgrades": scored.tally.upgrades,
        "false_first_touch": scored.tally.false_first_touch,
        "false_lifetime": scored.tally.false_lifetime,
        "pair_transfers": scored.pair_transfers,
        "per_operation": per_operation,
        "bytes_per_object": scored.memory.bytes_per_object,
        "slab_class": scored.memory.cache,
        "layout": members,
    })
}

/// As [`layout`], with what a changed one adds. `predicted_gain` is null where the machine was not probed, or
/// fewer than two contexts or no waits were recorded.
fn candidate_document(shape: &StructShape, scored: &RankedLayout) -> Value {
    let mut value = layout_document(shape, scored);
    if let Some(name) = &scored.name {
        value["name"] = json!(name);
    }
    value["changes"] = json!(change::describe_edits(&scored.changes, shape));
    value["moved"] = json!(scored.moved);
    value["pareto"] = json!(scored.pareto);
    value["unjudged"] = json!(scored.unjudged);
    value["predicted_gain"] = scored.gain.as_ref().map_or(Value::Null, gain_document);
    value["transfers_change"] = scored.interval.map_or(Value::Null, interval_document);
    value
}

fn gain_document(gain: &ThroughputGain) -> Value {
    let ratio = |ratio_document: &GainRatio| json!({ "ratio": ratio_document.value, "low": ratio_document.low, "high": ratio_document.high });
    let contexts: Vec<Value> = (gain.by_context.iter())
        .map(|(context, by_itself)| {
            let mut context_gain = ratio(by_itself);
            context_gain["context"] = json!(context.0);
            context_gain
        })
        .collect();
    let mut value = ratio(&gain.ratio);
    value["cpus"] = json!(gain.contexts);
    value["contexts"] = json!(contexts);
    let runs = gain.by_run.iter();
    let run_gain = |(run, ratio): &(RunId, f64)| json!({ "run": run.0, "ratio": ratio });
    value["runs"] = runs.map(run_gain).collect();
    value["unstable"] = json!(gain.is_unstable());
    value
}
