//! `--sarif` and `--firefox-profile`: the findings, and the transfers over time, as files for other programs.

use std::path::PathBuf;

use relayout_advice::{ResolvedNames, ResolvedProfile};
use relayout_contend::line_moves;
use relayout_files::write_atomically;
use relayout_messages::UserError;
use relayout_report::ReportContents;
use relayout_report::exports::firefox::render_firefox_profile;
use relayout_report::exports::sarif;
use relayout_session::MemberDeclarations;

use super::super::document_files::reject_folder;
use crate::print::print_note;

/// Files of a report for other programs.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ExportArgs {
    /// Write the findings as SARIF 2.1.0 to this file, for code scanning and editors
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    pub sarif: Option<PathBuf>,
    /// In SARIF, name files below this folder, as the compiler names it, relative to it [default:
    /// the folder that the recorded code shares]; may be given more than once
    #[arg(long, value_name = "DIR", requires = "sarif")]
    pub source_root: Vec<String>,
    /// Write the accesses that moved a line, over time, to this file for profiler.firefox.com
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    pub firefox_profile: Option<PathBuf>,
}

impl ExportArgs {
    /// Returns true if a file is to be written.
    pub fn has_files(&self) -> bool {
        self.sarif.is_some() || self.firefox_profile.is_some()
    }

    /// Rejects folders, before all the work.
    ///
    /// # Errors
    /// A file is a folder.
    pub fn verify_files(&self) -> Result<(), UserError> {
        reject_folder("--sarif", self.sarif.as_deref())?;
        reject_folder("--firefox-profile", self.firefox_profile.as_deref())
    }

    /// Writes the files that are asked for. An older file stays until the new one is complete.
    ///
    /// # Errors
    /// A file cannot be written, or the profile has no order with a clock.
    pub fn write_files(
        &self,
        report: &ReportContents<'_>,
        resolved: &ResolvedProfile<'_>,
        names: &ResolvedNames<'_, '_>,
    ) -> Result<(), UserError> {
        self.write_sarif(report, resolved)?;
        self.write_firefox_profile(report, resolved, names)
    }

    fn write_sarif(
        &self,
        report: &ReportContents<'_>,
        resolved: &ResolvedProfile<'_>,
    ) -> Result<(), UserError> {
        let Some(file) = &self.sarif else {
            return Ok(());
        };
        let shown = report.selection.select_findings(report.findings).0;
        let declarations = MemberDeclarations::read(resolved, &shown);
        let context = sarif::SarifContext {
            version: env!("CARGO_PKG_VERSION"),
            information_uri: env!("CARGO_PKG_REPOSITORY"),
            source_roots: &self.source_root,
        };
        let log = sarif::render_findings(report, &declarations, &context)?;
        write_atomically(file, log.as_bytes())?;
        print_note(&format!("the SARIF log is in {}", file.display()));
        Ok(())
    }

    fn write_firefox_profile(
        &self,
        report: &ReportContents<'_>,
        resolved: &ResolvedProfile<'_>,
        names: &ResolvedNames<'_, '_>,
    ) -> Result<(), UserError> {
        let Some(file) = &self.firefox_profile else {
            return Ok(());
        };
        if resolved.profile.visits.is_empty() {
            let message = "--firefox-profile: the profile has no accesses with a clock";
            return Err(UserError::input(message).with_remedy(
                "record it again with 'relayout record kernel' or 'relayout record run' (samples of 'relayout record \
                 perf' have no order)",
            ));
        }
        let moves = line_moves(resolved.profile);
        if moves.is_empty() {
            return Err(UserError::input(
                "--firefox-profile: no access with a clock moved a cache line",
            ));
        }
        let json = render_firefox_profile(report, &moves, names)?;
        write_atomically(file, json.as_bytes())?;
        print_note(&format!(
            "{} accesses that moved a line are in {}; open it at https://profiler.firefox.com",
            moves.len(),
            file.display()
        ));
        Ok(())
    }
}
