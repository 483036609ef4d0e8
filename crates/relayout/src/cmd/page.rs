//! `--html`: the document as a page in a file.

use std::path::PathBuf;

use anyhow::bail;
use relayout_files::write_atomically;
use relayout_report::page;

use crate::print::print_note;

/// The page of a document.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PageArgs {
    /// Write a page to this file: one that browsers open without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl PageArgs {
    /// Rejects what can be no file, before all the work.
    ///
    /// # Errors
    /// The file is a folder.
    pub fn verify_file(&self) -> anyhow::Result<()> {
        match &self.html {
            Some(file) if file.is_dir() => bail!("--html {}: it is a folder", file.display()),
            _ => Ok(()),
        }
    }

    /// Writes the page of a document, if one is asked for. An older file stays until the new one is complete.
    ///
    /// # Errors
    /// The document cannot be made, or the file cannot be written.
    pub fn write_page(
        &self,
        title: &str,
        document: impl FnOnce() -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let Some(file) = &self.html else {
            return Ok(());
        };
        write_atomically(file, page(&document()?, title).as_bytes())?;
        print_note(&format!("the page is in {}", file.display()));
        Ok(())
    }
}
