//! Findings for mails and commit messages: a picture of each line in at most 80 columns.

use std::fmt::{self, Write};

use crate::ReportContents;
use crate::documents::report::finding::{FindingDocument, PairDocument};
use crate::documents::report::line_rows::LETTERS_MAX;
use crate::documents::report::{ReportDocument, report_document};
use crate::words::finding::{PAIRS_MAX, finding_heading, pair_sentence, recording_sentence};
use crate::words::line_picture::write_line_pictures;
use crate::words::source_positions::SourcePositions;
use crate::words::wrap::{wrap_block, wrap_text_at};

/// Widest line, unless a name is longer.
const WIDTH: usize = 78;

/// Renders the findings of `report` for a mail.
pub fn render_mail(report: &ReportContents) -> String {
    let mut out = String::new();
    write_mail(&mut out, &report_document(report)).expect("writing to a string does not fail");
    out
}

fn write_mail(out: &mut String, report: &ReportDocument) -> fmt::Result {
    let sentence = recording_sentence(report);
    writeln!(out, "{}", wrap_text_at(WIDTH, &sentence, 0))?;
    for finding in &report.findings {
        write_finding(out, finding, report)?;
    }
    Ok(())
}

fn write_finding(
    out: &mut String,
    finding: &FindingDocument,
    report: &ReportDocument,
) -> fmt::Result {
    let heading = finding_heading(finding, report.transfers_total);
    writeln!(out, "\n{}\n", wrap_text_at(WIDTH, &heading, 0))?;
    for note in &finding.notes {
        writeln!(out, "{}", wrap_text_at(WIDTH, &note.text, 0))?;
    }
    if !finding.notes.is_empty() {
        writeln!(out)?;
    }
    let (line_bytes, noun) = (report.machine.line_bytes, report.context_noun());
    write_line_pictures(out, finding, line_bytes, noun, LETTERS_MAX)?;
    let sources = report.source_positions();
    for pair in finding.pairs.iter().take(PAIRS_MAX) {
        writeln!(out, "{}", pair_words(pair, &sources))?;
    }
    Ok(())
}

fn pair_words(pair: &PairDocument, sources: &SourcePositions) -> String {
    wrap_block(WIDTH, &pair_sentence(pair, sources), 7, 0)
}
