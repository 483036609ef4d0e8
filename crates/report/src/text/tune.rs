//! The report of a run: everything that was tried.

use std::fmt::Write as _;

use relayout_advice::effects_of;
use relayout_verify::judged_change::ChangeBasis;
use relayout_workflows::tune::{ChangeFate, TriedChange, TuneOutcome};

use crate::words::effects::{counted_words, measured_words, outcome_words};
use crate::words::percent::percent;
use crate::words::wrap::wrap_text;

/// Columns before the details of a change.
const INDENT: usize = 13;
/// Types that were not tried and are named.
const UNTRIED_MAX: usize = 5;

/// Renders a run as text.
pub fn render_text(outcome: &TuneOutcome) -> String {
    let mut text = wrap_text(&outcome_words(outcome), 2) + "\n";
    for change in &outcome.changes {
        text.push('\n');
        text.push_str(&change_text(outcome, change));
    }
    if !outcome.untried.is_empty() {
        let names: Vec<String> = { outcome.untried.iter().take(UNTRIED_MAX) }
            .map(|ranked| format!("{} ({})", ranked.name, percent(ranked.share)))
            .collect();
        let words = format!("not tried: {}", names.join(", "));
        let _ = writeln!(text, "\n{}", wrap_text(&words, 2));
    }
    if let Some(branch) = &outcome.branch {
        let range = format!("{}..{}", short(&outcome.first_commit), branch.name);
        let _ = writeln!(
            text,
            "\nbranch {} in {}\n  git -C {1} log -p {range}",
            branch.name,
            branch.repository.display(),
        );
    }
    for note in &outcome.notes {
        let _ = writeln!(text, "\n{}", wrap_text(&format!("note: {note}"), 2));
    }
    let _ = writeln!(
        text,
        "profiles, patches and logs: {}",
        outcome.state.display()
    );
    text
}

fn change_text(outcome: &TuneOutcome, change: &TriedChange) -> String {
    let (fate, end) = match &change.fate {
        ChangeFate::Kept { commit } => ("kept", format!("commit {}", short(commit))),
        ChangeFate::Rejected(rejection) => ("rejected", rejection.reason.clone()),
    };
    let edit = match &change.proposal {
        Some(proposal) => format!(": {}", proposal.description.edit),
        None => String::new(),
    };
    let head = format!(
        "{fate:<8} {:>2}  {}{edit} (at most {} of all transfers)",
        change.number,
        change.ranked.name,
        percent(change.ranked.share)
    );
    let mut text = wrap_text(&head, INDENT) + "\n";
    let mut detail = |words: String| {
        let _ = writeln!(text, "{:INDENT$}{}", "", wrap_text(&words, INDENT + 2));
    };
    for effect in effects_of(&change.effects, ChangeBasis::Measured) {
        let how = measured_words(&outcome.machine, &[effect]);
        detail(format!(
            "{how}: {}: {}: {}",
            effect.bench,
            effect.judged.verdict.as_str(),
            effect.words()
        ));
    }
    for effect in effects_of(&change.effects, ChangeBasis::Counted) {
        let how = counted_words(&outcome.settings, &[effect]);
        detail(format!(
            "{how}: {}: {}: {}",
            effect.bench,
            effect.judged.verdict.as_str(),
            effect.words()
        ));
    }
    for effect in change
        .proposal
        .iter()
        .flat_map(|proposal| &proposal.predicted)
    {
        detail(format!(
            "Predicted by replay: {}: {}",
            effect.bench,
            effect.words()
        ));
    }
    detail(format!("{fate}: {end}"));
    text
}

/// Returns the first digits of a commit.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
