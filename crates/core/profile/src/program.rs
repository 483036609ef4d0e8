//! Assembles the output of a program's collector into the rows of one run: segments as of any
//! recording, and a `map` of what was where.

mod map;
mod ranges;

pub use self::map::{ProgramMap, ThreadArea, TlsBlock};
pub use self::ranges::OmittedAllocations;

use relayout_shadow::CONTEXTS_MAX;

use crate::ids::RunId;
use crate::model::{LoadedModule, ProgramThread};
use crate::segments::{self, AssembledProfile, SiteNames};

/// Start of [`ProfileMeta::collector`](crate::ProfileMeta::collector) where a program's own code
/// announced its accesses.
pub const COMPILED_IN_COLLECTOR: &str = "compiled-in runtime";

/// Naming of sites by a program's collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteNaming {
    /// By numbers that its files define.
    Defined,
    /// By the low 32 bits of return addresses (the compiled-in collector).
    ReturnAddresses,
}

/// One run of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct AssembledProgram {
    /// The tables, `ranges` among them.
    pub assembled: AssembledProfile,
    /// For [`RecordedRun::modules`](crate::RecordedRun::modules); without build ids, which are in
    /// the files.
    pub modules: Vec<LoadedModule>,
    /// For [`RecordedRun::threads`](crate::RecordedRun::threads).
    pub threads: Vec<ProgramThread>,
    /// Allocations that have no row in `ranges`.
    pub left_out: OmittedAllocations,
}

/// Assembles run number `run` of a program from `files`, the contexts and their segments, and the
/// map that the collector wrote.
///
/// # Errors
/// Same as [`segments::assemble`].
pub fn assemble(
    files: &[(u16, &[u8])],
    map: &ProgramMap,
    run: RunId,
    naming: SiteNaming,
) -> Result<AssembledProgram, segments::Error> {
    assemble_unless(files, map, run, naming, &|| false)
}

/// The same, unless `is_aborted` returns true; it is asked before each segment.
///
/// # Errors
/// Same as [`segments::assemble_named`].
pub fn assemble_unless(
    files: &[(u16, &[u8])],
    map: &ProgramMap,
    run: RunId,
    naming: SiteNaming,
    is_aborted: &dyn Fn() -> bool,
) -> Result<AssembledProgram, segments::Error> {
    // A file of sites has a number that no context can have.
    let contexts = files
        .iter()
        .filter(|(context, _)| usize::from(*context) < CONTEXTS_MAX)
        .map(|(context, _)| context + 1);
    let contexts = contexts.max().unwrap_or(1);
    let names = match naming {
        SiteNaming::Defined => SiteNames::Defined,
        SiteNaming::ReturnAddresses => SiteNames::ReturnAddresses(&map.modules),
    };
    let mut assembled = segments::assemble_named(files, run, contexts, names, is_aborted)?;
    let (ranges, left_out) = ranges::range_rows(map, &assembled.allocs, run);
    assembled.profile.ranges = ranges;
    Ok(AssembledProgram {
        assembled,
        modules: map.modules.clone(),
        threads: map.threads.clone(),
        left_out,
    })
}
