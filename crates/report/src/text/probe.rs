//! Text output of `relayout probe`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use relayout_probe::{CpuRelation, MachineFile, RatioInterval, UnknownValue, VisitCost};

use super::contention::contention_rows;

/// Renders the machine file as text. `place` is the path of the written file. Tests of contention stand in place of the
/// costs, which are in the file.
pub fn probe_text(file: &MachineFile, place: Option<&Path>) -> String {
    let mut out = machine(file);
    match &file.contention {
        Some(contention) => out.push_str(&contention_rows(file, contention)),
        None => out.push_str(&cost_rows(file)),
    }
    out.push('\n');
    windows(&mut out, file);
    if file.contention.is_none() {
        unknown_values(&mut out, &file.unknown);
    }
    if let Some(place) = place {
        let _ = writeln!(out, "written to {}", place.display());
    }
    out
}

fn cost_rows(file: &MachineFile) -> String {
    let mut out = String::new();
    for ProbeRow { name, value, means } in rows(file) {
        let text = format!("{name:<24}{value:<30}{means}");
        let _ = writeln!(out, "{}", text.trim_end());
    }
    out
}

fn machine(file: &MachineFile) -> String {
    let machine = &file.machine;
    let kind = match machine.virtual_machine {
        true => ", a virtual machine",
        false => "",
    };
    let cpus = match machine.cpus {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    format!(
        "{}, {cpus}{kind}; lines of {} bytes\n\n",
        machine.cpu, file.line_bytes
    )
}

/// A line of the table.
struct ProbeRow {
    name: String,
    value: String,
    means: String,
}

impl ProbeRow {
    fn new(name: &str, value: String, means: &str) -> Self {
        Self {
            name: name.to_owned(),
            value,
            means: means.to_owned(),
        }
    }
}

fn rows(file: &MachineFile) -> Vec<ProbeRow> {
    let noise = file.noise.map(|noise| {
        let means = "spread of windows that measure the same thing";
        ProbeRow::new("noise", format!("{:.1} %", 100.0 * noise), means)
    });
    let mut rows = transfers(file);
    rows.extend(accesses(file));
    rows.extend(visits(file));
    rows.extend(pairs(file));
    rows.extend(ratios(file));
    rows.extend(noise);
    rows
}

fn transfers(file: &MachineFile) -> Vec<ProbeRow> {
    let told = file.transfers.iter().filter_map(|transfer| {
        let (ns, low, high) = (transfer.ns?, transfer.ns_low?, transfer.ns_high?);
        let name = format!("CPU {} to CPU {}", transfer.cpu_a, transfer.cpu_b);
        let value = format!("{ns:.0} ns ({low:.0} to {high:.0})");
        let means = format!("to move a line; {}", relation(transfer.relation));
        Some(ProbeRow { name, value, means })
    });
    told.collect()
}

fn accesses(file: &MachineFile) -> Vec<ProbeRow> {
    let row = |kind: &str| {
        let told = file
            .accesses
            .iter()
            .filter(|access| access.kind == kind)
            .filter_map(|access| access.alone_ns.value.zip(access.contended_ns.value));
        let (alone, contended): (Vec<f64>, Vec<f64>) = told.unzip();
        let alone = alone.first()?;
        let [least, most] = [
            contended.iter().copied().fold(f64::INFINITY, f64::min),
            contended.iter().copied().fold(0.0, f64::max),
        ];
        let value = format!("{least:.1} to {most:.1} ns, alone {alone:.1} ns");
        let means = "where another CPU takes the line away all the time";
        Some(ProbeRow::new(kind, value, means))
    };
    let kinds = ["load", "store", "update", "exchange"];
    kinds.into_iter().filter_map(row).collect()
}

fn visits(file: &MachineFile) -> Vec<ProbeRow> {
    let known = |visit: &&VisitCost| visit.ns.value.is_some();
    let told = file.visits.iter().filter(known).filter_map(|visit| {
        let name = match (visit.kind.as_str(), visit.instructions) {
            ("load", _) => "visit: load".to_owned(),
            ("exchange", _) => "visit: exchange".to_owned(),
            ("upgrade", _) => "visit: upgrade".to_owned(),
            ("load-then-exchange", _) => "visit: both in turn".to_owned(),
            ("load-exchange", Some(instructions)) => format!("visit: {instructions} between"),
            _ => return None,
        };
        let means = match visit.kind.as_str() {
            "load" => "by which a load waits for its line, now and then",
            "exchange" => "by which an exchange does",
            "upgrade" => "by which an exchange does, where the other CPU only loads",
            "load-then-exchange" => "by which a load does, and an exchange of what it brought",
            _ => "with so many instructions from the load to the exchange",
        };
        let value = format!("{:.0} ns", visit.ns.value?);
        Some(ProbeRow::new(&name, value, means))
    });
    told.collect()
}

fn pairs(file: &MachineFile) -> Option<ProbeRow> {
    let pair = &file.pair_coefficient;
    let (value, low, high) = (pair.value?, pair.low?, pair.high?);
    let text = format!("{value:.2} ({low:.2} to {high:.2})");
    Some(ProbeRow::new("pairs of lines", text, pair_words(value)))
}

fn ratios(file: &MachineFile) -> Vec<ProbeRow> {
    let intervals = &file.intervals;
    let ratios = [
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
    ];
    let row = |(name, value, interval, means): (_, Option<_>, Option<_>, _)| {
        Some(ProbeRow::new(name, ratio(value?, interval?), means))
    };
    ratios.into_iter().filter_map(row).collect()
}

fn windows(out: &mut String, file: &MachineFile) {
    let windows = &file.windows;
    if windows.taken == 0 {
        out.push_str("no window was measured\n");
        return;
    }
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

/// Adds a line that counts the unknown values by kind, with the most frequent reason.
fn unknown_values(out: &mut String, unknown: &[UnknownValue]) {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for value in unknown {
        let kind = value.what.split(['[', '.']).next().unwrap_or_default();
        *kinds.entry(kind).or_default() += 1;
        *reasons.entry(&value.why).or_default() += 1;
    }
    let Some((reason, _)) = reasons.iter().max_by_key(|(_, count)| **count) else {
        return;
    };
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| match count {
            1 => (*kind).to_owned(),
            count => format!("{kind} ({count})"),
        })
        .collect();
    let others = match reasons.len() - 1 {
        0 => String::new(),
        1 => ", and 1 other reason (see --json)".to_owned(),
        count => format!(", and {count} other reasons (see --json)"),
    };
    let _ = writeln!(out, "not known: {}: {reason}{others}", kinds.join(", "));
}

pub(super) fn relation(relation: CpuRelation) -> &'static str {
    match relation {
        CpuRelation::SmtSibling => "one core",
        CpuRelation::SameCache => "one cache",
        CpuRelation::SamePackage => "one package",
        CpuRelation::OtherNode => "two nodes",
    }
}

fn ratio(value: f64, interval: RatioInterval) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unknown: &[(&str, &str)], expect: &str) {
        let value = |(what, why): &(&str, &str)| UnknownValue {
            what: (*what).to_owned(),
            why: (*why).to_owned(),
        };
        let mut out = String::new();
        unknown_values(&mut out, &unknown.iter().map(value).collect::<Vec<_>>());
        assert_eq!(out, expect);
    }

    #[test]
    fn many_unknown_values_are_one_line() {
        check(&[], "");
        check(
            &[("split_ratio", "noise")],
            "not known: split_ratio: noise\n",
        );
        check(
            &[
                ("accesses[load,store].alone_ns", "5 of 30 rounds"),
                ("accesses[load,store].contended_ns", "6 of 30 rounds"),
                ("accesses[store,store].alone_ns", "6 of 30 rounds"),
                ("pairs[0]", "too wide"),
            ],
            "not known: accesses (3), pairs: 6 of 30 rounds, and 2 other reasons (see --json)\n",
        );
    }
}
