//! The mail of a patch: the answers to a maintainer's questions, from the recording and the scores.

mod listings;

use std::fmt::Write as _;

use relayout_advice::ResolvedProfile;
use relayout_patch::PatchMail;
use relayout_profile::AccessCoverage;
use relayout_session::advise::PatchedType;
use relayout_workflows::tune::ChangeDescription;

use crate::documents::advise::candidate::{CandidateDocument, IntervalDocument, LayoutDocument};
use crate::documents::advise::evidence::{CompileDocument, MemberAccessesDocument};
use crate::documents::advise::patch::WrittenPatchDocument;
use crate::documents::advise::pool::PoolConclusionDocument;
use crate::documents::advise::{AdvisedTypeDocument, TypeDocument, type_document};
use crate::words::advice::guards::GUARD_RACE_NOTE;
use crate::words::advice::{doubts, from_to_words, interval_words};
use crate::words::wrap::wrap_text_at;
use crate::words::{ContextNoun, counted, recorded_time_words};
use listings::layout_listings;

/// Author of a patch where git knows none.
const AUTHOR_UNKNOWN: &str = "Your Name <you@example.org>";
/// Columns of a commit message.
const WIDTH: usize = 72;
/// Members that are named with their functions.
const USES_LISTED_MAX: usize = 8;

/// Returns the mail of a type's patch; `None` without a patch. Layouts as pahole prints them are those of `patched`.
pub fn patch_mail(
    document: &TypeDocument,
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
    author: Option<&str>,
) -> Option<PatchMail> {
    let TypeDocument::Advised(advised) = document else {
        return None;
    };
    let written = advised.written_patch.as_ref()?;
    let layout = advised.patched_layout()?;
    Some(PatchMail {
        author: author.unwrap_or(AUTHOR_UNKNOWN).to_owned(),
        subject: subject_line(&advised.subject.title, &written.path),
        body: message_body(resolved, patched, advised, written, layout)?,
        diff: layout.patch.clone()?,
        signature: concat!("relayout ", env!("CARGO_PKG_VERSION")).to_owned(),
    })
}

/// Describes a type's patch for the commit of a run of `tune`; `None` without a patch.
pub fn patch_description(
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
) -> Option<ChangeDescription> {
    let document = type_document(resolved, patched, patched.advised.limits.top);
    let mail = patch_mail(&document, resolved, patched, None)?;
    let TypeDocument::Advised(advised) = document else {
        return None;
    };
    Some(ChangeDescription {
        subject: mail.subject,
        body: mail.body,
        edit: advised.patched_layout()?.edit.clone(),
    })
}

fn message_body(
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
    advised: &AdvisedTypeDocument,
    written: &WrittenPatchDocument,
    layout: &CandidateDocument,
) -> Option<String> {
    let guards = advised.check.as_ref().filter(|_| written.guarded);
    let (conclusion, held_out) = match guards {
        Some(guards) => (&guards.conclusion, guards.held_out.as_ref()),
        None => (&advised.conclusion, advised.held_out.as_ref()),
    };
    let mut paragraphs = vec![
        problem_paragraph(resolved, advised),
        change_paragraph(layout),
    ];
    if let Some(guards) = guards {
        paragraphs.push(guards.summary.clone());
        paragraphs.push(GUARD_RACE_NOTE.to_owned());
    }
    paragraphs.push(written.reach.clone().unwrap_or_default());
    let doubts = layout.doubts.iter().map(|doubt| doubt.sentence.as_str());
    paragraphs.push(doubts::doubt_paragraph(doubts));
    let mut body = String::new();
    push_paragraphs(&mut body, &paragraphs);
    body.push_str(&use_table(&advised.evidence));
    body.push_str(&effect_table(&advised.current, layout, held_out));
    body.push_str(&layout_listings(resolved, patched)?);
    let paragraphs = [
        memory_paragraph(advised, layout),
        scenario_paragraph(conclusion, layout),
        compile_paragraph(advised.compiled.as_deref().unwrap_or_default()),
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
fn subject_line(title: &str, path: &str) -> String {
    let area = path.strip_prefix("include/linux/").unwrap_or(path);
    let area = area.rsplit_once('.').map_or(area, |(stem, _)| stem);
    format!("{area}: fewer cache line transfers on {title}")
}

fn problem_paragraph(resolved: &ResolvedProfile<'_>, advised: &AdvisedTypeDocument) -> String {
    let meta = &resolved.profile.meta;
    let today = &advised.current;
    let unit = match &today.per_operation {
        Some(per) => format!(" ({:.3} per operation)", per.transfers),
        None => String::new(),
    };
    let percent = |part: u64| 100.0 * part as f64 / today.transfers.max(1) as f64;
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
        advised.subject.title,
        ContextNoun::from_meta(meta).singular(),
        today.transfers,
        percent(today.false_first_touch),
        percent(today.false_lifetime),
    )
}

/// Returns the change, and the members that leave each other's cache lines.
fn change_paragraph(layout: &CandidateDocument) -> String {
    let mut changes = layout.edit.clone();
    if let Some(first) = changes.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    match layout.line_changes.is_empty() {
        true => format!("{changes}."),
        false => format!("{changes}: {}.", layout.line_changes.join("; ")),
    }
}

fn use_table(accesses: &[MemberAccessesDocument]) -> String {
    let uses = &accesses[..accesses.len().min(USES_LISTED_MAX)];
    let width = uses
        .iter()
        .map(|member_use| member_use.member.len())
        .max()
        .unwrap_or(0);
    let mut text =
        "Recorded accesses (repeats that make no difference are left out):\n\n".to_owned();
    for member_use in uses {
        let mut line = format!(
            "  {:<width$} {:<5} {:>8} ",
            member_use.member, member_use.access, member_use.count
        );
        for (nth, function) in member_use.functions.iter().enumerate() {
            let name = &function.function;
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
fn effect_table(
    today: &LayoutDocument,
    layout: &CandidateDocument,
    held_out: Option<&IntervalDocument>,
) -> String {
    let then = &layout.layout;
    let mut text = wrap_text_at(
        WIDTH,
        "Predicted by replaying the recording under both layouts; this is a count of events, not a \
         measurement of time:",
        0,
    );
    text.push_str("\n\n");
    let rows = [
        ("transfers", today.transfers, then.transfers),
        (
            "  false by first touch",
            today.false_first_touch,
            then.false_first_touch,
        ),
        (
            "  false by lifetime",
            today.false_lifetime,
            then.false_lifetime,
        ),
        ("upgrades", today.upgrades, then.upgrades),
        ("sizeof", today.size, then.size),
    ];
    for (label, before, after) in rows {
        let _ = writeln!(text, "  {label:<27} {}", from_to_words(before, after));
    }
    if let Some(interval) = &layout.transfers_change {
        let percent = interval_words(interval.change());
        let _ = writeln!(
            text,
            "\n{}",
            wrap_text_at(WIDTH, &format!("All transfers change by {percent}."), 0)
        );
    }
    let held_out = held_out.map(|interval| {
        format!(
            "Chosen on one half of the recording and counted on the other, the best layout changes them by \
             {}.",
            interval_words(interval.change())
        )
    });
    let places = layout.places.as_ref().map(|places| places.sentence.clone());
    let parts = layout.parts_sentence.clone();
    for sentence in [held_out, places, parts].into_iter().flatten() {
        let _ = writeln!(text, "{}", wrap_text_at(WIDTH, &sentence, 0));
    }
    text.push('\n');
    text
}

/// Returns the memory of an object, before and after.
fn memory_paragraph(advised: &AdvisedTypeDocument, layout: &CandidateDocument) -> String {
    let (today, then) = (&advised.current, &layout.layout);
    let memory_words = |layout: &LayoutDocument| match &layout.slab_class {
        Some(cache) => format!("{} bytes ({cache})", layout.bytes_per_object),
        None => format!("{} bytes", layout.bytes_per_object),
    };
    let bytes = then.bytes_per_object as i128 - today.bytes_per_object as i128;
    let objects = advised.subject.objects;
    let mut text = format!(
        "Memory: an object takes {} now and {} then, {:+} bytes for the {} in the recording.",
        memory_words(today),
        memory_words(then),
        bytes * i128::from(objects),
        counted(objects, "object"),
    );
    if let Some(sentence) = &layout.own_allocation {
        let _ = write!(text, " {sentence}");
    }
    if !advised.inside.is_empty() && today.size != then.size {
        let names: Vec<&str> = advised.inside.keys().map(String::as_str).take(3).collect();
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
fn scenario_paragraph(conclusion: &PoolConclusionDocument, layout: &CandidateDocument) -> String {
    let elsewhere = layout.elsewhere.as_deref().unwrap_or_default();
    let mut sentences = Vec::new();
    for (index, scenario) in conclusion.scenarios.iter().enumerate() {
        let name = scenario.workload.as_ref().unwrap_or(&scenario.name);
        let score = { elsewhere.get(index) }.and_then(|there| there.score.as_ref());
        let result = match (&scenario.not_judged, score) {
            (Some(reason), _) => format!("not judged, {reason}"),
            (None, None) => "not scored".to_owned(),
            (None, Some(score)) => {
                let transfers = match &score.transfers_change {
                    Some(change) => format!("transfers {}", interval_words(change.change())),
                    None => counted(score.transfers, "transfer"),
                };
                transfers + &scenario.seen_stores
            }
        };
        sentences.push(format!("{} {name}: {result}", scenario.kind));
    }
    match sentences.is_empty() {
        true => "Other workloads and configurations were not scored.".to_owned(),
        false => format!("By replay, {}.", sentences.join("; ")),
    }
}

/// Returns the results of the compile tests.
fn compile_paragraph(compiled: &[CompileDocument]) -> String {
    let words: Vec<&str> = compiled.iter().map(|test| test.sentence.as_str()).collect();
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
