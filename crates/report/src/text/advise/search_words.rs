//! Text of verdicts, effects, memory and limits of a search.

use std::fmt::Write as _;

use relayout_advice::{GatheredType, MemberAccesses};
use relayout_contend::throughput::{GainRatio, ThroughputGain};
use relayout_layout::word_lists::{word_list, word_list_with_rest};
use relayout_search::{
    AdviceVerdict, ChangeInterval, LayoutAdvice, LineGroups, RankedLayout, ScoredLayout,
    SkippedCandidates,
};

use crate::text::advise::{
    PoolView, change_words, given_name, line_changes, order_text, place_text,
};
use crate::words::percent::{percent, signed_percent};
use crate::words::wrap::wrap_text;
use crate::words::{count_more, counted};

/// Columns before the words of an effect.
const LABEL_COLUMNS: usize = 15;
/// Types that are named of those that hold the struct.
const HOLDERS_MAX: usize = 3;

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
    let of_probed = best.and_then(|best| best.gain.as_ref());
    let of_curve = best.and_then(|best| best.curve.as_ref()?.compared_point());
    let gain = match (of_curve, of_probed) {
        (Some(point), _) => Some((point.ratio, point.low, point.high)),
        (None, Some(gain)) => Some((gain.ratio.value, gain.ratio.low, gain.ratio.high)),
        (None, None) => None,
    };
    let gain = gain.map_or(String::new(), |(value, low, high)| {
        format!(": {value:.2} times today's throughput ({low:.2} to {high:.2})")
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

fn transfers_and_upgrades(scored: &ScoredLayout) -> u64 {
    scored.tally.transfers() + scored.tally.upgrades
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
    if let Some(sentence) = place_text::place_sentence(&advice.current, scored) {
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

/// Returns `3526 to 3394 (-3.7%)`.
pub(crate) fn from_to_words(before: u64, after: u64) -> String {
    match before {
        0 => format!("{before} to {after}"),
        _ => format!(
            "{before} to {after} ({})",
            signed_percent(after as f64 / before as f64 - 1.0)
        ),
    }
}

/// Returns `-3.7%, 95% interval -5.0% to -2.1%`.
pub(crate) fn interval_words(interval: ChangeInterval) -> String {
    format!(
        "{}, 95% interval {} to {}",
        signed_percent(interval.change),
        signed_percent(interval.low),
        signed_percent(interval.high)
    )
}

/// Returns a sentence about an alignment that the program's own allocator has to give.
pub(crate) fn own_allocator_sentence(
    gathered: &GatheredType<'_>,
    today: &ScoredLayout,
    then: &ScoredLayout,
) -> Option<String> {
    (gathered.has_named && then.layout.align > today.layout.align).then(|| {
        format!(
            "The program places objects by itself (relayout_object): it has to put them at multiples of {} \
             bytes.",
            then.layout.align
        )
    })
}

/// Returns the bytes per object, today and with other layouts.
pub(crate) fn memory_sentences(gathered: &GatheredType<'_>, advice: &LayoutAdvice) -> String {
    let today = &advice.current.memory;
    let mut text = format!(
        "Memory: {} bytes per object today ({})",
        today.bytes_per_object,
        cache_words(gathered, today.cache.as_deref())
    );
    let others = advice
        .user_layouts
        .iter()
        .map(|given| (given_name(given), given));
    let best = advice.candidates.first().map(|best| ("best found", best));
    for (name, scored) in others.chain(best) {
        let bytes = scored.memory.bytes_per_object as i128 - today.bytes_per_object as i128;
        let (count, seen) = match gathered.size_effects.array_elements {
            elements if elements > gathered.objects => (elements, "in their arrays"),
            _ => (gathered.objects, "seen"),
        };
        let bytes_in_total = bytes * i128::from(count);
        let _ = write!(
            text,
            "; {name}: {} ({}), {bytes_in_total:+} bytes for the {} {seen}",
            scored.memory.bytes_per_object,
            cache_words(gathered, scored.memory.cache.as_deref()),
            counted(count, "object"),
        );
    }
    text.push('.');
    let holder_counts = &gathered.size_effects.holder_counts;
    if !holder_counts.is_empty() {
        let mut ranked: Vec<(&String, &u64)> = holder_counts.iter().collect();
        ranked.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let names: Vec<String> = { ranked.iter() }
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let more_types = |more: usize| count_more(more as u64, "type");
        let _ = write!(
            text,
            " It lies inside of {}: what is behind it there moves as its size changes, which is \
             not judged.",
            word_list_with_rest(&names, HOLDERS_MAX, more_types)
        );
    }
    if gathered.size_effects.per_cpu_objects > 0 {
        let _ = write!(
            text,
            " {} of the objects are one to each CPU.",
            gathered.size_effects.per_cpu_objects
        );
    }
    text
}

/// Returns `kmalloc-192, 21 to a slab`.
fn cache_words(gathered: &GatheredType<'_>, name: Option<&str>) -> String {
    let Some(name) = name else {
        return "not from a slab".to_owned();
    };
    match gathered.size_effects.objects_per_slab.get(name) {
        Some(count) => format!("{name}, {count} to a slab"),
        None => name.to_owned(),
    }
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
