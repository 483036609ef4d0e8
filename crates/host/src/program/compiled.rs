//! Programs whose own code announces their accesses, to our runtime.

use std::process::Command;

use relayout_profile::program::Naming;

use super::inspect::Inspected;
use super::{Attached, Backend, Counts, ProgramRecording};
use crate::Error;
use crate::workspace::Workspace;

/// The program, with what its runtime must know in the environment.
pub fn attach(
    recording: &ProgramRecording,
    inspected: &Inspected,
    workspace: &Workspace,
) -> Result<Attached, Error> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(&inspected.path);
    command
        .arg0(&recording.program)
        .args(&recording.arguments)
        .env("RELAYOUT_DIR", workspace.dir())
        .env("RELAYOUT_OPTIONS", options(recording));
    Ok(Attached {
        command,
        naming: Naming::ReturnAddresses,
        collector: format!("compiled-in runtime {}", env!("CARGO_PKG_VERSION")),
    })
}

fn options(recording: &ProgramRecording) -> String {
    let counts = match recording.counts {
        Counts::Shared => "shared",
        Counts::All => "all",
    };
    let mut options = format!(
        "counts={counts},yield={},seed={}",
        Backend::CompiledIn.yield_every(recording),
        recording.seed
    );
    if let Some(bursts) = recording.bursts {
        options.push_str(&format!(",bursts={bursts}"));
    }
    options
}
