//! The text of `advise` and `what-if`.

use std::fmt::Write as _;

use relayout_layout::pahole;
use relayout_search::{Advice, Interval, LeftOut, Scored, Verdict};

use super::TypeAdvice;
use super::patch::Outcome;
use crate::input::Input;

/// What replay leaves out; printed with every result.
const LIMITS: &str = "Replay keeps the recorded order and timing (spins, failed exchanges, hold \
    times), has infinite caches and no prefetch. Intervals come from resampling stretches of this \
    recording; the best of many candidates is flattered by having been chosen on it. No throughput \
    is predicted: that needs the machine's transfer time, which is not measured here.\n";

/// The text of `advise`.
pub fn advise(
    input: &Input<'_>,
    all: &[TypeAdvice<'_>],
    patches: &[Option<Outcome>],
    top: usize,
    patch_is_written: bool,
) -> String {
    let mut text = String::new();
    if all.is_empty() {
        text.push_str(
            "No object of a known struct type has transfers between contexts in this profile: nothing \
             to advise on. `relayout report` shows what was resolved and what was not.\n",
        );
        return text;
    }
    for (one, patch) in all.iter().zip(patches) {
        one_type(&mut text, input, one, top);
        patch_words(&mut text, one, patch.as_ref(), patch_is_written);
    }
    text.push_str(LIMITS);
    text
}

fn patch_words(
    text: &mut String,
    one: &TypeAdvice<'_>,
    patch: Option<&Outcome>,
    patch_is_written: bool,
) {
    let _ = match (patch, &one.outcome) {
        (
            Some(Outcome::Diff {
                candidate,
                diff,
                instead,
            }),
            Ok(advice),
        ) => {
            let change = words(one, &advice.candidates[*candidate]);
            let _ = match instead {
                Some(why) => writeln!(
                    text,
                    "The first candidate cannot be edited safely ({why}). This one has as few \
                     transfers: {change}."
                ),
                None => writeln!(text, "The edit: {change}."),
            };
            match patch_is_written {
                true => writeln!(text),
                false => writeln!(text, "\n{diff}"),
            }
        }
        (Some(Outcome::Refused(why)), _) => writeln!(text, "No patch: {why}.\n"),
        _ => Ok(()),
    };
}

/// The text of `what-if`.
pub fn what_if(input: &Input<'_>, one: &TypeAdvice<'_>) -> String {
    let mut text = String::new();
    heading(&mut text, one);
    match &one.outcome {
        Err(why) => {
            let _ = writeln!(text, "Not judged: {why}.");
        }
        Ok(advice) => {
            for given in &advice.given {
                layout_of(&mut text, input, one, given, name_of(given));
            }
            let rows: Vec<&Scored> = std::iter::once(&advice.current)
                .chain(&advice.given)
                .collect();
            table(&mut text, one, &rows);
            for given in &advice.given {
                let _ = writeln!(text, "{}: {}", name_of(given), given_words(advice, given));
            }
            text.push('\n');
        }
    }
    text.push_str(LIMITS);
    text
}

/// Candidates to show, by index: the first `top` by transfers, then those on the front, of equals
/// (in events, bytes and moves) only the first.
pub fn shown(advice: &Advice, top: usize) -> Vec<usize> {
    let mut seen = Vec::new();
    let mut distinct = Vec::new();
    for (index, one) in advice.candidates.iter().enumerate() {
        let key = (
            one.tally,
            one.memory.bytes_per_object,
            one.layout.size,
            one.moved,
        );
        if !seen.contains(&key) {
            seen.push(key);
            distinct.push(index);
        }
    }
    let on_front = |index: &usize| advice.candidates[*index].pareto;
    let mut shown: Vec<usize> = distinct.iter().copied().take(top.max(1)).collect();
    shown.extend(distinct.into_iter().skip(top.max(1)).filter(on_front));
    shown
}

fn heading(text: &mut String, one: &TypeAdvice<'_>) {
    let accesses: usize = one
        .instances
        .iter()
        .map(|one| one.trace.accesses.len())
        .sum();
    let mut recorded: Vec<(u16, u64)> = one
        .instances
        .iter()
        .map(|one| (one.run, one.trace.base))
        .collect();
    recorded.sort_unstable();
    recorded.dedup();
    let _ = writeln!(
        text,
        "struct {}: {} in the profile, {} of them recorded in order ({accesses} accesses).\n",
        one.name,
        counted(one.objects, "object"),
        recorded.len(),
    );
}

fn one_type(text: &mut String, input: &Input<'_>, one: &TypeAdvice<'_>, top: usize) {
    heading(text, one);
    let advice = match &one.outcome {
        Ok(advice) => advice,
        Err(why) => {
            let _ = writeln!(text, "No candidates: {why}.\n");
            return;
        }
    };
    let shown = shown(advice, top);
    layout_of(text, input, one, &advice.current, "Today's layout");
    if let Some(best) = advice.candidates.first() {
        let title = format!("Best found by replay: {}", words(one, best));
        layout_of(text, input, one, best, &title);
    }
    let mut rows = vec![&advice.current];
    rows.extend(&advice.given);
    rows.extend(shown.iter().map(|index| &advice.candidates[*index]));
    table(text, one, &rows);
    let _ = writeln!(text, "{}", verdict_words(one, advice));
    for given in &advice.given {
        let _ = writeln!(text, "{}: {}", name_of(given), given_words(advice, given));
    }
    let _ = writeln!(text, "{}", memory_words(one, advice));
    left_out(text, one, advice);
    text.push('\n');
}

fn layout_of(
    text: &mut String,
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    scored: &Scored,
    title: &str,
) {
    let laid_out = one
        .shape
        .apply(one.aggregate, &scored.arrangement, &scored.layout);
    let options = pahole::Options {
        cacheline_size: input.line_bytes.into(),
        ..pahole::Options::default()
    };
    let listing = pahole::render_aggregate(input.resolution.types(), &laid_out, &options);
    let _ = writeln!(text, "{title}\n{}", listing.unwrap_or_default());
}

fn name_of(scored: &Scored) -> &str {
    scored.name.as_deref().unwrap_or_default()
}

fn words(one: &TypeAdvice<'_>, scored: &Scored) -> String {
    let all: Vec<String> = scored
        .changes
        .iter()
        .map(|change| change.words(&one.shape))
        .collect();
    match all.is_empty() {
        true => "-".to_owned(),
        false => all.join(", "),
    }
}

/// Events per operation where the workload marks operations, else as counted.
fn table(text: &mut String, one: &TypeAdvice<'_>, rows: &[&Scored]) {
    let per_operation = rows.iter().all(|row| row.per_operation.is_some());
    let unit = if per_operation {
        "per operation"
    } else {
        "over the whole recording"
    };
    let _ = writeln!(
        text,
        "Transfers (HITM) and upgrades {unit}; * nothing tried beats it in \
        transfers, bytes and members moved:\n"
    );
    let names = rows.iter().map(|row| name_of(row).len());
    let width = names.max().unwrap_or(0).max("found 99".len());
    let _ = writeln!(
        text,
        "{:>1} {:<width$} {:>5} {:<15} {:>9} {:>9} {:>9} {:>9} {:>11} {:>9}  change",
        "",
        "layout",
        "size",
        "slab class",
        "transfers",
        "read",
        "write",
        "upgrades",
        "false:first",
        "lifetime"
    );
    for (number, row) in rows.iter().enumerate() {
        let name = match (&row.name, number) {
            (Some(name), _) => name.clone(),
            (None, 0) => "today".to_owned(),
            (None, _) => format!(
                "found {}",
                number - rows.iter().filter(|r| r.name.is_some()).count()
            ),
        };
        let _ = write!(
            text,
            "{:>1} {name:<width$} {:>5} {:<15}",
            if row.pareto { "*" } else { "" },
            row.layout.size,
            row.memory.cache.as_deref().unwrap_or("-"),
        );
        for (figure, width) in figures(row, per_operation).iter().zip([9, 9, 9, 9, 11, 9]) {
            let _ = write!(text, " {figure:>width$}");
        }
        let _ = writeln!(text, "  {}", words(one, row));
    }
    text.push('\n');
}

fn figures(row: &Scored, per_operation: bool) -> [String; 6] {
    let tally = &row.tally;
    match row.per_operation.filter(|_| per_operation) {
        Some(per) => [
            per.transfers(),
            per.read_transfers,
            per.write_transfers,
            per.upgrades,
            per.false_first_touch,
            per.false_lifetime,
        ]
        .map(|figure| format!("{figure:.3}")),
        None => [
            tally.transfers(),
            tally.read_transfers,
            tally.write_transfers,
            tally.upgrades,
            tally.false_first_touch,
            tally.false_lifetime,
        ]
        .map(|figure| figure.to_string()),
    }
}

fn verdict_words(one: &TypeAdvice<'_>, advice: &Advice) -> String {
    let today = &advice.current;
    match &advice.verdict {
        Verdict::NoTransfers => {
            "Its recorded objects show no transfers between contexts: there is nothing to gain."
                .to_owned()
        }
        Verdict::NothingBetter { first_touch: None } => format!(
            "No layout found has fewer transfers than today's; {}.",
            sharing_words(today)
        ),
        Verdict::NothingBetter {
            first_touch: Some(index),
        } => {
            let other = &advice.candidates[*index];
            format!(
                "No layout found has fewer transfers than today's. \"{}\" takes the misses that are \
                 false by first touch from {} to {}, but all transfers go from {} to {}: the miss \
                 moves to another access of the same context; {}.",
                words(one, other),
                today.tally.false_first_touch,
                other.tally.false_first_touch,
                today.tally.transfers(),
                other.tally.transfers(),
                sharing_words(today),
            )
        }
        Verdict::Unclear => {
            let best = advice.candidates.first().and_then(|best| best.interval);
            format!(
                "No layout found is clearly better: the best changes all transfers by {}, which is \
                 within what differs from stretch to stretch of the recording; {}.",
                best.map(percent)
                    .unwrap_or_else(|| "an unknown part".to_owned()),
                sharing_words(today),
            )
        }
        Verdict::Better => match advice.candidates.first() {
            Some(best) => format!("Best found: {}", given_words(advice, best)),
            None => String::new(),
        },
    }
}

fn sharing_words(today: &Scored) -> String {
    let (all, lifetime) = (today.tally.transfers(), today.tally.false_lifetime);
    format!(
        "of today's {all} transfers {} bring data that the other context wrote and this one then \
         uses, which no order of the members avoids by itself",
        all.saturating_sub(lifetime)
    )
}

/// What one layout changes, in words that do not promise more than was counted.
fn given_words(advice: &Advice, scored: &Scored) -> String {
    let (today, tally) = (&advice.current.tally, &scored.tally);
    let change = match scored.interval {
        Some(interval) => percent(interval),
        None => "an unknown part".to_owned(),
    };
    let mut text = format!(
        "all transfers go from {} to {} ({change}), those false by first touch from {} to {}, \
         false by lifetime from {} to {}, upgrades from {} to {}.",
        today.transfers(),
        tally.transfers(),
        today.false_first_touch,
        tally.false_first_touch,
        today.false_lifetime,
        tally.false_lifetime,
        today.upgrades,
        tally.upgrades,
    );
    let less = scored.interval.is_some_and(|interval| interval.is_less());
    if tally.false_first_touch < today.false_first_touch && !less {
        text.push_str(
            " The first misses move to another access; the total does not clearly fall in this \
             recording.",
        );
    }
    if tally.transfers() < today.transfers() && tally.upgrades > today.upgrades {
        text.push_str(" Part of what is saved comes back as upgrades.");
    }
    if scored.unjudged {
        text.push_str(
            " It brings members together that were not recorded together: what that costs is not \
             counted.",
        );
    }
    text
}

fn percent(interval: Interval) -> String {
    let of = |ratio: f64| ratio * 100.0;
    format!(
        "{:+.1}%, 95% interval {:+.1}% to {:+.1}%",
        of(interval.change),
        of(interval.low),
        of(interval.high)
    )
}

fn memory_words(one: &TypeAdvice<'_>, advice: &Advice) -> String {
    let today = &advice.current.memory;
    let mut text = format!(
        "Memory: {} bytes per object today ({})",
        today.bytes_per_object,
        today.cache.as_deref().unwrap_or("not from a slab")
    );
    let others = advice.given.iter().map(|given| (name_of(given), given));
    let best = advice.candidates.first().map(|best| ("best found", best));
    for (name, scored) in others.chain(best) {
        let bytes = scored.memory.bytes_per_object as i128 - today.bytes_per_object as i128;
        let all = bytes * i128::from(one.objects);
        let _ = write!(
            text,
            "; {name}: {} ({}), {all:+} bytes for the {} seen",
            scored.memory.bytes_per_object,
            scored.memory.cache.as_deref().unwrap_or("not from a slab"),
            counted(one.objects, "object"),
        );
    }
    text.push('.');
    text
}

fn left_out(text: &mut String, one: &TypeAdvice<'_>, advice: &Advice) {
    let LeftOut {
        unrecorded,
        kept,
        budget,
    } = advice.left_out;
    let _ = writeln!(
        text,
        "{} tried.",
        counted(advice.candidates.len() as u64, "layout")
    );
    if unrecorded > 0 {
        let _ = writeln!(
            text,
            "{unrecorded} not offered: they bring together members whose accesses were not all \
             recorded ({}).",
            shortened(&advice.unrecorded_members)
        );
    }
    if kept > 0 {
        let first = one.first.as_deref().map(|first| {
            format!(" '{first}' stays first: it is a struct at offset 0, which code may cast to.")
        });
        let _ = writeln!(
            text,
            "{kept} not offered: they move a member that stays.{}",
            first.unwrap_or_default()
        );
    }
    if budget > 0 {
        let _ = writeln!(text, "{budget} not tried: too many accesses to replay.");
    }
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 6;
    match names.len() {
        0 => "in no one object".to_owned(),
        count if count > SHOWN => {
            format!("{} and {} more", names[..SHOWN].join(", "), count - SHOWN)
        }
        _ => names.join(", "),
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
