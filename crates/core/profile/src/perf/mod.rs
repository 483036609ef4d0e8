//! Imports the memory samples of a `perf.data` file into the tables of a profile.
//!
//! Every sample stands for as many accesses as its period says, so that all counts are estimates.
//! The hardware reports for a load whether its line came modified from another cache (HITM), and
//! mostly nothing for a store. So `conflicts` stays empty; `relayout-contend` estimates its rows
//! from rates and from the order of the samples, which `bursts` holds.

mod contexts;
mod error;
mod meta;
mod select;
mod tables;

pub use error::ImportError;
pub use select::choose_target;

use relayout_perf_data::PerfRecording;

use crate::model::{LoadedModule, Profile};
use contexts::SampleContexts;
use tables::SampleTables;

/// Whose accesses to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportTarget {
    /// Those to user addresses by one process; its threads are the contexts.
    Process(u32),
    /// Those to kernel addresses by any code; CPUs are the contexts.
    Kernel,
}

/// Options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Whose accesses.
    pub target: ImportTarget,
    /// Bytes to subtract from the kernel's addresses, to get those of its debug file.
    pub slide: u64,
    /// The kernel's image, first byte to that after the last, before `slide` is taken off. Other
    /// kernel addresses do not move with it.
    pub image: (u64, u64),
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// The process's files.
    pub modules: Vec<LoadedModule>,
}

/// A sampled instruction, decoded from the file that holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledInstruction {
    /// Its bytes, no more and no less.
    pub bytes: Vec<u8>,
    /// Bytes that it accesses; 0 where it does not fix that.
    pub access_bytes: u8,
    /// It loads from the operand and stores to it.
    pub modifies: bool,
}

/// A profile made of samples.
#[derive(Clone, Debug)]
pub struct ImportedProfile {
    /// The profile; its `meta` lacks what only the command knows.
    pub profile: Profile,
    /// Notes on samples that were left out and on assumptions.
    pub notes: Vec<String>,
}

/// Makes the profile of what `options` names; `code` gives the instruction at an address (before
/// `slide` is taken off), where the file is at hand.
///
/// # Errors
/// More threads or instructions than a profile can number, or no samples.
pub fn import_samples(
    recording: &PerfRecording,
    options: &ImportOptions,
    code: &mut dyn FnMut(u64) -> Option<SampledInstruction>,
) -> Result<ImportedProfile, ImportError> {
    let (samples, notes) = select::select_samples(recording, options.target);
    let contexts = SampleContexts::new(&samples, options.target)?;
    let mut tables = SampleTables::new(&samples, options, code)?;
    for sample in &samples {
        tables.add_sample(sample, contexts.context_of(sample));
    }
    let mut notes = notes;
    notes.extend(tables.notes(&samples));
    notes.extend(select::loss_notes(recording));
    let mut profile = tables.finish();
    profile.meta = meta::profile_meta(recording, options, &samples, &contexts);
    profile.ranges = meta::module_ranges(&options.modules);
    Ok(ImportedProfile { profile, notes })
}
