//! Sentences about the gain on parts of the recording, and about doubts.

use relayout_search::RankedLayout;

use crate::words::percent::{percent, signed_percent};

/// Returns the gain of a layout on each part of the recording, and the worst; `None` if none was
/// judged.
pub(crate) fn part_sentence(ranked: &RankedLayout) -> Option<String> {
    let judged = &ranked.parts;
    let worst = judged.worst()?;
    let changes: Vec<String> = { judged.parts.iter() }
        .map(|part| signed_percent(part.change.max(part.change_of_others_choice)))
        .collect();
    let parts = match (judged.are_recordings, changes.len()) {
        (true, count) => format!("{count} recordings"),
        (false, 1) => "one third of the recording".to_owned(),
        (false, count) => format!("{count} thirds of the recording"),
    };
    let checks = match changes.len() {
        1 => "this check".to_owned(),
        count => format!("the worst of {count} checks"),
    };
    let over_all = ranked.interval.map_or(worst, |interval| interval.change);
    let promise = match judged.lacks_gain() {
        true => format!(
            "no gain can be expected: {checks} is {}",
            signed_percent(worst)
        ),
        // Each part begins with a transfer less.
        false if worst < over_all => {
            format!("expect at least {} fewer, as over all", percent(-over_all))
        }
        false => format!("expect at least {} fewer ({checks})", percent(-worst)),
    };
    Some(format!(
        "Judged on {parts} that did not choose the layout, transfers change by {}: {promise}.",
        changes.join(", "),
    ))
}

/// Returns the doubts as a paragraph; empty without any.
pub(crate) fn doubt_paragraph(doubts: impl IntoIterator<Item = impl ToString>) -> String {
    let words: Vec<String> = { doubts.into_iter() }
        .map(|doubt| doubt.to_string())
        .collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("In doubt: {}.", words.join("; ")),
    }
}
