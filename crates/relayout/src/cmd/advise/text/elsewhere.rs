//! What the layouts do to other workloads and in other configurations.

use std::fmt::Write as _;

use relayout_search::Elsewhere;

use super::super::check::{Statement, Stores};
use super::super::others::{Other, Pool};
use super::{words, wrapped};

/// A line for each other and layout; then which layouts hurt which.
pub fn sentences(text: &mut String, pool: Pool<'_>, top: usize) {
    if pool.others.is_empty() {
        return;
    }
    let found = pool.advice.shown(top).len();
    let names: Vec<String> = (pool.given.iter().map(|given| given.name.clone()))
        .chain((1..=found).map(|nth| format!("found {nth}")))
        .collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    text.push_str("\nOther workloads and configurations, transfers against their own layout:\n");
    for other in pool.others {
        let what = format!("  {} {}", other.kind.word(), other.name);
        let (own, layouts) = match other.results.as_ref().map(|all| all.split_first()) {
            Ok(Some(results)) => results,
            Ok(None) => continue,
            Err(why) => {
                let _ = writeln!(text, "{what}: not judged, {why}");
                continue;
            }
        };
        let (today, seen) = (own.tally.transfers(), seen(other, pool.checked));
        let line = format!("{what}, {today}{} today{seen}", pairs(own));
        let _ = writeln!(text, "{}", wrapped(&line, 4));
        for (name, there) in names.iter().zip(layouts) {
            let _ = writeln!(text, "    {name:<width$}  {}", result(own, there));
        }
    }
    for (place, name) in names.iter().enumerate() {
        let hurt = pool.hurt_by(place);
        if !hurt.is_empty() {
            let all: Vec<&str> = hurt.iter().map(|other| other.name.as_str()).collect();
            let _ = writeln!(text, "{name} hurts {}: not advised.", all.join(", "));
        }
    }
    text.push('\n');
}

fn result(own: &Elsewhere, there: &Elsewhere) -> String {
    let mut text = format!(
        "{} transfers{}, {} bytes",
        there.tally.transfers(),
        pairs(there),
        there.size
    );
    if let Some(interval) = there.interval {
        let _ = write!(text, ", {}", words::percent(interval));
    }
    if there.hurts(own) {
        text.push_str(": hurts");
    }
    text
}

/// Pair transfers, where they cost something: the change is of both.
fn pairs(there: &Elsewhere) -> String {
    { there.pair_transfers.filter(|count| *count > 0) }
        .map_or(String::new(), |count| format!(" and {count} of pairs"))
}

/// What is known of the statements' stores in another recording, with a `; ` before each.
pub fn seen(other: &Other, checked: &[Statement]) -> String {
    let words = |(statement, stores): (&Statement, &Stores)| {
        let what = format!(
            "the store to '{}' ({})",
            statement.member,
            statement.place()
        );
        let Stores { all, silent } = stores;
        match all {
            0 => format!("; {what} was not seen there: the layouts count without its check"),
            _ => format!("; {what} left the value as it was in {silent} of {all} cases"),
        }
    };
    checked.iter().zip(&other.stores).map(words).collect()
}
