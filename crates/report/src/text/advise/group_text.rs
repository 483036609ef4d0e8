//! Marks of cache line groups that a given layout crosses.

use std::fmt::Write as _;

use relayout_layout::word_lists::word_list;

use crate::documents::advise::candidate::CandidateDocument;
use crate::words::wrap::wrap_text;

/// Most members that are named.
const CROSSINGS_MAX: usize = 6;

/// Appends the members that a given layout moves over the marks of cache line groups.
pub(crate) fn push_group_crossings(text: &mut String, given: &CandidateDocument) {
    if given.group_crossings.is_empty() {
        return;
    }
    let words: Vec<String> = { given.group_crossings.iter() }
        .map(|crossing| {
            let verb = if crossing.leaves { "leaves" } else { "enters" };
            format!("'{}' {verb} the group {}", crossing.member, crossing.group)
        })
        .collect();
    let line = format!(
        "{} crosses the marks of cache line groups, of which code elsewhere asserts members and \
         size: {}.",
        given.given_name(),
        word_list(&words, CROSSINGS_MAX)
    );
    let _ = writeln!(text, "{}", wrap_text(&line, 2));
}
