//! Words about the places of a line where an allocator can put an object.

use relayout_search::ScoredLayout;

use crate::words::advice::from_to_words;
use crate::words::percent::signed_percent;

/// Returns the change of the transfers at these places, beside that where the recorded objects lay;
/// `None` where objects have no choice of places.
pub(crate) fn place_sentence(today: &ScoredLayout, then: &ScoredLayout) -> Option<String> {
    let places = then.place_changes(today)?;
    let [before, after] = [today, then].map(|scored| scored.placed.as_recorded.transfers());
    let [mean, worst] = [places.mean, places.worst].map(signed_percent);
    Some(match places.are_recorded {
        true => format!(
            "Objects were recorded at each of the {} places of a line where the allocator can put \
             them: transfers change by {mean} on average, and by {worst} at the worst of \
             these places.",
            places.count
        ),
        false => format!(
            "The allocator can put an object at {} places of a line. Each was replayed, and the \
             counts are means: transfers change by {mean} on average, and by {worst} at \
             the worst of these places; where the recorded objects lay, from {}.",
            places.count,
            from_to_words(before, after)
        ),
    })
}
