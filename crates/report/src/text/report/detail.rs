//! One finding: its members, and who lost the line to whom.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::adjacent;
use crate::documents::report::ReportDocument;
use crate::documents::report::finding::{
    FindingDocument, FreedLineDocument, MemberDocument, PairDocument, ProductionDocument,
};
use crate::words::access::{access_words, shown_name, source_words};
use crate::words::finding::finding_name;
use crate::words::notes::{FindingNote, NoteKind};
use crate::words::percent::percent_of;
use crate::words::source_positions::SourcePositions;
use crate::words::wrap::wrap_words;
use crate::words::{ContextNoun, count_more};

/// Names in a list, at most.
const NAMES_MAX: usize = 4;
/// Pairs shown, at most ...
const PAIRS_SHOWN_MAX: usize = 6;
/// ... and members.
const MEMBERS_SHOWN_MAX: usize = 16;
/// Pairs with less than this fraction of the finding's transfers are left out after the first.
const PAIR_SHARE_MIN: f64 = 0.01;

/// Writes a finding of `report`; what other layouts save only if `tells_saving`.
pub(crate) fn write_finding(
    out: &mut String,
    finding: &FindingDocument,
    report: &ReportDocument,
    tells_saving: bool,
) -> fmt::Result {
    let path = finding.types_path.join(" > ");
    let path = if finding.types_path.len() > 1 {
        format!(", in {path}")
    } else {
        String::new()
    };
    writeln!(
        out,
        "\n#{} {}: {}{path}",
        finding.rank,
        finding_name(finding),
        finding.kind.as_str()
    )?;
    let saving = { finding.saving_words.as_ref() }
        .filter(|_| tells_saving)
        .map(|words| format!("Saving: {words}"));
    let advice = finding.advice.iter().map(|advice| &advice.words);
    let if_free = finding.if_free.as_ref().map(FreedLineDocument::sentence);
    let rows = { if_free.iter().flat_map(|words| wrapped(words)) }
        .chain(finding.notes.iter().flat_map(note_rows))
        .chain(advice.flat_map(|words| wrapped(words)))
        .chain(origin_notes(finding))
        .chain(finding.production.as_ref().map(production_note))
        .chain(saving.iter().flat_map(|words| wrapped(words)));
    for row in rows {
        writeln!(out, "   {row}")?;
    }
    if let Some(adjacent) = &finding.adjacent {
        return adjacent::write_adjacent(out, finding, adjacent, report);
    }
    write_members(out, finding, report.context_noun())?;
    write_pairs(out, finding, &report.source_positions())
}

fn wrapped(words: &str) -> Vec<String> {
    wrap_words(words.split(' '), WIDTH)
}

/// Returns the rows of a note. Those on places and on uncertain types are single rows, however long.
fn note_rows(note: &FindingNote) -> Vec<String> {
    match note.kind {
        NoteKind::UncertainType | NoteKind::Places => vec![note.text.clone()],
        _ => wrapped(&note.text),
    }
}

/// Returns the other objects on the line, and the places of allocation.
fn origin_notes(finding: &FindingDocument) -> Vec<String> {
    let mut notes = Vec::new();
    if !finding.neighbours.is_empty() && finding.elements.is_none() {
        let neighbours = most_frequent(&finding.neighbours);
        notes.push(format!(
            "Transfers against other objects on the line: {neighbours}"
        ));
    }
    if !finding.allocated.is_empty() {
        notes.push(format!("Allocated: {}", most_frequent(&finding.allocated)));
    }
    notes
}

/// Widest line of a note.
const WIDTH: usize = 115;

/// The names with the most transfers.
fn most_frequent(counts: &BTreeMap<String, u64>) -> String {
    let mut ranked: Vec<_> = counts.iter().collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let names: Vec<String> = { ranked.iter().take(NAMES_MAX) }
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    names.join(", ")
}

/// Returns the placement of the line's variables in the production build.
fn production_note(placement: &ProductionDocument) -> String {
    let list = |names: &[String], label: &str| {
        (!names.is_empty()).then(|| format!("{label} {}", names.join(", ")))
    };
    let parts = [
        list(&placement.same_line, "on this line too:"),
        list(&placement.other_line, "on another line:"),
        list(&placement.unknown, "not a variable there:"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("In the production build {}", parts.join("; "))
}

fn write_members(
    out: &mut String,
    finding: &FindingDocument,
    context_noun: ContextNoun,
) -> fmt::Result {
    writeln!(
        out,
        "   Offset  Size  {:<36} {:>10} {:>10} {:>7}  {:>4} {:>7} {:>10}",
        "Member",
        "Reads",
        "Writes",
        "Silent",
        context_noun.column_title(),
        "Writers",
        "Transfers"
    )?;
    let mut members: Vec<(usize, &MemberDocument)> = finding.members.iter().enumerate().collect();
    members.sort_by_key(|(_, member)| {
        std::cmp::Reverse((member.transfers, member.reads + member.writes))
    });
    let left_out = members.len().saturating_sub(MEMBERS_SHOWN_MAX);
    members.truncate(MEMBERS_SHOWN_MAX);
    members.sort_by_key(|(place, _)| *place);
    for (_, member) in members {
        let silent = match (member.silent_writes, member.writes) {
            _ if !member.counted => "?".to_owned(),
            (_, 0) => "-".to_owned(),
            (None, _) => "?".to_owned(),
            (Some(silent), writes) => percent_of(silent, writes),
        };
        let count_or_unknown = |count: u64| match member.counted {
            true => count.to_string(),
            false => "?".to_owned(),
        };
        let name = row_name(member, context_noun);
        writeln!(
            out,
            "   {:>6} {:>5}  {:<36} {:>10} {:>10} {:>7}  {:>4} {:>7} {:>10}",
            member.offset,
            member.size,
            name,
            count_or_unknown(member.reads),
            count_or_unknown(member.writes),
            silent,
            member.contexts,
            count_or_unknown(member.writers.into()),
            member.transfers,
        )?;
    }
    if left_out > 0 {
        writeln!(out, "   {}", count_more(left_out as u64, "member"))?;
    }
    Ok(())
}

/// Returns the name of a member; of an element, with the only CPU or thread that stores to it.
fn row_name(member: &MemberDocument, context_noun: ContextNoun) -> String {
    let name = shown_name(&member.name);
    match member.writer_ids[..] {
        [writer] if member.name != member.path => {
            format!("{name} ({} {})", context_noun.singular(), writer)
        }
        _ => name.to_string(),
    }
}

fn write_pairs(
    out: &mut String,
    finding: &FindingDocument,
    sources: &SourcePositions,
) -> fmt::Result {
    writeln!(
        out,
        "   {:>9}  False (first use, whole stay)  {:>8}  {:<52} Invalidated by",
        "Transfers", "Upgrades", "Missed"
    )?;
    let transfers_min = finding.transfers as f64 * PAIR_SHARE_MIN;
    let shown = finding
        .pairs
        .iter()
        .take(PAIRS_SHOWN_MAX)
        .take_while(|pair| pair.transfers as f64 >= transfers_min)
        .count()
        .max(1);
    for pair in finding.pairs.iter().take(shown) {
        let PairDocument { here, there, .. } = pair;
        let transfers = pair.transfers;
        writeln!(
            out,
            "   {:>9}  {:>17} {:>11}  {:>8}  {:<52} {}",
            transfers,
            percent_of(pair.false_first_touch, transfers),
            percent_of(pair.false_lifetime, transfers),
            pair.upgrades,
            access_words(here),
            access_words(there),
        )?;
        writeln!(
            out,
            "{:56}{:<52} {}",
            "",
            source_words(here, sources),
            source_words(there, sources)
        )?;
    }
    if finding.pairs.len() > shown {
        let rest = &finding.pairs[shown..];
        let transfers: u64 = rest.iter().map(|pair| pair.transfers).sum();
        writeln!(
            out,
            "   {transfers:>9}  in {}",
            count_more(rest.len() as u64, "pair")
        )?;
    }
    Ok(())
}
