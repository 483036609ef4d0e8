//! The documents `relayout/advise/1` and `relayout/what-if/1`.

use relayout_contend::throughput::{Gain, Ratio};
use relayout_layout::abi::Shape;
use relayout_search::{Advice, Interval, Scored, Verdict, change};
use serde_json::{Value, json};

use super::TypeAdvice;
use super::check::Check;
use super::compiled::Judged;
use super::others::Other;
use super::patch::{Outcome, Written};
use crate::input::Input;

/// The document of `advise`.
pub fn advise(
    input: &Input<'_>,
    all: &[TypeAdvice<'_>],
    patches: &[Option<Outcome>],
    top: usize,
    notes: &[String],
) -> anyhow::Result<String> {
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
    let advice = match &one.outcome {
        Ok(advice) => advice,
        Err(why) => {
            return json!({ "name": one.name, "objects": one.objects, "refused": why, "candidates": [] });
        }
    };
    let shown = advice.shown(top);
    let mut candidates: Vec<Value> = (shown.iter().enumerate())
        .map(|(place, index)| {
            let mut value = changed(&one.shape, &advice.candidates[*index]);
            value["elsewhere"] = elsewhere(one, one.given.len() + place);
            value
        })
        .collect();
    if let Some(Outcome::Diff(written)) = patch
        && !written.checked
    {
        add_patch(one, written, &shown, &mut candidates);
    }
    let refused = match patch {
        Some(Outcome::Refused(why)) => json!(why),
        Some(Outcome::Diff(written)) => json!(written.instead),
        None => Value::Null,
    };
    let given: Vec<Value> = advice
        .given
        .iter()
        .enumerate()
        .map(|(place, given)| {
            let mut value = changed(&one.shape, given);
            value["elsewhere"] = elsewhere(one, place);
            value
        })
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
        "candidates": candidates,
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

/// The check before a store, and layouts with it.
fn checked(one: &TypeAdvice<'_>, check: &Check, patch: Option<&Outcome>, top: usize) -> Value {
    let (statement, advice) = (&check.statement, &check.checked.advice);
    let shown = advice.shown(top);
    let mut candidates: Vec<Value> = { shown.iter() }
        .map(|index| changed(&one.shape, &advice.candidates[*index]))
        .collect();
    if let Some(Outcome::Diff(written)) = patch
        && written.checked
    {
        add_patch(one, written, &shown, &mut candidates);
    }
    let alone = check.checked.alone();
    json!({
        "member": statement.member,
        "function": statement.function,
        "file": statement.file,
        "line": statement.line,
        "stores": statement.stores,
        "silent": statement.silent,
        "alone": alone.map_or(Value::Null, |alone| changed(&one.shape, alone)),
        "candidates": candidates,
        "better": check.checked.is_better(),
        "beside_layouts_without": check.checked.beside.map(interval),
        "held_out": advice.held_out.map(interval),
    })
}

/// What the layout at a place of [`TypeAdvice::listed`] does to other workloads and configurations.
fn elsewhere(one: &TypeAdvice<'_>, listed: usize) -> Value {
    let result = |other: &Other| {
        let mut value = json!({ "name": other.name, "kind": other.kind.word() });
        match &other.results {
            Ok(results) => {
                if let (Some(own), Some(there)) = (results.first(), results.get(listed + 1)) {
                    value["current_transfers"] = json!(own.tally.transfers());
                    value["transfers"] = json!(there.tally.transfers());
                    value["size"] = json!(there.size);
                    value["transfers_change"] = there.interval.map_or(Value::Null, interval);
                    value["hurts"] = json!(there.hurts());
                }
            }
            Err(why) => value["not_judged"] = json!(why),
        }
        value
    };
    one.others.iter().map(result).collect()
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
