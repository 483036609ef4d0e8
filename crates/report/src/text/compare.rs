//! The text of `compare`: an outcome, and a table with causes for each workload.

use std::fmt::Write as _;

use relayout_layout::word_lists::word_series;
use relayout_verify::judged_change::ChangeVerdict;
use relayout_workflows::compare::{
    RateChange, RecordingComparison, SubjectChange, WorkloadComparison,
};

use crate::words::finding::subject_name;
use crate::words::magnitude::value;
use crate::words::recording_changes::{
    cause_sentences, change_words, collector_words, interval_words, member_words,
    names_with_verdict, outcome_words, side_words,
};
use crate::words::wrap::wrap_text;

/// Types without a change that are named.
const SAME_MAX: usize = 8;
/// Columns before a cause.
const INDENT: usize = 10;

/// Renders a comparison as text.
pub fn render_text(comparison: &RecordingComparison) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", wrap_text(&outcome_words(comparison), 2));
    for workload in &comparison.workloads {
        text.push('\n');
        text.push_str(&workload_text(workload));
    }
    for note in &comparison.notes {
        let _ = writeln!(text, "\nnote: {}", wrap_text(note, 6));
    }
    text
}

fn workload_text(workload: &WorkloadComparison) -> String {
    let mut text = format!(
        "{}, {}\n  old  {}\n  new  {}\n\n",
        workload.workload,
        collector_words(&workload.new.meta),
        side_words(&workload.old),
        side_words(&workload.new)
    );
    let _ = writeln!(
        text,
        "  verdict      old        new  change, 95% interval        transfers per operation of"
    );
    text.push_str(&row(&workload.total, "all memory"));
    for change in &workload.subjects {
        if change.rate.judged.verdict != ChangeVerdict::Same {
            text.push_str(&row(&change.rate, &subject_name(&change.subject)));
            text.push_str(&details(change));
        }
    }
    let same = names_with_verdict(workload, ChangeVerdict::Same);
    if !same.is_empty() {
        let words = format!("  same: {}", word_series(&same, SAME_MAX));
        let _ = writeln!(text, "{}", wrap_text(&words, 8));
    }
    for note in &workload.notes {
        let _ = writeln!(text, "  note: {}", wrap_text(note, 8));
    }
    text
}

fn row(change: &RateChange, name: &str) -> String {
    let interval = format!("{}{}", change_words(change), interval_words(change));
    format!(
        "  {:<7} {:>8} {:>10}  {interval:<26}  {name}\n",
        change.judged.verdict.as_str(),
        value(change.judged.before),
        value(change.judged.after),
    )
}

fn details(change: &SubjectChange) -> String {
    let mut lines = cause_sentences(change);
    let members = member_words(change);
    if change.cause.is_some() && !members.is_empty() {
        lines.push(format!("by member: {members}"));
    }
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{:INDENT$}{}", "", wrap_text(&line, INDENT + 2));
    }
    text
}
