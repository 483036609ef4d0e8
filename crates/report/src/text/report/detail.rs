//! One finding: its members, and who lost the line to whom.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use relayout_contend::finding::{
    ConflictPair, ElementRun, FindingMember, LinePlace, SharedElements,
};
use relayout_contend::{CONFIDENCE_MIN_PERCENT, Finding, FindingKind, SiteSource};
use relayout_layout::word_lists::word_list;

use crate::text::report::adjacent;
use crate::words::access::{access_words, shown_name, source_words};
use crate::words::finding::finding_name;
use crate::words::percent::percent_of;
use crate::words::remedy::{self, RemedyContext};
use crate::words::saving::OutlookWords;
use crate::words::source_positions::SourcePositions;
use crate::words::wrap::wrap_words;
use crate::words::{ContextNoun, count_more, counted};
use relayout_session::ProductionPlacement;

/// Names in a list, at most.
const NAMES_MAX: usize = 4;
/// Elements of an array in a list, at most.
const ELEMENTS_SHOWN_MAX: usize = 8;
/// Places of lines in a list, at most.
const PLACES_MAX: usize = 4;
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
        outlook,
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
    for note in finding_notes(finding, context_noun, sources, outlook)
        .into_iter()
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

/// Returns sentences about misses that are false at first, but whose contexts go on to use what
/// another wrote.
fn lifetime_notes(finding: &Finding, context_noun: ContextNoun) -> Vec<String> {
    let transfers = finding.tally.transfers();
    let share = |count| percent_of(count, transfers);
    let (false_first_touch, false_lifetime) = (
        finding.tally.false_first_touch,
        finding.tally.false_lifetime,
    );
    if false_first_touch <= transfers / 2 || false_lifetime > transfers / 2 {
        return Vec::new();
    }
    let sentence = format!(
        "{} of the misses hit data that no other {noun} had changed (first use), but most of those {noun}s use the changed \
         data soon after: over the whole stay, {} of the transfers are false.",
        share(false_first_touch),
        share(false_lifetime),
        noun = context_noun.singular()
    );
    wrap_words(sentence.split(' '), WIDTH)
}

/// Returns sentences that explain the numbers of a finding.
fn finding_notes(
    finding: &Finding,
    context_noun: ContextNoun,
    sources: &SourcePositions,
    outlook: &OutlookWords<'_>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if finding.estimated {
        notes.push("Estimated from rates of sampled accesses, not counted.".to_owned());
    }
    if let Some(observed) = finding.hitm {
        notes.push(format!(
            "Hardware told of {observed} transfers (HITM) of these lines."
        ));
    }
    notes.extend(uncertainty_note(finding));
    notes.extend(lifetime_notes(finding, context_noun));
    match &finding.elements {
        Some(elements) => notes.extend(element_notes(elements, context_noun)),
        None => notes.extend(line_places(finding)),
    }
    match finding.kind {
        FindingKind::LockWord => {
            notes.push(
                "Those who try to take the lock pull the line from under its holder.".to_owned(),
            );
        }
        FindingKind::Straddle => notes.push("Lies on two lines and moves both.".to_owned()),
        _ => {}
    }
    if finding.is_unstable() {
        let kinds = finding.kinds_by_run.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, runs)| format!("{} in {runs}", kind.as_str()))
            .collect();
        notes.push(format!(
            "Unstable: not the same thing in all recordings ({}), so no advice.",
            kinds.join(", ")
        ));
    }
    let position = |source: &SiteSource| {
        let function = source.function.as_deref().unwrap_or("?");
        format!("{function} {}", sources.position(source))
    };
    for remedy in &finding.remedies {
        let remedy_context = RemedyContext {
            context_noun: context_noun.singular(),
            outlook,
        };
        let sentence = remedy::remedy_sentence(remedy, remedy_context, position);
        notes.extend(wrap_words(sentence.split(' '), WIDTH));
    }
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

/// Returns a sentence about elected types, if many of the objects have an uncertain one.
fn uncertainty_note(finding: &Finding) -> Option<String> {
    let confidence = finding.type_confidence;
    let rival = finding.rival_type.as_ref().map_or(String::new(), |rival| {
        format!(" Other code takes the same memory for {rival}: it is an arena, or was used again.")
    });
    confidence.is_doubtful().then(|| {
        format!(
            "The type of {} of {} was elected by evidence that hardly agrees, with a confidence from {}% (below \
             {CONFIDENCE_MIN_PERCENT}%): see --explain {}.{rival}",
            confidence.uncertain,
            counted(confidence.objects, "object"),
            confidence.least_percent,
            finding.rank
        )
    })
}

/// Returns the stride of an array, and the contexts that use its elements.
fn element_notes(elements: &SharedElements, context_noun: ContextNoun) -> Vec<String> {
    let noun = context_noun.singular();
    let shown = elements.runs.iter().take(ELEMENTS_SHOWN_MAX);
    let mut users: Vec<String> = shown.map(|run| run_words(run, noun)).collect();
    let rest = elements.runs.get(users.len()..).unwrap_or_default();
    let elements_left: u64 = rest.iter().map(ElementRun::element_count).sum();
    if elements_left > 0 {
        users.push(count_more(elements_left, "element"));
    }
    let array = match &elements.member {
        Some(member) => format!("`{member}` is an array"),
        None => "An array".to_owned(),
    };
    let sentence = format!(
        "{array} of {}, {} bytes each. Used on these lines: {}.",
        counted(elements.count, "element"),
        elements.stride,
        users.join(", ")
    );
    wrap_words(sentence.split(' '), WIDTH)
}

/// Returns `[2] by thread 3`, or `[0..24] by thread 1`.
fn run_words(run: &ElementRun, noun: &str) -> String {
    let contexts = run.contexts.iter();
    let contexts: Vec<String> = contexts.map(|context| context.0.to_string()).collect();
    let plural = if run.contexts.len() == 1 { "" } else { "s" };
    let contexts = word_list(&contexts, NAMES_MAX);
    let elements = match run.element_count() {
        1 => format!("[{}]", run.first),
        _ => format!("[{}..{}]", run.first, run.last),
    };
    format!("{elements} by {noun}{plural} {contexts}")
}

/// Returns the offsets of its lines, if there are several.
fn line_places(finding: &Finding) -> Option<String> {
    let transfers = finding.tally.transfers();
    let place_words = |place: &LinePlace| {
        let part = percent_of(place.transfers, transfers);
        format!(
            "{:+} ({part}, {})",
            place.line_offset,
            counted(place.objects, "object")
        )
    };
    let places: Vec<String> = finding.places.iter().map(place_words).collect();
    (places.len() > 1).then(|| {
        let reason = match finding.phase() {
            None => "Objects begin at several places in a line",
            Some(_) => "It lies on several lines",
        };
        let places = word_list(&places, PLACES_MAX);
        format!("{reason}; lines begin at {places}.")
    })
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
