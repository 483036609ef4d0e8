//! The report of a run: everything that was tried.

use std::fmt::Write as _;

use crate::documents::tune::{TriedChangeDocument, TuneDocument};
use crate::words::effects::{counted_words, measured_words, simulated_words};
use crate::words::wrap::{PROSE_WIDTH, wrap_block, wrap_text};

/// Columns before the details of a change.
const INDENT: usize = 13;
/// Types that were not tried and are named.
const UNTRIED_MAX: usize = 5;

/// Renders a run as text.
pub fn tune_text(document: &TuneDocument) -> String {
    let mut text = wrap_text(&document.outcome, 2) + "\n";
    for change in &document.changes {
        text.push('\n');
        text.push_str(&change_text(document, change));
    }
    if !document.untried.is_empty() {
        let names: Vec<String> = { document.untried.iter().take(UNTRIED_MAX) }
            .map(|untried| format!("{} ({:.1}%)", untried.type_name, untried.saved_percent))
            .collect();
        let words = format!("not tried: {}", names.join(", "));
        let _ = writeln!(text, "\n{}", wrap_text(&words, 2));
    }
    if let Some(branch) = &document.branch {
        let range = format!("{}..{}", short(&document.first_commit), branch.name);
        let _ = writeln!(
            text,
            "\nbranch {} in {}\n  git -C {1} log -p {range}",
            branch.name, branch.repository,
        );
    }
    for note in &document.notes {
        let _ = writeln!(text, "\n{}", wrap_text(&format!("note: {note}"), 2));
    }
    let _ = writeln!(text, "profiles, patches and logs: {}", document.state);
    text
}

fn change_text(document: &TuneDocument, change: &TriedChangeDocument) -> String {
    let (fate, end) = match &change.commit {
        Some(commit) => ("kept", format!("commit {}", short(commit))),
        None => ("rejected", change.reason.clone().unwrap_or_default()),
    };
    let edit = { change.edit.as_ref() }.map_or(String::new(), |edit| format!(": {edit}"));
    let head = format!(
        "{fate:<8} {:>2}  {}{edit} (at most {:.1}% of all transfers)",
        change.number, change.type_name, change.saved_percent
    );
    let mut text = wrap_text(&head, INDENT) + "\n";
    let mut detail = |words: String| {
        let _ = writeln!(text, "{}", wrap_block(PROSE_WIDTH, &words, INDENT, 2));
    };
    for effect in &change.measured {
        let how = measured_words(&document.machine, &[effect.pairs]);
        let verdict = effect.judged.verdict.as_str();
        detail(format!(
            "{how}: {}: {verdict}: {}",
            effect.bench, effect.words
        ));
    }
    for effect in &change.simulated {
        let machine = document.guest_machine.as_deref().unwrap_or_default();
        let how = simulated_words(machine, document.guest_cpus, &[effect.pairs]);
        let verdict = effect.judged.verdict.as_str();
        detail(format!(
            "{how}: {}: {verdict}: {}",
            effect.bench, effect.words
        ));
    }
    for effect in &change.counted {
        let how = counted_words(document.guest_cpus, &[effect.recordings]);
        let verdict = effect.judged.verdict.as_str();
        detail(format!(
            "{how}: {}: {verdict}: {}",
            effect.bench, effect.words
        ));
    }
    for effect in &change.predicted {
        detail(format!(
            "Predicted by replay: {}: {}",
            effect.bench, effect.words
        ));
    }
    detail(format!("{fate}: {end}"));
    text
}

/// Returns the first digits of a commit.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
