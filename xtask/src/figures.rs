//! All figures beside their limits.

use std::fmt::Write as _;
use std::path::Path;

use crate::docs::DocComments;
use crate::source::SourceFile;
use crate::statements::CodeSize;
use crate::types::Definitions;
use crate::{skips, statements, tokens};

/// Code lines that a subcommand of the command may have.
const SUBCOMMAND_LINES_MAX: usize = 300;
const SUBCOMMANDS: &str = "crates/relayout/src/cmd";

/// A measured number, and the limit that CI holds.
struct Figure {
    title: &'static str,
    value: f64,
    unit: &'static str,
    /// None for a number that is only printed.
    limit: Option<f64>,
    /// Each place that counts, with the name that stands there.
    offences: Vec<String>,
}

impl Figure {
    fn is_broken(&self) -> bool {
        self.limit.is_some_and(|limit| self.value > limit)
    }
}

/// All figures of the repository.
pub struct Figures(Vec<Figure>);

impl Figures {
    pub fn measure(files: &[SourceFile]) -> Self {
        let definitions = Definitions::collect(files);
        let comments = DocComments::collect(files);
        let mut figures = type_figures(&definitions);
        figures.extend([
            counted("functions called `of`", definitions.functions_of),
            counted("identifiers `one`", tokens::identifier_places(files, "one")),
            doc_figure(&comments),
            counted(
                "`return` in the body of a test",
                skips::early_returns(files),
            ),
        ]);
        figures.extend(subcommand_figure(files));
        figures.extend(size_figures(files));
        Self(figures)
    }

    pub fn is_broken(&self) -> bool {
        self.0.iter().any(Figure::is_broken)
    }

    /// Each figure on a line, with its limit.
    pub fn table(&self) -> String {
        let mut table = String::new();
        for figure in &self.0 {
            let limit = match figure.limit {
                Some(limit) => format!("at most {limit}{}", figure.unit),
                None => String::new(),
            };
            let mark = if figure.is_broken() { "  BROKEN" } else { "" };
            // Writing to a string does not fail.
            let _ = writeln!(
                table,
                "{:<52}{:>9.1}{:<2} {limit}{mark}",
                figure.title, figure.value, figure.unit
            );
        }
        table
    }

    /// Each place that counts against a limit.
    pub fn offences(&self) -> String {
        let mut list = String::new();
        for figure in &self.0 {
            for offence in &figure.offences {
                let _ = writeln!(list, "{}: {offence}", figure.title);
            }
        }
        list
    }
}

fn type_figures(definitions: &Definitions) -> Vec<Figure> {
    let list = |types: Vec<&(String, String)>| {
        types
            .into_iter()
            .map(|(name, place)| format!("{place} {name}"))
            .collect::<Vec<_>>()
    };
    let (one_word, shared) = (list(definitions.one_word()), list(definitions.shared()));
    let all = definitions.types.len();
    vec![
        percentage("type names of one word", one_word, all, 30.0),
        percentage("types that share their name", shared, all, 5.0),
    ]
}

fn doc_figure(comments: &DocComments) -> Figure {
    let places = comments.banned.iter();
    percentage(
        "doc comments that begin with What, Where, How...",
        places
            .map(|(word, place)| format!("{place} {word}"))
            .collect(),
        comments.count,
        1.0,
    )
}

fn subcommand_figure(files: &[SourceFile]) -> Option<Figure> {
    let lines = statements::subcommand_lines(files, Path::new(SUBCOMMANDS));
    let longest = *lines.values().max()?;
    let too_long = lines
        .iter()
        .filter(|(_, lines)| **lines > SUBCOMMAND_LINES_MAX);
    Some(Figure {
        title: "code lines of the longest subcommand",
        value: longest as f64,
        unit: "",
        limit: Some(SUBCOMMAND_LINES_MAX as f64),
        offences: too_long
            .map(|(name, lines)| format!("{name} {lines}"))
            .collect(),
    })
}

/// The size of the code, which is only printed.
fn size_figures(files: &[SourceFile]) -> [Figure; 5] {
    let size = CodeSize::measure(files);
    [
        ("statements outside tests", size.statements),
        ("match arms outside tests", size.match_arms),
        ("functions outside tests", size.functions),
        (
            "types, implementations, constants outside tests",
            size.definitions,
        ),
        ("`use` and `mod` outside tests", size.imports),
    ]
    .map(|(title, count)| Figure {
        title,
        value: count as f64,
        unit: "",
        limit: None,
        offences: Vec::new(),
    })
}

fn counted(title: &'static str, offences: Vec<String>) -> Figure {
    Figure {
        title,
        value: offences.len() as f64,
        unit: "",
        limit: Some(0.0),
        offences,
    }
}

fn percentage(title: &'static str, offences: Vec<String>, all: usize, limit: f64) -> Figure {
    Figure {
        title,
        value: 100.0 * offences.len() as f64 / all.max(1) as f64,
        unit: "%",
        limit: Some(limit),
        offences,
    }
}
