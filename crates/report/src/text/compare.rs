//! The text of `compare`: an outcome, and a table with causes for each workload.

use std::fmt::Write as _;

use relayout_layout::word_lists::word_series;
use relayout_verify::judged_change::ChangeVerdict;

use crate::documents::compare::{CompareDocument, RateDocument, SubjectDocument, WorkloadDocument};
use crate::words::magnitude::value;
use crate::words::recording_changes::{
    carried_layouts_words, change_words, member_words, side_words, simulated_rate_words,
};
use crate::words::wrap::wrap_text;

/// Types without a change that are named.
const SAME_MAX: usize = 8;
/// Columns before a cause.
const INDENT: usize = 10;

/// Renders a comparison as text.
pub fn compare_text(document: &CompareDocument) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", wrap_text(&document.outcome, 2));
    for workload in &document.workloads {
        text.push('\n');
        text.push_str(&workload_text(workload));
    }
    for note in &document.notes {
        let _ = writeln!(text, "\nnote: {}", wrap_text(note, 6));
    }
    text
}

fn workload_text(workload: &WorkloadDocument) -> String {
    let mut text = format!(
        "{}, {}\n  old  {}\n  new  {}\n\n",
        workload.title(),
        workload.counted,
        side_words(&workload.old),
        side_words(&workload.new)
    );
    if let Some(rate) = &workload.rate {
        let words = format!("  {}", simulated_rate_words(rate));
        let _ = writeln!(text, "{}\n", wrap_text(&words, 2));
    }
    for carried in &workload.carried_layouts {
        let words = format!("  {}", carried_layouts_words(carried));
        let _ = writeln!(text, "{}\n", wrap_text(&words, 2));
    }
    let _ = writeln!(
        text,
        "  verdict      old        new  change, 95% interval        transfers per operation of"
    );
    text.push_str(&row(&workload.total, "all memory"));
    for subject in &workload.subjects {
        if subject.rate.verdict != ChangeVerdict::Same {
            text.push_str(&row(&subject.rate, &subject.name));
            text.push_str(&details(subject));
        }
    }
    let same = workload.names_with_verdict(ChangeVerdict::Same);
    if !same.is_empty() {
        let words = format!("  same: {}", word_series(&same, SAME_MAX));
        let _ = writeln!(text, "{}", wrap_text(&words, 8));
    }
    for note in &workload.notes {
        let _ = writeln!(text, "  note: {}", wrap_text(note, 8));
    }
    text
}

fn row(rate: &RateDocument, name: &str) -> String {
    format!(
        "  {:<7} {:>8} {:>10}  {:<26}  {name}\n",
        rate.verdict.as_str(),
        value(rate.old_mean),
        value(rate.new_mean),
        change_words(rate),
    )
}

fn details(subject: &SubjectDocument) -> String {
    let mut lines = subject.cause_sentences().to_vec();
    let members = member_words(subject);
    if subject.cause.is_some() && !members.is_empty() {
        lines.push(format!("by member: {members}"));
    }
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{:INDENT$}{}", "", wrap_text(&line, INDENT + 2));
    }
    text
}
