//! The mail of a patch: the answers to a maintainer's questions, from the recording and the scores.

use std::fmt::Write as _;

use relayout_advice::{
    AdvisedType, GatheredType, LayoutPool, MemberAccesses, OtherScenario, ResolvedProfile,
};
use relayout_patch::PatchMail;
use relayout_profile::AccessCoverage;
use relayout_search::{LayoutAdvice, RankedLayout, ScoredLayout};
use relayout_session::advise::{CompileTest, PatchOutcome, PatchedType, WrittenPatch};
use relayout_workflows::tune::ChangeDescription;

use crate::words::advice::guards::{GUARD_RACE_NOTE, guard_sentences, seen_store_words};
use crate::words::advice::listing::pahole_listing;
use crate::words::advice::{
    PoolView, change_words, doubts, from_to_words, interval_words, line_changes, memory, places,
};
use crate::words::wrap::wrap_text_at;
use crate::words::{ContextNoun, counted, recorded_time_words};

/// Author of a patch where git knows none.
const AUTHOR_UNKNOWN: &str = "Your Name <you@example.org>";
/// Columns of a commit message.
const WIDTH: usize = 72;
/// Characters of a line in a message, at most, as `checkpatch.pl` asks.
const LINE_CHARACTERS_MAX: usize = 75;
/// Members that are named with their functions.
const USES_LISTED_MAX: usize = 8;
/// Lines of a layout; of a larger struct only the accessed members are listed.
const LISTING_LINES_MAX: usize = 48;

/// Returns the mail of a type's patch; `None` without a patch. `top` is the number of shown
/// candidates.
pub fn patch_mail(
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
    top: usize,
    author: Option<&str>,
) -> Option<PatchMail> {
    let Some(PatchOutcome::Diff(written)) = &patched.patch else {
        return None;
    };
    Some(PatchMail {
        author: author.unwrap_or(AUTHOR_UNKNOWN).to_owned(),
        subject: subject_line(&patched.advised.searched.gathered, &written.edited.paths[0]),
        body: message_body(resolved, &patched.advised, written, top)?,
        diff: written.edited.diff.clone(),
        signature: concat!("relayout ", env!("CARGO_PKG_VERSION")).to_owned(),
    })
}

/// Describes a type's patch for the commit of a run of `tune`; `None` without a patch.
pub fn patch_description(
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
) -> Option<ChangeDescription> {
    let mail = patch_mail(resolved, patched, patched.advised.limits.top, None)?;
    let Some(PatchOutcome::Diff(written)) = &patched.patch else {
        return None;
    };
    let view = PoolView {
        resolved,
        gathered: &patched.advised.searched.gathered,
        pool: written.edited.pool(&patched.advised)?,
    };
    Some(ChangeDescription {
        subject: mail.subject,
        body: mail.body,
        edit: change_words(&view, written.edited.candidate(&patched.advised)?),
    })
}

fn message_body(
    resolved: &ResolvedProfile<'_>,
    advised: &AdvisedType<'_>,
    written: &WrittenPatch,
    top: usize,
) -> Option<String> {
    let edited = &written.edited;
    let gathered = &advised.searched.gathered;
    let pool = edited.pool(advised)?;
    let view = PoolView {
        resolved,
        gathered,
        pool,
    };
    let (advice, scored) = (pool.advice, edited.candidate(advised)?);
    let mut paragraphs = vec![
        problem_paragraph(resolved, gathered, advice),
        change_paragraph(&view, scored),
    ];
    if let (Some(guards), Some(unguarded), true) =
        (&advised.guards, advised.advice(), edited.is_guarded)
    {
        paragraphs.push(guard_sentences(guards, unguarded));
        paragraphs.push(GUARD_RACE_NOTE.to_owned());
    }
    paragraphs.push(edited.reach.sentence().unwrap_or_default().to_owned());
    paragraphs.push(doubts::doubt_paragraph(advised.doubts_about(scored)));
    let mut body = String::new();
    push_paragraphs(&mut body, &paragraphs);
    body.push_str(&use_table(&advised.accesses));
    body.push_str(&effect_table(advice, scored));
    body.push_str(&layout_listings(&view, &advised.accesses, scored));
    let paragraphs = [
        memory_paragraph(gathered, advice, scored),
        scenario_paragraph(pool, edited.layout.listed_index(pool, top)),
        compile_paragraph(written),
        method_paragraph(resolved),
    ];
    push_paragraphs(&mut body, &paragraphs);
    Some(body)
}

fn push_paragraphs(body: &mut String, paragraphs: &[String]) {
    for text in paragraphs.iter().filter(|text| !text.is_empty()) {
        let _ = writeln!(body, "{}\n", wrap_text_at(WIDTH, text, 0));
    }
}

/// Returns `mm/percpu-internal: fewer cache line transfers on struct pcpu_chunk`.
fn subject_line(gathered: &GatheredType<'_>, path: &str) -> String {
    let area = path.strip_prefix("include/linux/").unwrap_or(path);
    let area = area.rsplit_once('.').map_or(area, |(stem, _)| stem);
    format!(
        "{area}: fewer cache line transfers on {}",
        gathered.advised_subject.title()
    )
}

fn problem_paragraph(
    resolved: &ResolvedProfile<'_>,
    gathered: &GatheredType<'_>,
    advice: &LayoutAdvice,
) -> String {
    let meta = &resolved.profile.meta;
    let today = &advice.current;
    let tally = &today.tally;
    let unit = match today.per_operation {
        Some(per) => format!(" ({:.3} per operation)", per.transfers()),
        None => String::new(),
    };
    let percent = |part: u64| 100.0 * part as f64 / tally.transfers().max(1) as f64;
    format!(
        "In what was recorded in order of {}{}, cache lines of {} move from one {} to another {} times{unit}. \
         {:.0}% of that is false sharing by first touch: the access that misses does not use what the other \
         wrote. By lifetime it is {:.0}%: nothing that the other wrote is used before the line is lost \
         again.",
        meta.workload,
        match meta.target.as_str() {
            "kernel" => format!(" on Linux {}", meta.release),
            _ => String::new(),
        },
        gathered.advised_subject.title(),
        ContextNoun::from_meta(meta).singular(),
        tally.transfers(),
        percent(tally.false_first_touch),
        percent(tally.false_lifetime),
    )
}

/// Returns the change, and the members that leave each other's cache lines.
fn change_paragraph(view: &PoolView<'_>, scored: &RankedLayout) -> String {
    let mut changes = change_words(view, scored);
    if let Some(first) = changes.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let line_sentences = line_changes::line_sentences(view, scored);
    match line_sentences.is_empty() {
        true => format!("{changes}."),
        false => format!("{changes}: {}.", line_sentences.join("; ")),
    }
}

fn use_table(accesses: &[MemberAccesses]) -> String {
    let uses = &accesses[..accesses.len().min(USES_LISTED_MAX)];
    let width = uses
        .iter()
        .map(|member_use| member_use.member.len())
        .max()
        .unwrap_or(0);
    let mut text =
        "Recorded accesses (repeats that make no difference are left out):\n\n".to_owned();
    for member_use in uses {
        let kind = if member_use.is_store { "write" } else { "read" };
        let mut line = format!(
            "  {:<width$} {kind:<5} {:>8} ",
            member_use.member, member_use.count
        );
        for (nth, (name, _)) in member_use.functions.iter().enumerate() {
            let separator = if nth == 0 { " " } else { ", " };
            if line.len() + separator.len() + name.len() <= WIDTH {
                line.push_str(separator);
                line.push_str(name);
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Returns the events that replay counts under both layouts.
fn effect_table(advice: &LayoutAdvice, scored: &RankedLayout) -> String {
    let (today, then) = (&advice.current, scored);
    let mut text = wrap_text_at(
        WIDTH,
        "Predicted by replaying the recording under both layouts; this is a count of events, not a \
         measurement of time:",
        0,
    );
    text.push_str("\n\n");
    let mut row = |label: &str, before: u64, after: u64| {
        let _ = writeln!(text, "  {label:<27} {}", from_to_words(before, after));
    };
    let (current_tally, scored_tally) = (&today.tally, &then.tally);
    row(
        "transfers",
        current_tally.transfers(),
        scored_tally.transfers(),
    );
    row(
        "  false by first touch",
        current_tally.false_first_touch,
        scored_tally.false_first_touch,
    );
    row(
        "  false by lifetime",
        current_tally.false_lifetime,
        scored_tally.false_lifetime,
    );
    row("upgrades", current_tally.upgrades, scored_tally.upgrades);
    row("sizeof", today.layout.size, then.layout.size);
    if let Some(interval) = scored.interval {
        let percent = interval_words(interval);
        let _ = writeln!(
            text,
            "\n{}",
            wrap_text_at(WIDTH, &format!("All transfers change by {percent}."), 0)
        );
    }
    if let Some(interval) = advice.held_out {
        let sentence = format!(
            "Chosen on one half of the recording and counted on the other, the best layout changes them by \
             {}.",
            interval_words(interval)
        );
        let _ = writeln!(text, "{}", wrap_text_at(WIDTH, &sentence, 0));
    }
    if let Some(sentence) = places::place_sentence(&advice.current, scored) {
        let _ = writeln!(text, "{}", wrap_text_at(WIDTH, &sentence, 0));
    }
    if let Some(sentence) = doubts::part_sentence(scored) {
        let _ = writeln!(text, "{}", wrap_text_at(WIDTH, &sentence, 0));
    }
    text.push('\n');
    text
}

fn layout_listings(
    view: &PoolView<'_>,
    accesses: &[MemberAccesses],
    scored: &ScoredLayout,
) -> String {
    let mut text = String::new();
    for (title, scored) in [("Before", &view.pool.advice.current), ("After", scored)] {
        let full_listing = pahole_listing(view, scored);
        let shown = match full_listing.lines().count() <= LISTING_LINES_MAX {
            true => full_listing,
            false => accessed_members(view.gathered, accesses, scored),
        };
        let _ = writeln!(text, "{title} (pahole):\n");
        for line in shown.lines() {
            let _ = writeln!(text, "{}", narrow_line(line.trim_end()));
        }
        text.push('\n');
    }
    text
}

/// Returns a line of pahole's, without aligning spaces if it is too long with them.
fn narrow_line(line: &str) -> String {
    if line.chars().count() <= LINE_CHARACTERS_MAX {
        return line.to_owned();
    }
    let (indent, code) = line.split_at(line.len() - line.trim_start().len());
    let words: Vec<&str> = code.split_whitespace().collect();
    format!("{indent}{}", words.join(" "))
}

/// Returns the accessed members with their places.
fn accessed_members(
    gathered: &GatheredType<'_>,
    accesses: &[MemberAccesses],
    scored: &ScoredLayout,
) -> String {
    let mut text = format!(
        "{} {{ /* accessed members only */\n",
        gathered.advised_subject.title()
    );
    for &atom in &scored.arrangement.order {
        let name = &gathered.shape.atoms[atom].name;
        let place = &scored.layout.places[atom];
        let is_used = accesses.iter().any(|member_use| {
            let rest = member_use.member.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        if is_used {
            let size = place.end - place.offset;
            let _ = writeln!(text, "\t{name:<40} /* {:>5} {size:>5} */", place.offset);
        }
    }
    let _ = writeln!(text, "\n\t/* size: {} */\n}};", scored.layout.size);
    text
}

/// Returns the memory of an object, before and after.
fn memory_paragraph(
    gathered: &GatheredType<'_>,
    advice: &LayoutAdvice,
    scored: &ScoredLayout,
) -> String {
    let (today, then) = (&advice.current.memory, &scored.memory);
    let memory_words = |memory: &relayout_search::MemoryCost| match &memory.cache {
        Some(cache) => format!("{} bytes ({cache})", memory.bytes_per_object),
        None => format!("{} bytes", memory.bytes_per_object),
    };
    let bytes = then.bytes_per_object as i128 - today.bytes_per_object as i128;
    let mut text = format!(
        "Memory: an object takes {} now and {} then, {:+} bytes for the {} in the recording.",
        memory_words(today),
        memory_words(then),
        bytes * i128::from(gathered.objects),
        counted(gathered.objects, "object"),
    );
    let own = memory::own_allocator_sentence(gathered, &advice.current, scored);
    if let Some(sentence) = own {
        let _ = write!(text, " {sentence}");
    }
    if !gathered.size_effects.holder_counts.is_empty()
        && advice.current.layout.size != scored.layout.size
    {
        let names: Vec<&str> = gathered
            .size_effects
            .holder_counts
            .keys()
            .map(String::as_str)
            .take(3)
            .collect();
        let _ = write!(
            text,
            " It is also part of {}, where what is behind it moves; that was not judged.",
            names.join(", ")
        );
    }
    text
}

/// Returns the scores in other workloads and configurations. Workloads have their names and not the
/// paths of their profiles, which readers of the mail do not have.
fn scenario_paragraph(pool: LayoutPool<'_>, listed_index: Option<usize>) -> String {
    let scenario_words = |scenario: &OtherScenario| {
        let name = scenario.workload.as_ref().unwrap_or(&scenario.name);
        let label = format!("{} {name}", scenario.kind.as_str());
        let results = match &scenario.results {
            Ok(results) => results,
            Err(reason) => return format!("{label}: not judged, {reason}"),
        };
        let seen_stores = seen_store_words(scenario, pool.statements);
        match listed_index.and_then(|index| results.get(index + 1)) {
            Some(scored) => match scored.interval {
                Some(interval) => format!(
                    "{label}: transfers {}{seen_stores}",
                    interval_words(interval)
                ),
                None => format!(
                    "{label}: {}{seen_stores}",
                    counted(scored.tally.transfers(), "transfer")
                ),
            },
            None => format!("{label}: not scored"),
        }
    };
    let sentences: Vec<String> = pool.scenarios.iter().map(scenario_words).collect();
    match sentences.is_empty() {
        true => "Other workloads and configurations were not scored.".to_owned(),
        false => format!("By replay, {}.", sentences.join("; ")),
    }
}

/// Returns the results of the compile tests.
fn compile_paragraph(written: &WrittenPatch) -> String {
    let words: Vec<String> = written
        .compile_tests
        .iter()
        .map(CompileTest::sentence)
        .collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("Compiled with the patch, as {}.", words.join("; as ")),
    }
}

/// Error of replay on kernel structs, from docs/kernel-walkthrough.md (`benches/reality.py`).
const REPLAY_ERROR_NOTE: &str = " Of 33 other layouts of kernel structs that were built and recorded, the recorded change \
                       was 1.1 points from the replayed one at the median, and 13.5 at most.";

/// Returns the method of the recording and its limits.
fn method_paragraph(resolved: &ResolvedProfile<'_>) -> String {
    let meta = &resolved.profile.meta;
    let setting = |name: &str| {
        let found = meta.settings.iter().find(|entry| entry.name == name);
        found.map_or("", |entry| entry.value.as_str())
    };
    let settings: Vec<String> = ["yield", "cpus", "mode", "slices"]
        .iter()
        .filter(|name| !setting(name).is_empty())
        .map(|name| format!("{name}={}", setting(name)))
        .collect();
    let coverage = match recorded_time_words(meta) {
        _ if meta.coverage == AccessCoverage::Samples => "samples of hardware counters".to_owned(),
        Some(words) => format!("no hardware counters, {words}"),
        None => "no hardware counters".to_owned(),
    };
    let error_note = match meta.target.as_str() {
        "kernel" => REPLAY_ERROR_NOTE,
        _ => "",
    };
    format!(
        "Recorded with relayout {} ({}, {coverage}; {}, {}; {}). Order and timing are the recording's, \
         caches are taken as infinite, without prefetch. It tells nothing of throughput.{error_note}",
        meta.tool_version,
        meta.collector,
        counted(
            u64::from(meta.contexts),
            ContextNoun::from_meta(meta).singular()
        ),
        counted(meta.runs.len() as u64, "run"),
        settings.join(", "),
    )
}
