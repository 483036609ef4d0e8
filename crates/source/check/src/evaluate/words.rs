//! Descriptions of member positions in words.

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
    let mut shown: Vec<String> = places.iter().take(SHOWN_MAX).map(describe).collect();
    let more = places.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

/// Joins names: `a`, `a and b`, `a, b and c`, `a, b and 7 more`.
pub(super) fn join_names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match &names[..] {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] if names.len() <= SHOWN_MAX => {
            format!("{} and {last}", first.join(", "))
        }
        _ => format!(
            "{} and {} more",
            names[..SHOWN_MAX - 1].join(", "),
            names.len() - (SHOWN_MAX - 1)
        ),
    }
}

/// Formats a number of bytes: `1 byte`, `8 bytes`.
pub(super) fn byte_count(count: u64) -> String {
    crate::explain::size_text(count.saturating_mul(8))
}
