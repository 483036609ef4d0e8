//! Findings for mails and commit messages: a picture of each line in at most 80 columns.

use std::fmt::{self, Write};

use crate::ReportContents;
use crate::documents::report::finding::{FindingDocument, MemberDocument, PairDocument};
use crate::documents::report::line_rows::LineRow;
use crate::documents::report::{ReportDocument, report_document};
use crate::words::ContextNoun;
use crate::words::access::shown_name;
use crate::words::finding::{
    PAIRS_MAX, finding_heading, member_uses, pair_sentence, recording_sentence,
};
use crate::words::source_positions::SourcePositions;
use crate::words::wrap::wrap_text_at;

/// Widest line, unless a name is longer.
const WIDTH: usize = 78;
/// Bytes between two bars of a picture.
const WORD_BYTES: usize = 8;

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
    let members = finding.lettered_members();
    let line_bytes = report.machine.line_bytes;
    for offset in finding.line_offsets(line_bytes) {
        let row = LineRow::new(&members, offset, line_bytes);
        writeln!(
            out,
            "{offset:>+6} {}",
            line_picture(&row, line_bytes as usize)
        )?;
    }
    for lettered in &members {
        if let Some(letter) = lettered.letter {
            let row = member_row(letter, lettered.member, report.context_noun());
            writeln!(out, "{row}")?;
        }
    }
    writeln!(out, "       Capitals are stored to; dots are not accessed.")?;
    let sources = report.source_positions();
    for pair in finding.pairs.iter().take(PAIRS_MAX) {
        writeln!(out, "{}", pair_words(pair, &sources))?;
    }
    Ok(())
}

/// Returns the bytes of a line, each with the letter of its member, in bars.
fn line_picture(row: &LineRow<'_>, line_bytes: usize) -> String {
    let mut picture = String::from("|");
    for byte in 0..line_bytes {
        let letters = row.lettered_at(byte..byte + 1).map(|(letter, _)| letter);
        let first = letters.min_by_key(char::to_ascii_lowercase);
        picture.push(first.unwrap_or('.'));
        if (byte + 1) % WORD_BYTES == 0 {
            picture.push('|');
        }
    }
    picture
}

fn member_row(letter: char, member: &MemberDocument, noun: ContextNoun) -> String {
    let row = format!(
        "     {letter} {:<30} {:>5}  {}",
        shown_name(&member.name),
        member.offset,
        member_uses(member, noun)
    );
    row.trim_end().to_owned()
}

fn pair_words(pair: &PairDocument, sources: &SourcePositions) -> String {
    wrap_text_at(WIDTH - 7, &pair_sentence(pair, sources), 0)
        .lines()
        .map(|line| format!("       {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
