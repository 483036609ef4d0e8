//! Pictures of a finding's cache lines, in text: each byte has the letter of its member.

use std::fmt::{self, Write};

use super::ContextNoun;
use super::access::shown_name;
use super::finding::member_uses;
use crate::documents::report::finding::{FindingDocument, MemberDocument};
use crate::documents::report::line_rows::{LetteredMember, LineRow};

/// Columns of a member's name at least.
const NAME_MIN: usize = 16;
/// Bytes between two bars of a picture.
const WORD_BYTES: usize = 8;

/// Writes the lines of a finding, and below them the first `members_max` members that have letters.
pub(crate) fn write_line_pictures(
    out: &mut String,
    finding: &FindingDocument,
    line_bytes: u32,
    noun: ContextNoun,
    members_max: usize,
) -> fmt::Result {
    let members = finding.lettered_members();
    for offset in finding.line_offsets(line_bytes) {
        let row = LineRow::new(&members, offset, line_bytes);
        let picture = line_picture(&row, line_bytes as usize);
        writeln!(out, "{offset:>+6} {picture}")?;
    }
    let shown = most_moved(&members, members_max);
    let widths = { shown.iter() }.map(|(_, member)| shown_name(&member.name).chars().count());
    let width = widths.max().unwrap_or(0).max(NAME_MIN);
    for (letter, member) in shown {
        let name = shown_name(&member.name);
        let uses = member_uses(member, noun);
        writeln!(
            out,
            "     {letter} {name:<width$} {:>5}  {uses}",
            member.offset
        )?;
    }
    writeln!(out, "       Capitals are stored to; dots are not accessed.")
}

/// Returns the members with letters that have the most transfers, in the order of their offsets.
fn most_moved<'f>(members: &[LetteredMember<'f>], count: usize) -> Vec<(char, &'f MemberDocument)> {
    let lettered = members.iter().enumerate();
    let mut lettered: Vec<(usize, char, &MemberDocument)> = lettered
        .filter_map(|(place, lettered)| Some((place, lettered.letter?, lettered.member)))
        .collect();
    lettered.sort_by_key(|(_, _, member)| {
        std::cmp::Reverse((member.transfers, member.reads + member.writes))
    });
    lettered.truncate(count);
    lettered.sort_by_key(|(place, ..)| *place);
    let shown = lettered.into_iter();
    shown.map(|(_, letter, member)| (letter, member)).collect()
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
