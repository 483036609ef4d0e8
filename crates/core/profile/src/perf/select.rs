//! Selection of samples, and notes on those left out.

use std::collections::BTreeMap;

use relayout_perf_data::{MemorySample, PerfRecording, last_exec_ns};

use super::{ImportError, ImportTarget};
use crate::Addr;

/// Processes that an error names, at most.
const PROCESSES_NAMED: usize = 5;

/// Whose accesses to take: of `pid`; the kernel's if `kernel`; else of the process with most
/// samples.
///
/// # Errors
/// There are none of them.
pub fn choose_target(
    recording: &PerfRecording,
    pid: Option<u32>,
    kernel: bool,
) -> Result<ImportTarget, ImportError> {
    let samples = recording.samples.len() as u64;
    if kernel {
        let has_kernel_samples = recording
            .samples
            .iter()
            .any(|sample| is_kernel(sample.addr));
        return if has_kernel_samples {
            Ok(ImportTarget::Kernel)
        } else {
            Err(ImportError::NoKernel { samples })
        };
    }
    let processes = processes(recording);
    let Some(&(first, _)) = processes.first() else {
        return Err(ImportError::OnlyKernel { samples });
    };
    match pid {
        Some(pid) if processes.iter().any(|(other, _)| *other == pid) => {
            Ok(ImportTarget::Process(pid))
        }
        Some(pid) => Err(ImportError::NoProcess {
            pid,
            others: list_processes(recording, &processes),
        }),
        None => Ok(ImportTarget::Process(first)),
    }
}

/// Processes with samples of user addresses, most samples first.
fn processes(recording: &PerfRecording) -> Vec<(u32, u64)> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for sample in recording
        .samples
        .iter()
        .filter(|sample| !is_kernel(sample.addr))
    {
        *counts.entry(sample.pid).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

fn list_processes(recording: &PerfRecording, processes: &[(u32, u64)]) -> String {
    let describe_process = |(pid, count): &(u32, u64)| {
        format!("{pid} ({}, {count} samples)", thread_name(recording, *pid))
    };
    let mut words: Vec<_> = processes
        .iter()
        .take(PROCESSES_NAMED)
        .map(describe_process)
        .collect();
    if processes.len() > PROCESSES_NAMED {
        words.push(format!("{} others", processes.len() - PROCESSES_NAMED));
    }
    words.join(", ")
}

/// The last name of a thread, its creator's if it never got its own.
pub(super) fn thread_name(recording: &PerfRecording, tid: u32) -> &str {
    let named = |tid| recording.names.iter().rfind(|name| name.tid == tid);
    let parent = || {
        let fork = recording.forks.iter().rfind(|fork| fork.tid == tid)?;
        named(fork.parent_tid)
    };
    named(tid)
        .or_else(parent)
        .map_or("unnamed", |name| name.name.as_str())
}

fn is_kernel(address: u64) -> bool {
    Addr(address).is_kernel()
}

/// The samples that count, and what is said of the others.
pub(super) fn select_samples(
    recording: &PerfRecording,
    target: ImportTarget,
) -> (Vec<MemorySample>, Vec<String>) {
    let mut notes = Vec::new();
    let recorded = recording.samples.iter();
    let note = |count: usize, text: &str| (count > 0).then(|| format!("{count} {text}"));
    let ImportTarget::Process(pid) = target else {
        let samples: Vec<MemorySample> = recorded.filter(|s| is_kernel(s.addr)).copied().collect();
        let rest = recording.samples.len() - samples.len();
        notes.extend(note(rest, "samples of user addresses are left out"));
        return (samples, notes);
    };
    let (own, others): (Vec<MemorySample>, Vec<MemorySample>) =
        recorded.partition(|sample| sample.pid == pid);
    let exec = last_exec_ns(recording, pid);
    let before = |sample: &MemorySample| sample.time_ns != 0 && sample.time_ns < exec;
    let early = own.iter().filter(|sample| before(sample)).count();
    let kernel = own.iter().filter(|sample| is_kernel(sample.addr)).count();
    let keep = |sample: &MemorySample| !is_kernel(sample.addr) && !before(sample);
    let samples = own.into_iter().filter(keep).collect();
    notes.extend(note(
        others.len(),
        "samples of other processes are left out (--pid chooses)",
    ));
    notes.extend(note(
        kernel,
        "samples of kernel addresses are left out (--kernel takes them)",
    ));
    notes.extend(note(
        early,
        "samples from before the process's last exec are left out",
    ));
    (samples, notes)
}

/// Returns notes on losses in the recording itself.
pub(super) fn loss_notes(recording: &PerfRecording) -> Vec<String> {
    let counted = [
        (
            recording.lost,
            "samples and records were lost: the kernel had no room for them",
        ),
        (
            recording.throttled,
            "times the kernel stopped sampling for a while (perf_cpu_time_max_percent)",
        ),
        (
            recording.unknown_event,
            "samples are of events that the file does not describe",
        ),
        (
            recording.without_address,
            "samples do not say what was done to which address",
        ),
        (
            recording.malformed,
            "records are too short for what they should hold",
        ),
    ];
    let mut notes: Vec<String> = counted
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, text)| format!("{n} {text}"))
        .collect();
    if recording.truncated {
        notes.push("the file ends too early; what it has is imported".into());
    }
    notes
}
