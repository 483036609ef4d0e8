//! What `relayout probe` prints for people.

use std::fmt::Write as _;
use std::path::Path;

use relayout_host::probe::{Interval, MachineFile, Relation};

/// The machine file in words; `place` is where it was written.
pub fn render(file: &MachineFile, place: Option<&Path>) -> String {
    let mut out = String::new();
    let machine = &file.machine;
    let kind = match machine.virtual_machine {
        true => ", a virtual machine",
        false => "",
    };
    let cpus = match machine.cpus {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let _ = writeln!(
        out,
        "{}, {cpus}{kind}; lines of {} bytes\n",
        machine.cpu, file.line_bytes
    );
    let mut row = |name: &str, value: String, means: &str| {
        let text = format!("{name:<24}{value:<30}{means}");
        let _ = writeln!(out, "{}", text.trim_end());
    };
    for transfer in &file.transfers {
        let (Some(ns), Some(low), Some(high)) = (transfer.ns, transfer.ns_low, transfer.ns_high)
        else {
            continue;
        };
        let name = format!("CPU {} to CPU {}", transfer.cpu_a, transfer.cpu_b);
        let value = format!("{ns:.0} ns ({low:.0} to {high:.0})");
        row(
            &name,
            value,
            &format!("to move a line; {}", relation(transfer.relation)),
        );
    }
    for kind in ["load", "store", "update", "exchange"] {
        let of_kind = file.accesses.iter().filter(|access| access.kind == kind);
        let told =
            of_kind.filter_map(|access| access.alone_ns.value.zip(access.contended_ns.value));
        let (alone, contended): (Vec<f64>, Vec<f64>) = told.unzip();
        let Some(alone) = alone.first() else { continue };
        let [least, most] = [
            contended.iter().copied().fold(f64::INFINITY, f64::min),
            contended.iter().copied().fold(0.0, f64::max),
        ];
        row(
            kind,
            format!("{least:.1} to {most:.1} ns, alone {alone:.1} ns"),
            "where another CPU takes the line away all the time",
        );
    }
    let pair = &file.pair_coefficient;
    if let (Some(value), Some(low), Some(high)) = (pair.value, pair.low, pair.high) {
        let text = format!("{value:.2} ({low:.2} to {high:.2})");
        row("pairs of lines", text, pair_words(value));
    }
    let intervals = &file.intervals;
    for (name, value, interval, means) in [
        (
            "silent store",
            file.silent_store_ratio,
            intervals.silent_store_ratio,
            "of a check before it, where others read the word",
        ),
        (
            "word across two lines",
            file.split_ratio,
            intervals.split_ratio,
            "of one within a line, handed from CPU to CPU",
        ),
        (
            "the same, unshared",
            file.split_local_ratio,
            intervals.split_local_ratio,
            "of one within a line",
        ),
        (
            "the same, atomic",
            file.split_atomic_ratio,
            intervals.split_atomic_ratio,
            "of one within a line",
        ),
    ] {
        if let (Some(value), Some(interval)) = (value, interval) {
            row(name, ratio(value, interval), means);
        }
    }
    if let Some(noise) = file.noise {
        let value = format!("{:.1} %", 100.0 * noise);
        row(
            "noise",
            value,
            "spread of windows that measure the same thing",
        );
    }
    out.push('\n');
    windows(&mut out, file);
    for unknown in &file.unknown {
        let _ = writeln!(out, "not known: {}: {}", unknown.what, unknown.why);
    }
    if let Some(place) = place {
        let _ = writeln!(out, "written to {}", place.display());
    }
    out
}

fn windows(out: &mut String, file: &MachineFile) {
    let windows = &file.windows;
    let priority = match windows.fifo {
        true => "with real-time priority",
        false => "without real-time priority (not permitted)",
    };
    let steal = match windows.steal_percent {
        Some(percent) if percent >= 0.05 => {
            format!("; the hypervisor took {percent:.1} % of the time")
        }
        _ => String::new(),
    };
    let _ = writeln!(
        out,
        "{} of {} windows of {} ms kept, {priority}{steal}",
        windows.kept, windows.taken, windows.window_ms
    );
}

fn relation(relation: Relation) -> &'static str {
    match relation {
        Relation::SmtSibling => "one core",
        Relation::SameCache => "one cache",
        Relation::SamePackage => "one package",
        Relation::OtherNode => "two nodes",
    }
}

fn ratio(value: f64, interval: Interval) -> String {
    let digits = usize::from(value < 100.0);
    format!(
        "{value:.digits$} times ({:.digits$} to {:.digits$})",
        interval.low, interval.high
    )
}

fn pair_words(value: f64) -> &'static str {
    if value > 0.0 {
        "of what sharing a line costs"
    } else {
        "the two lines of a pair do not disturb each other, or not measurably"
    }
}
