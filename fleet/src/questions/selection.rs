//! Recordings that a question is about.

use crate::day::Day;

/// Recordings to count; all if nothing is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingSelection {
    /// Workload.
    pub workload: Option<String>,
    /// Release, or path of a program, with `*` for any text.
    pub release: Option<String>,
    /// First day.
    pub since: Option<Day>,
    /// Day behind the last.
    pub before: Option<Day>,
    /// Order of the accesses, as `access_order` has it.
    pub order: Option<String>,
}

impl RecordingSelection {
    /// Returns the condition of a query: ` AND ...` for each part, or nothing.
    pub fn condition(&self) -> String {
        let parts = [
            self.workload
                .as_deref()
                .map(|name| format!("workload = {}", quote(name))),
            self.release.as_deref().map(release_condition),
            self.since.map(|day| format!("date >= DATE '{day}'")),
            self.before.map(|day| format!("date < DATE '{day}'")),
            self.order
                .as_deref()
                .map(|order| format!("access_order = {}", quote(order))),
        ];
        parts
            .into_iter()
            .flatten()
            .map(|part| format!(" AND {part}"))
            .collect()
    }
}

fn release_condition(pattern: &str) -> String {
    if !pattern.contains('*') {
        return format!("release = {}", quote(pattern));
    }
    let escaped = pattern
        .replace('\\', "\\\\")
        .replace('%', "\\%")
        .replace('_', "\\_");
    format!(
        "release LIKE {} ESCAPE '\\'",
        quote(&escaped.replace('*', "%"))
    )
}

/// Returns text as a literal of a query.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions() {
        let selection = RecordingSelection {
            workload: Some("it's".to_owned()),
            release: Some("6.1*".to_owned()),
            since: "2026-11-01".parse().ok(),
            before: None,
            order: Some("host".to_owned()),
        };
        assert_eq!(
            selection.condition(),
            " AND workload = 'it''s' AND release LIKE '6.1%' ESCAPE '\\' AND date >= DATE '2026-11-01' \
             AND access_order = 'host'"
        );
        assert_eq!(RecordingSelection::default().condition(), "");
    }
}
