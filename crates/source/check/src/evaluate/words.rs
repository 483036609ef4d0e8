//! Descriptions of member positions in words.

use relayout_layout::word_lists::{word_list, word_series};

use crate::members::MatchedMember;

/// Maximum number of members that a description lists.
const SHOWN_MAX: usize = 8;

/// Describes positions: `a at 112 on line 1, b at 128 on line 2`.
pub(super) fn describe_places(places: &[&MatchedMember], line_bytes: u64) -> String {
    let describe = |place: &&MatchedMember| {
        let (first, last) = place.lines(line_bytes);
        let lines = match last - first {
            0 => format!("line {first}"),
            _ => format!("lines {first} to {last}"),
        };
        format!("{} at {} on {lines}", place.path, place.offset())
    };
    let described: Vec<String> = places.iter().map(describe).collect();
    word_list(&described, SHOWN_MAX)
}

/// Joins names: `nothing`, `a`, `a and b`, `a, b and 7 more`.
pub(super) fn join_names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    // "and 1 more" says less than the name, and takes its place.
    let shown_max = match names.len() {
        count if count > SHOWN_MAX => SHOWN_MAX - 1,
        count => count,
    };
    match names.as_slice() {
        [] => "nothing".to_owned(),
        names => word_series(names, shown_max),
    }
}

/// Formats a number of bytes: `1 byte`, `8 bytes`.
pub(super) fn byte_count(count: u64) -> String {
    crate::explain::size_text(count.saturating_mul(8))
}
