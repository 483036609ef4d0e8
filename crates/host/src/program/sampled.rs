//! Programs whose accesses hardware samples: run under perf, whose file is then imported as any other.

use relayout_profile::Setting;

use super::inspect::Inspected;
use super::watch::{self, Ending};
use super::{Backend, Counts, ProgramRecording, Signals, launch};
use crate::perf::{Decoder, PerfImport, Sampling, import_perf};
use crate::workspace::Workspace;
use crate::{Error, Progress, Recorded};

/// A recording by perf.
pub struct Sampled<'s> {
    recording: &'s ProgramRecording,
    inspected: &'s Inspected,
    sampling: Sampling,
}

impl<'s> Sampled<'s> {
    /// Refuses what samples cannot do.
    pub fn new(
        recording: &'s ProgramRecording,
        inspected: &'s Inspected,
        sampling: Sampling,
    ) -> Result<Self, Error> {
        let options = [
            ("--slices", recording.slices.is_some()),
            ("--counts", recording.counts != Counts::default()),
            ("--bursts", recording.bursts.is_some()),
            ("--yield", recording.yield_every.is_some()),
        ];
        if let Some((option, _)) = options.iter().find(|(_, given)| *given) {
            return Err(Error::Unrecordable {
                path: inspected.path.clone(),
                why: format!(
                    "{option} is nothing that hardware's samples know: leave it out, or record by --with qemu"
                ),
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
        workspace: &Workspace,
        progress: &dyn Progress,
        signals: Signals,
        decode: Decoder<'_>,
    ) -> Result<Recorded, Error> {
        let Self {
            recording,
            inspected,
            sampling,
        } = self;
        let file = workspace.path("perf.data");
        let name = sampling.sampler().name();
        progress.step(&format!("recording with {}: {name}", Backend::Perf));
        let command = sampling.command(&inspected.path, &recording.arguments, &file);
        let mut program = launch::start(command, &inspected.path)?;
        // What is watched is perf, which passes on that it is to end.
        let process = &workspace.control().process;
        process.store(program.id(), std::sync::atomic::Ordering::Release);
        let ending = watch::watch(
            &mut program,
            workspace,
            recording,
            Backend::Perf,
            progress,
            signals,
        )?;
        progress.step("reading samples");
        let import = |file| {
            let import = PerfImport {
                file,
                ..PerfImport::default()
            };
            import_perf(&import, decode)
        };
        match sampling.samples(&file).and_then(import) {
            Ok(recorded) => Ok(self.complete(recorded, ending, program.fixed_addresses)),
            Err(error) => Err(self.nothing(error, ending)),
        }
    }

    fn complete(&self, recorded: Recorded, ending: Ending, fixed_addresses: bool) -> Recorded {
        let Recorded {
            mut profile, notes, ..
        } = recorded;
        let recording = self.recording;
        profile.meta.workload = recording.command_line();
        profile.meta.settings.extend([
            Setting::new("with", Backend::Perf.to_string()),
            Setting::new("fixed-addresses", fixed_addresses.to_string()),
        ]);
        for run in &mut profile.meta.runs {
            run.ended.clone_from(&ending.ended);
        }
        Recorded {
            profile,
            problem: ending.problem,
            notes,
        }
    }

    /// Why there is no profile.
    fn nothing(&self, error: Error, ending: Ending) -> Error {
        let why = match (ending.problem, error) {
            (Some(Error::Interrupted), _) => return Error::Interrupted,
            (Some(problem), _) => {
                format!("perf took no samples that can be used ({problem}); what it said is above")
            }
            (None, Error::Perf { source, .. }) => format!("of perf's samples: {source}"),
            (None, Error::File(_)) => "perf wrote nothing; what it said is above".into(),
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
