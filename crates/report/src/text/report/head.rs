//! The head: what was recorded, how, and the totals.

use std::fmt::{self, Write};

use relayout_profile::boot::{BootChange, COMMAND_LINE_SETTING, RecordedBoot, UnwatchedAccess};
use relayout_profile::{ProfileMeta, RecordedRun, RecordingSetting, is_plain_content};

use crate::documents::report::{LeftOutReaderDocument, ReportDocument};
use crate::words::percent::{percent, percent_of};
use crate::words::simulated_time::{
    simulated_machine_words, simulated_time_words, time_shares_words,
};
use crate::words::wrap::wrap_words;
use crate::words::{busy_host_words, counted, out_of_order_words, recorded_time_words};

/// Widest line.
const WIDTH: usize = 116;

pub(crate) fn write(out: &mut String, meta: &ProfileMeta, report: &ReportDocument) -> fmt::Result {
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
    write_labelled(
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
    if let Some(boot) = RecordedBoot::from_meta(meta) {
        write_labelled(out, "boot", &boot_words(&boot))?;
    }
    if let Some(machine) = &meta.simulated_machine {
        write_labelled(out, "order", &simulated_machine_words(machine))?;
    }
    write_runs(out, meta)?;
    if let Some(words) = recorded_time_words(meta) {
        let text = format!("{words}; all counts are of this time");
        write_labelled(out, "recorded", &text)?;
    }
    write_totals(out, report)?;
    for unread in &report.left_out_readers {
        write_labelled(out, "not read", &unread_words(unread))?;
    }
    if !report.source_root.is_empty() {
        write_labelled(out, "sources", &format!("below {}", report.source_root))?;
    }
    Ok(())
}

/// The settings that were given; the kernel's own command line by itself.
fn write_settings(out: &mut String, meta: &ProfileMeta) -> fmt::Result {
    let given_settings = meta.settings.iter().filter(|s| !s.value.is_empty());
    let (command_line, others): (Vec<&RecordingSetting>, Vec<&RecordingSetting>) =
        given_settings.partition(|s| s.name == COMMAND_LINE_SETTING);
    let others = others.iter().map(|s| format!("{}={}", s.name, s.value));
    write_wrapped(out, "settings", others)?;
    let words = command_line.iter().flat_map(|s| s.value.split_whitespace());
    write_wrapped(out, "cmdline", words.map(str::to_owned))
}

/// `no KASLR; not watched: user space, DMA`
fn boot_words(boot: &RecordedBoot<'_>) -> String {
    let change_words = |change: &BootChange| match change {
        BootChange::NoKaslr => "no KASLR",
        BootChange::NoMitigations => "no mitigations",
        BootChange::NoSlabMerging => "no slab merging",
        BootChange::NoFastStrings => "no fast strings",
        BootChange::NoClockWatchdog => "no TSC watchdog",
        BootChange::NoTimerCheck => "no timer check",
    };
    let unwatched_words = |access: &UnwatchedAccess| match access {
        UnwatchedAccess::UserSpace => "user space",
        UnwatchedAccess::BulkFunctions => "page clears and copies",
        UnwatchedAccess::BlockClears => "clears by dc zva",
        UnwatchedAccess::PageWalks => "page walks",
        UnwatchedAccess::DeviceAccess => "DMA",
    };
    let mut changes: Vec<&str> = boot.changes.iter().map(change_words).collect();
    if changes.is_empty() {
        changes.push("as in production, as far as is known");
    }
    let unwatched: Vec<&str> = boot.unwatched.iter().map(unwatched_words).collect();
    format!(
        "{}; not watched: {}",
        changes.join(", "),
        unwatched.join(", ")
    )
}

fn write_wrapped(
    out: &mut String,
    label: &str,
    words: impl Iterator<Item = String>,
) -> fmt::Result {
    let words: Vec<String> = words.collect();
    for (row_index, row) in wrap_words(words.iter().map(String::as_str), WIDTH - 13)
        .iter()
        .enumerate()
    {
        write_labelled(out, if row_index == 0 { label } else { "" }, row)?;
    }
    Ok(())
}

fn write_labelled(out: &mut String, label: &str, text: &str) -> fmt::Result {
    writeln!(out, "  {label:<10} {text}")
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "(unknown)" } else { text }
}

/// Incomplete runs that are listed, at most.
const INCOMPLETE_MAX: usize = 8;

fn write_runs(out: &mut String, meta: &ProfileMeta) -> fmt::Result {
    let runs = &meta.runs;
    let sum_of_runs = |value: fn(&RecordedRun) -> u64| runs.iter().map(value).sum::<u64>();
    // A program without markers has none, which is not a number of them.
    let operations = match sum_of_runs(|run| run.operations) {
        0 => String::new(),
        count => format!(", {count} operations"),
    };
    let repeats = runs.iter().filter(|run| !run.is_further_process()).count();
    let processes = match runs.len() - repeats {
        0 => String::new(),
        _ => format!(" of {} processes", runs.len()),
    };
    let time = simulated_time_words(runs).unwrap_or_else(|| {
        format!(
            "{:.1} s ({:.1} s CPU)",
            sum_of_runs(|run| run.window_wall_ns) as f64 / 1e9,
            sum_of_runs(|run| run.window_cpu_ns) as f64 / 1e9,
        )
    });
    let accesses = sum_of_runs(|run| run.accesses);
    let text = format!("{repeats}{processes}: {accesses} accesses{operations}, {time}");
    write_labelled(out, "runs", &text)?;
    let doubts = [busy_host_words(meta), out_of_order_words(meta)];
    for words in doubts.iter().flatten() {
        write_labelled(out, "", words)?;
    }
    let incomplete = || runs.iter().enumerate().filter(|(_, run)| !run.complete);
    for (number, run) in incomplete().take(INCOMPLETE_MAX) {
        let process = run.process.as_ref().filter(|_| runs.len() > 1);
        let process = process.map_or(String::new(), |p| format!(" (process {})", p.pid));
        let ended = or_unknown(&run.ended);
        write_labelled(
            out,
            "",
            &format!("run {number}{process} is incomplete: {ended}"),
        )?;
    }
    if let more @ 1.. = incomplete().count().saturating_sub(INCOMPLETE_MAX) {
        write_labelled(out, "", &format!("{more} more runs are incomplete"))?;
    }
    write_process_remarks(out, runs)
}

/// Writes what the profile does not hold of a program's processes.
fn write_process_remarks(out: &mut String, runs: &[RecordedRun]) -> fmt::Result {
    let processes = || runs.iter().filter_map(|run| run.process.as_ref());
    let without: u32 = processes().map(|process| process.without_transfers).sum();
    let left_out: u32 = processes().map(|process| process.left_out).sum();
    if without > 0 {
        let text = format!("further processes without transfers between their threads: {without}");
        write_labelled(out, "", &text)?;
    }
    if left_out > 0 {
        write_labelled(
            out,
            "",
            &format!("processes that were not recorded: {left_out}"),
        )?;
    }
    let is_alone = processes().count() < 2 && without + left_out == 0;
    if !is_alone && processes().any(|process| process.shared_mappings > 0) {
        write_labelled(
            out,
            "",
            "processes share memory (MAP_SHARED); transfers between processes are not recorded",
        )?;
    }
    Ok(())
}

/// `slabs: member 'slab.slab_cache' is missing; at most 31% of transfers have no name for it`
fn unread_words(unread: &LeftOutReaderDocument) -> String {
    format!(
        "{}: {} is missing; at most {} of transfers have no name for it",
        unread.reader,
        unread.missing,
        percent(unread.share),
    )
}

fn write_totals(out: &mut String, report: &ReportDocument) -> fmt::Result {
    let transfers = report.transfers_total;
    let estimated = match report.estimated {
        true => "estimated from rates of samples: ",
        false => "",
    };
    let reads = match report.first_reads.zip(report.later_reads) {
        Some((first, later)) => format!("{first} first reads, {later} later reads"),
        None => format!("{} reads", report.read_transfers),
    };
    let range = report.transfers_range;
    let range = range.map_or(String::new(), |[least, most]| {
        format!("; {least} to {most} transfers in each recording")
    });
    write_labelled(
        out,
        "transfers",
        &format!(
            "{transfers} ({estimated}{reads}, {} writes) and {} upgrades, on {}{range}",
            report.write_transfers,
            report.upgrades,
            counted(report.lines, "line"),
        ),
    )?;
    if let Some(time) = &report.time {
        write_labelled(out, "CPU time", &time_shares_words(time))?;
    }
    let false_words = format!(
        "{} of them by first touch, {} by lifetime",
        percent_of(report.false_first_touch, transfers),
        percent_of(report.false_lifetime, transfers),
    );
    write_labelled(out, "false", &false_words)?;
    if report.estimated {
        let observed = match report.hitm_observed {
            Some(count) => {
                format!("{count} transfers (samples times their period), apart from these")
            }
            None => "nothing: whether a line was modified elsewhere is not known".to_owned(),
        };
        write_labelled(out, "HITM", &format!("hardware told of {observed}"))?;
    }
    let mut unresolved: Vec<(&String, &u64)> = report.unresolved.iter().collect();
    unresolved.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let mut words = vec![match transfers {
        0 => "nothing: there are no transfers".to_owned(),
        _ => {
            let resolved = percent(report.resolved_share);
            let without_content = match has_content(report) {
                false => String::new(),
                true => format!(
                    " ({} without contents of files and pipes)",
                    percent(report.resolved_share_without_content)
                ),
            };
            format!("{resolved} of transfers to a member or variable{without_content}")
        }
    }];
    if !unresolved.is_empty() {
        words[0].push_str("; rest:");
    }
    let count = unresolved.len();
    for (index, (class, part)) in unresolved.into_iter().enumerate() {
        let share = percent(*part as f64 / transfers.max(1) as f64);
        let comma = if index + 1 < count { "," } else { "" };
        words.push(format!("{class} {share}{comma}"));
    }
    write_wrapped(out, "resolved", words.into_iter())
}

/// Returns true if transfers are on contents of files and pipes.
fn has_content(report: &ReportDocument) -> bool {
    let mut classes = report.unresolved.iter();
    classes.any(|(class, transfers)| is_plain_content(class) && *transfers > 0)
}
