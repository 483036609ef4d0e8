//! Typed access to the values of a TOML document. The reader collects problems with their
//! positions.

use std::cell::RefCell;
use std::ops::Range;

use relayout_layout::suggestions;
use relayout_layout::word_lists::word_series;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{ConfigError, ConfigProblem};
use crate::{ConfigPosition, Date};

/// Document that is being read.
pub(crate) struct TomlReader<'t> {
    text: &'t str,
    /// Byte offset of the start of each line.
    line_starts: Vec<usize>,
    problems: RefCell<Vec<ConfigProblem>>,
}

/// Value and its byte range in the text.
#[derive(Clone)]
pub(crate) struct TomlValue<'r, 't> {
    reader: &'r TomlReader<'t>,
    value: &'r DeValue<'t>,
    span: Range<usize>,
}

/// Table whose keys are taken one by one. Keys that are never taken are problems.
pub(crate) struct TomlTable<'r, 't> {
    reader: &'r TomlReader<'t>,
    entries: Vec<TomlEntry<'r, 't>>,
    span: Range<usize>,
    /// Keys that have been asked for.
    asked_keys: Vec<&'static str>,
}

struct TomlEntry<'r, 't> {
    key: &'r str,
    key_span: Range<usize>,
    value: TomlValue<'r, 't>,
    taken: bool,
}

impl<'t> TomlReader<'t> {
    /// Parses `text` and passes its top-level table to `read`.
    pub(crate) fn read<T>(
        text: &'t str,
        read: impl FnOnce(&mut TomlTable<'_, 't>) -> T,
    ) -> Result<T, ConfigError> {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let reader = Self {
            text,
            line_starts: std::iter::once(0).chain(ends).collect(),
            problems: RefCell::default(),
        };
        let document = DeTable::parse(text).map_err(|error| ConfigError {
            problems: vec![ConfigProblem {
                at: reader.position(error.span().map_or(0, |span| span.start)),
                message: format!("not TOML: {}", error.message().replace('\n', ", ")),
                remedy: None,
            }],
        })?;
        let mut table = TomlTable::new(&reader, document.get_ref(), document.span());
        let value = read(&mut table);
        table.finish();
        let mut problems = reader.problems.into_inner();
        if problems.is_empty() {
            return Ok(value);
        }
        problems.sort_by_key(|problem| problem.at);
        Err(ConfigError { problems })
    }

    fn position(&self, byte: usize) -> ConfigPosition {
        let line = self.line_starts.partition_point(|start| *start <= byte);
        let start = self.line_starts[line.saturating_sub(1)];
        let before = self.text.get(start..byte).unwrap_or_default();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        ConfigPosition {
            line: count(line),
            column: count(before.chars().count() + 1),
        }
    }

    fn add_problem(&self, byte: usize, message: String, remedy: Option<String>) {
        let at = self.position(byte);
        self.problems.borrow_mut().push(ConfigProblem {
            at,
            message,
            remedy,
        });
    }
}

impl<'r, 't> TomlTable<'r, 't> {
    fn new(reader: &'r TomlReader<'t>, table: &'r DeTable<'t>, span: Range<usize>) -> Self {
        let entry = |(key, value): (&'r Spanned<_>, &'r Spanned<DeValue<'t>>)| {
            let key: &'r Spanned<std::borrow::Cow<'t, str>> = key;
            TomlEntry {
                key: key.get_ref().as_ref(),
                key_span: key.span(),
                value: TomlValue {
                    reader,
                    value: value.get_ref(),
                    span: value.span(),
                },
                taken: false,
            }
        };
        let mut entries: Vec<_> = table.iter().map(entry).collect();
        entries.sort_by_key(|entry| entry.key_span.start);
        Self {
            reader,
            entries,
            span,
            asked_keys: Vec::new(),
        }
    }

    /// Position of the start of the table.
    pub(crate) fn at(&self) -> ConfigPosition {
        self.reader.position(self.span.start)
    }

    /// Takes the value of a key. Each key is taken once.
    pub(crate) fn take_key(&mut self, key: &'static str) -> Option<TomlValue<'r, 't>> {
        self.asked_keys.push(key);
        let entry = self.entries.iter_mut().find(|entry| entry.key == key)?;
        entry.taken = true;
        Some(entry.value.clone())
    }

    /// Takes the value of a mandatory key.
    /// Returns the integer at `key`.
    pub(crate) fn take_integer(&mut self, key: &'static str) -> Option<u64> {
        self.take_key(key)?.integer()
    }

    /// Returns the string at `key`.
    pub(crate) fn take_string(&mut self, key: &'static str) -> Option<&'r str> {
        self.take_key(key)?.string()
    }

    /// Returns the string, or the strings of the list, at `key`; none without the key.
    pub(crate) fn take_strings(&mut self, key: &'static str) -> Vec<(&'r str, TomlValue<'r, 't>)> {
        self.take_key(key)
            .map(|value| value.strings())
            .unwrap_or_default()
    }

    /// Returns the elements of the list at `key`; none without the key.
    pub(crate) fn take_list(&mut self, key: &'static str) -> Vec<TomlValue<'r, 't>> {
        self.take_key(key)
            .map(|value| value.list())
            .unwrap_or_default()
    }

    pub(crate) fn require_key(
        &mut self,
        key: &'static str,
        owner: &str,
    ) -> Option<TomlValue<'r, 't>> {
        let value = self.take_key(key);
        if value.is_none() {
            self.add_problem(format!("{owner} needs the key `{key}`"));
        }
        value
    }

    /// Takes all entries, with any keys. Each entry is the key, the position of the key, and the
    /// value.
    pub(crate) fn take_entries(&mut self) -> Vec<(&'r str, ConfigPosition, TomlValue<'r, 't>)> {
        let reader = self.reader;
        let take = |entry: &mut TomlEntry<'r, 't>| {
            entry.taken = true;
            let at = reader.position(entry.key_span.start);
            (entry.key, at, entry.value.clone())
        };
        self.entries.iter_mut().map(take).collect()
    }

    /// Number of problems found in the document so far.
    pub(crate) fn problem_count(&self) -> usize {
        self.reader.problems.borrow().len()
    }

    /// Adds a problem at the position of the table.
    pub(crate) fn add_problem(&self, message: impl Into<String>) {
        self.reader
            .add_problem(self.span.start, message.into(), None);
    }

    /// Adds a problem for each key that was not taken.
    pub(crate) fn finish(self) {
        for entry in self.entries.iter().filter(|entry| !entry.taken) {
            let suggestions =
                suggestions::similar_names(self.asked_keys.iter().copied(), entry.key);
            let remedy = match suggestions.first() {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("keys here are {}", quoted_list(&self.asked_keys)),
            };
            let message = format!("unknown key `{}`", entry.key);
            let byte = entry.key_span.start;
            self.reader.add_problem(byte, message, Some(remedy));
        }
    }
}

impl<'r, 't> TomlValue<'r, 't> {
    /// Position of the start of the value.
    pub(crate) fn at(&self) -> ConfigPosition {
        self.reader.position(self.span.start)
    }

    /// Adds a problem at the position of the value.
    pub(crate) fn add_problem(&self, message: impl Into<String>) {
        self.reader
            .add_problem(self.span.start, message.into(), None);
    }

    /// Adds a problem at the position of the value, with its correction.
    pub(crate) fn add_remedied(&self, message: String, remedy: String) {
        self.reader
            .add_problem(self.span.start, message, Some(remedy));
    }

    /// Returns true if the value is a string.
    pub(crate) fn is_string(&self) -> bool {
        self.value.is_str()
    }

    /// Returns true if the value is a table.
    pub(crate) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// Returns the value as a string; adds a problem for another type.
    pub(crate) fn string(&self) -> Option<&'r str> {
        let found = self.value.as_str();
        self.require(found, "a string")
    }

    /// Returns the value as a boolean, or `None` for another type.
    pub(crate) fn as_boolean(&self) -> Option<bool> {
        self.value.as_bool()
    }

    /// Returns the value as a boolean; adds a problem for another type.
    pub(crate) fn boolean(&self) -> Option<bool> {
        self.require(self.value.as_bool(), "true or false")
    }

    /// Returns the value as a non-negative integer.
    pub(crate) fn integer(&self) -> Option<u64> {
        let number = self.value.as_integer();
        let number =
            number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        self.require(number, "an integer from 0 on")
    }

    /// Returns the value as a power of two.
    pub(crate) fn power_of_two(&self) -> Option<u64> {
        let number = self.integer()?;
        let found = Some(number).filter(|number| number.is_power_of_two());
        if found.is_none() {
            self.add_problem(format!("{number} is no power of two"));
        }
        found
    }

    /// Returns the value as a date. Quotes around the date are optional.
    pub(crate) fn date(&self) -> Option<Date> {
        let date = match self.value {
            DeValue::Datetime(at) => at
                .date
                .filter(|_| at.time.is_none())
                .and_then(|date| Date::new(date.year, date.month, date.day)),
            DeValue::String(text) => Date::parse(text),
            _ => None,
        };
        self.require(date, "a date (2027-01-31)")
    }

    /// Returns the elements of a list.
    pub(crate) fn list(&self) -> Vec<Self> {
        let Some(list) = self.require(self.value.as_array(), "a list") else {
            return Vec::new();
        };
        let element = |element: &'r Spanned<DeValue<'t>>| Self {
            reader: self.reader,
            value: element.get_ref(),
            span: element.span(),
        };
        list.iter().map(element).collect()
    }

    /// Returns the strings of a list, or a single string.
    pub(crate) fn strings(&self) -> Vec<(&'r str, Self)> {
        let list = if self.is_string() {
            vec![self.clone()]
        } else {
            self.list()
        };
        if list.is_empty() && self.value.is_array() {
            self.add_problem("the list is empty");
        }
        let string = |value: Self| Some((value.string()?, value));
        list.into_iter().filter_map(string).collect()
    }

    /// Returns the value as a table.
    pub(crate) fn table(&self) -> Option<TomlTable<'r, 't>> {
        let table = self.require(self.value.as_table(), "a table")?;
        Some(TomlTable::new(self.reader, table, self.span.clone()))
    }

    fn require<T>(&self, found: Option<T>, wanted: &str) -> Option<T> {
        if found.is_none() {
            let is = match self.value {
                DeValue::Integer(number) => format!("the integer {number}"),
                DeValue::Boolean(value) => value.to_string(),
                other => format!("a {}", other.type_str()),
            };
            self.add_problem(format!("this is {is}, not {wanted}"));
        }
        found
    }
}

/// Joins the quoted names: `a, b and c`.
pub(crate) fn quoted_list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        quoted => word_series(quoted, usize::MAX),
    }
}
