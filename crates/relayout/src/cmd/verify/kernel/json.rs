//! What was found as JSON, schema `relayout/verify/1`.

use relayout_verify::judge::ExperimentOutcome;
use serde_json::{Value, json};

use super::changed::ChangedType;
use super::predict::{ReplayPrediction, ReplayedChange};
use super::{KernelVerification, text};
use crate::cmd::verify::json::metric_json;

/// The whole document.
pub(super) fn render(verified: &KernelVerification<'_>) -> serde_json::Result<String> {
    let samples = &verified.samples;
    let setup = &samples.setup;
    let [before, after] = &verified.kernels;
    let metrics = |outcome: &ExperimentOutcome| {
        outcome
            .metrics
            .iter()
            .map(metric_json)
            .collect::<Vec<Value>>()
    };
    let document = json!({
        "schema": "relayout/verify/1",
        "verdict": verified.outcome.verdict.as_str(),
        "metrics": metrics(&verified.outcome),
        "details": metrics(&verified.details),
        "comparisons": verified.outcome.metrics.len(),
        "pairs": verified.outcome.pairs,
        "pairs_planned": setup.pairs,
        "ending": samples.ending,
        "patch": setup.patch,
        "reverse": verified.args.reverse,
        "seed": setup.seed,
        "yield": verified.args.yield_every,
        "release": verified.release,
        "kernels": {
            "before": kernel_json(before),
            "after": kernel_json(after),
        },
        "types": verified.changed.iter().map(changed_json).collect::<Vec<Value>>(),
        "predictions": verified.predictions.iter().map(prediction_json).collect::<Vec<Value>>(),
        "words": text::sentences(samples, &verified.outcome, &verified.details),
        "notes": text::notes(verified),
    });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn kernel_json(kernel: &relayout_host::kernel_build::BuiltKernel) -> Value {
    json!({
        "image": kernel.image,
        "debug": kernel.debug,
        "config": kernel.config,
        "build_seconds": kernel.seconds,
    })
}

fn changed_json(changed_type: &ChangedType) -> Value {
    let moved = changed_type.moved.iter().map(|moved| {
        json!({
            "name": moved.member,
            "old_offset": moved.offset[0],
            "new_offset": moved.offset[1],
        })
    });
    json!({
        "name": changed_type.name,
        "old_size": changed_type.size[0],
        "new_size": changed_type.size[1],
        "members": moved.collect::<Vec<Value>>(),
    })
}

fn prediction_json(prediction: &ReplayPrediction) -> Value {
    let mut value = json!({ "type": prediction.type_name, "setting": prediction.setting });
    match &prediction.replayed {
        Err(why) => value["refused"] = json!(why),
        Ok(replayed) => {
            let ReplayedChange {
                transfers,
                false_first_touch,
                interval,
                is_partial,
            } = replayed;
            let side = |at: usize| {
                json!({
                    "transfers": transfers[at],
                    "false_first_touch": false_first_touch[at],
                })
            };
            value["before"] = side(0);
            value["after"] = side(1);
            value["change_percent"] = json!(replayed.change().map(|change| 100.0 * change));
            value["ci95_percent"] =
                json!(interval.map(|found| [100.0 * found.low, 100.0 * found.high]));
            value["partial"] = json!(is_partial);
        }
    }
    value
}
