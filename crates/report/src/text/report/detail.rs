//! One finding: its members, and who lost the line to whom.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use relayout_contend::finding::{ConflictPair, FindingMember};
use relayout_contend::{Finding, SiteSource};

use crate::text::report::adjacent;
use crate::words::access::{access_words, shown_name, source_words};
use crate::words::finding::finding_name;
use crate::words::notes::{FindingNote, NoteKind, finding_notes};
use crate::words::percent::percent_of;
use crate::words::remedy::{self, RemedyContext};
use crate::words::saving::OutlookWords;
use crate::words::source_positions::SourcePositions;
use crate::words::wrap::wrap_words;
use crate::words::{ContextNoun, count_more};
use relayout_session::ProductionPlacement;

/// Names in a list, at most.
const NAMES_MAX: usize = 4;
/// Pairs shown, at most ...
const PAIRS_SHOWN_MAX: usize = 6;
/// ... and members.
const MEMBERS_SHOWN_MAX: usize = 16;
/// Pairs with less than this fraction of the finding's transfers are left out after the first.
const PAIR_SHARE_MIN: f64 = 0.01;

/// Facts that the words of a finding need.
#[derive(Clone, Copy)]
pub(crate) struct DetailReader<'a> {
    pub sources: &'a SourcePositions,
    pub context_noun: ContextNoun,
    /// Outlook for other layouts.
    pub outlook: &'a OutlookWords<'a>,
}

pub(crate) fn write_finding(
    out: &mut String,
    finding: &Finding,
    reader: DetailReader<'_>,
    placement: Option<&ProductionPlacement>,
    saving: Option<String>,
) -> fmt::Result {
    let DetailReader {
        sources,
        context_noun,
        ..
    } = reader;
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
    let notes = finding_notes(finding, context_noun);
    for note in { notes.iter().flat_map(note_rows) }
        .chain(remedy_rows(finding, reader))
        .chain(origin_notes(finding))
        .chain(placement.map(production_note))
        .chain(saving.map_or(Vec::new(), |saving| wrap_words(saving.split(' '), WIDTH)))
    {
        writeln!(out, "   {note}")?;
    }
    if let Some(adjacent) = &finding.adjacent {
        return adjacent::write_adjacent(out, finding, adjacent, context_noun, sources);
    }
    write_members(out, finding, context_noun)?;
    write_pairs(out, finding, sources)
}

/// Returns the rows of a note. Those on places and on uncertain types are single rows, however long.
fn note_rows(note: &FindingNote) -> Vec<String> {
    match note.kind {
        NoteKind::UncertainType | NoteKind::Places => vec![note.text.clone()],
        _ => wrap_words(note.text.split(' '), WIDTH),
    }
}

/// Returns the rows of the finding's remedies.
fn remedy_rows(finding: &Finding, reader: DetailReader<'_>) -> Vec<String> {
    let position = |source: &SiteSource| {
        let function = source.function.as_deref().unwrap_or("?");
        format!("{function} {}", reader.sources.position(source))
    };
    let context = RemedyContext {
        context_noun: reader.context_noun.singular(),
        outlook: reader.outlook,
    };
    { finding.remedies.iter() }
        .map(|remedy| remedy::remedy_sentence(remedy, context, position))
        .flat_map(|sentence| wrap_words(sentence.split(' '), WIDTH))
        .collect()
}

/// Returns the other objects on the line, and the places of allocation.
fn origin_notes(finding: &Finding) -> Vec<String> {
    let mut notes = Vec::new();
    if !finding.neighbours.is_empty() && finding.elements.is_none() {
        let neighbours = most_frequent(&finding.neighbours);
        notes.push(format!(
            "Transfers against other objects on the line: {neighbours}"
        ));
    }
    if !finding.origins.is_empty() {
        notes.push(format!("Allocated: {}", most_frequent(&finding.origins)));
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
fn production_note(placement: &ProductionPlacement) -> String {
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

fn write_members(out: &mut String, finding: &Finding, context_noun: ContextNoun) -> fmt::Result {
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
    let mut members: Vec<(usize, &FindingMember)> = finding.members.iter().enumerate().collect();
    members.sort_by_key(|(_, member)| {
        std::cmp::Reverse((member.transfers, member.reads + member.writes))
    });
    let left_out = members.len().saturating_sub(MEMBERS_SHOWN_MAX);
    members.truncate(MEMBERS_SHOWN_MAX);
    members.sort_by_key(|(place, _)| *place);
    for (_, member) in members {
        let silent = match (member.silent_writes, member.writes) {
            _ if !member.is_counted() => "?".to_owned(),
            (_, 0) => "-".to_owned(),
            (None, _) => "?".to_owned(),
            (Some(silent), writes) => percent_of(silent, writes),
        };
        let count_or_unknown = |count: u64| match member.is_counted() {
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
            member.contexts(),
            count_or_unknown(member.writers().into()),
            member.transfers,
        )?;
    }
    if left_out > 0 {
        writeln!(out, "   {}", count_more(left_out as u64, "member"))?;
    }
    Ok(())
}

/// Returns the name of a member; of an element, with the only CPU or thread that stores to it.
fn row_name(member: &FindingMember, context_noun: ContextNoun) -> String {
    let name = shown_name(&member.name);
    match member.writer_ids[..] {
        [writer] if member.name != member.path => {
            format!("{name} ({} {})", context_noun.singular(), writer.0)
        }
        _ => name.to_string(),
    }
}

fn write_pairs(out: &mut String, finding: &Finding, sources: &SourcePositions) -> fmt::Result {
    writeln!(
        out,
        "   {:>9}  False (first use, whole stay)  {:>8}  {:<52} Invalidated by",
        "Transfers", "Upgrades", "Missed"
    )?;
    let transfers_min = finding.tally.transfers() as f64 * PAIR_SHARE_MIN;
    let shown = finding
        .pairs
        .iter()
        .take(PAIRS_SHOWN_MAX)
        .take_while(|pair| pair.tally.transfers() as f64 >= transfers_min)
        .count()
        .max(1);
    for ConflictPair { here, there, tally } in finding.pairs.iter().take(shown) {
        let transfers = tally.transfers();
        writeln!(
            out,
            "   {:>9}  {:>17} {:>11}  {:>8}  {:<52} {}",
            transfers,
            percent_of(tally.false_first_touch, transfers),
            percent_of(tally.false_lifetime, transfers),
            tally.upgrades,
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
        let transfers: u64 = rest.iter().map(|pair| pair.tally.transfers()).sum();
        writeln!(
            out,
            "   {transfers:>9}  in {}",
            count_more(rest.len() as u64, "pair")
        )?;
    }
    Ok(())
}
