//! Sentences about members that leave cache lines.

use relayout_advice::{LineChange, NamedUses, line_changes};
use relayout_layout::word_lists::word_list;
use relayout_search::RankedLayout;

use crate::words::advice::PoolView;

/// Sentences at most.
const SENTENCES_MAX: usize = 3;
/// Members named at most in each list.
const NAMES_MAX: usize = 4;

/// Returns sentences such as `'base_addr' leaves the line of 'free_bytes' (written)`, most accesses
/// first.
pub(crate) fn line_sentences(view: &PoolView<'_>, ranked: &RankedLayout) -> Vec<String> {
    let line_bytes = view.resolved.line_bytes;
    let changes = line_changes(view.gathered, view.pool.advice, ranked, line_bytes);
    let more = changes.len().saturating_sub(SENTENCES_MAX);
    let shown = changes.iter().take(SENTENCES_MAX);
    let mut sentences: Vec<String> = shown.map(line_sentence).collect();
    if more > 0 {
        sentences.push(format!("{more} more such changes of line"));
    }
    sentences
}

fn line_sentence(change: &LineChange) -> String {
    let (leaves, joins) = match change.leaving.len() {
        1 => ("leaves", "joins"),
        _ => ("leave", "join"),
    };
    let mut text = format!(
        "{} {leaves} the line of {}",
        name_list(&change.leaving),
        name_list(&change.staying)
    );
    if !change.joined.is_empty() {
        text.push_str(&format!(
            " and {joins} that of {}",
            name_list(&change.joined)
        ));
    }
    text
}

fn name_list(uses: &[NamedUses]) -> String {
    let name = |uses: &NamedUses| match uses.is_written {
        true => format!("'{}' (written)", uses.name),
        false => format!("'{}'", uses.name),
    };
    let names: Vec<String> = uses.iter().map(name).collect();
    word_list(&names, NAMES_MAX)
}
