//! The report on one screen: what was recorded in three lines, the ranked lines in a table, the first of them with its
//! picture, and the commands that lead on.

use std::fmt::{self, Write};

use relayout_workflows::shell_word;

use super::no_findings_sentence;
use crate::ReportContents;
use crate::documents::report::finding::{FindingDocument, FreedLineDocument};
use crate::documents::report::{ReportDocument, report_document};
use crate::words::finding::{finding_name, pair_sentence};
use crate::words::line_picture::write_line_pictures;
use crate::words::percent::{percent, percent_of};
use crate::words::saving::OutlookKey;
use crate::words::short_names::{fit_name, short_command};
use crate::words::simulated_time::{simulated_machine_words, simulated_time_words};
use crate::words::wrap::{wrap_block, wrap_text_at, wrap_words};
use crate::words::{busy_host_words, count_more, counted, out_of_order_words, recorded_time_words};

/// Columns where the output is no terminal.
pub const WIDTH_DEFAULT: usize = 80;
/// Columns of prose at most; more are hard to read.
const PROSE_WIDTH: usize = 100;
/// Columns of a name at least.
const NAME_MIN: usize = 16;
/// Members of the first finding that are named.
const MEMBERS_MAX: usize = 5;
/// Pairs of instructions of the first finding that are told.
const PAIRS_MAX: usize = 2;
/// Lines of the advice on the first finding.
const ADVICE_MAX: usize = 3;
/// Part of the transfers without a name from which on the head says so.
const UNNAMED_MIN: f64 = 0.05;

/// Renders the first screen of `report` in `width` columns.
pub fn render_screen(report: &ReportContents, width: usize) -> String {
    let mut out = String::new();
    write_screen(&mut out, report, width).expect("writing to a string does not fail");
    out
}

fn write_screen(out: &mut String, contents: &ReportContents, width: usize) -> fmt::Result {
    let report = &report_document(contents);
    let prose = width.min(PROSE_WIDTH);
    write_head(out, contents, report, prose)?;
    writeln!(out)?;
    if report.findings.is_empty() {
        let type_name = contents.selection.type_name.as_deref();
        let sentence = no_findings_sentence(contents.findings, type_name);
        write_prose(out, &sentence, prose)?;
    } else {
        write_table(out, contents, report, width)?;
    }
    if let Some(first) = leading_finding(report) {
        write_leading(out, first, report, prose)?;
    }
    write_next_steps(out, contents, report)
}

fn write_prose(out: &mut String, text: &str, width: usize) -> fmt::Result {
    writeln!(out, "{}", wrap_text_at(width, text, 0))
}

/// Writes what was recorded, whose order it has, and the totals; and what casts doubt on them.
fn write_head(
    out: &mut String,
    contents: &ReportContents,
    report: &ReportDocument,
    width: usize,
) -> fmt::Result {
    let meta = contents.meta;
    write_prose(out, &recorded_words(contents, report), width)?;
    let order = match (&meta.simulated_machine, report.estimated) {
        (Some(machine), _) => capitalized(&simulated_machine_words(machine)) + ".",
        (None, true) => "Estimated from samples of hardware.".to_owned(),
        (None, false) => {
            "Counted in the order of the host: counts rank and compare, and are no time.".to_owned()
        }
    };
    write_prose(out, &order, width)?;
    write_prose(out, &totals_words(report), width)?;
    let incomplete = meta.runs.iter().filter(|run| !run.complete).count() as u64;
    let incomplete = (incomplete > 0).then(|| {
        let runs = counted(incomplete, "recording");
        format!("{runs} cut off; counts are of what was recorded")
    });
    let time = recorded_time_words(meta).map(|words| format!("recorded {words}"));
    let doubts = [
        busy_host_words(meta),
        out_of_order_words(meta),
        incomplete,
        time,
    ];
    for words in doubts.into_iter().flatten() {
        write_prose(out, &(capitalized(&words) + "."), width)?;
    }
    for unread in &report.left_out_readers {
        let share = percent(unread.share);
        let sentence = format!(
            "Not read of the guest's memory: {} ({} is missing); at most {share} of the transfers lack a name for it.",
            unread.reader, unread.missing
        );
        write_prose(out, &sentence, width)?;
    }
    Ok(())
}

/// Returns `stat-one on 20 CPUs of Linux 6.1.0: 6562 operations, 1.00 ms of simulated time: ...`.
fn recorded_words(contents: &ReportContents, report: &ReportDocument) -> String {
    let meta = contents.meta;
    let system = match (meta.target.as_str(), meta.release.as_str()) {
        ("kernel", release) if !release.is_empty() => format!(" of Linux {release}"),
        _ => String::new(),
    };
    let contexts = counted(meta.contexts.into(), report.context_noun().singular());
    let operations: u64 = meta.runs.iter().map(|run| run.operations).sum();
    let cpu_ns: u64 = meta.runs.iter().map(|run| run.window_cpu_ns).sum();
    // Samples have no window.
    let cpu_time = (cpu_ns > 0).then(|| format!("{:.1} s of CPU time", cpu_ns as f64 / 1e9));
    let operations = (operations > 0).then(|| counted(operations, "operation"));
    let time = simulated_time_words(&meta.runs).or(cpu_time);
    let parts: Vec<String> = [operations, time].into_iter().flatten().collect();
    let workload = short_command(&meta.workload);
    let colon = if parts.is_empty() { "" } else { ": " };
    format!(
        "{workload} on {contexts}{system}{colon}{}.",
        parts.join(", ")
    )
}

fn totals_words(report: &ReportDocument) -> String {
    let transfers = report.transfers_total;
    let standing = { report.time.as_ref() }.map_or(String::new(), |time| {
        let waiting = time.load_percent + time.atomic_percent + time.stores_percent;
        let pausing = match time.pause_percent {
            share if share >= 0.1 => format!(", and pause {share:.1}%"),
            _ => String::new(),
        };
        format!("CPUs stand still for lines {waiting:.1}% of the time{pausing}. ")
    });
    let unnamed = 1.0 - report.resolved_share_without_content;
    let unnamed = match unnamed >= UNNAMED_MIN && transfers > 0 {
        true => format!(" {} have no member's name.", percent(unnamed)),
        false => String::new(),
    };
    format!(
        "{standing}{}, {} of them false for the whole stay, and {}, on {}.{unnamed}",
        counted(transfers, "transfer"),
        percent_of(report.false_lifetime, transfers),
        counted(report.upgrades, "upgrade"),
        counted(report.lines, "line"),
    )
}

/// Returns the first finding whose type is certain; the first of all if there is none.
fn leading_finding(report: &ReportDocument) -> Option<&FindingDocument> {
    let is_certain = |finding: &&FindingDocument| !finding.is_type_doubtful();
    let mut findings = report.findings.iter();
    findings.find(is_certain).or(report.findings.first())
}

/// Columns of the table that depend on what is known.
struct ScreenColumns {
    has_wait: bool,
    has_saving: bool,
    has_if_free: bool,
    has_stability: bool,
}

impl ScreenColumns {
    fn from_report(report: &ReportDocument) -> Self {
        let findings = &report.findings;
        Self {
            has_wait: report.time.is_some(),
            has_saving: { findings.iter() }.any(|finding| finding.outlook == OutlookKey::Saves),
            has_if_free: findings.iter().any(|finding| finding.if_free.is_some()),
            has_stability: findings.iter().any(|finding| finding.stability.is_some()),
        }
    }

    /// Returns a row but for its last cell, which is as wide as there is room.
    fn row(&self, cells: &ScreenCells) -> String {
        let optional = |is_there: bool, cell: &str, width: usize| match is_there {
            true => format!(" {cell:>width$}"),
            false => String::new(),
        };
        format!(
            "{:>4}{} {:>9} {:>6} {:>5}{}{}{}  {:<13} ",
            cells.rank,
            optional(self.has_wait, &cells.wait, 6),
            cells.transfers,
            cells.share,
            cells.stay,
            optional(self.has_if_free, &cells.if_free, 7),
            optional(self.has_saving, &cells.saving, 7),
            optional(self.has_stability, &cells.stability, 6),
            cells.kind,
        )
    }
}

/// Cells of a row of the table.
struct ScreenCells {
    rank: String,
    wait: String,
    transfers: String,
    share: String,
    stay: String,
    if_free: String,
    saving: String,
    stability: String,
    kind: &'static str,
}

impl ScreenCells {
    fn heading() -> Self {
        Self {
            rank: "Rank".to_owned(),
            wait: "Wait".to_owned(),
            transfers: "Transfers".to_owned(),
            share: "Share".to_owned(),
            stay: "False".to_owned(),
            if_free: "If free".to_owned(),
            saving: "Saving".to_owned(),
            stability: "Stable".to_owned(),
            kind: "Kind",
        }
    }

    fn from_finding(finding: &FindingDocument) -> Self {
        let part = |share: Option<f64>| share.map_or("-".to_owned(), percent);
        Self {
            rank: finding.rank.to_string(),
            wait: part(finding.wait_percent.map(|share| share / 100.0)),
            transfers: finding.transfers.to_string(),
            share: percent(finding.share),
            stay: percent_of(finding.false_lifetime, finding.transfers),
            if_free: { finding.if_free.as_ref() }
                .map_or_else(|| "-".to_owned(), FreedLineDocument::cell),
            saving: { finding.saving.as_ref() }
                .map_or_else(|| "-".to_owned(), |saving| percent(saving.share)),
            stability: part(finding.stability),
            kind: finding.kind.as_str(),
        }
    }
}

fn write_table(
    out: &mut String,
    contents: &ReportContents,
    report: &ReportDocument,
    width: usize,
) -> fmt::Result {
    let columns = ScreenColumns::from_report(report);
    writeln!(out, "{}Line", columns.row(&ScreenCells::heading()))?;
    for finding in &report.findings {
        let cells = columns.row(&ScreenCells::from_finding(finding));
        let room = width.saturating_sub(cells.chars().count()).max(NAME_MIN);
        let name = finding_name(finding);
        writeln!(out, "{cells}{}", fit_name(&name, room))?;
    }
    let (_, selected) = contents.selection.select_findings(contents.findings);
    match selected.saturating_sub(report.findings.len()) {
        0 => Ok(()),
        left => writeln!(out, "     {}", count_more(left as u64, "line")),
    }
}

/// Writes the finding that leads, with a picture of its line, who takes it from whom, and what may help.
fn write_leading(
    out: &mut String,
    finding: &FindingDocument,
    report: &ReportDocument,
    width: usize,
) -> fmt::Result {
    let path = match finding.types_path.len() {
        0 | 1 => String::new(),
        _ => format!(", in {}", finding.types_path.join(" > ")),
    };
    let (rank, kind) = (finding.rank, finding.kind.as_str());
    let heading = format!("#{rank} {}: {kind}{path}", finding_name(finding));
    writeln!(out, "\n{}", fit_name(&heading, width.max(NAME_MIN)))?;
    if finding.adjacent.is_none() {
        let (line_bytes, noun) = (report.machine.line_bytes, report.context_noun());
        write_line_pictures(out, finding, line_bytes, noun, MEMBERS_MAX)?;
        let sources = report.source_positions();
        let moved = finding.pairs.iter().filter(|pair| pair.transfers > 0);
        for pair in moved.take(PAIRS_MAX) {
            let sentence = pair_sentence(pair, &sources);
            writeln!(out, "{}", wrap_block(width, &sentence, 7, 0))?;
        }
    }
    let if_free = finding.if_free.as_ref().map(FreedLineDocument::sentence);
    let advice = finding.advice.first().map(|advice| advice.words.clone());
    let words = [if_free, advice].into_iter().flatten();
    for line in words.flat_map(|words| first_sentences(&words, width.saturating_sub(3))) {
        writeln!(out, "   {line}")?;
    }
    Ok(())
}

/// Returns as many whole sentences as have room in [`ADVICE_MAX`] lines of `width` columns, the first one in any case.
fn first_sentences(words: &str, width: usize) -> Vec<String> {
    let ends = words.match_indices(". ").map(|(at, _)| at + 1);
    let mut shown = Vec::new();
    for end in ends.chain([words.len()]) {
        let lines = wrap_words(words[..end].split(' '), width);
        if lines.len() > ADVICE_MAX && !shown.is_empty() {
            break;
        }
        shown = lines;
    }
    shown
}

/// Writes the commands that lead on.
fn write_next_steps(
    out: &mut String,
    contents: &ReportContents,
    report: &ReportDocument,
) -> fmt::Result {
    let profile = shell_word(contents.profile);
    let is_simulated = contents.meta.simulated_machine.is_some();
    let mut steps = Vec::new();
    if let Some(first) = leading_finding(report) {
        if first.outlook != OutlookKey::NoMembers && !report.estimated {
            let subject = shell_word(&first.type_name);
            let is_of_workload = is_simulated && contents.meta.target == "kernel";
            let (option, what) = match is_of_workload {
                true => (" --simulate", "what other layouts bring"),
                false => ("", "what other layouts save"),
            };
            steps.push((format!("relayout advise {profile} {subject}{option}"), what));
        }
        steps.push((
            format!("relayout report {profile} --all"),
            "with functions and limits",
        ));
        steps.push((format!("relayout view {profile}"), "to browse"));
    } else {
        steps.push((
            format!("relayout report {profile} --all"),
            "how it was recorded, and what has no name",
        ));
    }
    writeln!(out)?;
    let widths = steps.iter().map(|(command, _)| command.chars().count());
    let wide = widths.max().unwrap_or(0);
    for (command, what) in steps {
        match wide > COMMAND_MAX {
            true => writeln!(out, "  {what}:\n    {command}")?,
            false => writeln!(out, "  {command:<wide$}  {what}")?,
        }
    }
    writeln!(out, "  Words: docs/glossary.md")
}

/// Columns of commands that have their purpose beside them.
const COMMAND_MAX: usize = 52;

fn capitalized(words: &str) -> String {
    let mut characters = words.chars();
    let first = characters.next().map(|first| first.to_uppercase());
    first.into_iter().flatten().chain(characters).collect()
}
