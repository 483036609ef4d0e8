//! Programs whose accesses hardware samples: run under perf, whose file is then imported as any
//! other.

use relayout_messages::{ProblemReason, RecordingProgress};
use relayout_profile::RecordingSetting;

use super::inspect::InspectedProgram;
use super::watch::{self, ProgramEnding};
use super::{CountedAccesses, ProgramBackend, ProgramRecording, SlicePlan, StopSignals, launch};
use crate::perf::{InstructionDecoder, PerfImport, PerfSampler, import_perf};
use crate::workspace::RecordingWorkspace;
use crate::{Error, RecordingOutcome};

/// A recording by perf.
pub struct SampledProgram<'s> {
    recording: &'s ProgramRecording,
    inspected: &'s InspectedProgram,
    sampling: PerfSampler,
}

/// Place of the cause, at the end of a message.
const PERF_OUTPUT: &str = "what it said is above";

impl<'s> SampledProgram<'s> {
    /// Refuses options that samples cannot serve.
    pub fn new(
        recording: &'s ProgramRecording,
        inspected: &'s InspectedProgram,
        sampling: PerfSampler,
    ) -> Result<Self, Error> {
        let options = [
            (
                "--slices",
                matches!(recording.slices, Some(SlicePlan::Share(_))),
            ),
            ("--counts", recording.counts != CountedAccesses::default()),
            ("--values", recording.values),
            ("--bursts", recording.bursts.is_some()),
            ("--yield", recording.yield_every.is_some()),
            ("--follow-forks", recording.follow_forks == Some(true)),
        ];
        if let Some((option, _)) = options.iter().find(|(_, is_given)| *is_given) {
            return Err(Error::Unrecordable {
                path: inspected.path.clone(),
                why: format!(
                    "{option} is nothing that hardware's samples know: leave it out, or record by --with qemu"
                )
                .into(),
            });
        }
        Ok(Self {
            recording,
            inspected,
            sampling,
        })
    }

    /// Runs it, and imports the samples.
    pub fn record(
        &self,
        workspace: &RecordingWorkspace,
        progress: &dyn RecordingProgress,
        signals: StopSignals,
        decode: InstructionDecoder<'_>,
    ) -> Result<RecordingOutcome, Error> {
        let Self {
            recording,
            inspected,
            sampling,
        } = self;
        let file = workspace.file_path("perf.data");
        let name = sampling.hardware().name();
        progress.step(&format!("recording with {}: {name}", ProgramBackend::Perf));
        let command = sampling.command(&inspected.path, &recording.arguments, &file);
        let mut program = launch::start_program(command, &inspected.path)?;
        // What is watched is perf, which passes on that it is to end.
        let process = &workspace.control().process;
        process.store(program.id(), std::sync::atomic::Ordering::Release);
        let ending = watch::watch_program(
            &mut program,
            workspace,
            recording,
            ProgramBackend::Perf,
            progress,
            signals,
        )?;
        progress.step("reading samples");
        let import_samples = |file| {
            let import = PerfImport {
                file,
                ..PerfImport::default()
            };
            import_perf(&import, decode)
        };
        match sampling.sample_file(&file).and_then(import_samples) {
            Ok(recorded) => Ok(self.complete_outcome(recorded, ending, program.fixed_addresses)),
            Err(error) => Err(self.no_profile_error(error, ending)),
        }
    }

    fn complete_outcome(
        &self,
        recorded: RecordingOutcome,
        ending: ProgramEnding,
        fixed_addresses: bool,
    ) -> RecordingOutcome {
        let RecordingOutcome {
            mut profile, notes, ..
        } = recorded;
        let recording = self.recording;
        profile.meta.workload = recording.command_line();
        profile.meta.settings.extend([
            RecordingSetting::new("with", ProgramBackend::Perf.to_string()),
            RecordingSetting::new("fixed-addresses", fixed_addresses.to_string()),
        ]);
        for run in &mut profile.meta.runs {
            run.ended.clone_from(&ending.description);
        }
        RecordingOutcome {
            rates: None,
            kernel_profile: None,
            profile,
            problem: ending.problem,
            notes,
        }
    }

    /// Why there is no profile.
    fn no_profile_error(&self, error: Error, ending: ProgramEnding) -> Error {
        let of_samples = |problem: String, remedy| {
            ProblemReason::from_sentence(format!("of perf's samples: {problem}"), remedy)
        };
        let why = match (ending.problem, error) {
            (Some(Error::Interrupted), _) => return Error::Interrupted,
            (Some(problem), _) => {
                ProblemReason::new(format!("perf took no samples that can be used ({problem})"))
                    .with_remedy(PERF_OUTPUT)
            }
            (None, Error::Perf { source, .. }) => of_samples(source.to_string(), source.remedy()),
            (None, Error::PerfData { source, .. }) => {
                of_samples(source.to_string(), source.remedy().map(str::to_owned))
            }
            (None, Error::Files(relayout_files::Error::File(_))) => {
                ProblemReason::new("perf wrote nothing").with_remedy(PERF_OUTPUT)
            }
            (None, other) => return other,
        };
        Error::Unrecordable {
            path: self.inspected.path.clone(),
            why,
        }
    }
}

#[cfg(test)]
mod tests;
