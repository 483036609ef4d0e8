//! Conclusions of a search about the best layout.

use std::fmt::Write as _;

use relayout_advice::{InnerType, inner_types};
use relayout_search::{AdviceVerdict, ChangeInterval, LayoutAdvice, RankedLayout, ScoredLayout};

use crate::words::advice::{PoolView, change_words, from_to_words, interval_words};
use crate::words::percent::signed_percent;

/// Structs in a type that are named at most.
const INNER_NAMED_MAX: usize = 3;

/// Returns a sentence about the parts of the type that moved as a whole, or could not move.
pub(crate) fn inner_types_sentence(view: &PoolView<'_>) -> Option<String> {
    let types = view.resolved.resolution.types();
    let inner = inner_types(view.gathered, types, view.pool.advice);
    let named = inner.iter().map(InnerType::words);
    let named: Vec<String> = named.take(INNER_NAMED_MAX).collect();
    (!named.is_empty()).then(|| {
        format!(
            "What moved as a whole has an order of its own to look for: {}, by `relayout advise` with \
             that type.",
            named.join(", ")
        )
    })
}

/// Returns the best candidate, if it has fewer transfers than today's layout.
pub(crate) fn best_found(advice: &LayoutAdvice) -> Option<&RankedLayout> {
    let has_fewer = matches!(
        advice.verdict,
        AdviceVerdict::Better
            | AdviceVerdict::Traded
            | AdviceVerdict::Slower
            | AdviceVerdict::NoFaster
            | AdviceVerdict::Slight
            | AdviceVerdict::Uneven
            | AdviceVerdict::Unclear
            | AdviceVerdict::Unstable
    );
    advice.candidates.first().filter(|_| has_fewer)
}

/// Returns the conclusion about the best candidate.
pub(crate) fn verdict_sentences(view: &PoolView<'_>) -> String {
    let advice = view.pool.advice;
    let best = advice.candidates.first();
    let interval = best.and_then(|best| best.interval);
    let no_advice = |finding: String| {
        let needed = true_sharing_words(&advice.current);
        format!("No advice: the best layout found {finding}; {needed}.\n")
    };
    match &advice.verdict {
        AdviceVerdict::NoTransfers => {
            "Its recorded objects show no transfers between contexts: there is nothing to gain.\n"
                .to_owned()
        }
        AdviceVerdict::NothingBetter { first_touch } => {
            nothing_better_sentences(view, *first_touch)
        }
        AdviceVerdict::Unclear => unclear_sentences(view, interval),
        AdviceVerdict::Unstable => no_advice(format!(
            "has fewer transfers in some recordings and more in others ({})",
            best.map_or(String::new(), |best| transfers_by_run(advice, best))
        )),
        AdviceVerdict::Slight => no_advice(format!(
            "saves less than 1% of the transfers ({})",
            interval.map_or(String::new(), interval_words)
        )),
        AdviceVerdict::Uneven => no_advice(format!(
            "has fewer transfers over all, but {}",
            best.and_then(uneven_words).unwrap_or_default()
        )),
        AdviceVerdict::Slower => no_advice(slower_words(best)),
        AdviceVerdict::NoFaster => {
            no_advice("has fewer transfers, but is no faster in simulated time".to_owned())
        }
        AdviceVerdict::Traded => {
            let events = best.map_or(0, |best| transfers_and_upgrades(best));
            let words = from_to_words(transfers_and_upgrades(&advice.current), events);
            no_advice(format!(
                "has fewer transfers, but transfers and upgrades together go from {words}"
            )) + &fewest_events_sentence(view)
        }
        AdviceVerdict::Better => held_out_sentence(advice),
    }
}

/// Returns the conclusion where the best candidate may be better by chance.
fn unclear_sentences(view: &PoolView<'_>, interval: Option<ChangeInterval>) -> String {
    let advice = view.pool.advice;
    let reason = match interval {
        Some(best) => format!(
            "the best changes all transfers by {}, which is within what differs from stretch to \
             stretch of the recording",
            interval_words(best)
        ),
        None => "there are too few transfers to tell a change from chance".to_owned(),
    };
    format!(
        "No layout found is clearly better: {reason}; {}.\n{}{}",
        true_sharing_words(&advice.current),
        held_out_sentence(advice),
        fewest_events_sentence(view)
    )
}

/// Returns `on a third of the recording that did not choose it they change by +32.5%`; `None` for a
/// layout that gains on all parts.
pub(crate) fn uneven_words(ranked: &RankedLayout) -> Option<String> {
    let judged = &ranked.parts;
    let worst = judged.worst().filter(|_| judged.lacks_gain())?;
    let part = match judged.are_recordings {
        true => "in one of the recordings, which did not choose it,",
        false => "on a third of the recording that did not choose it",
    };
    Some(format!("{part} they change by {}", signed_percent(worst)))
}

/// Returns what is predicted of a candidate that has fewer transfers and loses throughput.
fn slower_words(best: Option<&RankedLayout>) -> String {
    let gain = best.and_then(|best| best.gain.as_ref());
    let gain = gain.map_or(String::new(), |gain| {
        let ratio = gain.ratio;
        format!(
            ": {:.2} times today's throughput ({:.2} to {:.2})",
            ratio.value, ratio.low, ratio.high
        )
    });
    format!("has fewer transfers, but is predicted to be slower{gain}")
}

/// Returns the conclusion where no candidate has fewer transfers.
fn nothing_better_sentences(view: &PoolView<'_>, first_touch: Option<usize>) -> String {
    let advice = view.pool.advice;
    let today = &advice.current;
    let everywhere = match advice.builds {
        0 => "",
        _ => " in every configuration",
    };
    let mut text = format!(
        "No layout found has fewer transfers than today's{everywhere}; {}.\n",
        true_sharing_words(today)
    );
    if let Some(first_touch_best) = first_touch.map(|index| &advice.candidates[index]) {
        let _ = writeln!(
            text,
            "\"{}\" takes those that are false by first touch from {}, but all transfers \
             from {}: the miss moves to another access of the same context.",
            change_words(view, first_touch_best),
            from_to_words(
                today.tally.false_first_touch,
                first_touch_best.tally.false_first_touch
            ),
            from_to_words(today.tally.transfers(), first_touch_best.tally.transfers()),
        );
    }
    text + &fewest_events_sentence(view)
}

/// Returns the change on the half of the recording that did not choose the best candidate.
fn held_out_sentence(advice: &LayoutAdvice) -> String {
    match advice.held_out {
        Some(interval) => format!(
            "Chosen on one half of the recording and counted on the other, the best changes all \
             transfers by {}.\n",
            interval_words(interval)
        ),
        None => String::new(),
    }
}

fn transfers_by_run(advice: &LayoutAdvice, best: &ScoredLayout) -> String {
    let pairs = advice
        .current
        .transfers_by_run
        .iter()
        .zip(&best.transfers_by_run);
    let words: Vec<String> = pairs
        .map(|((run, before), (_, after))| format!("run {run}: {}", from_to_words(*before, *after)))
        .collect();
    words.join(", ")
}

fn true_sharing_words(today: &ScoredLayout) -> String {
    // As a report counts them: where the objects lay.
    let tally = &today.placed.as_recorded;
    let (transfers, lifetime) = (tally.transfers(), tally.false_lifetime);
    format!(
        "of today's {transfers} transfers {} bring data that the other context wrote and this one then \
         uses",
        transfers.saturating_sub(lifetime)
    )
}

/// Returns the layout with the fewest transfers and upgrades, if it saves at least 1% of them.
fn fewest_events_sentence(view: &PoolView<'_>) -> String {
    let advice = view.pool.advice;
    let fewest = advice
        .candidates
        .iter()
        .min_by_key(|scored| transfers_and_upgrades(scored));
    match fewest.filter(|scored| {
        transfers_and_upgrades(scored) * 100 < transfers_and_upgrades(&advice.current) * 99
    }) {
        Some(least) => format!(
            "Transfers and upgrades together are fewest with \"{}\": from {}.\n",
            change_words(view, least),
            from_to_words(
                transfers_and_upgrades(&advice.current),
                transfers_and_upgrades(least)
            )
        ),
        None => String::new(),
    }
}

pub(crate) fn transfers_and_upgrades(scored: &ScoredLayout) -> u64 {
    scored.tally.transfers() + scored.tally.upgrades
}
