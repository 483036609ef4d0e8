//! Text of the rules of machines in simulated time.

use std::fmt::Write as _;

use crate::documents::rules::RulesDocument;

/// Renders each rule with its value, its range and its source.
pub fn rules_text(document: &RulesDocument) -> String {
    let mut text = format!("{:22} {:>6}  {:14} unit\n", "rule", "value", "range");
    for rule in &document.rules {
        let range = format!("{} to {}", rule.low, rule.high);
        let _ = writeln!(
            text,
            "{:22} {:>6}  {range:14} {}: {}\n{:31}{}",
            rule.key, rule.expected, rule.unit, rule.name, "", rule.source,
        );
    }
    text
}
