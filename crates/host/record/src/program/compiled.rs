//! Programs whose own code announces their accesses, to our runtime.

use std::process::Command;

use relayout_profile::program::{COMPILED_IN_COLLECTOR, SiteNaming};

use super::inspect::InspectedProgram;
use super::{AttachedProgram, CountedAccesses, ProgramBackend, ProgramRecording};
use crate::Error;
use crate::workspace::{RecordingWorkspace, collector_options};

/// Returns the program with the settings of its runtime in the environment.
pub fn attach_runtime(
    recording: &ProgramRecording,
    inspected: &InspectedProgram,
    workspace: &RecordingWorkspace,
) -> Result<AttachedProgram, Error> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(&inspected.path);
    command
        .arg0(&recording.program)
        .args(&recording.arguments)
        .env("RELAYOUT_DIR", workspace.dir())
        .env("RELAYOUT_OPTIONS", runtime_options(recording));
    Ok(AttachedProgram {
        command,
        naming: SiteNaming::ReturnAddresses,
        collector: format!("{COMPILED_IN_COLLECTOR} {}", env!("CARGO_PKG_VERSION")),
    })
}

fn runtime_options(recording: &ProgramRecording) -> String {
    let counts = match recording.counts {
        CountedAccesses::Shared => "shared",
        CountedAccesses::All => "all",
    };
    let yield_every = ProgramBackend::CompiledIn.yield_every(recording);
    let mut options = collector_options(yield_every, recording.seed, recording.bursts);
    options.push_str(&format!(",counts={counts}"));
    if recording.values {
        options.push_str(",values=1");
    }
    options
}
