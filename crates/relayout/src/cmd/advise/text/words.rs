//! What was found, in words that do not promise more than was counted.

use std::fmt::Write as _;

use relayout_contend::throughput::{Gain, Ratio};
use relayout_search::{Advice, Interval, LeftOut, Scored, Verdict};

use super::super::TypeAdvice;
use super::{counted, lines, name_of, words, wrapped};

/// Columns before the words of an effect.
const LABEL: usize = 15;
/// Types that hold the one in question that are named.
const INSIDE_MAX: usize = 3;

/// Who accesses what.
pub fn evidence(text: &mut String, one: &TypeAdvice<'_>) {
    if one.evidence.is_empty() {
        return;
    }
    let width = one
        .evidence
        .iter()
        .map(|one| one.member.len())
        .max()
        .unwrap_or(0);
    text.push_str("Recorded accesses (without repeats that no layout makes a difference to):\n");
    for one in &one.evidence {
        let functions: Vec<String> = (one.functions.iter())
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let _ = writeln!(
            text,
            "  {:<width$}  {:<5} {:>7} by {}  {}",
            one.member,
            if one.store { "write" } else { "read" },
            one.count,
            counted(one.contexts as u64, "context"),
            functions.join(", ")
        );
    }
    text.push('\n');
}

/// What can be said about the best.
pub fn verdict(one: &TypeAdvice<'_>, advice: &Advice) -> String {
    let today = &advice.current;
    match &advice.verdict {
        Verdict::NoTransfers => {
            "Its recorded objects show no transfers between contexts: there is nothing to gain.\n"
                .to_owned()
        }
        Verdict::NothingBetter { first_touch } => {
            let everywhere = match advice.builds {
                0 => "",
                _ => " in every configuration",
            };
            let mut text = format!(
                "No layout found has fewer transfers than today's{everywhere}; {}.\n",
                sharing(today)
            );
            if let Some(other) = first_touch.map(|index| &advice.candidates[index]) {
                let _ = writeln!(
                    text,
                    "\"{}\" takes those that are false by first touch from {}, but all transfers \
                     from {}: the miss moves to another access of the same context.",
                    words(one, other),
                    change(today.tally.false_first_touch, other.tally.false_first_touch),
                    change(today.tally.transfers(), other.tally.transfers()),
                );
            }
            text + &fewest_events(one, advice)
        }
        Verdict::Unclear => {
            let best = advice.candidates.first().and_then(|best| best.interval);
            let why = match best {
                Some(best) => format!(
                    "the best changes all transfers by {}, which is within what differs from stretch \
                     to stretch of the recording",
                    percent(best)
                ),
                None => "there are too few transfers to tell a change from chance".to_owned(),
            };
            let text = format!(
                "No layout found is clearly better: {why}; {}.\n",
                sharing(today)
            );
            let text = text + &held_out(advice);
            text + &fewest_events(one, advice)
        }
        Verdict::Unstable => {
            let best = advice.candidates.first();
            let runs = best.map_or(String::new(), |best| by_run(advice, best));
            format!(
                "No advice: the best layout found has fewer transfers in some recordings and more in \
                 others ({runs}); {}.\n",
                sharing(today)
            )
        }
        Verdict::Slight => {
            let best = advice.candidates.first().and_then(|best| best.interval);
            format!(
                "No advice: the best layout found saves less than 1% of the transfers ({}); {}.\n",
                best.map_or(String::new(), percent),
                sharing(today)
            )
        }
        Verdict::Slower => {
            let best = advice.candidates.first();
            let gain = best
                .and_then(|best| best.gain.as_ref())
                .map(|gain| gain.ratio);
            let gain = gain.map_or(String::new(), |ratio| {
                format!(
                    ": {:.2} times today's throughput ({:.2} to {:.2})",
                    ratio.value, ratio.low, ratio.high
                )
            });
            format!(
                "No advice: the best layout found has fewer transfers, but is predicted to be slower{gain}; {}.\n",
                sharing(today)
            )
        }
        Verdict::Traded => {
            let best = advice.candidates.first().map_or(0, events);
            let text = format!(
                "No advice: the best layout found has fewer transfers, but transfers and upgrades together go \
                 from {}; {}.\n",
                change(events(today), best),
                sharing(today)
            );
            text + &fewest_events(one, advice)
        }
        Verdict::Better => held_out(advice),
    }
}

/// What remains of the gain where the best was not chosen.
fn held_out(advice: &Advice) -> String {
    match advice.held_out {
        Some(interval) => format!(
            "Chosen on one half of the recording and counted on the other, the best changes all \
             transfers by {}.\n",
            percent(interval)
        ),
        None => String::new(),
    }
}

fn by_run(advice: &Advice, best: &Scored) -> String {
    let pairs = advice.current.runs.iter().zip(&best.runs);
    let words: Vec<String> = pairs
        .map(|((run, before), (_, after))| format!("run {run}: {}", change(*before, *after)))
        .collect();
    words.join(", ")
}

fn sharing(today: &Scored) -> String {
    let (all, lifetime) = (today.tally.transfers(), today.tally.false_lifetime);
    format!(
        "of today's {all} transfers {} bring data that the other context wrote and this one then \
         uses, which no order of the members avoids by itself",
        all.saturating_sub(lifetime)
    )
}

/// A layout may save upgrades where it cannot save transfers; less than a percent is not worth a
/// sentence.
fn fewest_events(one: &TypeAdvice<'_>, advice: &Advice) -> String {
    let least = advice.candidates.iter().min_by_key(|scored| events(scored));
    match least.filter(|scored| events(scored) * 100 < events(&advice.current) * 99) {
        Some(least) => format!(
            "Transfers and upgrades together are fewest with \"{}\": from {}.\n",
            words(one, least),
            change(events(&advice.current), events(least))
        ),
        None => String::new(),
    }
}

fn events(scored: &Scored) -> u64 {
    scored.tally.transfers() + scored.tally.upgrades
}

/// What one layout changes, counted over the recording.
pub fn effect(
    one: &TypeAdvice<'_>,
    advice: &Advice,
    scored: &Scored,
    name: &str,
    line_bytes: u32,
) -> String {
    let (today, tally) = (&advice.current.tally, &scored.tally);
    let mut text = format!("{name}, over all that was recorded in order:\n");
    let mut say = |label: &str, words: String| {
        let line = format!("  {label:<11}  {words}");
        let _ = writeln!(text, "{}", wrapped(&line, LABEL));
    };
    let lines = lines::sentences(one, advice, scored, line_bytes);
    match lines.is_empty() {
        true => say("lines", "the accessed members share lines as today".into()),
        false => lines.into_iter().for_each(|line| say("lines", line)),
    }
    say(
        "false",
        format!(
            "by first touch from {}; by lifetime from {}",
            change(today.false_first_touch, tally.false_first_touch),
            change(today.false_lifetime, tally.false_lifetime),
        ),
    );
    say("transfers", total(advice, scored));
    if let Some(gain) = &scored.gain {
        say("throughput", predicted(gain));
    }
    say(
        "upgrades",
        format!(
            "from {}; transfers and upgrades together from {}",
            change(today.upgrades, tally.upgrades),
            change(events(&advice.current), events(scored)),
        ),
    );
    if let (Some(before), Some(after)) = (advice.current.pair_transfers, scored.pair_transfers) {
        say(
            "pairs",
            format!(
                "stores to the other line of a pair, from {}",
                change(before, after)
            ),
        );
    }
    if scored.unjudged {
        say(
            "not counted",
            "what it costs that members come together which were not recorded together".into(),
        );
    }
    text
}

/// The total, and whether it falls as the first misses do.
fn total(advice: &Advice, scored: &Scored) -> String {
    let (today, tally) = (&advice.current.tally, &scored.tally);
    let mut text = format!("from {} to {}", today.transfers(), tally.transfers());
    if let Some(interval) = scored.interval {
        let _ = write!(text, ", {}", percent(interval));
    }
    let less = scored.interval.is_some_and(|interval| interval.is_less());
    let more = scored.interval.is_some_and(|interval| interval.low > 0.0);
    let first = today
        .false_first_touch
        .saturating_sub(tally.false_first_touch);
    let all = today.transfers().saturating_sub(tally.transfers());
    match less {
        _ if more => text.push_str(": more than today"),
        _ if tally.transfers() > today.transfers() => {
            text.push_str(": not clearly more in this recording");
        }
        _ if first > 2 * all => {
            text.push_str(": most first misses that are gone come back as a miss of another access")
        }
        false => text.push_str(": not clearly fewer in this recording"),
        true => {}
    }
    text
}

/// `3526 to 3394 (-3.7%)`
pub fn change(before: u64, after: u64) -> String {
    match before {
        0 => format!("{before} to {after}"),
        _ => format!(
            "{before} to {after} ({:+.1}%)",
            (after as f64 / before as f64 - 1.0) * 100.0
        ),
    }
}

/// `-3.7%, 95% interval -5.0% to -2.1%`
pub fn percent(interval: Interval) -> String {
    let of = |ratio: f64| ratio * 100.0;
    format!(
        "{:+.1}%, 95% interval {:+.1}% to {:+.1}%",
        of(interval.change),
        of(interval.low),
        of(interval.high)
    )
}

/// Bytes per object, today and then.
pub fn memory(one: &TypeAdvice<'_>, advice: &Advice) -> String {
    let today = &advice.current.memory;
    let mut text = format!(
        "Memory: {} bytes per object today ({})",
        today.bytes_per_object,
        cache(one, today.cache.as_deref())
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
            cache(one, scored.memory.cache.as_deref()),
            counted(one.objects, "object"),
        );
    }
    text.push('.');
    let inside = &one.memory.inside;
    if !inside.is_empty() {
        let mut ranked: Vec<(&String, &u64)> = inside.iter().collect();
        ranked.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let shown = ranked.iter().take(INSIDE_MAX);
        let names: Vec<String> = shown
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let more = ranked.len().saturating_sub(INSIDE_MAX);
        let more = if more > 0 {
            format!(" and {more} more types")
        } else {
            String::new()
        };
        let _ = write!(
            text,
            " It lies inside of {}{more}: what is behind it there moves as its size changes, which is \
             not judged.",
            names.join(", ")
        );
    }
    if one.memory.per_cpu > 0 {
        let _ = write!(
            text,
            " {} of the objects are one to each CPU.",
            one.memory.per_cpu
        );
    }
    text
}

/// `kmalloc-192, 21 to a slab`
fn cache(one: &TypeAdvice<'_>, name: Option<&str>) -> String {
    let Some(name) = name else {
        return "not from a slab".to_owned();
    };
    match one.memory.per_slab.get(name) {
        Some(count) => format!("{name}, {count} to a slab"),
        None => name.to_owned(),
    }
}

/// What it would cost if objects began elsewhere on a line.
pub fn by_phase(text: &mut String, advice: &Advice) {
    let least = advice
        .by_phase
        .iter()
        .map(|(_, transfers)| *transfers)
        .min();
    let most = advice
        .by_phase
        .iter()
        .map(|(_, transfers)| *transfers)
        .max();
    if least == most {
        return;
    }
    let all: Vec<String> = (advice.by_phase.iter())
        .map(|(phase, transfers)| format!("{phase}: {transfers}"))
        .collect();
    let line = format!(
        "Transfers of today's layout by the place of a line where all objects would begin: {}.",
        all.join(", ")
    );
    let _ = writeln!(text, "{}", wrapped(&line, 2));
}

/// How much was tried, and what was not.
pub fn left_out(text: &mut String, one: &TypeAdvice<'_>, advice: &Advice) {
    let LeftOut {
        unrecorded,
        kept,
        budget,
        two_moves,
        builds,
    } = advice.left_out;
    let mut say = |line: String| {
        let _ = writeln!(text, "{}", wrapped(&line, 2));
    };
    say(format!(
        "{} replayed.{}",
        counted(advice.candidates.len() as u64, "layout"),
        bound(advice)
    ));
    if unrecorded > 0 {
        say(format!(
            "{unrecorded} not offered: they bring together members whose accesses were not all \
             recorded ({}).",
            shortened(&advice.unrecorded_members)
        ));
    }
    if kept > 0 {
        let first = one.first.as_deref().map(|first| {
            format!(" '{first}' stays first: it is a struct at offset 0, which code may cast to.")
        });
        say(format!(
            "{kept} not offered: they move a member that stays.{}",
            first.unwrap_or_default()
        ));
    }
    if budget > 0 {
        say(format!(
            "{budget} estimated only, behind those that were replayed: too many accesses."
        ));
    }
    if advice.builds > 0 {
        say(format!(
            "Ranked by what each costs where it does worst: as recorded, or in the {}.{}",
            match advice.builds {
                1 => "other configuration".to_owned(),
                count => format!("{count} other configurations"),
            },
            match builds {
                0 => String::new(),
                count =>
                    format!(" {count} behind those were scored as recorded only, and left out."),
            }
        ));
    }
    if two_moves > 0 {
        say(format!("{two_moves} pairs of moves not tried: too many."));
    }
}

/// How far from the best possible the best found is.
fn bound(advice: &Advice) -> String {
    let Some(bound) = advice.bound else {
        return String::new();
    };
    let best = advice.fewest_transfers();
    let gap = bound.gap(best);
    match gap == 0.0 {
        true => format!(
            " No layout of whole objects on lines of their own has fewer than {best} transfers in this \
             recording: proven."
        ),
        false => format!(
            " No layout of whole objects on lines of their own can have fewer than {} transfers in this \
             recording, so the best found is within {:.1}% of the best there is.",
            bound.transfers,
            gap * 100.0
        ),
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

fn predicted(gain: &Gain) -> String {
    let Ratio { value, low, high } = gain.ratio;
    let runs: Vec<String> = (gain.by_run.iter())
        .map(|(run, ratio)| format!("run {run}: {ratio:.2}"))
        .collect();
    let doubt = match low <= 1.0 && high >= 1.0 {
        _ if gain.is_unstable() => format!(
            ": a gain in some recordings and a loss in others ({})",
            runs.join(", ")
        ),
        true => ": may be none".to_owned(),
        false => String::new(),
    };
    format!(
        "predicted for {} CPUs, not measured: {value:.2} times today's ({low:.2} to {high:.2}){doubt}",
        gain.contexts
    )
}
