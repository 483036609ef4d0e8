//! The list of all commands whose outputs are kept.

mod builds;
mod others;
mod profiles;

use std::fmt::Write as _;

/// A line of the list: a command without the word `relayout`, after variables of its environment, or several with
/// ` && ` between them, which share a folder and a cache.
///
/// `COLUMNS=80 LINES=100 view kernel.relayout` runs in a terminal of this size.
#[derive(Debug)]
pub struct OutputRow {
    line: String,
}

/// A command of a row.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandWords<'r> {
    pub variables: Vec<(&'r str, &'r str)>,
    pub words: Vec<&'r str>,
}

/// Size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
}

impl OutputRow {
    /// A row of this line.
    pub fn command(line: impl Into<String>) -> Self {
        Self { line: line.into() }
    }

    pub fn line(&self) -> &str {
        &self.line
    }

    /// Name of the folder of its outputs: its line, with `_` for what file names had better not have.
    pub fn name(&self) -> String {
        let replace = |letter: char| match letter {
            '/' => '%',
            letter if letter.is_ascii_alphanumeric() || "-.=+,".contains(letter) => letter,
            _ => '_',
        };
        self.line.chars().map(replace).collect()
    }

    pub fn commands(&self) -> Vec<CommandWords<'_>> {
        self.line.split(" && ").map(CommandWords::parse).collect()
    }
}

impl<'r> CommandWords<'r> {
    fn parse(text: &'r str) -> Self {
        let is_name = |name: &str| {
            name.chars()
                .all(|letter| letter.is_ascii_uppercase() || letter == '_')
        };
        let mut words = text.split(' ').peekable();
        let mut variables = Vec::new();
        while let Some(pair) = words
            .peek()
            .and_then(|word| word.split_once('='))
            .filter(|(name, _)| is_name(name))
        {
            variables.push(pair);
            words.next();
        }
        Self {
            variables,
            words: words.collect(),
        }
    }

    /// The terminal of a command that gives the number of its rows.
    pub fn terminal(&self) -> Option<TerminalSize> {
        let value = |name| {
            let (_, value) = self.variables.iter().find(|(found, _)| *found == name)?;
            value.parse().ok()
        };
        Some(TerminalSize {
            columns: value("COLUMNS")?,
            rows: value("LINES")?,
        })
    }
}

/// All rows.
pub fn all_rows() -> Vec<OutputRow> {
    let mut rows = profiles::profile_rows();
    rows.extend(builds::build_rows());
    rows.extend(others::other_rows());
    rows
}

/// Puts values for `{name}` into a line.
fn fill_line(line: &str, values: &[(&str, &str)]) -> String {
    let mut filled = line.to_owned();
    let mut placeholder = String::new();
    for (name, value) in values {
        placeholder.clear();
        // Writing to a string does not fail.
        let _ = write!(placeholder, "{{{name}}}");
        filled = filled.replace(&placeholder, value);
    }
    filled
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{CommandWords, OutputRow, TerminalSize, all_rows};

    /// Longest name of a file on Linux, in bytes.
    const FILE_NAME_BYTES_MAX: usize = 255;

    #[test]
    fn variables_come_before_words() {
        let row = OutputRow::command("report p --type a=b && COLUMNS=80 LINES=24 NO_COLOR= view p");
        let [report, view] = &row.commands()[..] else {
            panic!("two commands");
        };
        let words = vec!["report", "p", "--type", "a=b"];
        assert_eq!(
            *report,
            CommandWords {
                variables: vec![],
                words
            }
        );
        assert_eq!(view.words, ["view", "p"]);
        assert_eq!(view.variables[2], ("NO_COLOR", ""));
        assert_eq!(
            view.terminal(),
            Some(TerminalSize {
                columns: 80,
                rows: 24
            })
        );
        assert_eq!(report.terminal(), None);
    }

    #[test]
    fn each_row_has_a_folder_of_its_own() {
        let rows = all_rows();
        let names: BTreeSet<String> = rows.iter().map(OutputRow::name).collect();
        assert_eq!(names.len(), rows.len());
        assert!(names.iter().all(|name| name.len() <= FILE_NAME_BYTES_MAX));
        let unfilled = rows.iter().find(|row| row.line().contains(['{', '}']));
        assert!(unfilled.is_none(), "{unfilled:?}");
    }
}
