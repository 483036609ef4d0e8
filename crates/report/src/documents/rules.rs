//! `relayout/rules/1`: the rules of machines in simulated time.

use relayout_machine::RULES;
use schemars::JsonSchema;
use serde::Serialize;

use crate::documents::Document;

/// The document of `probe --rules --json`.
#[derive(Serialize, JsonSchema)]
pub struct RulesDocument {
    /// Name and version of this document.
    pub schema: &'static str,
    /// Rules.
    pub rules: Vec<RuleDocument>,
}

impl Document for RulesDocument {
    const SCHEMA: &'static str = "relayout/rules/1";
}

/// A rule.
#[derive(Serialize, JsonSchema)]
pub struct RuleDocument {
    /// Name, as `--rule` takes it.
    pub key: &'static str,
    /// Meaning.
    pub name: &'static str,
    /// Value that is used if none is given.
    pub expected: f64,
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
    /// Unit of the values.
    pub unit: &'static str,
    /// Origin of value and range.
    pub source: &'static str,
}

/// Returns the document.
pub fn rules_document() -> RulesDocument {
    let rules = RULES.iter().map(|facts| RuleDocument {
        key: facts.key,
        name: facts.name,
        expected: facts.expected,
        low: facts.low,
        high: facts.high,
        unit: facts.unit.noun(),
        source: facts.source,
    });
    RulesDocument {
        schema: RulesDocument::SCHEMA,
        rules: rules.collect(),
    }
}
