//! Findings for mails and commit messages: a picture of each line in at most 80 columns.

use std::fmt::{self, Write};

use relayout_contend::Finding;
use relayout_contend::finding::{ConflictPair, FindingMember};

use crate::ReportContents;
use crate::words::ContextNoun;
use crate::words::access::shown_name;
use crate::words::finding::{
    MEMBERS_MAX, PAIRS_MAX, finding_heading, first_members, lettered_members, member_uses,
    pair_sentence, pictured_lines, recording_sentence,
};
use crate::words::notes::finding_notes;
use crate::words::source_positions::SourcePositions;
use crate::words::wrap::wrap_text_at;

/// Widest line, unless a name is longer.
const WIDTH: usize = 78;
/// Bytes between two bars of a picture.
const WORD_BYTES: i64 = 8;

/// Renders the findings of `report` for a mail.
pub fn render_mail(report: &ReportContents) -> String {
    let mut out = String::new();
    write_mail(&mut out, report).expect("writing to a string does not fail");
    out
}

fn write_mail(out: &mut String, report: &ReportContents) -> fmt::Result {
    let ReportContents { meta, findings, .. } = report;
    let noun = ContextNoun::from_meta(meta);
    let sources = SourcePositions::new(findings);
    let (shown, _) = report.selection.select_findings(findings);
    writeln!(
        out,
        "{}",
        wrap_text_at(WIDTH, &recording_sentence(report), 0)
    )?;
    for finding in shown {
        write_finding(
            out,
            finding,
            findings.totals.tally.transfers(),
            noun,
            &sources,
            meta.line_bytes,
        )?;
    }
    Ok(())
}

fn write_finding(
    out: &mut String,
    finding: &Finding,
    all_transfers: u64,
    noun: ContextNoun,
    sources: &SourcePositions,
    line_bytes: u32,
) -> fmt::Result {
    let heading = finding_heading(finding, all_transfers);
    writeln!(out, "\n{}\n", wrap_text_at(WIDTH, &heading, 0))?;
    let notes = finding_notes(finding, noun);
    for note in &notes {
        writeln!(out, "{}", wrap_text_at(WIDTH, &note.text, 0))?;
    }
    if !notes.is_empty() {
        writeln!(out)?;
    }
    let members = first_members(finding, MEMBERS_MAX);
    for line in pictured_lines(finding) {
        let picture = line_picture(&members, line, i64::from(line_bytes));
        writeln!(out, "{:>+6} {picture}", line)?;
    }
    for (letter, member) in lettered_members(&members) {
        writeln!(out, "{}", member_row(letter, member, noun))?;
    }
    writeln!(out, "       Capitals are stored to; dots are not accessed.")?;
    for pair in finding.pairs.iter().take(PAIRS_MAX) {
        writeln!(out, "{}", pair_words(pair, sources))?;
    }
    Ok(())
}

/// Returns the bytes of a line, each with the letter of its member, in bars.
fn line_picture(members: &[&FindingMember], line: i64, line_bytes: i64) -> String {
    let mut picture = String::from("|");
    for byte in line..line + line_bytes {
        let is_at = |member: &FindingMember| {
            (member.offset..member.offset + member.size as i64).contains(&byte)
        };
        let own = lettered_members(members).find(|(_, member)| is_at(member));
        picture.push(own.map_or('.', |(letter, _)| letter));
        if (byte - line + 1) % WORD_BYTES == 0 {
            picture.push('|');
        }
    }
    picture
}

fn member_row(letter: char, member: &FindingMember, noun: ContextNoun) -> String {
    let row = format!(
        "     {letter} {:<30} {:>5}  {}",
        shown_name(&member.name),
        member.offset,
        member_uses(member, noun)
    );
    row.trim_end().to_owned()
}

fn pair_words(pair: &ConflictPair, sources: &SourcePositions) -> String {
    wrap_text_at(WIDTH - 7, &pair_sentence(pair, sources), 0)
        .lines()
        .map(|line| format!("       {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
