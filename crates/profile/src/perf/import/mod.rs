//! From sampled accesses to the tables of a profile.
//!
//! Every sample stands for as many accesses as its period says, so that all counts are estimates. The
//! hardware tells of a load whether its line came modified from another cache (HITM), of stores
//! mostly nothing: `conflicts` stays empty, and what it would hold is estimated by whoever ranks, from rates
//! and from the order of the samples, which `bursts` has.

mod contexts;
mod meta;
mod select;
mod tables;

pub use select::choose;

use super::{Error, Recording};
use crate::model::{Module, Profile};
use contexts::Contexts;
use tables::Tables;

/// Whose accesses to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Those to user addresses by one process; its threads are the contexts.
    Process(u32),
    /// Those to kernel addresses by any code; CPUs are the contexts.
    Kernel,
}

/// How to import.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose accesses.
    pub what: What,
    /// What to take off the kernel's addresses, so that they are those of its debug file.
    pub slide: u64,
    /// The kernel's image, first byte to that after the last, before `slide` is taken off. Other
    /// kernel addresses do not move with it.
    pub image: (u64, u64),
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// The process's files.
    pub modules: Vec<Module>,
}

/// What is known of an instruction from the file that it lies in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its bytes, no more and no less.
    pub bytes: Vec<u8>,
    /// Bytes that it accesses; 0 where it does not fix that.
    pub access_bytes: u8,
    /// It loads from the operand and stores to it.
    pub modifies: bool,
}

/// A profile made of samples.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The profile; its `meta` lacks what only the command knows.
    pub profile: Profile,
    /// What was left out or assumed, in words.
    pub notes: Vec<String>,
}

/// Makes the profile of what `options` names; `code` gives the instruction at an address (before
/// `slide` is taken off), where the file is at hand.
///
/// # Errors
/// More threads or instructions than a profile can number, or no samples.
pub fn import(
    recording: &Recording,
    options: &Options,
    code: &mut dyn FnMut(u64) -> Option<Instruction>,
) -> Result<Imported, Error> {
    let (samples, notes) = select::select(recording, options.what);
    let contexts = Contexts::new(&samples, options.what)?;
    let mut tables = Tables::new(&samples, options, code)?;
    for sample in &samples {
        tables.add(sample, contexts.of(sample));
    }
    let mut notes = notes;
    notes.extend(tables.notes(&samples));
    notes.extend(select::losses(recording));
    let mut profile = tables.finish();
    profile.meta = meta::meta(recording, options, &samples, &contexts);
    profile.ranges = meta::ranges(&options.modules);
    Ok(Imported { profile, notes })
}
