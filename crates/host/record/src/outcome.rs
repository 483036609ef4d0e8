//! The outcome of a recording, of kernels and of programs.

use relayout_profile::Profile;
use relayout_profile::rates::SimulatedRates;
use relayout_profile::segments::{AssembledProfile, TornReason};

use crate::Error;

/// A recorded profile, and the problems of the recording.
pub struct RecordingOutcome {
    /// The profile: run 0, with all metadata but the command's own.
    pub profile: Profile,
    /// The reason why the profile is incomplete, if it is. The profile holds what was recorded
    /// until then.
    pub problem: Option<Error>,
    /// Results of a window in simulated time.
    pub rates: Option<SimulatedRates>,
    /// Of a program's window without a recording: the kernel's part of what CPUs stood still for, so that it gets
    /// names. `profile` has the program's part then.
    pub kernel_profile: Option<Profile>,
    /// Remarks that are no failure: data that could not be read or was dropped.
    pub notes: Vec<String>,
}

/// Describes the records that were lost, a note each. `context` is the word for a context: `CPU`,
/// `thread`.
pub(crate) fn describe_losses(assembled: &AssembledProfile, context: &str) -> Vec<String> {
    let mut notes: Vec<String> = assembled
        .torn
        .iter()
        .map(|torn| match torn.reason {
            TornReason::NoFile => format!(
                "{context} {}: the file with what it recorded is gone",
                torn.context
            ),
            _ => format!(
                "{context} {}: the last {} bytes recorded are lost",
                torn.context, torn.bytes_lost
            ),
        })
        .collect();
    let losses = &assembled.losses;
    let counts = [
        (losses.unknown_site, "records of unknown instructions"),
        (losses.invalid, "records with impossible values"),
        (
            losses.duplicate_ticket,
            "burst records with a ticket used twice",
        ),
        (losses.regions_shortened, "regions whose bursts end early"),
    ];
    notes.extend(
        counts
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, description)| format!("{n} {description}")),
    );
    if let Some(entries) = assembled.summary.map(|s| s.entries_lost).filter(|&n| n > 0) {
        notes.push(format!(
            "{entries} accesses could not be followed: the collector ran out of memory"
        ));
    }
    notes
}
