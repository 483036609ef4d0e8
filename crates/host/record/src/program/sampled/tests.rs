//! Tests with a script in place of perf, because the machine has no hardware to sample.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::perf::SamplingHardware;
use crate::program::inspect::inspect_program;

#[path = "../../../../../core/perf-data/tests/perf/builder/mod.rs"]
mod perf;

struct Silent;

impl RecordingProgress for Silent {
    fn step(&self, _: &str) {}
    fn window(&self, _: u64, _: u64, _: u64) {}
    fn program(&self, _: u64, _: u64, _: u64) {}
    fn warn(&self, _: &str) {}
}

fn recording(words: &[&str]) -> ProgramRecording {
    ProgramRecording {
        program: words[0].into(),
        arguments: words[1..].iter().map(Into::into).collect(),
        backend: Some(ProgramBackend::Perf),
        slices: None,
        counts: CountedAccesses::default(),
        values: false,
        bursts: None,
        yield_every: None,
        seed: 1,
        follow_forks: None,
        time_limit: None,
        stop_after: None,
    }
}

fn record(
    recording: &ProgramRecording,
    sampler: SamplingHardware,
    prepared: Option<Vec<u8>>,
) -> Result<RecordingOutcome, Error> {
    let perf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/perf.sh");
    let inspected = inspect_program(&recording.program)?;
    let workspace = RecordingWorkspace::create()?;
    if let Some(bytes) = prepared {
        std::fs::write(workspace.file_path("prepared"), bytes).unwrap();
    }
    let sampled = SampledProgram::new(recording, &inspected, PerfSampler::new(perf, sampler))?;
    sampled.record(&workspace, &Silent, StopSignals::catch(), &|_, _| None)
}

/// Two samples of a program.
fn samples(mut file: perf::File) -> Option<Vec<u8>> {
    file.comm(100, 100, "program", true, 0);
    for tid in [100, 101] {
        file.sample(perf::Sample {
            tid,
            source: perf::LOAD_HITM,
            event: file.attrs.len() - 1,
            ..perf::Sample::default()
        });
    }
    Some(file.bytes())
}

#[test]
fn samples_become_a_profile() {
    for (sampler, file) in [
        (SamplingHardware::Pebs, perf::File::pebs()),
        (SamplingHardware::Ibs, perf::File::ibs()),
        (SamplingHardware::Spe, perf::File::spe()),
    ] {
        let recorded = record(&recording(&["true", "x"]), sampler, samples(file)).unwrap();
        assert!(recorded.problem.is_none());
        let meta = &recorded.profile.meta;
        assert_eq!(meta.workload, "true x");
        assert_eq!(meta.coverage, relayout_profile::AccessCoverage::Samples);
        assert_eq!(meta.contexts, 2);
        assert_eq!(meta.runs[0].ended, "the program ended");
        assert_eq!(meta.runs[0].accesses, 2);
        let with = meta.settings.iter().find(|setting| setting.name == "with");
        assert_eq!(with.unwrap().value, "hardware samples by perf");
    }
}

#[test]
fn programs_that_fail_or_are_stopped() {
    let file = || samples(perf::File::ibs());
    let failed = record(&recording(&["false"]), SamplingHardware::Ibs, file()).unwrap();
    let problem = failed.problem.unwrap().to_string();
    assert_eq!(problem, "false ended with status 1");
    assert_eq!(failed.profile.meta.runs[0].ended, problem);
    let server = ProgramRecording {
        stop_after: Some(Duration::from_millis(50)),
        ..recording(&["sleep", "60"])
    };
    let stopped = record(&server, SamplingHardware::Ibs, file()).unwrap();
    assert!(stopped.problem.is_none());
    let ended = &stopped.profile.meta.runs[0].ended;
    assert_eq!(ended, "the program was stopped, as asked for");
}

#[track_caller]
fn refuses(recording: &ProgramRecording, prepared: Option<Vec<u8>>, says: &str) {
    let error = record(recording, SamplingHardware::Ibs, prepared)
        .err()
        .unwrap();
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn no_samples() {
    let says = "perf took no samples that can be used (false ended with status 1)";
    refuses(&recording(&["false"]), None, says);
    let says = "true: perf wrote nothing";
    refuses(&recording(&["true"]), None, says);
    let empty = Some(perf::File::ibs().bytes());
    refuses(&recording(&["true"]), empty, "of perf's samples: ");
}

#[test]
fn options_of_other_ways() {
    let sliced = ProgramRecording {
        slices: Some(SlicePlan::Share(0.05)),
        ..recording(&["true"])
    };
    refuses(
        &sliced,
        None,
        "--slices is nothing that hardware's samples know",
    );
    let yields = ProgramRecording {
        yield_every: Some(0),
        ..recording(&["true"])
    };
    refuses(&yields, None, "--yield is nothing");
}
