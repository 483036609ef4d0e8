//! Facts of a recording that its collector does not write.

use std::time::Duration;

use relayout_profile::program::SiteNaming;

use super::inspect::InspectedProgram;
use super::{ProgramBackend, ProgramRecording};
use crate::Error;

/// Facts of a recording that its collector does not write.
pub struct RecordingFacts<'k> {
    pub recording: &'k ProgramRecording,
    pub inspected: &'k InspectedProgram,
    pub backend: ProgramBackend,
    pub naming: SiteNaming,
    pub collector: String,
    pub fixed_addresses: bool,
    pub wall: Duration,
    /// [`RecordedRun::lost_share`](relayout_profile::RecordedRun::lost_share)
    pub lost_share: Option<f64>,
    /// Tells whether the user has aborted the assembly.
    pub is_aborted: &'k dyn Fn() -> bool,
}

impl RecordingFacts<'_> {
    /// Refuses to go on once the user has aborted.
    pub fn go_on(&self) -> Result<(), Error> {
        match (self.is_aborted)() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}
