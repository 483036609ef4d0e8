//! Scores of the layouts in other workloads and configurations.

use std::fmt::Write as _;

use crate::documents::advise::candidate::CandidateDocument;
use crate::documents::advise::pool::{
    ScenarioDocument, ScenarioScoreDocument, ScenarioTodayDocument,
};
use crate::words::advice::interval_words;
use crate::words::wrap::wrap_text;

/// Appends a line for each scenario and layout, and the scenarios that a layout hurts. `layouts` are
/// those with scores elsewhere, with their names.
pub(crate) fn push_scenarios(
    text: &mut String,
    scenarios: &[ScenarioTodayDocument],
    layouts: &[(String, &CandidateDocument)],
) {
    if scenarios.is_empty() {
        return;
    }
    let width = layouts.iter().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or(0);
    text.push_str("\nOther workloads and configurations, transfers against their own layout:\n");
    for (index, scenario) in scenarios.iter().enumerate() {
        let label = format!("  {} {}", scenario.kind, scenario.name);
        if let Some(reason) = &scenario.not_judged {
            let _ = writeln!(text, "{label}: not judged, {reason}");
            continue;
        }
        let Some(today) = scenario.transfers else {
            continue;
        };
        let pairs = pair_words(scenario.pair_transfers);
        let line = format!("{label}, {today}{pairs} today{}", scenario.seen_stores);
        let _ = writeln!(text, "{}", wrap_text(&line, 4));
        for (name, layout) in layouts {
            let elsewhere = scores_elsewhere(layout).get(index);
            if let Some(score) = elsewhere.and_then(|there| there.score.as_ref()) {
                let _ = writeln!(text, "    {name:<width$}  {}", scenario_result(score));
            }
        }
    }
    for (name, layout) in layouts {
        let is_hurt =
            |there: &&ScenarioDocument| there.score.as_ref().is_some_and(|score| score.hurts);
        let hurt_names: Vec<&str> = { scores_elsewhere(layout).iter() }
            .filter(is_hurt)
            .map(|there| there.name.as_str())
            .collect();
        if !hurt_names.is_empty() {
            let _ = writeln!(text, "{name} hurts {}: not advised.", hurt_names.join(", "));
        }
    }
    text.push('\n');
}

fn scores_elsewhere(layout: &CandidateDocument) -> &[ScenarioDocument] {
    layout.elsewhere.as_deref().unwrap_or_default()
}

fn scenario_result(score: &ScenarioScoreDocument) -> String {
    let mut text = format!(
        "{} transfers{}, {} bytes",
        score.transfers,
        pair_words(score.pair_transfers),
        score.size
    );
    if let Some(interval) = &score.transfers_change {
        let _ = write!(text, ", {}", interval_words(interval.change()));
    }
    if score.hurts {
        text.push_str(": hurts");
    }
    text
}

/// Returns the pair transfers, where they cost something.
fn pair_words(pair_transfers: Option<u64>) -> String {
    { pair_transfers.filter(|count| *count > 0) }
        .map_or(String::new(), |count| format!(" and {count} of pairs"))
}
