//! The screen about the recording: what was recorded, and what was not.

use super::page_text::PageText;
use super::text_fit::shown_text;
use crate::documents::report::ReportDocument;
use crate::words::counted;
use crate::words::percent::percent;

/// Adds the facts of the recording.
pub(super) fn write_recording(page: &mut PageText, report: &ReportDocument) {
    let machine = &report.machine;
    page.push_heading(&format!("Recording of {}", shown_text(&report.workload)));
    for (name, value) in recording_facts(report) {
        page.push_fact(name, &shown_text(&value));
    }
    page.push_text(String::new());
    if let Some(boot) = &machine.boot {
        page.push_fact("At boot", &list_words(&boot.changes));
        page.push_fact("Not watched", &list_words(&boot.not_watched));
    }
    let seen = if machine.values_seen {
        "were"
    } else {
        "were not"
    };
    page.push_sentence(&format!("Values of stores {seen} seen."));
    if report.host_was_busy {
        page.push_sentence(
            "The machine was busy with other work: do not trust the order of findings.",
        );
    }
    page.push_sentence(
        "A transfer moves a line from one CPU's cache to another's. Transfers are counts of the recorder, not of hardware.",
    );
}

fn recording_facts(report: &ReportDocument) -> Vec<(&'static str, String)> {
    let machine = &report.machine;
    let noun = report.context_noun().singular();
    let release = match machine.release.as_str() {
        "" => machine.target.clone(),
        release => format!("{} {release}", machine.target),
    };
    let accesses: u64 = report.runs.iter().map(|run| run.accesses).sum();
    let operations: u64 = report.runs.iter().map(|run| run.operations).sum();
    let counted_how = if report.estimated {
        "estimated from samples"
    } else {
        "counted"
    };
    let mut facts = vec![
        (
            "Recorded",
            format!(
                "{} of {release}, {}, {}",
                counted(report.runs.len() as u64, "recording"),
                counted(machine.contexts.into(), noun),
                machine.arch
            ),
        ),
        ("Collector", machine.collector.clone()),
        (
            "Accesses",
            format!("{accesses} in {}", counted(operations, "operation")),
        ),
        (
            "Transfers",
            format!(
                "{}, {counted_how}, and {}",
                report.transfers_total,
                counted(report.upgrades, "upgrade")
            ),
        ),
        (
            "False",
            format!(
                "{} of the transfers for the whole stay",
                percent(report.false_lifetime as f64 / report.transfers_total.max(1) as f64)
            ),
        ),
        (
            "Named",
            format!("{} of the transfers", percent(report.resolved_share)),
        ),
        ("Cache line", format!("{} bytes", machine.line_bytes)),
        ("Findings", report.findings_total.to_string()),
    ];
    for run in report.runs.iter().filter(|run| !run.complete) {
        facts.push(("Incomplete", run.ended.clone()));
    }
    facts
}

fn list_words(words: &[String]) -> String {
    match words {
        [] => "nothing".to_owned(),
        words => shown_text(&words.join(", ")).into_owned(),
    }
}
