//! After the window: the collector's segments and the guest's memory, made into a profile.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering::*;

use memmap2::Mmap;
use relayout_profile::segments::{self, Assembled, TornReason};
use relayout_profile::{Meta, Profile, Run, Setting};
use relayout_shadow::CONTEXTS_MAX;

use super::watch::Ending;
use super::{Recorded, Recording, Work};
use crate::file_error::{FileError, cannot};
use crate::files::full_name;
use crate::qemu::Machine;
use crate::workspace::Workspace;
use crate::{Collector, Error, Kernel, map_file, memory};

/// Pages as the kernel's slabs are made of.
const PAGE_BYTES: u64 = 4096;
/// Lines of the console that a profile keeps.
const CONSOLE_LINES: usize = 2000;

/// QEMU has ended; `ending` is how its window did.
pub fn assemble(
    recording: &Recording,
    kernel: &Kernel<'_>,
    collector: &Collector,
    machine: &Machine,
    workspace: &Workspace,
    ending: Ending,
) -> Result<Recorded, Error> {
    let assembled = read_segments(workspace, recording.cpus)?;
    let mut notes = losses(&assembled, "CPU");
    let problem = match ending {
        Ending::Closed => None,
        Ending::Cut(error) => Some(error),
    };
    let run = run(recording, &assembled, workspace, machine, problem.as_ref());
    let mut profile = assembled.profile;
    match map(&workspace.memory()) {
        Ok(bytes) => {
            let pages = pages_that_matter(&profile);
            let snapshot = memory::snapshot(kernel, &bytes, 0, recording.cpus, &pages)?;
            profile.ranges = snapshot.ranges;
            notes.extend(
                snapshot
                    .gaps
                    .iter()
                    .map(|gap| format!("not readable in the guest: {gap}")),
            );
        }
        Err(error) => notes.push(format!("the guest's memory cannot be read: {error}")),
    }
    profile.meta = meta(recording, kernel, collector, profile.meta);
    profile.meta.runs = vec![run];
    Ok(Recorded {
        profile,
        problem,
        notes,
    })
}

fn read_segments(workspace: &Workspace, cpus: u16) -> Result<Assembled, Error> {
    let mut files: Vec<_> = (0..cpus)
        .map(|n| Ok((n, map(&workspace.path(&format!("ctx-{n}.seg")))?)))
        .collect::<Result<_, FileError>>()?;
    files.push((CONTEXTS_MAX as u16, map(&workspace.path("sites.seg"))?));
    let files: Vec<(u16, &[u8])> = files.iter().map(|(n, bytes)| (*n, &**bytes)).collect();
    segments::assemble(&files, 0, cpus).map_err(Error::Segments)
}

/// A file that nobody writes to any more: QEMU has ended. Mapped, because a long recording's
/// segments are larger than memory.
fn map(path: &Path) -> Result<Mmap, FileError> {
    map_file(path).map_err(cannot("open", path))
}

/// Pages with lines that moved between CPUs, or beside such a line, or whose accesses were logged.
fn pages_that_matter(profile: &Profile) -> Vec<u64> {
    let moved = profile
        .lines
        .iter()
        .filter(|l| l.read_transfers + l.write_transfers + l.upgrades > 0)
        .map(|l| l.line);
    let logged = profile.regions.iter().map(|r| r.start);
    let beside = profile.pairs.iter().map(|p| p.addr);
    let pages: BTreeSet<u64> = moved
        .chain(logged)
        .chain(beside)
        .map(|at| at & !(PAGE_BYTES - 1))
        .collect();
    pages.into_iter().collect()
}

fn run(
    recording: &Recording,
    assembled: &Assembled,
    workspace: &Workspace,
    machine: &Machine,
    problem: Option<&Error>,
) -> Run {
    let control = workspace.control();
    let summary = assembled.summary;
    let first_line = |e: &Error| e.to_string().lines().next().unwrap_or_default().to_owned();
    Run {
        seed: recording.seed,
        complete: problem.is_none() && summary.is_some() && assembled.torn.is_empty(),
        ended: problem.map_or_else(|| "the workload was done".into(), first_line),
        window_wall_ns: control.window_wall_ns.load(Acquire),
        window_cpu_ns: control.window_cpu_ns.load(Acquire),
        accesses: summary.map_or_else(|| control.accesses.load(Acquire), |s| s.accesses),
        operations: summary.map_or_else(|| control.operations.load(Acquire), |s| s.operations),
        bursts_dropped: summary.map_or(0, |s| s.bursts_dropped),
        pair_period: Some(relayout_shadow::PAIR_PERIOD),
        console_tail: machine.console_lines(CONSOLE_LINES),
        ..Run::default()
    }
}

fn meta(
    recording: &Recording,
    kernel: &Kernel<'_>,
    collector: &Collector,
    assembled: Meta,
) -> Meta {
    let workload = match &recording.work {
        Work::Workload(name) => name.clone(),
        Work::Program { path, arguments } => {
            let words =
                std::iter::once(path.display().to_string()).chain(arguments.iter().cloned());
            words.collect::<Vec<_>>().join(" ")
        }
    };
    Meta {
        target: "kernel".into(),
        workload,
        settings: settings(recording),
        machine: "x86_64".into(),
        collector: collector.describe(),
        debug_file: full_name(&kernel.debug),
        build_id: kernel.build_id.clone(),
        release: kernel.release.clone(),
        ..assembled
    }
}

fn settings(recording: &Recording) -> Vec<Setting> {
    let iterations = recording
        .iterations
        .map_or_else(|| "default".into(), |n| n.to_string());
    let bursts = recording
        .bursts
        .map_or_else(|| "default".into(), |n| n.to_string());
    vec![
        Setting::new("cpus", recording.cpus.to_string()),
        Setting::new("threads", recording.threads.to_string()),
        Setting::new("iterations", iterations),
        Setting::new("yield", recording.yield_every.to_string()),
        Setting::new("memory", format!("{}M", recording.memory_bytes >> 20)),
        Setting::new("append", recording.append.clone()),
        Setting::new("qemu-arguments", recording.qemu_arguments.join(" ")),
        Setting::new("bursts", bursts),
        Setting::new("kernel-command-line", super::command_line(recording)),
        Setting::new(
            "time-limit",
            format!("{} s", recording.time_limit.as_secs()),
        ),
    ]
}

/// What was lost on the way, in words. `context` is what a context is called.
pub fn losses(assembled: &Assembled, context: &str) -> Vec<String> {
    let mut notes: Vec<String> = assembled
        .torn
        .iter()
        .map(|torn| match torn.reason {
            TornReason::NoFile => format!(
                "{context} {}: the file with what it recorded is gone",
                torn.context
            ),
            _ => format!(
                "{context} {}: the last {} bytes recorded are lost",
                torn.context, torn.bytes_lost
            ),
        })
        .collect();
    let lost = &assembled.losses;
    let counted = [
        (lost.unknown_site, "records of unknown instructions"),
        (lost.invalid, "records with impossible values"),
        (
            lost.duplicate_ticket,
            "burst records with a ticket used twice",
        ),
        (lost.regions_shortened, "regions whose bursts end early"),
    ];
    notes.extend(
        counted
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}")),
    );
    if let Some(entries) = assembled.summary.map(|s| s.entries_lost).filter(|&n| n > 0) {
        notes.push(format!(
            "{entries} accesses could not be followed: the collector ran out of memory"
        ));
    }
    notes
}
