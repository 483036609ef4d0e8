//! Text of kits and their results: measured beside predicted and counted, and the ledger.

use std::fmt::Write as _;

use relayout_verify::judged_change::ChangeVerdict;
use relayout_workflows::kit::{Agreement, ExportedKit, LedgerEntry};

use crate::documents::kit::{
    KitResultDocument, PredictedDocument, counted_documents, predicted_documents,
};
use crate::documents::tune::CountedDocument;
use crate::documents::verify::MetricDocument;
use crate::text::verify::verify_text;
use crate::words::counted;
use crate::words::wrap::wrap_text;

/// Columns before the words of a fact.
const INDENT: usize = 13;

/// Renders a result: the measurement, and beside it what was predicted and counted.
pub fn kit_result_text(document: &KitResultDocument) -> String {
    let machine = &document.machine;
    let kind = if machine.virtual_machine {
        " of a virtual machine"
    } else {
        ""
    };
    let mut text = format!(
        "{}\nmeasured on {}, {}{kind}, {}; kept on CPUs: {}\n\n{}",
        document.subject,
        machine.cpu,
        counted(machine.cpus.into(), "CPU"),
        machine.kernel,
        machine.pinned,
        verify_text(&document.measured)
    );
    for event in &document.events {
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
    for (kind, words) in evidence_words(&document.predicted, &document.counted) {
        push_fact(&mut text, kind, &words);
    }
    let measured = &document.measured;
    for (metric, beside) in measured.metrics.iter().zip(&document.agreements) {
        push_fact(
            &mut text,
            "measured",
            &measured_words(metric, measured.pairs),
        );
        let agreement = beside.agreement;
        let words = agreement_words(agreement, document.expected);
        push_fact(&mut text, agreement.as_str(), words);
    }
    text
}

fn push_fact(text: &mut String, kind: &str, words: &str) {
    let line = format!("  {kind:<width$}{words}", width = INDENT - 2);
    let _ = writeln!(text, "{}", wrap_text(&line, INDENT));
}

/// Returns what was predicted and counted, in words.
fn evidence_words(
    predicted: &[PredictedDocument],
    counts: &[CountedDocument],
) -> Vec<(&'static str, String)> {
    let mut words = Vec::new();
    for predicted in predicted {
        words.push((
            "predicted",
            format!(
                "transfers on {} from {} to {}, by replaying {}",
                predicted.type_name, predicted.before, predicted.after, predicted.workload
            ),
        ));
        let gains = predicted.gains.iter().map(|gain| {
            let on = format!("{} on {}", counted(gain.cpus.into(), "CPU"), gain.machine);
            let [ratio, low, high] = [gain.ratio, gain.low, gain.high];
            format!("{ratio:.2} ({low:.2} to {high:.2}) with {on}")
        });
        let gains: Vec<String> = gains.collect();
        if !gains.is_empty() {
            let gains = gains.join(", ");
            words.push(("predicted", format!("throughput over today's {gains}")));
        }
    }
    words.extend(counts.iter().map(|effect| {
        let recordings = counted(effect.recordings as u64, "recording");
        let CountedDocument { bench, words, .. } = effect;
        (
            "counted",
            format!("{bench}: {words}, in {recordings} of each build"),
        )
    }));
    if words.is_empty() {
        words.push(("-", "the kit has no prediction and no counts".to_owned()));
    }
    words
}

fn measured_words(metric: &MetricDocument, pairs: usize) -> String {
    let change = metric.change_text();
    let change = change.as_deref().unwrap_or("cannot be told");
    let interval = match metric.interval_text() {
        Some([low, high]) => format!(", 95% interval {low} to {high}"),
        None => String::new(),
    };
    format!(
        "{}: {change}{interval}, in {}: {}",
        metric.name,
        counted(pairs as u64, "pair"),
        metric.verdict.as_str()
    )
}

fn agreement_words(agreement: Agreement, expected: Option<ChangeVerdict>) -> &'static str {
    let is_gain = expected.map(|verdict| verdict == ChangeVerdict::Better);
    match (agreement, is_gain) {
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
    let evidence = &kit.manifest.evidence;
    let (predicted, counts) = (predicted_documents(evidence), counted_documents(evidence));
    for (kind, words) in evidence_words(&predicted, &counts) {
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
