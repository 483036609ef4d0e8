//! `--html` and `--csv`: the document as a page in a file, and as tables in a folder.

use std::path::{Path, PathBuf};

use relayout_files::{write_atomically, write_files};
use relayout_messages::UserError;
use relayout_report::exports::csv::csv_tables;
use relayout_report::page;
use serde_json::Value;

use crate::print::print_note;

/// Files of a document beside the usual output.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DocumentArgs {
    /// Write a page to this file: one that browsers open without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the tables of the JSON document to this folder, as CSV files; other files in it stay
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
}

impl DocumentArgs {
    /// Returns true if a file is to be written.
    pub fn has_files(&self) -> bool {
        self.html.is_some() || self.csv.is_some()
    }

    /// Rejects what can be no file or folder, before all the work.
    ///
    /// # Errors
    /// The file is a folder, or the folder is a file.
    pub fn verify_files(&self) -> Result<(), UserError> {
        reject_folder("--html", self.html.as_deref())?;
        require_folder_of("--html", self.html.as_deref())?;
        match &self.csv {
            Some(folder) if folder.exists() && !folder.is_dir() => Err(UserError::input(format!(
                "--csv {}: it is a file",
                folder.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Writes the page and the tables of a document, where they are asked for. An older file stays until the new one is
    /// complete.
    ///
    /// # Errors
    /// The document cannot be made, or a file cannot be written.
    pub fn write_files(
        &self,
        title: &str,
        document: impl FnOnce() -> Result<String, UserError>,
    ) -> Result<(), UserError> {
        if !self.has_files() {
            return Ok(());
        }
        let document = document()?;
        if let Some(file) = &self.html {
            write_atomically(file, page(&document, title).as_bytes())?;
            print_note(&format!("the page is in {}", file.display()));
        }
        if let Some(folder) = &self.csv {
            let document: Value = serde_json::from_str(&document)
                .map_err(UserError::wrap("the document is no JSON"))?;
            let tables =
                csv_tables(&document).map_err(|error| UserError::input(error.to_string()))?;
            let files: Vec<(&Path, &[u8])> = { tables.iter() }
                .map(|table| (Path::new(&table.file_name), table.text.as_bytes()))
                .collect();
            write_files(folder, &files)?;
            print_note(&format!(
                "{} tables are in {}",
                tables.len(),
                folder.display()
            ));
        }
        Ok(())
    }
}

/// Rejects a file in a folder that is not there: a mistyped one is not made.
fn require_folder_of(option: &str, file: Option<&Path>) -> Result<(), UserError> {
    let folder = file.and_then(Path::parent);
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    match (file, folder.filter(is_missing)) {
        (Some(file), Some(folder)) => Err(UserError::input(format!(
            "{option} {}: there is no folder {}",
            file.display(),
            folder.display()
        ))),
        _ => Ok(()),
    }
}

/// Rejects a folder in place of the file of an option.
///
/// # Errors
/// The file is a folder.
pub(super) fn reject_folder(option: &str, file: Option<&Path>) -> Result<(), UserError> {
    match file {
        Some(file) if file.is_dir() => Err(UserError::input(format!(
            "{option} {}: it is a folder",
            file.display()
        ))),
        _ => Ok(()),
    }
}
