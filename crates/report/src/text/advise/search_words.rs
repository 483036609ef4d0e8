//! Text of verdicts, effects, memory and limits of a search.

use std::fmt::Write as _;

use relayout_advice::{GatheredType, MemberAccesses};
use relayout_contend::throughput::{GainRatio, ThroughputGain};
use relayout_layout::word_lists::word_list;
use relayout_search::{LayoutAdvice, LineGroups, RankedLayout, SkippedCandidates};

use crate::text::advise::order_text;
use crate::words::advice::verdict::transfers_and_upgrades;
use crate::words::advice::{PoolView, from_to_words, interval_words, line_changes, places};
use crate::words::counted;
use crate::words::percent::percent;
use crate::words::wrap::wrap_text;

/// Columns before the words of an effect.
const LABEL_COLUMNS: usize = 15;

/// Appends the accesses to members.
pub(crate) fn push_member_accesses(text: &mut String, accesses: &[MemberAccesses]) {
    if accesses.is_empty() {
        return;
    }
    let width = accesses
        .iter()
        .map(|member_use| member_use.member.len())
        .max()
        .unwrap_or(0);
    text.push_str("Recorded accesses (without repeats that no layout makes a difference to):\n");
    for member_use in accesses {
        let functions: Vec<String> = (member_use.functions.iter())
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let _ = writeln!(
            text,
            "  {:<width$}  {:<5} {:>7} by {}  {}",
            member_use.member,
            if member_use.is_store { "write" } else { "read" },
            member_use.count,
            counted(member_use.contexts as u64, "context"),
            functions.join(", ")
        );
    }
    text.push('\n');
}

/// Returns the effects of a layout, counted over the recording.
pub(crate) fn effect_section(view: &PoolView<'_>, scored: &RankedLayout, name: &str) -> String {
    let advice = view.pool.advice;
    let (today, tally) = (&advice.current.tally, &scored.tally);
    let mut text = format!("{name}, over all that was recorded in order:\n");
    let mut push_row = |label: &str, words: String| {
        let line = format!("  {label:<11}  {words}");
        let _ = writeln!(text, "{}", wrap_text(&line, LABEL_COLUMNS));
    };
    let line_sentences = line_changes::line_sentences(view, scored);
    match line_sentences.is_empty() {
        true => push_row("lines", "the accessed members share lines as today".into()),
        false => line_sentences
            .into_iter()
            .for_each(|line| push_row("lines", line)),
    }
    push_row(
        "false",
        format!(
            "by first touch from {}; by lifetime from {}",
            from_to_words(today.false_first_touch, tally.false_first_touch),
            from_to_words(today.false_lifetime, tally.false_lifetime),
        ),
    );
    push_row("transfers", transfers_words(advice, scored));
    if let Some(sentence) = places::place_sentence(&advice.current, scored) {
        push_row("places", sentence);
    }
    if let Some(gain) = &scored.gain {
        push_row("throughput", gain_words(gain));
    }
    push_row(
        "upgrades",
        format!(
            "from {}; transfers and upgrades together from {}",
            from_to_words(today.upgrades, tally.upgrades),
            from_to_words(
                transfers_and_upgrades(&advice.current),
                transfers_and_upgrades(scored)
            ),
        ),
    );
    if let (Some(before), Some(after)) = (advice.current.pair_transfers, scored.pair_transfers) {
        push_row(
            "pairs",
            format!(
                "stores to the other line of a pair, from {}",
                from_to_words(before, after)
            ),
        );
    }
    if scored.unjudged {
        push_row(
            "not counted",
            "what it costs that members come together which were not recorded together".into(),
        );
    }
    text
}

/// Returns the change of the transfers, beside that of the first misses.
fn transfers_words(advice: &LayoutAdvice, scored: &RankedLayout) -> String {
    let (today, tally) = (&advice.current.tally, &scored.tally);
    let mut text = format!("from {} to {}", today.transfers(), tally.transfers());
    if let Some(interval) = scored.interval {
        let _ = write!(text, ", {}", interval_words(interval));
    }
    let is_less = scored.interval.is_some_and(|interval| interval.is_less());
    let is_more = scored.interval.is_some_and(|interval| interval.low > 0.0);
    let first_touch_saved = today
        .false_first_touch
        .saturating_sub(tally.false_first_touch);
    let saved = today.transfers().saturating_sub(tally.transfers());
    match is_less {
        _ if is_more => text.push_str(": more than today"),
        _ if tally.transfers() > today.transfers() => {
            text.push_str(": not clearly more in this recording");
        }
        _ if first_touch_saved > 2 * saved => {
            text.push_str(": most removed misses reappear on another member")
        }
        false => text.push_str(": not clearly fewer in this recording"),
        true => {}
    }
    text
}

/// Appends the transfers of today's layout by the offset in a line at which objects begin.
pub(crate) fn push_phases(text: &mut String, advice: &LayoutAdvice) {
    let mut neighbours = advice.transfers_by_phase.windows(2);
    if neighbours.all(|pair| pair[0].1 == pair[1].1) {
        return;
    }
    let phases: Vec<String> = (advice.transfers_by_phase.iter())
        .map(|(phase, transfers)| format!("{phase}: {transfers}"))
        .collect();
    let line = format!(
        "Transfers of today's layout by the place of a line where all objects would begin: {}.",
        phases.join(", ")
    );
    let _ = writeln!(text, "{}", wrap_text(&line, 2));
}

/// Appends the numbers of candidates that were replayed and left out.
pub(crate) fn push_left_out(text: &mut String, gathered: &GatheredType<'_>, advice: &LayoutAdvice) {
    let SkippedCandidates {
        unrecorded,
        kept,
        grouped,
        order_rules,
        budget,
        two_moves,
        builds,
    } = advice.left_out;
    let mut push_line = |line: String| {
        let _ = writeln!(text, "{}", wrap_text(&line, 2));
    };
    push_line(format!(
        "{} replayed.{}",
        counted(advice.candidates.len() as u64, "layout"),
        bound_sentence(advice)
    ));
    if unrecorded > 0 {
        push_line(format!(
            "{unrecorded} skipped: they would bring together members whose accesses were not all \
             recorded ({}).",
            shorten_names(&advice.unrecorded_members)
        ));
    }
    if kept > 0 {
        push_line(format!("{kept} skipped: they would move a pinned member."));
    }
    if grouped > 0 {
        let groups = LineGroups::from_shape(&gathered.shape);
        let names: Vec<String> = groups.names().map(str::to_owned).collect();
        push_line(format!(
            "{grouped} skipped: they would move a member into a cache line group or out of one ({}).",
            shorten_names(&names)
        ));
    }
    if budget > 0 {
        push_line(format!(
            "{budget} estimated only, behind those that were replayed: too many accesses."
        ));
    }
    if advice.builds > 0 {
        push_line(format!(
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
        push_line(format!("{two_moves} pairs of moves not tried: too many."));
    }
    order_text::push_order(text, gathered, order_rules);
}

/// Returns the distance of the best candidate from the lower bound.
fn bound_sentence(advice: &LayoutAdvice) -> String {
    let Some(bound) = advice.bound else {
        return String::new();
    };
    let best = advice.fewest_transfers();
    if best < bound.transfers {
        return format!(
            " No order and alignment of the members alone can have fewer than {} transfers in this \
             recording; the best found moves elements of arrays.",
            bound.transfers
        );
    }
    let gap = bound.gap(best);
    match gap == 0.0 {
        true => format!(
            " No layout of whole objects on lines of their own has fewer than {best} transfers in this \
             recording: proven."
        ),
        false => format!(
            " No layout of whole objects on lines of their own can have fewer than {} transfers in this \
             recording, so the best found is within {} of the best there is.",
            bound.transfers,
            percent(gap)
        ),
    }
}

fn shorten_names(names: &[String]) -> String {
    const SHOWN: usize = 6;
    match names {
        [] => "in no one object".to_owned(),
        names => word_list(names, SHOWN),
    }
}

fn gain_words(gain: &ThroughputGain) -> String {
    let GainRatio { value, low, high } = gain.ratio;
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
