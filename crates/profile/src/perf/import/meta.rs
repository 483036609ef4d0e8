//! Metadata of an imported recording.

use super::contexts::Contexts;
use super::select::thread_name;
use super::{Options, What};
use crate::model::{Coverage, Meta, Module, RangeKind, RangeRow, Run, Setting, Thread};
use crate::perf::{Recording, Sample};

pub(super) fn ranges(modules: &[Module]) -> Vec<RangeRow> {
    let range = |module: &Module| RangeRow {
        run: 0,
        kind: RangeKind::Image,
        start: module.start,
        bytes: module.end.saturating_sub(module.start),
        owner: module.path.clone(),
        id: 0,
        first: 0,
        stride: 0,
        object_bytes: 0,
    };
    modules.iter().map(range).collect()
}

pub(super) fn meta(
    recording: &Recording,
    options: &Options,
    samples: &[Sample],
    contexts: &Contexts,
) -> Meta {
    let origin = &recording.origin;
    let kernel = options.what == What::Kernel;
    let first = samples.iter().map(|s| s.time_ns).min().unwrap_or(0);
    let last = samples.iter().map(|s| s.time_ns).max().unwrap_or(0);
    let thread = |(context, tid): (u16, &u32)| Thread {
        context,
        tid: *tid,
        name: thread_name(recording, *tid).to_owned(),
    };
    let run = Run {
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
        ..Run::default()
    };
    Meta {
        target: if kernel { "kernel" } else { "program" }.into(),
        workload: origin.command.join(" "),
        settings: settings(recording, options.what),
        line_bytes: options.line_bytes,
        contexts: contexts.count,
        machine: origin.arch.clone(),
        collector: format!("perf {}", origin.perf).trim_end().to_owned(),
        release: if kernel {
            origin.release.clone()
        } else {
            String::new()
        },
        coverage: Coverage::Samples,
        hitm_seen: samples.iter().any(|sample| sample.source.tells_snoop()),
        runs: vec![run],
        ..Meta::default()
    }
}

fn settings(recording: &Recording, what: What) -> Vec<Setting> {
    let events: Vec<_> = recording
        .events
        .iter()
        .filter(|e| e.samples_memory)
        .collect();
    let events: Vec<_> = events.iter().map(|e| e.name.as_str()).collect();
    let mut settings = vec![
        Setting::new("events", events.join(",")),
        Setting::new("cpu", recording.origin.cpu.clone()),
        Setting::new("lost", recording.lost.to_string()),
        Setting::new("throttled", recording.throttled.to_string()),
    ];
    if let What::Process(pid) = what {
        settings.push(Setting::new("pid", pid.to_string()));
    }
    settings
}
