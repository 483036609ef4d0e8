//! Metadata of an imported recording.

use relayout_perf_data::{MemorySample, PerfRecording};

use super::contexts::SampleContexts;
use super::select::thread_name;
use super::{ImportOptions, ImportTarget};
use crate::ids::{Addr, RunId};
use crate::model::{
    AccessCoverage, LoadedModule, ProfileMeta, ProgramThread, RangeKind, RangeRow, RecordedRun,
    RecordingSetting,
};

pub(super) fn module_ranges(modules: &[LoadedModule]) -> Vec<RangeRow> {
    let range = |module: &LoadedModule| RangeRow {
        run: RunId(0),
        kind: RangeKind::Image,
        start: Addr(module.start),
        bytes: module.end.saturating_sub(module.start),
        owner: module.path.clone(),
        id: 0,
        first: Addr(0),
        stride: 0,
        object_bytes: 0,
    };
    modules.iter().map(range).collect()
}

pub(super) fn profile_meta(
    recording: &PerfRecording,
    options: &ImportOptions,
    samples: &[MemorySample],
    contexts: &SampleContexts,
) -> ProfileMeta {
    let origin = &recording.origin;
    let kernel = options.target == ImportTarget::Kernel;
    let first = samples.iter().map(|s| s.time_ns).min().unwrap_or(0);
    let last = samples.iter().map(|s| s.time_ns).max().unwrap_or(0);
    let thread = |(context, tid): (u16, &u32)| ProgramThread {
        context,
        tid: *tid,
        name: thread_name(recording, *tid).to_owned(),
    };
    let run = RecordedRun {
        complete: recording.lost == 0 && !recording.truncated,
        ended: if recording.truncated {
            "the file ends too early"
        } else {
            "perf ended"
        }
        .into(),
        window_wall_ns: last - first,
        accesses: samples.len() as u64,
        modules: options.modules.clone(),
        threads: (0..).zip(&contexts.threads).map(thread).collect(),
        ..RecordedRun::default()
    };
    ProfileMeta {
        target: if kernel { "kernel" } else { "program" }.into(),
        workload: origin.command.join(" "),
        settings: settings(recording, options.target),
        line_bytes: options.line_bytes,
        contexts: contexts.count,
        machine: origin.arch.clone(),
        collector: format!("perf {}", origin.perf).trim_end().to_owned(),
        release: if kernel {
            origin.release.clone()
        } else {
            String::new()
        },
        coverage: AccessCoverage::Samples,
        hitm_seen: samples.iter().any(|sample| sample.source.tells_snoop()),
        runs: vec![run],
        ..ProfileMeta::default()
    }
}

fn settings(recording: &PerfRecording, target: ImportTarget) -> Vec<RecordingSetting> {
    let events: Vec<_> = recording
        .events
        .iter()
        .filter(|e| e.samples_memory)
        .collect();
    let events: Vec<_> = events.iter().map(|e| e.name.as_str()).collect();
    let mut settings = vec![
        RecordingSetting::new("events", events.join(",")),
        RecordingSetting::new("cpu", recording.origin.cpu.clone()),
        RecordingSetting::new("lost", recording.lost.to_string()),
        RecordingSetting::new("throttled", recording.throttled.to_string()),
    ];
    if let ImportTarget::Process(pid) = target {
        settings.push(RecordingSetting::new("pid", pid.to_string()));
    }
    settings
}
