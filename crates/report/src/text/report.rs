//! The report for a terminal: what was recorded, the ranked lines, each line's members and who
//! lost it to whom, what could not be named, and what the figures do not say.
//!
//! Plain text without colour, at most about 120 columns unless names are longer.

mod adjacent;
mod detail;
mod head;
pub mod screen;

use std::fmt::{self, Write};

use relayout_contend::Findings;
use relayout_layout::word_lists::word_list;
use relayout_profile::program::COMPILED_IN_COLLECTOR;

use crate::ReportContents;
use crate::documents::report::finding::{ElementsDocument, FindingDocument, FreedLineDocument};
use crate::documents::report::{
    ReportDocument, UnresolvedDocument, UnseenStringsDocument, report_document,
};
use crate::words::finding::finding_name;
use crate::words::percent::{percent, percent_of, percent_to_thousandths, whole_percent};
use crate::words::saving::OutlookKey;
use crate::words::source_positions::SourcePositions;
use crate::words::wrap::{fit_lines, wrap_words};
use crate::words::{ContextNoun, counted};

/// Sites shown for each class of unresolved lines.
const UNRESOLVED_SITES_MAX: usize = 3;
/// Functions with unseen instructions that are named.
const UNSEEN_FUNCTIONS_MAX: usize = 8;
/// Columns from which on the table has all of its columns.
const WIDE_TABLE: usize = 132;
/// Widest line of a sentence.
const WIDTH: usize = 114;
/// Memory cut by hand that is shown for each class, at most.
const HAND_CUTS_MAX: usize = 3;

/// Renders `report` in lines of at most `width` columns, unless a single word is longer.
pub fn render_within(report: &ReportContents, width: usize) -> String {
    let mut out = String::new();
    write_report(&mut out, report, width < WIDE_TABLE).expect("writing to a string does not fail");
    fit_lines(&out, width)
}

/// Renders `report`.
pub fn render(report: &ReportContents) -> String {
    let mut out = String::new();
    write_report(&mut out, report, false).expect("writing to a string does not fail");
    out
}

fn write_report(out: &mut String, contents: &ReportContents, is_narrow: bool) -> fmt::Result {
    let ReportContents {
        meta,
        findings,
        selection,
        ..
    } = *contents;
    let report = &report_document(contents);
    let shown = &report.findings;
    let sources = report.source_positions();
    head::write(out, meta, report)?;
    writeln!(out)?;
    if shown.is_empty() {
        writeln!(
            out,
            "{}",
            no_findings_sentence(findings, selection.type_name.as_deref())
        )?;
    } else {
        match is_narrow {
            true => write_narrow_table(out, report)?,
            false => write_table(out, report)?,
        }
        let (_, selected_count) = selection.select_findings(findings);
        if selected_count > shown.len() {
            let left = selected_count - shown.len();
            let lines = if left == 1 { "line" } else { "lines" };
            writeln!(out, "{left:>5} more {lines}; --top 0 shows all")?;
        }
        for finding in shown {
            detail::write_finding(out, finding, report, contents.judgements.is_some())?;
        }
    }
    write_unresolved(out, report, &sources)?;
    adjacent::write_summary(out, &report.line_pairs)?;
    write_limits(out, report)?;
    write_unseen_strings(out, report.unseen_strings.as_deref().unwrap_or_default())?;
    write_instrumented_note(out, contents)
}

fn no_findings_sentence(findings: &Findings, type_name: Option<&str>) -> String {
    match (findings.findings.len(), type_name) {
        (0, _) => "No line of a known object was moved between contexts.".to_owned(),
        (count, Some(name)) => {
            let suggestion = findings.suggest_names(name);
            format!(
                "None of the {count} contended lines is of `{name}` (or all are below --min-share){suggestion}."
            )
        }
        (count, None) => format!("None of the {count} contended lines reaches --min-share."),
    }
}

/// Writes by what the findings of a wide table are ranked, and what its columns count.
fn write_ranking(out: &mut String, report: &ReportDocument) -> fmt::Result {
    let reader = report.context_noun().singular();
    let transfers = format!(
        "first reads of what a store left, later reads of it by other {reader}s, and writes"
    );
    match report.time {
        Some(_) => writeln!(
            out,
            "Ranked by wait: the share of the CPUs' simulated time for which they stood still for the line. Transfers:\n\
             {transfers}; upgrades are not among them."
        ),
        None => writeln!(
            out,
            "Ranked by transfers: {transfers}.\nUpgrades are not among them."
        ),
    }
}

fn write_table(out: &mut String, report: &ReportDocument) -> fmt::Result {
    let (findings, context_noun) = (&report.findings, report.context_noun());
    // The column is there where something is known of savings.
    let has_saving = { findings.iter() }.any(|finding| finding.outlook == OutlookKey::Saves);
    let saving_column = |cell: &dyn Fn() -> String| match has_saving {
        true => format!(" {:>8}", cell()),
        false => String::new(),
    };
    let events = match report.estimated {
        true => "------- estimated ------",
        false => "------- transfers ------",
    };
    write_ranking(out, report)?;
    writeln!(out, "                  {events}  ------- false --------")?;
    writeln!(
        out,
        "{:>5} {:>10}  {:>6} {:>5} {:>5} {:>5} {:>10} {:>11} {:>9}{} {:>8} {:>5}{}{}  {:<13}  Line",
        "Rank",
        "Transfers",
        "Share",
        "First",
        "Later",
        "Write",
        "First use",
        "Whole stay",
        "Upgrades",
        wait_column(report, "Wait") + &if_free_column(report, "If free"),
        "Objects",
        context_noun.column_title(),
        match findings.iter().any(|finding| finding.stability.is_some()) {
            true => format!(" {:>17} {:>7}", "Min to max", "Stable"),
            false => String::new(),
        },
        saving_column(&|| "Saving".to_owned()),
        "Kind"
    )?;
    for finding in findings {
        let transfers = finding.transfers;
        let known_share =
            |part: Option<u64>| part.map_or("-".to_owned(), |part| percent_of(part, transfers));
        writeln!(
            out,
            "{:>5} {:>10}  {:>6} {:>5} {:>5} {:>5} {:>10} {:>11} {:>9}{} {:>8} {:>5}{}{}  {:<13}  {}",
            finding.rank,
            transfers,
            percent(finding.share),
            known_share(finding.first_reads),
            known_share(finding.later_reads),
            percent_of(finding.write_transfers, transfers),
            percent_of(finding.false_first_touch, transfers),
            percent_of(finding.false_lifetime, transfers),
            finding.upgrades,
            wait_column(report, &wait_cell(finding))
                + &if_free_column(report, &if_free_cell(finding)),
            finding.objects,
            finding.contexts,
            repeat_columns(finding),
            saving_column(&|| finding.saving_cell()),
            finding.kind.as_str(),
            finding_name(finding),
        )?;
    }
    Ok(())
}

/// Writes the table with the columns that tell findings apart, in about 70 columns and the name.
fn write_narrow_table(out: &mut String, report: &ReportDocument) -> fmt::Result {
    let context_noun = report.context_noun();
    let ranked_by = match report.time {
        Some(_) => "wait (share of the CPUs' time)",
        None => "transfers",
    };
    writeln!(
        out,
        "Ranked by {ranked_by}. False: by first use, and by the whole stay on a {}.",
        context_noun.singular()
    )?;
    writeln!(
        out,
        "{:>4} {:>9} {:>6} {:>5} {:>5}{} {:>7} {:>5} {:>12}  {:<13} Line",
        "Rank",
        "Transfers",
        "Share",
        "First",
        "Stay",
        wait_column(report, "Wait") + &if_free_column(report, "If free"),
        "Objects",
        context_noun.column_title(),
        "Saving",
        "Kind"
    )?;
    for finding in &report.findings {
        let transfers = finding.transfers;
        writeln!(
            out,
            "{:>4} {:>9} {:>6} {:>5} {:>5}{} {:>7} {:>5} {:>12}  {:<13} {}",
            finding.rank,
            transfers,
            percent(finding.share),
            percent_of(finding.false_first_touch, transfers),
            percent_of(finding.false_lifetime, transfers),
            wait_column(report, &wait_cell(finding))
                + &if_free_column(report, &if_free_cell(finding)),
            finding.objects,
            finding.contexts,
            finding.saving_cell(),
            finding.kind.as_str(),
            finding_name(finding),
        )?;
    }
    Ok(())
}

/// Returns the column for the time that CPUs stood still, which recordings in simulated time have.
fn wait_column(report: &ReportDocument, cell: &str) -> String {
    match report.time {
        Some(_) => format!(" {cell:>6}"),
        None => String::new(),
    }
}

/// Returns the column for what CPUs do if the line of a finding costs nothing, where that was executed.
fn if_free_column(report: &ReportDocument, cell: &str) -> String {
    match report
        .findings
        .iter()
        .any(|finding| finding.if_free.is_some())
    {
        true => format!(" {cell:>7}"),
        false => String::new(),
    }
}

fn if_free_cell(finding: &FindingDocument) -> String {
    { finding.if_free.as_ref() }.map_or_else(|| "-".to_owned(), FreedLineDocument::cell)
}

/// Returns the share of time for which CPUs stood still for a finding's line.
fn wait_cell(finding: &FindingDocument) -> String {
    let share = finding.wait_percent;
    share.map_or("-".to_owned(), |share| percent(share / 100.0))
}

/// Writes how many string instructions of a program announced nothing, and the functions with most.
fn write_unseen_strings(out: &mut String, code: &[UnseenStringsDocument]) -> fmt::Result {
    if code.is_empty() {
        return Ok(());
    }
    let instructions = code.iter().map(|function| u64::from(function.instructions));
    let mut functions: Vec<&UnseenStringsDocument> = code.iter().collect();
    functions.sort_by_key(|function| std::cmp::Reverse(function.instructions));
    let names: Vec<&str> = { functions.iter() }
        .map(|function| &*function.function)
        .collect();
    let sentence = format!(
        "{} in {} were not seen (rep movs, rep stos and the like): {}.",
        counted(instructions.sum(), "rep-string instruction"),
        counted(code.len() as u64, "function"),
        word_list(&names, UNSEEN_FUNCTIONS_MAX),
    );
    for row in wrap_words(sentence.split(' '), WIDTH) {
        writeln!(out, "  {row}")?;
    }
    Ok(())
}

/// Columns of a finding of several recordings: its transfers in each, and its stability.
fn repeat_columns(finding: &FindingDocument) -> String {
    let Some(stability) = finding.stability else {
        return String::new();
    };
    let range = finding.transfers_range;
    let range = range.map_or("-".to_owned(), |[least, most]| format!("{least} to {most}"));
    format!(" {range:>17} {:>7}", whole_percent(stability))
}

/// Of a program that was built to be recorded, and where nothing else said how variables lie in the
/// build that is used.
fn write_instrumented_note(out: &mut String, report: &ReportContents) -> fmt::Result {
    let (shown, _) = report.selection.select_findings(report.findings);
    let variables = shown.iter().any(|finding| {
        finding.subject.variable().is_some()
            && (!finding.neighbours.is_empty() || !finding.subject.has_members())
    });
    let instrumented = report.meta.collector.starts_with(COMPILED_IN_COLLECTOR);
    if !variables || !instrumented || report.production.is_some() {
        return Ok(());
    }
    writeln!(
        out,
        "  Which variables share a line is as in this instrumented build; in the one that is used others may. Give that
  one with --production FILE to see. Members of one type lie as here in both."
    )
}

fn write_unresolved(
    out: &mut String,
    report: &ReportDocument,
    sources: &SourcePositions,
) -> fmt::Result {
    let line_bytes = report.machine.line_bytes;
    let noun = report.context_noun();
    if report.unresolved_classes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nNot resolved to an object")?;
    writeln!(
        out,
        "  Transfers   Share   Lines  Class                     Most from"
    )?;
    for class in &report.unresolved_classes {
        let UnresolvedDocument {
            class: name,
            transfers,
            upgrades: _,
            share,
            lines,
            sites,
            hand_cuts,
        } = class;
        let main_functions: Vec<String> = sites
            .iter()
            .filter(|site| site.transfers > 0)
            .take(UNRESOLVED_SITES_MAX)
            .map(|site| sources.function_or_position(&site.position))
            .collect();
        writeln!(
            out,
            "{:>11}  {:>6} {:>7}  {:<24}  {}",
            transfers,
            percent(*share),
            lines,
            name,
            main_functions.join(", ")
        )?;
        for cut in hand_cuts.iter().take(HAND_CUTS_MAX) {
            for row in wrap_words(hand_cut_sentence(cut, line_bytes, noun).split(' '), WIDTH) {
                writeln!(out, "             {row}")?;
            }
        }
    }
    Ok(())
}

/// Returns the stride of memory that is cut by hand, and what would help.
fn hand_cut_sentence(cut: &ElementsDocument, line_bytes: u32, noun: ContextNoun) -> String {
    let noun = noun.singular();
    let padded = cut.stride.next_multiple_of(u64::from(line_bytes.max(1)));
    format!(
        "Cut by hand: {} parts, {} bytes apart, one for each {noun}, share lines: {} transfers bring nothing that is \
         used. Space them {padded} bytes apart.",
        cut.count, cut.stride, cut.transfers
    )
}

fn write_limits(out: &mut String, report: &ReportDocument) -> fmt::Result {
    if report.estimated {
        return writeln!(
            out,
            "
Limits
  Hardware sampled single accesses. Transfers and upgrades are not counted: they are what rates of loads and stores
  lead to expect if contexts access a line in random order, or where samples show by their order that a context uses
  it for long at a time, in turns; turns without two samples are not seen, which overstates them. They rank, and are
  no cycles. False is told by bytes: by lifetime, a lower bound. Loads that were fast may not have been sampled at
  all; layouts cannot be replayed: record with the collector for those."
        );
    }
    let order = match report.machine.simulated_machine {
        Some(_) => {
            "The order of accesses is that of the simulated machine, one of many: counts rank and compare. Wait is
  time by the rules of that machine, not measured."
        }
        None => {
            "The recorded interleaving is one of many, in the order of the collector's callbacks: counts rank and compare, they
  are not cycles."
        }
    };
    writeln!(
        out,
        "
Limits
  {order} Caches are taken as infinite, without prefetch; DMA, page walks and capacity misses are not seen.
  False by first touch overstates what another layout can save, and false by lifetime estimates it: `relayout advise`
  counts what one saves, by replay."
    )?;
    let mut members = { report.findings.iter() }.flat_map(|finding| &finding.members);
    if members.any(|member| !member.counted) {
        writeln!(
            out,
            "  Reads and writes are counted from a line's first few coherence events on; ?: none was counted."
        )?;
    }
    if report.first_reads.is_none() && report.read_transfers > 0 {
        writeln!(
            out,
            "  This profile does not tell first reads from later ones."
        )?;
    }
    match report.order_errors {
        Some(errors) if report.read_transfers > 0 => writeln!(
            out,
            "  {} of the loads that brought a line in returned another value than the recorded order says.",
            percent_to_thousandths(errors as f64 / report.read_transfers as f64)
        ),
        _ => Ok(()),
    }
}
