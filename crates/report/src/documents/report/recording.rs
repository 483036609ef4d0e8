//! Facts about a recording: the machine, its boot, and the runs.

use relayout_profile::boot::RecordedBoot;
use relayout_profile::{ProfileMeta, RecordedProcess, RecordedRun, RecordedTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineDocument {
    /// Architecture of the recorded code.
    pub(crate) arch: String,
    /// `kernel` or `program`.
    pub(crate) target: String,
    /// Release of the kernel; empty for programs.
    pub(crate) release: String,
    /// Build id in hexadecimal.
    pub(crate) build_id: String,
    /// What recorded.
    pub(crate) collector: String,
    /// Number of CPUs or threads that were recorded.
    pub(crate) contexts: u16,
    /// Size of a cache line in bytes.
    pub(crate) line_bytes: u32,
    /// True if stored values were seen.
    pub(crate) values_seen: bool,
    /// Boot of the recorded kernel; null for programs, and for kernels that relayout did not boot.
    pub(crate) boot: Option<BootDocument>,
    /// Machine in whose simulated time the accesses have their order, with the placement of CPUs on it; null
    /// for the order of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) simulated_machine: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BootDocument {
    /// Differences from a boot in production: `no-slab-merging`, `no-kaslr`, `no-mitigations`,
    /// `no-fast-strings`, `no-clock-watchdog`, `no-timer-check`.
    pub(crate) changes: Vec<String>,
    /// Model and features of the emulated CPU, as QEMU was given them; null where the profile does
    /// not hold them.
    pub(crate) cpu_model: Option<String>,
    /// Accesses that were not seen: `user-space`, `bulk-functions`, `block-clears`, `page-walks`,
    /// `dma`.
    pub(crate) not_watched: Vec<String>,
    /// Functions of the kernel whose accesses were not seen; null where the profile does not hold
    /// them.
    pub(crate) unwatched_functions: Option<Vec<String>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunDocument {
    /// Seed of the order of CPUs or starts.
    pub(crate) seed: u64,
    /// False if the recording was cut off.
    pub(crate) complete: bool,
    /// How the recorded program or guest ended.
    pub(crate) ended: String,
    /// Name of the signal that ended the program before its time, or at which the user ended the
    /// recording.
    pub(crate) signal: Option<String>,
    /// Process whose memory the run's addresses are of.
    pub(crate) process: Option<ProcessDocument>,
    /// Time of the recording in nanoseconds.
    pub(crate) window_wall_ns: u64,
    /// CPU time of the recording in nanoseconds.
    pub(crate) window_cpu_ns: u64,
    /// Fraction of the CPU time that the recorded processes wanted and did not get, because the
    /// host ran others; null where nobody measured it.
    pub(crate) lost_share: Option<f64>,
    /// Time in which accesses were recorded; null if that was the whole window. All processes of a
    /// recording have the same.
    pub(crate) recorded_time: Option<RecordedTimeDocument>,
    /// Number of accesses.
    pub(crate) accesses: u64,
    /// Number of operations.
    pub(crate) operations: u64,
    /// Accesses that were not kept in order, for lack of room.
    pub(crate) bursts_dropped: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RecordedTimeDocument {
    /// Wall time from the beginning on in which everything was recorded.
    pub(crate) whole_ns: u64,
    /// Wall time after that, in which only slices were recorded.
    pub(crate) sliced_ns: u64,
    /// Wall time of all slices together.
    pub(crate) slices_ns: u64,
    /// Length of a slice, as asked for.
    pub(crate) slice_ns: u64,
    /// Recorded fraction of the whole time.
    pub(crate) share: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProcessDocument {
    /// Number of the process.
    pub(crate) pid: u32,
    /// Number of its parent.
    pub(crate) parent_pid: u32,
    /// Path of the program.
    pub(crate) program: String,
    /// False for the first process of a recording.
    pub(crate) is_further: bool,
    /// Mappings that it could share with other processes. Transfers between processes are not
    /// recorded.
    pub(crate) shared_mappings: u32,
    /// Of the first process: further ones that had no transfers, and have no run.
    pub(crate) without_transfers: u32,
    /// Of the first process: further ones that were not recorded.
    pub(crate) left_out: u32,
}

pub(crate) fn machine_document(meta: &ProfileMeta) -> MachineDocument {
    MachineDocument {
        arch: meta.machine.clone(),
        target: meta.target.clone(),
        release: meta.release.clone(),
        build_id: meta.build_id.clone(),
        collector: meta.collector.clone(),
        contexts: meta.contexts,
        line_bytes: meta.line_bytes,
        values_seen: meta.values_seen,
        boot: RecordedBoot::from_meta(meta).map(boot_document),
        simulated_machine: { meta.simulated_machine.as_ref() }.map(ToString::to_string),
    }
}

fn boot_document(boot: RecordedBoot<'_>) -> BootDocument {
    let unwatched = boot.unwatched.into_iter();
    BootDocument {
        changes: { boot.changes.into_iter() }
            .map(|change| change.as_str().to_owned())
            .collect(),
        cpu_model: boot.cpu_model.map(str::to_owned),
        not_watched: unwatched.map(|access| access.as_str().to_owned()).collect(),
        unwatched_functions: boot.unwatched_functions.map(<[String]>::to_vec),
    }
}

pub(crate) fn run_document(run: &RecordedRun) -> RunDocument {
    RunDocument {
        seed: run.seed,
        complete: run.complete,
        ended: run.ended.clone(),
        signal: run.signal.clone(),
        process: run.process.as_ref().map(process_document),
        window_wall_ns: run.window_wall_ns,
        window_cpu_ns: run.window_cpu_ns,
        lost_share: run.lost_share,
        recorded_time: run.recorded_time.map(recorded_time_document),
        accesses: run.accesses,
        operations: run.operations,
        bursts_dropped: run.bursts_dropped,
    }
}

fn recorded_time_document(time: RecordedTime) -> RecordedTimeDocument {
    RecordedTimeDocument {
        whole_ns: time.whole_ns,
        sliced_ns: time.sliced_ns,
        slices_ns: time.slices_ns,
        slice_ns: time.slice_ns,
        share: time.share(),
    }
}

fn process_document(process: &RecordedProcess) -> ProcessDocument {
    ProcessDocument {
        pid: process.pid,
        parent_pid: process.parent_pid,
        program: process.program.clone(),
        is_further: process.is_further,
        shared_mappings: process.shared_mappings,
        without_transfers: process.without_transfers,
        left_out: process.left_out,
    }
}
