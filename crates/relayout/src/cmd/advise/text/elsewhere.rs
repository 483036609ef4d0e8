//! What the layouts do to other workloads and in other configurations.

use std::fmt::Write as _;

use relayout_search::Elsewhere;

use super::super::TypeAdvice;
use super::words;

/// A line for each other and layout; then which layouts hurt which. `found` layouts are shown behind the
/// given ones.
pub fn sentences(text: &mut String, one: &TypeAdvice<'_>, found: usize) {
    if one.others.is_empty() {
        return;
    }
    let names: Vec<String> = (one.given.iter().map(|given| given.name.clone()))
        .chain((1..=found).map(|nth| format!("found {nth}")))
        .collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    text.push_str("\nOther workloads and configurations, transfers against their own layout:\n");
    for other in &one.others {
        let _ = write!(text, "  {} {}", other.kind.word(), other.name);
        let results = match &other.results {
            Ok(results) => results,
            Err(why) => {
                let _ = writeln!(text, ": not judged, {why}");
                continue;
            }
        };
        let today = results.first().map_or(0, |own| own.tally.transfers());
        let _ = writeln!(text, ", {today} today");
        for (name, there) in names.iter().zip(results.iter().skip(1)) {
            let _ = writeln!(text, "    {name:<width$}  {}", result(there));
        }
    }
    for (place, name) in names.iter().enumerate() {
        let hurt = one.hurt_by(place);
        if !hurt.is_empty() {
            let all: Vec<&str> = hurt.iter().map(|(other, _)| other.name.as_str()).collect();
            let _ = writeln!(text, "{name} hurts {}: not advised.", all.join(", "));
        }
    }
    text.push('\n');
}

fn result(there: &Elsewhere) -> String {
    let mut text = format!(
        "{} transfers, {} bytes",
        there.tally.transfers(),
        there.size
    );
    if let Some(interval) = there.interval {
        let _ = write!(text, ", {}", words::percent(interval));
    }
    if there.hurts() {
        text.push_str(": hurts");
    }
    text
}
