//! Findings for mails and commit messages: a picture of each line in at most 80 columns.

use std::fmt::{self, Write};

use relayout_contend::Finding;
use relayout_contend::finding::{ConflictPair, FindingMember};

use super::access_words::{shown_name, source_words};
use super::{finding_name, percent_of};
use crate::ReportContents;
use crate::source_positions::SourcePositions;
use crate::words::{ContextNoun, counted};
use crate::wrap::wrap_text_at;

/// Widest line, unless a name is longer.
const WIDTH: usize = 78;
/// Members that have a letter; others are dots in the picture.
const MEMBERS_MAX: usize = 26;
/// Pairs of instructions of a finding.
const PAIRS_MAX: usize = 3;
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
    let counted_by = match findings.estimated {
        true => "estimated from samples of hardware",
        false => "counted by relayout in the order of the recording, not on hardware",
    };
    let (shown, _) = report.selection.select_findings(findings);
    let release = match (meta.target.as_str(), meta.release.as_str()) {
        ("kernel", release) if !release.is_empty() => format!(" on Linux {release}"),
        _ => String::new(),
    };
    let sentence = format!(
        "{}{release}, {}: {} transfers of cache lines, {counted_by}.",
        meta.workload,
        counted(meta.contexts.into(), noun.singular()),
        findings.totals.tally.transfers(),
    );
    writeln!(out, "{}", wrap_text_at(WIDTH, &sentence, 0))?;
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
    let transfers = finding.tally.transfers();
    let heading = format!(
        "{}, {}: {transfers} transfers ({} of all), {} of them false for the whole stay.",
        finding_name(finding),
        finding.kind.as_str(),
        percent_of(transfers, all_transfers),
        percent_of(finding.tally.false_lifetime, transfers),
    );
    writeln!(out, "\n{}\n", wrap_text_at(WIDTH, &heading, 0))?;
    let mut members: Vec<&FindingMember> = finding.members.iter().collect();
    members.sort_by_key(|member| std::cmp::Reverse(member.transfers));
    members.truncate(MEMBERS_MAX);
    members.sort_by_key(|member| member.offset);
    let mut lines: Vec<i64> = finding
        .places
        .iter()
        .map(|place| place.line_offset)
        .collect();
    lines.push(finding.line_offset);
    lines.sort_unstable();
    lines.dedup();
    for line in lines {
        let picture = line_picture(&members, line, i64::from(line_bytes));
        writeln!(out, "{:>+6} {picture}", line)?;
    }
    for (letter, member) in letters(&members) {
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
        let own = letters(members).find(|(_, member)| is_at(member));
        picture.push(own.map_or('.', |(letter, _)| letter));
        if (byte - line + 1) % WORD_BYTES == 0 {
            picture.push('|');
        }
    }
    picture
}

/// Returns the members with their letters; those that somebody stores to have capitals.
fn letters<'f>(members: &[&'f FindingMember]) -> impl Iterator<Item = (char, &'f FindingMember)> {
    ('a'..='z')
        .zip(members.iter().copied())
        .map(|(letter, member)| {
            let letter = match member.writes > 0 {
                true => letter.to_ascii_uppercase(),
                false => letter,
            };
            (letter, member)
        })
}

fn member_row(letter: char, member: &FindingMember, noun: ContextNoun) -> String {
    let uses = match (member.is_counted(), member.writes) {
        (false, _) => "not counted".to_owned(),
        (true, 0) => counted(member.reads, "read"),
        (true, writes) => format!(
            "{}, {} by {}",
            counted(member.reads, "read"),
            counted(writes, "write"),
            counted(member.writers().into(), noun.singular())
        ),
    };
    let row = format!(
        "     {letter} {:<30} {:>5}  {uses}",
        shown_name(&member.name),
        member.offset
    );
    row.trim_end().to_owned()
}

fn pair_words(pair: &ConflictPair, sources: &SourcePositions) -> String {
    let sentence = format!(
        "{} of {} in {} after stores to {} in {}.",
        counted(pair.tally.transfers(), "transfer"),
        shown_name(&pair.here.member),
        source_words(&pair.here, sources),
        shown_name(&pair.there.member),
        source_words(&pair.there, sources),
    );
    wrap_text_at(WIDTH - 7, &sentence, 0)
        .lines()
        .map(|line| format!("       {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
