//! Similar names, for messages about an unknown name.

use crate::abi::StructShape;

const SHOWN_MAX: usize = 5;

/// Most similar names: other case first, then few changed letters, then names that contain
/// `wanted`.
///
/// ```
/// use relayout_layout::suggestions::similar_names;
///
/// assert_eq!(similar_names(["page", "folio"], "pgae"), ["page"]);
/// ```
pub fn similar_names<'n>(
    candidates: impl IntoIterator<Item = &'n str>,
    wanted: &str,
) -> Vec<String> {
    let lower = wanted.to_lowercase();
    let changes_max = (wanted.chars().count() / 3).clamp(1, 3);
    let mut ranked: Vec<(usize, usize, &str)> = candidates
        .into_iter()
        .filter_map(|name| {
            let other = name.to_lowercase();
            let changes = edit_distance(&lower, &other);
            if changes <= changes_max {
                Some((changes, name.len(), name))
            } else if lower.len() >= 3 && other.contains(&lower) {
                Some((changes_max + 1, name.len(), name))
            } else {
                None
            }
        })
        .collect();
    ranked.sort_unstable();
    ranked
        .into_iter()
        .take(SHOWN_MAX)
        .map(|(_, _, name)| name.to_owned())
        .collect()
}

/// Members of `shape` with similar names.
pub fn similar_members(shape: &StructShape, wanted: &str) -> Vec<String> {
    let member_names = shape.atoms.iter().flat_map(|atom| &atom.names);
    similar_names(member_names.map(String::as_str), wanted)
}

/// Suffix `; close: a, b` of a message; empty without similar names.
pub fn suggestion_suffix(close: &[String]) -> String {
    match close.is_empty() {
        true => String::new(),
        false => format!("; close: {}", close.join(", ")),
    }
}

/// Number of letters to insert, delete, replace or swap with the next to change one word into the
/// other.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{edit_distance, similar_names};

    #[test]
    fn counts_changed_letters() {
        for (a, b, expect) in [
            ("", "abc", 3),
            ("page", "page", 0),
            ("pgae", "page", 1),
            ("a", "b", 1),
        ] {
            assert_eq!(edit_distance(a, b), expect, "{a} {b}");
            assert_eq!(edit_distance(b, a), expect, "{b} {a}");
        }
    }

    #[test]
    fn ranks_case_before_spelling_before_containment() {
        let candidates = [
            "Rw_Semaphore",
            "rw_semaphor",
            "percpu_rw_semaphore",
            "task_struct",
        ];
        assert_eq!(
            similar_names(candidates, "rw_semaphore"),
            ["Rw_Semaphore", "rw_semaphor", "percpu_rw_semaphore"]
        );
    }
}
