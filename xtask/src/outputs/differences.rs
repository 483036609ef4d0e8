//! Outputs of two builds, compared byte by byte.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::folder_files::read_files;
use super::rows::OutputRow;

/// Longest part of a differing line that is printed, in characters.
const PRINTED_CHARS_MAX: usize = 200;
/// Characters before the first that differs, where a line is longer.
const CONTEXT_CHARS: usize = 60;

/// Each output that differs.
#[derive(Debug, Default)]
pub struct OutputDifferences {
    /// Lines for the reader, by the line of the command.
    texts: BTreeMap<String, String>,
    /// Number of files that differ.
    files: usize,
}

impl OutputDifferences {
    /// Compares the outputs of `rows` below two folders. `are_all` tells that all rows were run, so that kept outputs
    /// of no row are differences, too.
    ///
    /// # Errors
    /// An output cannot be read.
    pub fn find(
        kept: &Path,
        compared: &Path,
        rows: &[OutputRow],
        are_all: bool,
    ) -> anyhow::Result<Self> {
        let mut differences = Self::default();
        for row in rows {
            differences.compare_row(
                row.line(),
                &kept.join(row.name()),
                &compared.join(row.name()),
            )?;
        }
        let names: BTreeSet<String> = rows.iter().map(OutputRow::name).collect();
        for entry in fs::read_dir(kept)?.filter(|_| are_all) {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !names.contains(&name) {
                differences.add(&name, "the command is no longer in the list");
            }
        }
        Ok(differences)
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// All differences for the reader, and their number.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (line, differences) in &self.texts {
            // Writing to a string does not fail.
            let _ = writeln!(text, "differs: {line}\n{differences}");
        }
        let _ = writeln!(
            text,
            "{} outputs of {} commands differ",
            self.files,
            self.texts.len()
        );
        text
    }

    fn compare_row(&mut self, line: &str, kept: &Path, compared: &Path) -> anyhow::Result<()> {
        if !kept.is_dir() {
            self.add(
                line,
                "no outputs were kept: run --keep with the earlier build",
            );
            return Ok(());
        }
        let (old, new) = (read_files(kept)?, read_files(compared)?);
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            match (old.get(name), new.get(name)) {
                (Some(old), Some(new)) if old == new => {}
                (Some(old), Some(new)) => {
                    self.add(line, &format!("{name}, {}", first_difference(old, new)));
                }
                (old, _) => {
                    let words = if old.is_some() {
                        "is not written any more"
                    } else {
                        "is new"
                    };
                    self.add(line, &format!("{name} {words}"));
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, line: &str, difference: &str) {
        self.files += 1;
        let text = self.texts.entry(line.to_owned()).or_default();
        let _ = writeln!(text, "  {difference}");
    }
}

/// Returns the number of the first line that differs, and the line of both.
fn first_difference(old: &[u8], new: &[u8]) -> String {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let mut pairs = (1..).zip(
        old.split('\n')
            .map(Some)
            .chain([None])
            .zip(new.split('\n').map(Some).chain([None])),
    );
    let Some((number, (old, new))) = pairs.find(|(_, (old, new))| old != new) else {
        return "bytes that are no text".to_owned();
    };
    let skipped = match (old, new) {
        (Some(old), Some(new)) => old
            .chars()
            .zip(new.chars())
            .take_while(|(old, new)| old == new)
            .count(),
        _ => 0,
    };
    let printed = |line: Option<&str>| match line {
        Some(line) => clip(line, skipped),
        None => "(the end)".to_owned(),
    };
    format!(
        "line {number}\n    - {}\n    + {}",
        printed(old),
        printed(new)
    )
}

/// The part of a line around the character at which it differs, with control characters escaped.
fn clip(line: &str, first_differing: usize) -> String {
    let skipped = match line.chars().count() > PRINTED_CHARS_MAX {
        true => first_differing.saturating_sub(CONTEXT_CHARS),
        false => 0,
    };
    let dots = if skipped > 0 { "..." } else { "" };
    let part: String = line.chars().skip(skipped).take(PRINTED_CHARS_MAX).collect();
    let escaped = part.replace(char::is_control, "\u{fffd}");
    format!("{dots}{escaped}")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{OutputDifferences, OutputRow, first_difference};

    #[track_caller]
    fn check(old: &str, new: &str, expect: &str) {
        assert_eq!(first_difference(old.as_bytes(), new.as_bytes()), expect);
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        check("a\nb\n", "a\nc\n", "line 2\n    - b\n    + c");
        check("a", "a\nmore", "line 2\n    - (the end)\n    + more");
        check("a\n", "a", "line 2\n    - \n    + (the end)");
        let long = "x".repeat(500);
        let text = first_difference(format!("{long}1").as_bytes(), format!("{long}2").as_bytes());
        assert_eq!(text.matches("...").count(), 2, "{text}");
        assert!(text.ends_with("x2") && text.len() < 200, "{text}");
    }

    fn write(folder: &Path, name: &str, text: &str) {
        let folder = folder.join("show_a").join(name);
        fs::create_dir_all(folder.parent().expect("a parent")).expect("a folder");
        fs::write(folder, text).expect("a file");
    }

    #[test]
    fn a_differing_output_is_found() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (kept, compared) = (folder.path().join("kept"), folder.path().join("compared"));
        let rows = [OutputRow::command("show a")];
        for side in [&kept, &compared] {
            write(side, "1.stdout", "struct a\n");
            write(side, "1.exit", "0\n");
        }
        let find = || OutputDifferences::find(&kept, &compared, &rows, true).expect("files");
        assert!(find().is_empty());

        write(&compared, "1.stdout", "struct b\n");
        write(&kept, "tables/old.csv", "");
        let text = find().text();
        let expect = "differs: show a\n  1.stdout, line 1\n    - struct a\n    + struct b\n  \
                      tables/old.csv is not written any more\n\n2 outputs of 1 commands differ\n";
        assert_eq!(text, expect);

        fs::create_dir(kept.join("show_gone")).expect("a folder");
        assert!(find().text().contains("differs: show_gone\n"));
        fs::remove_dir_all(kept.join("show_a")).expect("removed");
        assert!(find().text().contains("no outputs were kept"));
    }
}
