//! The head: what was recorded, how, and the totals.

use std::fmt::{self, Write};

use relayout_contend::Findings;
use relayout_profile::{Meta, Run, Setting};

use super::sources::Sources;
use super::{percent, percent_of};

/// Setting that holds what the recorded kernel was booted with.
const COMMAND_LINE: &str = "kernel-command-line";
/// Widest line.
const WIDTH: usize = 116;

pub(super) fn write(
    out: &mut String,
    meta: &Meta,
    findings: &Findings,
    sources: &Sources,
) -> fmt::Result {
    writeln!(
        out,
        "relayout report: {} on {}",
        or_unknown(&meta.workload),
        or_unknown(&meta.release)
    )?;
    let values = if meta.values_seen {
        "values seen"
    } else {
        "values not seen"
    };
    line(
        out,
        "machine",
        &format!(
            "{} {}, {} contexts, {}-byte lines; {}, {values}",
            meta.machine,
            meta.target,
            meta.contexts,
            meta.line_bytes,
            or_unknown(&meta.collector),
        ),
    )?;
    write_settings(out, meta)?;
    write_runs(out, &meta.runs)?;
    write_totals(out, findings)?;
    if !sources.root().is_empty() {
        line(out, "sources", &format!("below {}", sources.root()))?;
    }
    Ok(())
}

/// The settings that were given; the kernel's own command line by itself.
fn write_settings(out: &mut String, meta: &Meta) -> fmt::Result {
    let given = meta.settings.iter().filter(|s| !s.value.is_empty());
    let (command_line, others): (Vec<&Setting>, Vec<&Setting>) =
        given.partition(|s| s.name == COMMAND_LINE);
    let others = others.iter().map(|s| format!("{}={}", s.name, s.value));
    write_wrapped(out, "settings", others)?;
    let words = command_line.iter().flat_map(|s| s.value.split_whitespace());
    write_wrapped(out, "cmdline", words.map(str::to_owned))
}

fn write_wrapped(
    out: &mut String,
    label: &str,
    words: impl Iterator<Item = String>,
) -> fmt::Result {
    let words: Vec<String> = words.collect();
    for (at, row) in wrap(&words).iter().enumerate() {
        line(out, if at == 0 { label } else { "" }, row)?;
    }
    Ok(())
}

fn line(out: &mut String, label: &str, text: &str) -> fmt::Result {
    writeln!(out, "  {label:<10} {text}")
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "(unknown)" } else { text }
}

/// Words joined by spaces, in lines of at most [`WIDTH`].
fn wrap(words: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= WIDTH - 13 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

fn write_runs(out: &mut String, runs: &[Run]) -> fmt::Result {
    let sum = |value: fn(&Run) -> u64| runs.iter().map(value).sum::<u64>();
    // A program without markers has none, which is not a number of them.
    let operations = match sum(|run| run.operations) {
        0 => String::new(),
        count => format!(", {count} operations"),
    };
    let text = format!(
        "{}: {} accesses{operations}, {:.1} s ({:.1} s CPU)",
        runs.len(),
        sum(|run| run.accesses),
        sum(|run| run.window_wall_ns) as f64 / 1e9,
        sum(|run| run.window_cpu_ns) as f64 / 1e9,
    );
    line(out, "runs", &text)?;
    for (number, run) in runs.iter().enumerate().filter(|(_, run)| !run.complete) {
        line(
            out,
            "",
            &format!("run {number} is incomplete: {}", or_unknown(&run.ended)),
        )?;
    }
    Ok(())
}

fn write_totals(out: &mut String, findings: &Findings) -> fmt::Result {
    let totals = &findings.totals;
    let tally = &totals.tally;
    let transfers = tally.transfers();
    let events = match findings.estimated {
        true => "estimated from rates of samples",
        false => "HITM",
    };
    line(
        out,
        "transfers",
        &format!(
            "{transfers} ({events}: {} read, {} write) and {} upgrades, on {} lines; false {} by first touch, {} by lifetime",
            tally.read_transfers,
            tally.write_transfers,
            tally.upgrades,
            totals.lines,
            percent_of(tally.false_first_touch, transfers),
            percent_of(tally.false_lifetime, transfers),
        ),
    )?;
    if findings.estimated {
        let told = match totals.hitm {
            Some(told) => {
                format!("{told} transfers (samples times their period), apart from these")
            }
            None => "nothing: whether a line was modified elsewhere is not known".to_owned(),
        };
        line(out, "HITM", &format!("hardware told of {told}"))?;
    }
    let mut rest: Vec<(&String, &u64)> = totals.unresolved.iter().collect();
    rest.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let mut words = vec![match transfers {
        0 => "nothing: there are no transfers".to_owned(),
        _ => {
            let resolved = percent(totals.resolved_share());
            format!("{resolved} of transfers to a member or variable")
        }
    }];
    if !rest.is_empty() {
        words[0].push_str("; rest:");
    }
    let count = rest.len();
    for (nth, (class, part)) in rest.into_iter().enumerate() {
        let share = percent(*part as f64 / transfers.max(1) as f64);
        let comma = if nth + 1 < count { "," } else { "" };
        words.push(format!("{class} {share}{comma}"));
    }
    write_wrapped(out, "resolved", words.into_iter())
}
