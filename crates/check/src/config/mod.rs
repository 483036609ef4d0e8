//! Reads `relayout.toml`.

mod conditions;
mod error;
pub(crate) mod reader;
mod rules;
mod waivers;

use std::collections::BTreeSet;

use relayout_layout::close;

pub use error::{ConfigError, Problem};
use reader::{Reader, Table, Value};

use crate::{Config, Configuration, Section};

impl Config {
    /// Reads the text of a configuration. Never panics, whatever the text is.
    ///
    /// # Errors
    /// Everything that is wrong with the text, with its place: what is not TOML, unknown keys,
    /// values of another type, assertions that contradict themselves.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Reader::read(text, config)
    }
}

fn config(table: &mut Table<'_, '_>) -> Config {
    let mut line_bytes = None;
    if let Some(mut defaults) = table.take("defaults").and_then(|value| value.table()) {
        line_bytes = line_size(&mut defaults);
        defaults.finish();
    }
    let configurations = table
        .take("configuration")
        .map(|value| configurations(&value));
    let configurations = configurations.unwrap_or_default();
    let mut sections = vec![Section {
        types: rules::types(table),
        ..Section::default()
    }];
    for value in table
        .take("section")
        .map(|value| value.list())
        .unwrap_or_default()
    {
        sections.extend(section(&value, &configurations));
    }
    let waivers = table
        .take("waiver")
        .map(|value| value.list())
        .unwrap_or_default();
    let waivers = waivers.iter().filter_map(waivers::waiver).collect();
    Config {
        line_bytes,
        configurations,
        sections,
        waivers,
    }
}

fn line_size(table: &mut Table<'_, '_>) -> Option<u64> {
    table.take("cacheline_size")?.power_of_two()
}

fn configurations(value: &Value<'_, '_>) -> Vec<Configuration> {
    let Some(mut table) = value.table() else {
        return Vec::new();
    };
    let all = table.take_all();
    table.finish();
    let one = |(name, at, value): (&str, _, Value<'_, '_>)| {
        let mut table = value.table()?;
        let configuration = Configuration {
            name: name.to_owned(),
            conditions: conditions::conditions(&mut table),
            line_bytes: line_size(&mut table),
            at,
        };
        table.finish();
        Some(configuration)
    };
    all.into_iter().filter_map(one).collect()
}

fn section(value: &Value<'_, '_>, configurations: &[Configuration]) -> Option<Section> {
    let mut table = value.table()?;
    let mut named = |key| {
        let names = table.take(key).map(|value| value.strings());
        let names = names.unwrap_or_default().into_iter();
        let known: BTreeSet<&str> = configurations.iter().map(|one| one.name.as_str()).collect();
        let name = |(name, value): (&str, Value<'_, '_>)| {
            if !known.contains(name) {
                let close = close::names(known.iter().copied(), name);
                let hint = close
                    .first()
                    .map(|close| format!("; did you mean `{close}`?"));
                let hint = hint.unwrap_or_else(|| {
                    format!("; give it a table [configuration.{name}], which may be empty")
                });
                value.wrong(format!("there is no configuration `{name}`{hint}"));
            }
            name.to_owned()
        };
        names.map(name).collect::<Vec<String>>()
    };
    let section = Section {
        configurations: named("configuration"),
        not_configurations: named("not_configuration"),
        conditions: conditions::conditions(&mut table),
        line_bytes: line_size(&mut table),
        types: rules::types(&mut table),
        at: table.at(),
    };
    table.finish();
    Some(section)
}
