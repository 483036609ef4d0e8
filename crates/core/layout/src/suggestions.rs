//! Similar names, for messages about an unknown name.

use relayout_messages::close_names;

use crate::abi::StructShape;

/// Most names in a message.
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
            let changes = strsim::osa_distance(&lower, &other);
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
    close_names(close).map_or(String::new(), |names| format!("; {names}"))
}

#[cfg(test)]
mod tests {
    use super::similar_names;

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
