//! Recordings that a selection holds. Those of different orders are neither added up nor compared.

use relayout_layout::word_lists::word_list;
use relayout_messages::ProblemReason;

use super::RecordingSelection;
use super::cells::QueryRows;
use crate::FleetError;
use crate::answer::FleetAnswer;
use crate::engine::QueryEngine;
use crate::tables::HOST_ORDER;

/// Orders that an error lists.
const LISTED_MAX: usize = 8;

/// Selected recordings of one order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedRecordings {
    /// Number of recordings; not 0.
    pub count: i64,
    /// Order of their accesses.
    order: String,
}

impl SelectedRecordings {
    /// Counts the selected recordings.
    ///
    /// # Errors
    /// The query fails, no recording is selected, or recordings of several orders are.
    pub async fn count(
        engine: &QueryEngine,
        selection: &RecordingSelection,
    ) -> Result<Self, FleetError> {
        let query = format!(
            "SELECT access_order, COUNT(*) AS recordings FROM recordings WHERE TRUE{} GROUP BY access_order \
             ORDER BY access_order",
            selection.condition()
        );
        let rows = QueryRows::new(engine.query(&query).await?)?;
        let counts = rows.iter().map(|row| Self {
            count: row.integer("recordings"),
            order: row.text("access_order"),
        });
        Self::require_same_order(counts.collect()).map_err(FleetError::Usage)
    }

    /// Returns the recordings of the only order.
    fn require_same_order(mut orders: Vec<Self>) -> Result<Self, ProblemReason> {
        match (orders.pop(), orders.is_empty()) {
            (None, _) => Err(ProblemReason::new("no recording is selected").with_remedy(
                "`relayout fleet sql DATASET \"SELECT DISTINCT workload, release, date, access_order FROM recordings\"` \
                 lists what there is",
            )),
            (Some(only), true) => Ok(only),
            (Some(last), false) => {
                orders.push(last);
                let words = |selected: &Self| format!("`{}` in {}", selected.order, selected.count);
                let words: Vec<String> = orders.iter().map(words).collect();
                let problem = format!(
                    "the selected recordings have several orders of accesses, which cannot be compared: {}",
                    word_list(&words, LISTED_MAX)
                );
                Err(ProblemReason::new(problem).with_remedy("choose one with --order ORDER"))
            }
        }
    }

    /// Notes the order in an answer, unless it is that of the host.
    pub fn note_order(&self, mut answer: FleetAnswer) -> FleetAnswer {
        if self.order != HOST_ORDER {
            let note = format!("Order of accesses: {}, simulated.", self.order);
            answer.notes.insert(0, note);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use relayout_profile::ProfileMeta;

    use super::*;

    #[test]
    fn recordings_of_one_order_are_required() {
        let recordings = |order: &str, count| SelectedRecordings {
            count,
            order: order.to_owned(),
        };
        let require = SelectedRecordings::require_same_order;
        assert_eq!(
            require(vec![recordings("host", 3)]),
            Ok(recordings("host", 3))
        );
        let none = require(Vec::new()).expect_err("nothing is selected");
        assert_eq!(none.problem, "no recording is selected");
        let mixed = require(vec![recordings("host", 3), recordings("rome-2s (pack)", 1)]);
        assert_eq!(
            mixed.expect_err("two orders").to_string(),
            "the selected recordings have several orders of accesses, which cannot be compared: \
             `host` in 3, `rome-2s (pack)` in 1; choose one with --order ORDER"
        );
    }

    #[test]
    fn the_order_of_the_host_has_its_name() {
        assert_eq!(ProfileMeta::default().order_words(), HOST_ORDER);
    }
}
