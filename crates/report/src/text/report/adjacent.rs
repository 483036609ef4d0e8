//! Adjacent lines: the estimate of a finding, and what is known of pairs of lines in all.

use std::fmt::{self, Write};

use crate::documents::report::finding::{AdjacentDocument, AdjacentPairDocument, FindingDocument};
use crate::documents::report::{LinePairsDocument, ReportDocument};
use crate::words::access::{access_words, shown_name, source_words};
use crate::words::source_positions::SourcePositions;
use crate::words::{count_more, counted};

/// Pairs shown, at most.
const PAIRS_SHOWN_MAX: usize = 6;

pub(crate) fn write_adjacent(
    out: &mut String,
    finding: &FindingDocument,
    adjacent: &AdjacentDocument,
    report: &ReportDocument,
) -> fmt::Result {
    let line_bytes = i64::from(report.machine.line_bytes.max(1));
    let AdjacentDocument {
        samples,
        pair_transfers_estimated,
        interval: [low, high],
        coefficient,
        cost_transfers_estimated,
        ..
    } = adjacent;
    writeln!(
        out,
        "   Estimated to cost as much as {cost_transfers_estimated:.0} transfers: {coefficient} for each of {}
   ({low} to {high}, from {samples} samples), in which one line was used and the other one of the pair had been
   stored to. In no sum of transfers.",
        counted(*pair_transfers_estimated, "pair transfer")
    )?;
    writeln!(
        out,
        "   Offset  Size  {:<36} Line {:>5} Writers",
        "Member",
        report.context_noun().column_title()
    )?;
    for member in &finding.members {
        let name = shown_name(&member.name);
        let line = (member.offset - finding.line_offset).div_euclid(line_bytes);
        writeln!(
            out,
            "   {:>6} {:>5}  {name:<36} {:>4} {:>5} {:>7}",
            member.offset,
            member.size,
            finding.line_offset + line * line_bytes,
            member.contexts,
            member.writers,
        )?;
    }
    write_pairs(out, &adjacent.pairs, &report.source_positions())
}

fn write_pairs(
    out: &mut String,
    pairs: &[AdjacentPairDocument],
    sources: &SourcePositions,
) -> fmt::Result {
    writeln!(out, "   Estimated  Samples  {:<52} disturbed by", "Used")?;
    for pair in pairs.iter().take(PAIRS_SHOWN_MAX) {
        writeln!(
            out,
            "   {:>9}  {:>7}  {:<52} {}",
            pair.pair_transfers_estimated,
            pair.samples,
            access_words(&pair.here),
            access_words(&pair.there)
        )?;
        writeln!(
            out,
            "{:23}{:<52} {}",
            "",
            source_words(&pair.here, sources),
            source_words(&pair.there, sources)
        )?;
    }
    if let Some(rest) = pairs.get(PAIRS_SHOWN_MAX..).filter(|rest| !rest.is_empty()) {
        let left_transfers: u64 = { rest.iter() }
            .map(|pair| pair.pair_transfers_estimated)
            .sum();
        writeln!(
            out,
            "   {left_transfers:>9}  in {}",
            count_more(rest.len() as u64, "pair")
        )?;
    }
    Ok(())
}

/// Writes the line pairs that may cost transfers, where none is a finding.
pub(crate) fn write_summary(out: &mut String, pairs: &LinePairsDocument) -> fmt::Result {
    let reason = match pairs.coefficient {
        _ if pairs.candidates == 0 => return Ok(()),
        Some(coefficient) if coefficient > 0.0 => return Ok(()),
        Some(_) => "the coefficient of this machine is 0, so they cost nothing here",
        None => "what they cost is not known: `relayout probe`, or --pair-coefficient",
    };
    writeln!(
        out,
        "\nAdjacent lines: possible, not measurable here: {} of lines of which one is used and the other stored to\n  by other contexts ({}, estimated); {reason}.",
        counted(pairs.candidates, "pair"),
        counted(pairs.pair_transfers_estimated, "pair transfer"),
    )
}
