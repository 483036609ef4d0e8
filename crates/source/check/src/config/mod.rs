//! Reader of `relayout.toml`.

mod conditions;
mod error;
pub(crate) mod reader;
mod rules;
mod waivers;

use std::collections::BTreeSet;

use relayout_layout::suggestions;

pub use error::{ConfigError, ConfigProblem};
use reader::{TomlReader, TomlTable, TomlValue};

use crate::{BuildConfiguration, CheckConfig, RuleSection};

impl CheckConfig {
    /// Parses the text of a configuration. The parser does not panic on any text.
    ///
    /// # Errors
    /// Lists every problem of the text with its position: invalid TOML, unknown keys, values of the
    /// wrong type, assertions that contradict each other.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        TomlReader::read(text, read_config)
    }
}

fn read_config(table: &mut TomlTable<'_, '_>) -> CheckConfig {
    let mut line_bytes = None;
    if let Some(mut defaults) = table.take_key("defaults").and_then(|value| value.table()) {
        line_bytes = take_line_size(&mut defaults);
        defaults.finish();
    }
    let configurations = table
        .take_key("configuration")
        .map(|value| read_configurations(&value));
    let configurations = configurations.unwrap_or_default();
    let mut sections = vec![RuleSection {
        types: rules::read_types(table),
        ..RuleSection::default()
    }];
    let own = table.take_list("section").into_iter();
    sections.extend(own.filter_map(|value| read_section(&value, &configurations)));
    CheckConfig {
        line_bytes,
        configurations,
        sections,
        waivers: table
            .take_list("waiver")
            .iter()
            .filter_map(waivers::read_waiver)
            .collect(),
    }
}

fn take_line_size(table: &mut TomlTable<'_, '_>) -> Option<u64> {
    table.take_key("cacheline_size")?.power_of_two()
}

fn read_configurations(value: &TomlValue<'_, '_>) -> Vec<BuildConfiguration> {
    let Some(mut table) = value.table() else {
        return Vec::new();
    };
    let entries = table.take_entries();
    table.finish();
    let read_configuration = |(name, at, value): (&str, _, TomlValue<'_, '_>)| {
        let mut table = value.table()?;
        let configuration = BuildConfiguration {
            name: name.to_owned(),
            conditions: conditions::read_conditions(&mut table),
            line_bytes: take_line_size(&mut table),
            at,
        };
        table.finish();
        Some(configuration)
    };
    entries.into_iter().filter_map(read_configuration).collect()
}

fn read_section(
    value: &TomlValue<'_, '_>,
    configurations: &[BuildConfiguration],
) -> Option<RuleSection> {
    let mut table = value.table()?;
    let mut named = |key| {
        let names = table.take_strings(key).into_iter();
        let known: BTreeSet<&str> = configurations
            .iter()
            .map(|configuration| configuration.name.as_str())
            .collect();
        let name = |(name, value): (&str, TomlValue<'_, '_>)| {
            if !known.contains(name) {
                let suggestions = suggestions::similar_names(known.iter().copied(), name);
                let remedy = match suggestions.first() {
                    Some(close) => format!("did you mean `{close}`?"),
                    None => {
                        format!("give it a table [configuration.{name}], which may be empty")
                    }
                };
                value.add_remedied(format!("there is no configuration `{name}`"), remedy);
            }
            name.to_owned()
        };
        names.map(name).collect::<Vec<String>>()
    };
    let section = RuleSection {
        configurations: named("configuration"),
        not_configurations: named("not_configuration"),
        conditions: conditions::read_conditions(&mut table),
        line_bytes: take_line_size(&mut table),
        types: rules::read_types(&mut table),
        at: table.at(),
    };
    table.finish();
    Some(section)
}
