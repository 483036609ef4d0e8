//! Text of an experiment with kernels: changed types, tables, replays, sentences and verdict.

use relayout_layout::word_lists::word_list;
use relayout_verify::plan::ExperimentSide;

use super::table::{render_rates, render_tables};
use crate::documents::verify::{ChangedTypeDocument, PredictionDocument, VerifyDocument};

/// Members that are named of a type that changed.
const MOVES_MAX: usize = 6;

/// Renders the changed types, the tables, the replays, the sentences and the verdict.
pub(super) fn kernel_text(document: &VerifyDocument) -> String {
    let mut text = head(document);
    if let Some(machine) = &document.machine_words {
        text.push_str(&format!("Operations a second, {machine}\n\n"));
        text.push_str(&render_rates(document));
        text.push('\n');
    }
    text.push_str("Transfers per operation\n\n");
    text.push_str(&render_tables(document));
    let predictions = document.predictions.iter().flatten();
    for (index, prediction) in predictions.enumerate() {
        if index == 0 {
            text.push_str("\nReplay of the first kernel's recordings, beside the second's\n");
        }
        text.push_str(&prediction_text(document, prediction));
    }
    text.push('\n');
    for line in document.words.iter().flatten().chain(&document.notes) {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(&format!("verdict: {}\n", document.verdict.as_str()));
    text
}

fn head(document: &VerifyDocument) -> String {
    let mut text = format!(
        "Linux {} without and with {}{}\n",
        document.release.as_deref().unwrap_or_default(),
        document.patch.as_deref().unwrap_or_default(),
        match document.reverse {
            Some(true) => ", which the source has",
            _ => "",
        },
    );
    if let Some(kernels) = &document.kernels {
        let kernels = [&kernels.before, &kernels.after];
        for (side, kernel) in ExperimentSide::ALL.into_iter().zip(kernels) {
            let built = match kernel.build_seconds {
                Some(seconds) => format!("built in {seconds:.0} s"),
                None => "built before".to_owned(),
            };
            text.push_str(&format!(
                "  {:<7} {} ({built})\n",
                side.as_str(),
                kernel.image
            ));
        }
    }
    for changed_type in document.types.iter().flatten() {
        text.push_str(&changed_text(changed_type));
    }
    text.push('\n');
    text
}

fn changed_text(changed_type: &ChangedTypeDocument) -> String {
    let moves: Vec<String> = { changed_type.members.iter() }
        .map(|moved| {
            format!(
                "{} {} -> {}",
                moved.name, moved.old_offset, moved.new_offset
            )
        })
        .collect();
    let moves = match moves.as_slice() {
        [] => "no member moves".to_owned(),
        moves => word_list(moves, MOVES_MAX),
    };
    format!(
        "  struct {}: {} -> {} bytes; {moves}\n",
        changed_type.name, changed_type.old_size, changed_type.new_size,
    )
}

fn prediction_text(document: &VerifyDocument, prediction: &PredictionDocument) -> String {
    let PredictionDocument {
        type_name, setting, ..
    } = prediction;
    let change_text =
        |percent: Option<f64>| percent.map_or("-".to_owned(), |percent| format!("{percent:+.1}%"));
    let said = match (&prediction.replayed, &prediction.refused) {
        (Some(replayed), _) => {
            let partial = match replayed.partial {
                true => " (members come together of which not all was recorded)",
                false => "",
            };
            let name = format!("{type_name}[{setting}]");
            let recorded = document.metrics.iter().find(|metric| metric.name == name);
            format!(
                "predicted {}{partial}, recorded {}",
                change_text(replayed.change_percent),
                change_text(recorded.and_then(|metric| metric.change_percent))
            )
        }
        (None, why) => format!("not replayed: {}", why.as_deref().unwrap_or_default()),
    };
    format!("  {type_name} [{setting}]: {said}\n")
}
