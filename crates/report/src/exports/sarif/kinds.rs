//! Kinds of findings as rules of code scanning.

use relayout_contend::FindingKind;

use crate::exports::sarif::format::{
    RuleConfiguration, RuleProperties, SarifHelp, SarifRule, SarifText,
};
use crate::words::kinds::{KindWords, kind_words};

/// Returns the rule of a kind.
pub(super) fn kind_rule(kind: FindingKind) -> SarifRule {
    let KindWords {
        meaning: help,
        remedy: purpose,
        ..
    } = kind_words(kind);
    let level = kind_level(kind);
    SarifRule {
        id: kind.as_str(),
        name: kind_title(kind),
        short_description: SarifText::new(help),
        full_description: SarifText::new(format!("{help} {purpose}")),
        help: SarifHelp {
            text: rule_help(purpose, ""),
            markdown: rule_help(purpose, "`"),
        },
        default_configuration: RuleConfiguration { level },
        properties: RuleProperties {
            tags: ["layout", "performance"],
            // A recording is one of many orders of the same accesses.
            precision: match kind {
                FindingKind::AdjacentLine => "medium",
                _ => "high",
            },
            severity: match level {
                "note" => "recommendation",
                level => level,
            },
        },
    }
}

/// Returns the level of results: a note where most transfers bring what is used.
pub(super) fn kind_level(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::TrueSharing | FindingKind::RemoteRead => "note",
        _ => "warning",
    }
}

/// `FalseSharing`
fn kind_title(kind: FindingKind) -> String {
    let words = kind.as_str().split('-');
    let capitals = words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]);
    capitals.collect()
}

/// Returns the help of a rule, with `mark` around the words that one types.
fn rule_help(purpose: &str, mark: &str) -> String {
    format!(
        "{purpose} {mark}relayout advise{mark} searches layouts of the type. {mark}docs/glossary.md{mark} of relayout \
         defines the kinds of findings."
    )
}
