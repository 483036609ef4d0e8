//! The message of a patch: what a maintainer asks of one, from what was recorded and scored.

use std::fmt::Write as _;

use relayout_profile::{AccessCoverage, ProfileMeta};
use relayout_search::{LayoutAdvice, RankedLayout, ScoredLayout};

use super::super::TypeAdvice;
use super::super::compiled::CompileTest;
use super::super::others::{LayoutPool, OtherScenario};
use super::super::patch::WrittenPatch;
use super::check::{GUARD_RACE_NOTE, guard_sentences};
use super::elsewhere::seen_store_words;
use super::{counted, lines, pahole_listing, words, wrap_text_at};
use crate::resolved::ResolvedProfile;

/// Columns of a commit message.
const WIDTH: usize = 72;
/// Characters of a line in a message, at most, as `checkpatch.pl` asks.
const LINE_CHARACTERS_MAX: usize = 75;
/// Members that are named with their functions.
const USES_LISTED_MAX: usize = 8;
/// Lines of a layout; of a larger struct only the accessed members are listed.
const LISTING_LINES_MAX: usize = 48;

/// Subject and message of a patch.
pub struct PatchMessage {
    /// One line.
    pub subject: String,
    /// The message.
    pub body: String,
}

/// What is to be said of the change that was written; `top` is how many candidates are shown. `None` if it
/// makes no candidate.
pub fn patch_message(
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    written: &WrittenPatch,
    top: usize,
) -> Option<PatchMessage> {
    let pool = written.candidate_pool(type_advice)?;
    let (advice, scored) = (pool.advice, written.scored_candidate(type_advice)?);
    let mut body = String::new();
    let mut paragraph = |text: &str| {
        if !text.is_empty() {
            let _ = writeln!(body, "{}\n", wrap_text_at(WIDTH, text, 0));
        }
    };
    paragraph(&problem_paragraph(input, type_advice, advice));
    paragraph(&change_paragraph(input, type_advice, advice, scored));
    if let (Some(check), Ok(plain), true) = (
        &type_advice.guard_advice,
        &type_advice.search_outcome,
        written.guarded,
    ) {
        paragraph(&guard_sentences(check, plain));
        paragraph(GUARD_RACE_NOTE);
    }
    paragraph(written.reach.sentence().unwrap_or_default());
    body.push_str(&use_table(type_advice));
    body.push_str(&effect_table(advice, scored));
    body.push_str(&layout_listings(input, type_advice, advice, scored));
    let mut paragraph = |text: &str| {
        if !text.is_empty() {
            let _ = writeln!(body, "{}\n", wrap_text_at(WIDTH, text, 0));
        }
    };
    paragraph(&memory_paragraph(type_advice, advice, scored));
    paragraph(&scenario_paragraph(pool, written.candidate_index, top));
    paragraph(&compile_paragraph(written));
    paragraph(&method_paragraph(input));
    Some(PatchMessage {
        subject: subject_line(type_advice, &written.paths[0]),
        body,
    })
}

/// `mm/percpu-internal: fewer cache line transfers on struct pcpu_chunk`, as the kernel's begin.
fn subject_line(type_advice: &TypeAdvice<'_>, path: &str) -> String {
    let area = path.strip_prefix("include/linux/").unwrap_or(path);
    let area = area.rsplit_once('.').map_or(area, |(stem, _)| stem);
    format!(
        "{area}: fewer cache line transfers on struct {}",
        type_advice.name
    )
}

fn problem_paragraph(
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    advice: &LayoutAdvice,
) -> String {
    let meta = &input.profile.meta;
    let today = &advice.current;
    let tally = &today.tally;
    let unit = match today.per_operation {
        Some(per) => format!(" ({:.3} per operation)", per.transfers()),
        None => String::new(),
    };
    let percent = |part: u64| 100.0 * part as f64 / tally.transfers().max(1) as f64;
    format!(
        "In what was recorded in order of {}{}, cache lines of struct {} move from one {} to another {} times{unit}. \
         {:.0}% of that is false sharing by first touch: the access that misses does not use what the other \
         wrote. By lifetime it is {:.0}%: nothing that the other wrote is used before the line is lost \
         again.",
        meta.workload,
        match meta.target.as_str() {
            "kernel" => format!(" on Linux {}", meta.release),
            _ => String::new(),
        },
        type_advice.name,
        context_noun(meta),
        tally.transfers(),
        percent(tally.false_first_touch),
        percent(tally.false_lifetime),
    )
}

fn context_noun(meta: &ProfileMeta) -> &'static str {
    match meta.target.as_str() {
        "kernel" => "CPU",
        _ => "thread",
    }
}

/// What changes, and which members are on whose line then.
fn change_paragraph(
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    advice: &LayoutAdvice,
    scored: &ScoredLayout,
) -> String {
    let mut changes = super::change_words(type_advice, scored);
    if let Some(first) = changes.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let line_sentences = lines::line_sentences(type_advice, advice, scored, input.line_bytes);
    match line_sentences.is_empty() {
        true => format!("{changes}."),
        false => format!("{changes}: {}.", line_sentences.join("; ")),
    }
}

fn use_table(type_advice: &TypeAdvice<'_>) -> String {
    let uses = &type_advice.member_uses[..type_advice.member_uses.len().min(USES_LISTED_MAX)];
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

/// The figures of replay, and that they are no measurement.
fn effect_table(advice: &LayoutAdvice, scored: &RankedLayout) -> String {
    let (today, then) = (&advice.current, scored);
    let mut text = wrap_text_at(
        WIDTH,
        "The recording replayed under both layouts; this is a count of events, not a measurement of \
         time:",
        0,
    );
    text.push_str("\n\n");
    let mut row = |label: &str, before: u64, after: u64| {
        let _ = writeln!(
            text,
            "  {label:<27} {}",
            words::from_to_words(before, after)
        );
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
        let percent = words::interval_words(interval);
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
            words::interval_words(interval)
        );
        let _ = writeln!(text, "{}", wrap_text_at(WIDTH, &sentence, 0));
    }
    text.push('\n');
    text
}

fn layout_listings(
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    advice: &LayoutAdvice,
    scored: &ScoredLayout,
) -> String {
    let mut text = String::new();
    for (title, scored) in [("Before", &advice.current), ("After", scored)] {
        let full_listing = pahole_listing(input, type_advice, scored);
        let shown = match full_listing.lines().count() <= LISTING_LINES_MAX {
            true => full_listing,
            false => accessed_members(type_advice, scored),
        };
        let _ = writeln!(text, "{title} (pahole):\n");
        for line in shown.lines() {
            let _ = writeln!(text, "{}", narrow_line(line.trim_end()));
        }
        text.push('\n');
    }
    text
}

/// A line of pahole's, without the spaces that align it if it is too long with them.
fn narrow_line(line: &str) -> String {
    if line.chars().count() <= LINE_CHARACTERS_MAX {
        return line.to_owned();
    }
    let (indent, code) = line.split_at(line.len() - line.trim_start().len());
    let words: Vec<&str> = code.split_whitespace().collect();
    format!("{indent}{}", words.join(" "))
}

/// The members that are accessed, with their places.
fn accessed_members(type_advice: &TypeAdvice<'_>, scored: &ScoredLayout) -> String {
    let mut text = format!(
        "struct {} {{ /* accessed members only */\n",
        type_advice.name
    );
    for &atom in &scored.arrangement.order {
        let name = &type_advice.shape.atoms[atom].name;
        let place = &scored.layout.places[atom];
        let is_used = type_advice.member_uses.iter().any(|member_use| {
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

/// What maintainers ask first.
fn memory_paragraph(
    type_advice: &TypeAdvice<'_>,
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
        bytes * i128::from(type_advice.objects),
        counted(type_advice.objects, "object"),
    );
    if !type_advice.memory.holder_counts.is_empty()
        && advice.current.layout.size != scored.layout.size
    {
        let names: Vec<&str> = type_advice
            .memory
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

/// Other workloads and configurations that were scored.
fn scenario_paragraph(pool: LayoutPool<'_>, candidate: usize, top: usize) -> String {
    let mut shown = pool.advice.shown_candidates(top).into_iter();
    let place = shown.position(|index| index == candidate);
    let scenario_words = |scenario: &OtherScenario| {
        let label = format!("{} {}", scenario.kind.as_str(), scenario.name);
        let results = match &scenario.results {
            Ok(results) => results,
            Err(reason) => return format!("{label}: not judged, {reason}"),
        };
        let seen_stores = seen_store_words(scenario, pool.guarded_statements);
        match place.and_then(|place| results.get(pool.given_layouts.len() + place + 1)) {
            Some(scored) => match scored.interval {
                Some(interval) => format!(
                    "{label}: transfers {}{seen_stores}",
                    words::interval_words(interval)
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

/// Where it was compiled.
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

/// What docs/kernel-walkthrough.md shows of `benches/reality.py`.
const REPLAY_ERROR_NOTE: &str = " Of 33 other layouts of kernel structs that were built and recorded, the recorded change \
                       was 1.1 points from the replayed one at the median, and 13.5 at most.";

/// How it was obtained, and what that does not tell.
fn method_paragraph(input: &ResolvedProfile<'_>) -> String {
    let meta = &input.profile.meta;
    let setting = |name: &str| {
        let found = meta.settings.iter().find(|entry| entry.name == name);
        found.map_or("", |entry| entry.value.as_str())
    };
    let settings: Vec<String> = ["yield", "cpus", "mode", "slices"]
        .iter()
        .filter(|name| !setting(name).is_empty())
        .map(|name| format!("{name}={}", setting(name)))
        .collect();
    let coverage = match meta.coverage {
        AccessCoverage::Samples => "samples of hardware counters",
        _ => "no hardware counters",
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
        counted(u64::from(meta.contexts), context_noun(meta)),
        counted(meta.runs.len() as u64, "run"),
        settings.join(", "),
    )
}
