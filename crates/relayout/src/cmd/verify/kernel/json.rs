//! What was found as JSON, schema `relayout/verify/1`.

use relayout_verify::judge::Outcome;
use serde_json::{Value, json};

use super::changed::Changed;
use super::predict::{Prediction, Replayed};
use super::{Verified, text};
use crate::cmd::verify::json::metric;

/// The whole document.
pub(super) fn render(verified: &Verified<'_>) -> serde_json::Result<String> {
    let samples = &verified.samples;
    let setup = &samples.setup;
    let [before, after] = &verified.kernels;
    let metrics = |outcome: &Outcome| outcome.metrics.iter().map(metric).collect::<Vec<Value>>();
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
            "before": built(before),
            "after": built(after),
        },
        "types": verified.changed.iter().map(changed).collect::<Vec<Value>>(),
        "predictions": verified.predictions.iter().map(prediction).collect::<Vec<Value>>(),
        "words": text::words(samples, &verified.outcome, &verified.details),
        "notes": text::notes(verified),
    });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn built(kernel: &relayout_host::kernel_build::Built) -> Value {
    json!({
        "image": kernel.image,
        "debug": kernel.debug,
        "config": kernel.config,
        "build_seconds": kernel.seconds,
    })
}

fn changed(one: &Changed) -> Value {
    let moved = one.moved.iter().map(|moved| {
        json!({
            "name": moved.member,
            "old_offset": moved.offset[0],
            "new_offset": moved.offset[1],
        })
    });
    json!({
        "name": one.name,
        "old_size": one.size[0],
        "new_size": one.size[1],
        "members": moved.collect::<Vec<Value>>(),
    })
}

fn prediction(one: &Prediction) -> Value {
    let mut value = json!({ "type": one.type_name, "setting": one.setting });
    match &one.replayed {
        Err(why) => value["refused"] = json!(why),
        Ok(replayed) => {
            let Replayed {
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
