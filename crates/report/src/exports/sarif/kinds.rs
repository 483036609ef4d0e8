//! Kinds of findings as rules of code scanning.

use relayout_contend::FindingKind;

use crate::exports::sarif::format::{
    RuleConfiguration, RuleProperties, SarifHelp, SarifRule, SarifText,
};

/// Returns the rule of a kind.
pub(super) fn kind_rule(kind: FindingKind) -> SarifRule {
    let (help, purpose) = (kind_help(kind), kind_purpose(kind));
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

/// Returns a sentence that describes the kind.
fn kind_help(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::FalseSharing => {
            "CPUs or threads use different bytes of a cache line, and most of its transfers bring nothing that is used."
        }
        FindingKind::TrueSharing => {
            "Most transfers of the cache line bring bytes that the CPU or thread uses."
        }
        FindingKind::Straddle => {
            "An object, or an access to it, lies on two cache lines and moves both."
        }
        FindingKind::SilentStore => {
            "Most transfers of the cache line follow stores that change nothing."
        }
        FindingKind::LockWord => {
            "CPUs or threads try to take a lock while its holder uses data on the same cache line."
        }
        FindingKind::HotGlobal => {
            "The linker placed variables of different CPUs or threads on one cache line."
        }
        FindingKind::ReadMostly => {
            "A member that is seldom stored to shares a cache line with members that are stored to all the time."
        }
        FindingKind::RemoteRead => "Only CPUs or threads that do not store to the member read it.",
        FindingKind::AdjacentLine => {
            "Two cache lines are fetched together, and some CPUs or threads use one while others store to the other."
        }
    }
}

/// Returns the direction of a remedy.
fn kind_purpose(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::FalseSharing => {
            "Move the members to different cache lines, or align one of them to a line of its own."
        }
        FindingKind::TrueSharing => {
            "Store to the member less often, or give each CPU or thread its own copy."
        }
        FindingKind::Straddle => "Align the object or the member, so that it lies on one line.",
        FindingKind::SilentStore => {
            "Compare the value first, and leave out the store where it is equal."
        }
        FindingKind::LockWord => "Move the data to another cache line than the lock.",
        FindingKind::HotGlobal => "Align one of the variables to a cache line of its own.",
        FindingKind::ReadMostly => "Move the member to a cache line with members that are read.",
        FindingKind::RemoteRead => "Avoid the read, or keep a copy of the value with its reader.",
        FindingKind::AdjacentLine => {
            "Move the members to different aligned pairs of lines. The cost is an estimate from samples."
        }
    }
}
