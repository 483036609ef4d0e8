//! The documents `relayout/advise/1` and `relayout/what-if/1`.

use relayout_contend::throughput::{Gain, Ratio};
use relayout_layout::abi::Shape;
use relayout_search::{Advice, Interval, Scored, Verdict, change};
use serde_json::{Value, json};

use super::TypeAdvice;
use super::check::{Check, Statement};
use super::compiled::Judged;
use super::gather::Contended;
use super::others::{Other, Pool};
use super::patch::{Outcome, Written};
use crate::input::Input;

/// The document of `advise`.
pub fn advise(
    input: &Input<'_>,
    all: &[TypeAdvice<'_>],
    patches: &[Option<Outcome>],
    skipped: &[Contended],
    top: usize,
    notes: &[String],
) -> anyhow::Result<String> {
    let passed_over = |one: &Contended| json!({ "name": one.name, "transfers": one.transfers, "why": one.skipped });
    let types: Vec<Value> = all
        .iter()
        .zip(patches)
        .map(|(one, patch)| one_type(one, patch.as_ref(), top))
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
pub fn what_if(
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    notes: &[String],
) -> anyhow::Result<String> {
    let mut document = json!({
        "schema": "relayout/what-if/1",
        "workload": input.profile.meta.workload,
        "line_bytes": input.line_bytes,
        "name": one.name,
        "notes": notes,
    });
    match &one.outcome {
        Ok(advice) => {
            document["current"] = layout(&one.shape, &advice.current);
            document["by_phase"] = by_phase(advice);
            let given: Vec<Value> = advice
                .given
                .iter()
                .map(|given| changed(&one.shape, given))
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

fn one_type(one: &TypeAdvice<'_>, patch: Option<&Outcome>, top: usize) -> Value {
    let pool = match (&one.outcome, one.plain()) {
        (Ok(_), Some(pool)) => pool,
        (outcome, _) => {
            let why = outcome.as_ref().err();
            return json!({ "name": one.name, "objects": one.objects, "refused": why, "candidates": [] });
        }
    };
    let advice = pool.advice;
    let refused = match patch {
        Some(Outcome::Refused(why)) => json!(why),
        Some(Outcome::Diff(written)) => json!(written.instead),
        None => Value::Null,
    };
    let given: Vec<Value> = { advice.given.iter().enumerate() }
        .map(|(place, given)| changed_in(one, pool, given, place))
        .collect();
    let left_out = &advice.left_out;
    json!({
        "name": one.name,
        "objects": one.objects,
        "kept": one.first,
        "inside": one.memory.inside,
        "per_cpu_objects": one.memory.per_cpu,
        "evidence": evidence(one),
        "verdict": verdict(&advice.verdict),
        "current": layout(&one.shape, &advice.current),
        "candidates": candidates(one, pool, patch, top),
        "check": one.check.as_ref().map_or(Value::Null, |check| checked(one, check, patch, top)),
        "given": given,
        "patch_refused": refused,
        "compiled": compiled(patch),
        "tried": advice.candidates.len(),
        "left_out": {
            "unrecorded": left_out.unrecorded,
            "kept": left_out.kept,
            "budget": left_out.budget,
            "two_moves": left_out.two_moves,
            "builds": left_out.builds,
        },
        "bound": bound(advice),
        "held_out": advice.held_out.map(interval),
        "unrecorded_members": advice.unrecorded_members,
        "by_phase": by_phase(advice),
    })
}

/// The candidates that are shown, and the one that the patch makes.
fn candidates(
    one: &TypeAdvice<'_>,
    pool: Pool<'_>,
    patch: Option<&Outcome>,
    top: usize,
) -> Vec<Value> {
    let shown = pool.advice.shown(top);
    let mut candidates: Vec<Value> = { shown.iter().enumerate() }
        .map(|(place, index)| {
            let scored = &pool.advice.candidates[*index];
            changed_in(one, pool, scored, pool.given.len() + place)
        })
        .collect();
    if let Some(Outcome::Diff(written)) = patch
        && written.checked != pool.checked.is_empty()
    {
        add_patch(one, written, &shown, &mut candidates);
    }
    candidates
}

/// As [`changed`], with what the layout, at a place of [`Pool::listed`], does elsewhere.
fn changed_in(one: &TypeAdvice<'_>, pool: Pool<'_>, scored: &Scored, listed: usize) -> Value {
    let mut value = changed(&one.shape, scored);
    value["elsewhere"] = elsewhere(pool, listed);
    value
}

/// Adds the patch to the candidate that it makes, which comes last if it is not among those shown.
fn add_patch(
    one: &TypeAdvice<'_>,
    written: &Written,
    shown: &[usize],
    candidates: &mut Vec<Value>,
) {
    let diff = json!(written.diff);
    match shown.iter().position(|index| *index == written.candidate) {
        Some(place) => candidates[place]["patch"] = diff,
        None => {
            let patched = written
                .scored(one)
                .map(|scored| changed(&one.shape, scored));
            if let Some(mut patched) = patched {
                patched["patch"] = diff;
                candidates.push(patched);
            }
        }
    }
}

/// The checks before stores, and layouts with them. The first statement is named by itself: mostly there is one.
fn checked(one: &TypeAdvice<'_>, check: &Check, patch: Option<&Outcome>, top: usize) -> Value {
    let all: Vec<Value> = check.statements.iter().map(statement).collect();
    let mut value = all.first().cloned().unwrap_or_default();
    let alone = check.checked.alone();
    value["statements"] = Value::Array(all);
    value["alone"] = alone.map_or(Value::Null, |alone| changed(&one.shape, alone));
    value["candidates"] = candidates(one, check.pool(), patch, top).into();
    value["better"] = check.checked.is_better().into();
    value["beside_layouts_without"] = check.checked.beside.map_or(Value::Null, interval);
    value["beside_checks"] = check.fewer.into();
    let held_out = check.checked.advice.held_out;
    value["held_out"] = held_out.map_or(Value::Null, interval);
    value
}

fn statement(statement: &Statement) -> Value {
    json!({
        "member": statement.member,
        "function": statement.function,
        "file": statement.file,
        "line": statement.line,
        "stores": statement.recorded.all,
        "silent": statement.recorded.silent,
    })
}

/// What the layout at a place of [`Pool::listed`] does to other workloads and configurations.
fn elsewhere(pool: Pool<'_>, listed: usize) -> Value {
    let result = |other: &Other| {
        let mut value = json!({ "name": other.name, "kind": other.kind.word() });
        match (&other.results, other.results_of(listed)) {
            (Ok(_), Some((own, there))) => {
                value["current_transfers"] = json!(own.tally.transfers());
                value["transfers"] = json!(there.tally.transfers());
                value["current_pair_transfers"] = json!(own.pair_transfers);
                value["pair_transfers"] = json!(there.pair_transfers);
                value["size"] = json!(there.size);
                value["transfers_change"] = there.interval.map_or(Value::Null, interval);
                value["hurts"] = json!(there.hurts(own));
            }
            (Ok(_), None) => {}
            (Err(why), _) => value["not_judged"] = json!(why),
        }
        // Of another recording only: a configuration has the same stores.
        if !other.stores.is_empty() {
            let stores = { other.stores.iter() }
                .map(|stores| json!({ "stores": stores.all, "silent": stores.silent }));
            value["statements"] = stores.collect();
        }
        value
    };
    pool.others.iter().map(result).collect()
}

/// What came of compiling the patch.
fn compiled(patch: Option<&Outcome>) -> Value {
    let Some(Outcome::Diff(written)) = patch else {
        return Value::Null;
    };
    let compiled = written.compiled.iter();
    compiled
        .map(|one| {
            let (verdict, units, why) = match &one.result {
                Judged::Good { units, as_scored: true } => ("as-scored", units.clone(), None),
                Judged::Good { units, as_scored: false } => ("good", units.clone(), None),
                Judged::Unknown(why) => ("not-judged", Vec::new(), Some(why)),
                Judged::Bad { unit, why } => ("bad", vec![unit.clone()], Some(why)),
            };
            json!({ "configuration": one.configuration, "verdict": verdict, "units": units, "why": why })
        })
        .collect()
}

/// How few transfers any layout can have, and how far the best found may be from that.
fn bound(advice: &Advice) -> Value {
    match advice.bound {
        Some(bound) => {
            json!({ "transfers": bound.transfers, "gap": bound.gap(advice.fewest_transfers()) })
        }
        None => Value::Null,
    }
}

fn evidence(one: &TypeAdvice<'_>) -> Value {
    let uses = one.evidence.iter();
    uses.map(|one| {
        let functions: Vec<Value> = (one.functions.iter())
            .map(|(name, count)| json!({ "function": name, "count": count }))
            .collect();
        json!({
            "member": one.member,
            "access": if one.store { "write" } else { "read" },
            "count": one.count,
            "contexts": one.contexts,
            "functions": functions,
        })
    })
    .collect()
}

/// Transfers by the place of a line where objects begin.
fn by_phase(advice: &Advice) -> Value {
    let phases = advice.by_phase.iter();
    phases
        .map(|(phase, transfers)| json!({ "offset": phase, "transfers": transfers }))
        .collect()
}

fn interval(interval: Interval) -> Value {
    json!({ "ratio": interval.change, "low": interval.low, "high": interval.high })
}

fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::NoTransfers => "no-transfers",
        Verdict::NothingBetter { .. } => "nothing-better",
        Verdict::Unclear => "unclear",
        Verdict::Unstable => "unstable",
        Verdict::Slight => "slight",
        Verdict::Slower => "slower",
        Verdict::Traded => "traded",
        Verdict::Better => "better",
    }
}

fn layout(shape: &Shape, scored: &Scored) -> Value {
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
fn changed(shape: &Shape, scored: &Scored) -> Value {
    let mut value = layout(shape, scored);
    if let Some(name) = &scored.name {
        value["name"] = json!(name);
    }
    value["changes"] = json!(change::words(&scored.changes, shape));
    value["moved"] = json!(scored.moved);
    value["pareto"] = json!(scored.pareto);
    value["unjudged"] = json!(scored.unjudged);
    value["predicted_gain"] = scored.gain.as_ref().map_or(Value::Null, gain);
    value["transfers_change"] = scored.interval.map_or(Value::Null, interval);
    value
}

fn gain(gain: &Gain) -> Value {
    let ratio =
        |ratio: &Ratio| json!({ "ratio": ratio.value, "low": ratio.low, "high": ratio.high });
    let contexts: Vec<Value> = (gain.by_context.iter())
        .map(|(context, by_itself)| {
            let mut one = ratio(by_itself);
            one["context"] = json!(context);
            one
        })
        .collect();
    let mut value = ratio(&gain.ratio);
    value["cpus"] = json!(gain.contexts);
    value["contexts"] = json!(contexts);
    let runs = gain.by_run.iter();
    let run = |(run, ratio): &(u16, f64)| json!({ "run": run, "ratio": ratio });
    value["runs"] = runs.map(run).collect();
    value["unstable"] = json!(gain.is_unstable());
    value
}
