//! A comparison for mails and commit messages, in at most 78 columns. Its first line says how the
//! counts came about.

use std::fmt::Write as _;

use relayout_layout::word_lists::word_series;
use relayout_verify::judged_change::ChangeVerdict;

use crate::documents::compare::{CompareDocument, WorkloadDocument};
use crate::words::recording_changes::{
    carried_layouts_words, member_words, rate_words, side_words, simulated_rate_words,
};
use crate::words::wrap::wrap_text_at;

/// Widest line, unless a name is longer.
const WIDTH: usize = 74;
/// Types without a change that are named.
const SAME_MAX: usize = 8;

/// Renders a comparison for a mail.
pub fn compare_mail(document: &CompareDocument) -> String {
    let mut text = format!("{}\n", wrap_text_at(WIDTH, &head_words(document), 0));
    let _ = writeln!(text, "\n{}", sentence(&document.outcome, 0));
    for workload in &document.workloads {
        text.push('\n');
        text.push_str(&workload_mail(workload));
    }
    for note in &document.notes {
        let _ = writeln!(text, "\n{}", sentence(note, 0));
    }
    text
}

/// `Counted under QEMU, 4 vCPUs, not measured on hardware. stat-one on 4 CPUs: 8 recordings of ...`
fn head_words(document: &CompareDocument) -> String {
    let mut ways: Vec<&str> = { document.workloads.iter() }
        .map(|workload| &*workload.counted)
        .collect();
    ways.dedup();
    let mut words = capitalized(&ways.join("; "));
    words.push_str("; not measured on hardware.");
    words
}

fn workload_mail(workload: &WorkloadDocument) -> String {
    let mut text = format!("{}\n", workload.title());
    for side in [("old", &workload.old), ("new", &workload.new)] {
        let _ = writeln!(text, "  {}: {}", side.0, side_words(side.1));
    }
    if let Some(rate) = &workload.rate {
        let _ = writeln!(
            text,
            "\n  {}",
            wrap_text_at(WIDTH, &simulated_rate_words(rate), 2)
        );
    }
    for carried in &workload.carried_layouts {
        let words = carried_layouts_words(carried);
        let _ = writeln!(text, "\n  {}", wrap_text_at(WIDTH, &words, 2));
    }
    let all = format!(
        "All memory, {}: {}.",
        workload.total.verdict.as_str(),
        rate_words(&workload.total)
    );
    let _ = writeln!(text, "\n  {}", wrap_text_at(WIDTH, &all, 2));
    for subject in &workload.subjects {
        if !matches!(
            subject.rate.verdict,
            ChangeVerdict::Better | ChangeVerdict::Worse
        ) {
            continue;
        }
        let head = format!(
            "{}, {}: {}.",
            subject.name,
            subject.rate.verdict.as_str(),
            rate_words(&subject.rate)
        );
        let _ = writeln!(text, "\n  {}", wrap_text_at(WIDTH, &head, 2));
        for cause in subject.cause_sentences() {
            let _ = writeln!(text, "    {}", sentence(cause, 4));
        }
        let members = member_words(subject);
        if !members.is_empty() {
            let _ = writeln!(
                text,
                "    {}",
                sentence(&format!("by member: {members}"), 4)
            );
        }
    }
    for (verdict, words) in [
        (
            ChangeVerdict::Unclear,
            "Unclear (too few recordings, or they differ too much)",
        ),
        (ChangeVerdict::Same, "No change"),
    ] {
        let names = workload.names_with_verdict(verdict);
        if !names.is_empty() {
            let words = format!("{words}: {}.", word_series(&names, SAME_MAX));
            let _ = writeln!(text, "\n  {}", wrap_text_at(WIDTH, &words, 2));
        }
    }
    for note in &workload.notes {
        let _ = writeln!(text, "\n  {}", sentence(note, 2));
    }
    text
}

/// Wraps words as a sentence with a full stop. Names keep their case, so the start does.
fn sentence(words: &str, indent: usize) -> String {
    wrap_text_at(WIDTH, &format!("{words}."), indent)
}

fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
