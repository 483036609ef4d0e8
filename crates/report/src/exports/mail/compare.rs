//! A comparison for mails and commit messages, in at most 78 columns. Its first line says how the
//! counts came about.

use std::fmt::Write as _;

use relayout_layout::word_lists::word_series;
use relayout_verify::judged_change::ChangeVerdict;
use relayout_workflows::compare::{RecordingComparison, WorkloadComparison};

use crate::words::finding::subject_name;
use crate::words::recording_changes::{
    cause_sentences, collector_words, member_words, names_with_verdict, outcome_words, rate_words,
    side_words,
};
use crate::words::wrap::wrap_text_at;

/// Widest line, unless a name is longer.
const WIDTH: usize = 74;
/// Types without a change that are named.
const SAME_MAX: usize = 8;

/// Renders a comparison for a mail.
pub fn render_mail(comparison: &RecordingComparison) -> String {
    let mut text = format!("{}\n", wrap_text_at(WIDTH, &head_words(comparison), 0));
    let _ = writeln!(text, "\n{}", sentence(&outcome_words(comparison), 0));
    for workload in &comparison.workloads {
        text.push('\n');
        text.push_str(&workload_mail(workload));
    }
    for note in &comparison.notes {
        let _ = writeln!(text, "\n{}", sentence(note, 0));
    }
    text
}

/// `Counted under QEMU, 4 vCPUs, not measured on hardware. stat-one on 4 CPUs: 8 recordings of ...`
fn head_words(comparison: &RecordingComparison) -> String {
    let mut ways: Vec<String> = { comparison.workloads.iter() }
        .map(|workload| collector_words(&workload.new.meta))
        .collect();
    ways.dedup();
    let mut words = capitalized(&ways.join("; "));
    words.push_str("; not measured on hardware.");
    words
}

fn workload_mail(workload: &WorkloadComparison) -> String {
    let mut text = format!("{}\n", workload.workload);
    for side in [("old", &workload.old), ("new", &workload.new)] {
        let _ = writeln!(text, "  {}: {}", side.0, side_words(side.1));
    }
    let all = format!(
        "All memory, {}: {}.",
        workload.total.judged.verdict.as_str(),
        rate_words(&workload.total)
    );
    let _ = writeln!(text, "\n  {}", wrap_text_at(WIDTH, &all, 2));
    for change in &workload.subjects {
        if !matches!(
            change.rate.judged.verdict,
            ChangeVerdict::Better | ChangeVerdict::Worse
        ) {
            continue;
        }
        let head = format!(
            "{}, {}: {}.",
            subject_name(&change.subject),
            change.rate.judged.verdict.as_str(),
            rate_words(&change.rate)
        );
        let _ = writeln!(text, "\n  {}", wrap_text_at(WIDTH, &head, 2));
        for cause in cause_sentences(change) {
            let _ = writeln!(text, "    {}", sentence(&cause, 4));
        }
        let members = member_words(change);
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
        let names = names_with_verdict(workload, verdict);
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
