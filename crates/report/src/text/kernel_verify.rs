//! Text of an experiment with kernels: changed types, tables, replays, sentences and verdict.

use relayout_layout::word_lists::word_list;
use relayout_verify::judge::ExperimentOutcome;
use relayout_verify::plan::ExperimentSide;
use relayout_workflows::verify::kernel::{ChangedType, ReplayPrediction};

use super::verify::table::render_tables;
use crate::documents::kernel_verify::contents::KernelContents;
use crate::words::kernel_experiment::{find_metric, kernel_notes, kernel_sentences};
use crate::words::percent::signed_percent;

/// Members that are named of a type that changed.
const MOVES_MAX: usize = 6;
/// Renders the changed types, the tables, the replays, the sentences and the verdict.
pub fn render_text(contents: &KernelContents<'_>) -> String {
    let (outcome, details) = (contents.outcome(), contents.details());
    let mut text = head(contents);
    text.push_str("Transfers per operation\n\n");
    text.push_str(&render_tables(outcome, details));
    if !contents.verification.predictions.is_empty() {
        text.push_str("\nReplay of the first kernel's recordings, beside the second's\n");
        for prediction in &contents.verification.predictions {
            text.push_str(&prediction_text(outcome, prediction));
        }
    }
    text.push('\n');
    let words = kernel_sentences(&contents.verification.samples, outcome, details);
    for line in words.into_iter().chain(kernel_notes(contents)) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(&format!("verdict: {}\n", outcome.verdict.as_str()));
    text
}

fn head(contents: &KernelContents<'_>) -> String {
    let verified = contents.verification;
    let mut text = format!(
        "Linux {} without and with {}{}\n",
        verified.release,
        contents.patch.display(),
        if contents.reverse {
            ", which the source has"
        } else {
            ""
        },
    );
    for (side, kernel) in ExperimentSide::ALL.into_iter().zip(&verified.kernels) {
        let built = match kernel.seconds {
            Some(seconds) => format!("built in {seconds:.0} s"),
            None => "built before".to_owned(),
        };
        text.push_str(&format!(
            "  {:<7} {} ({built})\n",
            side.as_str(),
            kernel.image.display()
        ));
    }
    for changed_type in &verified.changed {
        text.push_str(&changed_text(changed_type));
    }
    text.push('\n');
    text
}

fn changed_text(changed_type: &ChangedType) -> String {
    let [old, new] = changed_type.size;
    let moves: Vec<String> = { changed_type.moved.iter() }
        .map(|moved| {
            format!(
                "{} {} -> {}",
                moved.member, moved.offset[0], moved.offset[1]
            )
        })
        .collect();
    let moves = match moves.as_slice() {
        [] => "no member moves".to_owned(),
        moves => word_list(moves, MOVES_MAX),
    };
    format!(
        "  struct {}: {old} -> {new} bytes; {moves}\n",
        changed_type.name,
    )
}

fn prediction_text(outcome: &ExperimentOutcome, prediction: &ReplayPrediction) -> String {
    let about = format!("{} [{}]", prediction.type_name, prediction.setting);
    let recorded = find_metric(outcome, &prediction.type_name, &prediction.setting);
    let said = match &prediction.replayed {
        Err(why) => format!("not replayed: {why}"),
        Ok(replayed) => {
            let change = replayed.change().map_or("-".to_owned(), signed_percent);
            let partial = match replayed.is_partial {
                true => " (members come together of which not all was recorded)",
                false => "",
            };
            let recorded = recorded
                .and_then(|metric| metric.judged.change)
                .map_or("-".to_owned(), signed_percent);
            format!("predicted {change}{partial}, recorded {recorded}")
        }
    };
    format!("  {about}: {said}\n")
}
