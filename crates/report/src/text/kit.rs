//! Text of kits and their results: measured beside predicted and counted, and the ledger.

use std::fmt::Write as _;

use relayout_workflows::kit::{Agreement, ExportedKit, ImportedResult, KitEvidence, LedgerEntry};

use crate::documents::verify::contents::VerifyContents;
use crate::documents::verify::verify_document;
use crate::text::verify::verify_text;
use crate::words::counted;
use crate::words::wrap::wrap_text;

/// Columns before the words of a fact.
const INDENT: usize = 13;

/// Renders a result: the measurement, and beside it what was predicted and counted.
pub fn render_result(imported: &ImportedResult, contents: &VerifyContents<'_>) -> String {
    let machine = &imported.machine;
    let kind = if machine.is_virtual {
        " of a virtual machine"
    } else {
        ""
    };
    let mut text = format!(
        "{}\nmeasured on {}, {}{kind}, {}; kept on CPUs: {}\n\n{}",
        imported.manifest.subject,
        machine.cpu,
        counted(machine.cpus.into(), "CPU"),
        machine.kernel,
        machine.pinned,
        verify_text(&verify_document(contents))
    );
    for event in &imported.events {
        let count =
            |count: Option<f64>| count.map_or("-".to_owned(), |count| format!("{count:.0}"));
        let _ = writeln!(
            text,
            "perf, one start of each: {} {} before, {} after",
            event.name,
            count(event.before),
            count(event.after)
        );
    }
    text.push_str("\nBeside it:\n");
    for (kind, words) in evidence_words(&imported.manifest.evidence) {
        push_fact(&mut text, kind, &words);
    }
    for entry in imported.ledger_entries() {
        push_fact(&mut text, "measured", &measured_words(&entry));
        push_fact(&mut text, entry.agreement.as_str(), agreement_words(&entry));
    }
    text
}

fn push_fact(text: &mut String, kind: &str, words: &str) {
    let line = format!("  {kind:<width$}{words}", width = INDENT - 2);
    let _ = writeln!(text, "{}", wrap_text(&line, INDENT));
}

/// Returns what was predicted and counted, in words.
fn evidence_words(evidence: &KitEvidence) -> Vec<(&'static str, String)> {
    let mut words = Vec::new();
    for predicted in &evidence.predicted {
        words.push((
            "predicted",
            format!(
                "transfers on {} from {} to {}, by replaying {}",
                predicted.type_name, predicted.before, predicted.after, predicted.workload
            ),
        ));
        let gains = predicted.gains.iter().map(|gain| {
            let [low, high] = gain.interval;
            let on = format!("{} on {}", counted(gain.cpus.into(), "CPU"), gain.machine);
            format!("{:.2} ({low:.2} to {high:.2}) with {on}", gain.ratio)
        });
        let gains: Vec<String> = gains.collect();
        if !gains.is_empty() {
            let gains = gains.join(", ");
            words.push(("predicted", format!("throughput over today's {gains}")));
        }
    }
    words.extend(evidence.counted.iter().map(|effect| {
        let recordings = counted(effect.samples as u64, "recording");
        let words = effect.words();
        (
            "counted",
            format!("{}: {words}, in {recordings} of each build", effect.bench),
        )
    }));
    if words.is_empty() {
        words.push(("-", "the kit has no prediction and no counts".to_owned()));
    }
    words
}

fn measured_words(entry: &LedgerEntry) -> String {
    let change = entry.judged.change_text();
    let change = change.as_deref().unwrap_or("cannot be told");
    let interval = match entry.judged.interval_text() {
        Some([low, high]) => format!(", 95% interval {low} to {high}"),
        None => String::new(),
    };
    format!(
        "{}: {change}{interval}, in {}: {}",
        entry.metric,
        counted(entry.pairs as u64, "pair"),
        entry.judged.verdict.as_str()
    )
}

fn agreement_words(entry: &LedgerEntry) -> &'static str {
    match (entry.agreement, entry.evidence.expects_gain()) {
        (Agreement::Hit, Some(true)) => "it was to get better, and did",
        (Agreement::Hit, _) => "it was to get worse, and did",
        (Agreement::Miss, Some(true)) => "it was to get better, and got worse",
        (Agreement::Miss, _) => "it was to get worse, and got better",
        (Agreement::NoEffect, _) => "a change was expected, and there is none beyond the margin",
        (Agreement::Undecided, None) => "nothing was expected",
        (Agreement::Undecided, Some(_)) => "the measurement cannot tell",
    }
}

/// Renders a ledger: a line for each measured metric, and the sums.
pub fn render_ledger(entries: &[LedgerEntry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let change = entry.judged.change_text();
        let change = change.as_deref().unwrap_or("-");
        let _ = writeln!(
            text,
            "{:<10} {change:>8} {}  {}, {}: {}",
            entry.agreement.as_str(),
            entry.metric,
            entry.machine.cpu,
            counted(entry.machine.cpus.into(), "CPU"),
            entry.subject
        );
    }
    let count = |agreement: Agreement| {
        let of_kind = entries.iter().filter(|entry| entry.agreement == agreement);
        of_kind.count()
    };
    let _ = writeln!(
        text,
        "{}: {} hit, {} missed, {} without effect, {} undecided",
        counted(entries.len() as u64, "measured metric"),
        count(Agreement::Hit),
        count(Agreement::Miss),
        count(Agreement::NoEffect),
        count(Agreement::Undecided)
    );
    text
}

/// Says what was packed, and how to use it.
pub fn render_export(kit: &ExportedKit) -> String {
    let folder = kit.folder.display();
    let starts = match &kit.manifest.kernels {
        Some(kernels) => format!("Linux {} and {}", kernels.before, kernels.after),
        None => format!("{} of starts", counted(kit.manifest.pairs as u64, "pair")),
    };
    let mut text = format!(
        "{folder}: {}\n  {starts}, {:.1} MiB of builds\n",
        kit.manifest.subject,
        kit.bytes as f64 / f64::from(1 << 20)
    );
    for (kind, words) in evidence_words(&kit.manifest.evidence) {
        push_fact(&mut text, kind, &words);
    }
    for note in &kit.notes {
        let _ = writeln!(text, "{}", wrap_text(&format!("note: {note}"), 2));
    }
    text.push_str(match kit.manifest.kernels {
        Some(_) => {
            "Copy it to the other machine, and run `KIT/run install` there. Boot one kernel, run `KIT/run`, boot the \
             other, and so on.\nThen: relayout verify --import RESULT\n"
        }
        None => {
            "Copy it to the other machine, and run `KIT/run` there. Then: relayout verify --import RESULT\n"
        }
    });
    text
}
