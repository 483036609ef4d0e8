//! Fast test of a text, before it is read as code: a kernel has thousands of files that name
//! `struct sk_buff`, and few that rely on its order.

use super::OrderQuery;

/// Bytes in front of a name in which a function or macro stands that takes it.
const BEFORE_BYTES: usize = 96;
/// Bytes behind a name in which a cast or an initialiser shows.
const BEHIND_BYTES: usize = 240;

/// Parts of the names of functions and macros that take a struct's name.
const TAKING_NAME: [&str; 9] = [
    "offsetof",
    "container_of",
    "CONTAINER_OF",
    "_entry",
    "ASSERT",
    "assert",
    "BUG_ON",
    "CHECK_",
    "OFFSET",
];

/// What may be about the struct though its name is elsewhere: only a variable is named.
const TAKING_VARIABLE: [&str; 5] = [
    "memset_startat",
    "memset_after",
    "kfree_rcu",
    "kvfree_rcu",
    "typeof(",
];

/// Returns false if the text has nothing that [`find_order_facts`](super::find_order_facts) could
/// find.
///
/// ```
/// use relayout_patch::{OrderQuery, may_rely_on_order};
///
/// let query = OrderQuery { tag: "s".into(), ..Default::default() };
/// assert!(!may_rely_on_order("int f(struct s *p);\n", &query));
/// assert!(may_rely_on_order("x = (struct s *)p;\n", &query));
/// ```
pub fn may_rely_on_order(text: &str, query: &OrderQuery) -> bool {
    let takes_variable = TAKING_VARIABLE.iter().any(|word| text.contains(word));
    let has_difference = text.contains(")&") && text.contains("mem");
    takes_variable
        || has_difference
        || query.names().any(|name| is_suspicious(text, name, true))
        || { query.first_types.iter() }.any(|name| is_suspicious(text, name, false))
}

/// Returns true if a place of `name` may be a cast or, of the struct itself, another use.
fn is_suspicious(text: &str, name: &str, is_subject: bool) -> bool {
    !name.is_empty() && { text.match_indices(name) }.any(|(at, _)| {
        let behind = part(text, at + name.len(), at + name.len() + BEHIND_BYTES);
        let is_cast = behind
            .trim_start()
            .trim_start_matches(['*', ' '])
            .starts_with(')')
            && behind.contains('*');
        if !is_subject {
            return is_cast;
        }
        let before = part(text, at.saturating_sub(BEFORE_BYTES), at);
        let statement = behind.split(';').next().unwrap_or(behind);
        is_cast
            || has_initializer(statement)
            || TAKING_NAME.iter().any(|word| before.contains(word))
    })
}

/// Returns true for what may be an initialiser or a definition behind a struct's name.
fn has_initializer(statement: &str) -> bool {
    let Some((head, _)) = statement.split_once('{') else {
        return false;
    };
    head.contains('=') || matches!(head.trim(), "" | ")")
}

/// Part of the text from about `start` to about `end`.
fn part(text: &str, start: usize, end: usize) -> &str {
    let boundary = |at: usize| {
        let mut bytes = (0..=at.min(text.len())).rev();
        bytes.find(|byte| text.is_char_boundary(*byte)).unwrap_or(0)
    };
    text.get(boundary(start)..boundary(end)).unwrap_or("")
}
