//! Code that relies on the order of members, and that no rule of the search keeps right.

use relayout_patch::{OrderFact, OrderReliance};

use super::OrderEvidence;

/// Uses that are named.
const USES_SHOWN_MAX: usize = 8;

impl OrderEvidence {
    /// Returns sentences about values by position and about shuffled members of `struct name`.
    pub fn warnings(&self, name: &str) -> Vec<String> {
        let words = |fact: &OrderFact| {
            let words = match fact.reliance {
                OrderReliance::Initializer { .. } => "is initialised by position",
                OrderReliance::Randomized => "may be shuffled by the compiler (CONFIG_RANDSTRUCT)",
                _ => return None,
            };
            Some(format!(
                "{}: struct {name} {words}: {}",
                fact.place, fact.text
            ))
        };
        let all: Vec<String> = self.facts.iter().filter_map(words).collect();
        let more = all.len().saturating_sub(USES_SHOWN_MAX);
        let more = (more > 0).then(|| format!("and {more} more such uses of struct {name}"));
        all.into_iter().take(USES_SHOWN_MAX).chain(more).collect()
    }
}
