//! Scores of the layouts in other workloads and configurations.

use std::fmt::Write as _;

use relayout_advice::LayoutPool;
use relayout_search::VariantScore;

use crate::words::advice::guards::seen_store_words;
use crate::words::advice::interval_words;
use crate::words::wrap::wrap_text;

/// Appends a line for each scenario and layout, and the scenarios that a layout hurts.
pub(crate) fn push_scenarios(text: &mut String, pool: LayoutPool<'_>, top: usize) {
    if pool.scenarios.is_empty() {
        return;
    }
    let candidate_count = pool.advice.shown_candidates(top).len();
    let names: Vec<String> = (pool.user_layouts.iter().map(|given| given.name.clone()))
        .chain((1..=candidate_count).map(|number| format!("found {number}")))
        .collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    text.push_str("\nOther workloads and configurations, transfers against their own layout:\n");
    for scenario in pool.scenarios {
        let label = format!("  {} {}", scenario.kind.as_str(), scenario.name);
        let (current, layouts) = match scenario.results.as_ref().map(|all| all.split_first()) {
            Ok(Some(results)) => results,
            Ok(None) => continue,
            Err(reason) => {
                let _ = writeln!(text, "{label}: not judged, {reason}");
                continue;
            }
        };
        let (today, seen_stores) = (
            current.tally.transfers(),
            seen_store_words(scenario, pool.statements),
        );
        let line = format!("{label}, {today}{} today{seen_stores}", pair_words(current));
        let _ = writeln!(text, "{}", wrap_text(&line, 4));
        for (name, scored) in names.iter().zip(layouts) {
            let _ = writeln!(
                text,
                "    {name:<width$}  {}",
                scenario_result(current, scored)
            );
        }
    }
    for (listed_index, name) in names.iter().enumerate() {
        let hurt_scenarios = pool.scenarios_hurt_by(listed_index);
        if !hurt_scenarios.is_empty() {
            let hurt_names: Vec<&str> = hurt_scenarios
                .iter()
                .map(|scenario| scenario.name.as_str())
                .collect();
            let _ = writeln!(text, "{name} hurts {}: not advised.", hurt_names.join(", "));
        }
    }
    text.push('\n');
}

fn scenario_result(current: &VariantScore, scored: &VariantScore) -> String {
    let mut text = format!(
        "{} transfers{}, {} bytes",
        scored.tally.transfers(),
        pair_words(scored),
        scored.size
    );
    if let Some(interval) = scored.interval {
        let _ = write!(text, ", {}", interval_words(interval));
    }
    if scored.is_harmful(current) {
        text.push_str(": hurts");
    }
    text
}

/// Returns the pair transfers, where they cost something.
fn pair_words(scored: &VariantScore) -> String {
    { scored.pair_transfers.filter(|count| *count > 0) }
        .map_or(String::new(), |count| format!(" and {count} of pairs"))
}
