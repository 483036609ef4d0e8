//! Words in a row, as sentences and messages have them. A long row ends in the number of those left out.

/// Joins words by commas: `a, b, c`; of more than `shown_max`, `a, b and 7 more`.
///
/// ```
/// use relayout_layout::word_lists::word_list;
///
/// assert_eq!(word_list(&["a", "b"], 2), "a, b");
/// assert_eq!(word_list(&["a", "b", "c"], 2), "a, b and 1 more");
/// assert_eq!(word_list::<&str>(&[], 2), "");
/// ```
pub fn word_list<S: AsRef<str>>(words: &[S], shown_max: usize) -> String {
    word_list_with_rest(words, shown_max, |more| format!("{more} more"))
}

/// Joins words as [`word_list`] does, with other words for the number of those left out.
///
/// ```
/// use relayout_layout::word_lists::word_list_with_rest;
///
/// let list = word_list_with_rest(&["a", "b", "c"], 1, |more| format!("{more} more types"));
/// assert_eq!(list, "a and 2 more types");
/// ```
pub fn word_list_with_rest<S: AsRef<str>>(
    words: &[S],
    shown_max: usize,
    rest_words: impl Fn(usize) -> String,
) -> String {
    let (shown, rest) = split_words(words, shown_max);
    match rest {
        0 => shown.join(", "),
        rest => format!("{} and {}", shown.join(", "), rest_words(rest)),
    }
}

/// Joins words as a sentence does: `a`, `a and b`, `a, b and c`; of more than `shown_max`, `a, b and 7 more`.
///
/// ```
/// use relayout_layout::word_lists::word_series;
///
/// assert_eq!(word_series(&["a", "b", "c"], usize::MAX), "a, b and c");
/// assert_eq!(word_series(&["a", "b", "c"], 2), "a, b and 1 more");
/// assert_eq!(word_series(&["a"], 2), "a");
/// ```
pub fn word_series<S: AsRef<str>>(words: &[S], shown_max: usize) -> String {
    match split_words(words, shown_max) {
        (shown, 0) => match shown.split_last() {
            Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            _ => shown.concat(),
        },
        _ => word_list(words, shown_max),
    }
}

/// Returns the words that are shown, and the number of the others.
fn split_words<S: AsRef<str>>(words: &[S], shown_max: usize) -> (Vec<&str>, usize) {
    let shown = words.iter().take(shown_max).map(S::as_ref);
    (shown.collect(), words.len().saturating_sub(shown_max))
}
