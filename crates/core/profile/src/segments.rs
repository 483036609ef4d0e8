//! The collectors' segment files, turned into the rows of one run.
//!
//! A collector may be killed at any moment, so the end of a file may be torn: each file counts up
//! to its first bad segment, and what was lost is reported. Tables come as deltas and are added up
//! here.

mod frames;
mod gaps;
mod rows;
mod sites;

use std::collections::BTreeMap;

use relayout_shadow::wire::{AllocRecord, SummaryRecord};
use rustc_hash::FxHashSet;

pub use self::frames::TornReason;
pub use self::sites::SiteNames;

use self::frames::{SegmentFile, SegmentFrame, read_frames};
use self::rows::{AssembledRows, TicketLimits};
use self::sites::AssembledSites;
use crate::ids::RunId;
use crate::model::{ContextGaps, Profile, ProfileMeta, RegionRow};

/// One run, as far as its files go.
#[derive(Clone, Debug, PartialEq)]
pub struct AssembledProfile {
    /// All tables but `ranges`, sorted as the format wants them. Of the metadata only `line_bytes`,
    /// `contexts` and `values_seen` are set; before it can be written, `runs` is needed too.
    pub profile: Profile,
    /// Summary that the collector wrote at its orderly end; `None`: the recording was cut off.
    pub summary: Option<SummaryRecord>,
    /// For [`RecordedRun::gaps`](crate::RecordedRun::gaps).
    pub gaps: Vec<ContextGaps>,
    /// Allocations of the program that hold lines that moved, in no particular order.
    pub allocs: Vec<AllocRecord>,
    /// Ends of files that could not be used.
    pub torn: Vec<TornSegment>,
    /// Records in sound segments that could not be used.
    pub losses: SegmentLosses,
}

/// First unusable byte of a segment file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornSegment {
    /// Context whose file it is.
    pub context: u16,
    /// Bytes into the file at which the first bad segment starts.
    pub offset: u64,
    /// Bytes from there to the end.
    pub bytes_lost: u64,
    /// Why it is bad.
    pub reason: TornReason,
}

/// Records that could not be used, and rows that had to be changed. All 0 in a sound recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentLosses {
    /// Records dropped because they refer to a site that no file defines.
    pub unknown_site: u64,
    /// Sites that are named by a part of their address, which is in no module or in several: their
    /// `pc` is 0.
    pub unplaced_sites: u64,
    /// Records dropped because a field has a value that it cannot have.
    pub invalid: u64,
    /// Conflict records dropped because the collector did not know the other side. Their events
    /// are still in the totals by line.
    pub unknown_other_side: u64,
    /// Burst and visit records dropped because another one of the kind has the same ticket.
    pub duplicate_ticket: u64,
    /// Rows in which a part (silent stores, false transfers) was more than the whole, and was cut
    /// down to it.
    pub part_exceeds_whole: u64,
    /// Regions that end earlier than the collector said, or are gone, because bursts in them may
    /// have been lost.
    pub regions_shortened: u64,
}

/// Why files cannot be assembled at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The collector is not of this version.
    #[error(
        "segment files are of version {found}, this relayout reads {}: rebuild the collector",
        relayout_shadow::wire::VERSION
    )]
    Version {
        /// Version of the files.
        found: u16,
    },
    /// Two files of one context.
    #[error("two segment files for context {context}")]
    DuplicateFile {
        /// The context.
        context: u16,
    },
    /// Two instructions have one number.
    #[error("site {site} is both {first:#x} and {second:#x}")]
    SiteRedefined {
        /// The number.
        site: u32,
        /// Address of one of them.
        first: u64,
        /// Address of the other.
        second: u64,
    },
    /// The caller wants no result any more.
    #[error("aborted")]
    Aborted,
}

/// Assembles run number `run` from `files`: the context that each belongs to, and its bytes.
///
/// `contexts` is how many contexts were recorded; a file of a number from there on may only define
/// sites. Where the collector did not say whether it saw values (it was cut off), they count as
/// seen if any record shows so.
///
/// # Errors
/// Only for files that do not belong together or to this version. Damage is not an error: see
/// [`AssembledProfile::torn`] and [`AssembledProfile::losses`].
pub fn assemble(
    files: &[(u16, &[u8])],
    run: RunId,
    contexts: u16,
) -> Result<AssembledProfile, Error> {
    assemble_named(files, run, contexts, SiteNames::Defined, &|| false)
}

/// The same for a collector that names sites in another way. `is_aborted` is asked before each segment,
/// and stays true from the first time on.
///
/// # Errors
/// Same as [`assemble`], and [`Error::Aborted`].
pub fn assemble_named(
    files: &[(u16, &[u8])],
    run: RunId,
    contexts: u16,
    names: SiteNames<'_>,
    is_aborted: &dyn Fn() -> bool,
) -> Result<AssembledProfile, Error> {
    let go_on = || match is_aborted() {
        true => Err(Error::Aborted),
        false => Ok(()),
    };
    validate_contexts(files)?;
    let walked: Vec<SegmentFile<'_>> = files
        .iter()
        .map(|&(context, bytes)| read_frames(context, bytes, is_aborted))
        .collect();
    go_on()?;
    validate_version(&walked)?;
    let mut losses = SegmentLosses::default();
    let frames = || all_frames(&walked).take_while(|_| !is_aborted());
    let sites = AssembledSites::from_frames(names, frames(), &mut losses)?;
    let mut rows = AssembledRows::new(run, contexts, sites, losses);
    frames().for_each(|frame| rows.add(frame));
    go_on()?;
    let mut torn: Vec<_> = walked.into_iter().filter_map(|file| file.torn).collect();
    torn.extend(missing_files(files, contexts));
    let uncertain_from = first_uncertain_tickets(&rows, &torn, contexts);
    rows.sum_up(is_aborted);
    go_on()?;
    Ok(finish_profile(rows, torn, uncertain_from))
}

fn all_frames<'a>(files: &'a [SegmentFile<'_>]) -> impl Iterator<Item = &'a SegmentFrame<'a>> {
    files.iter().flat_map(|file| &file.frames)
}

fn validate_contexts(files: &[(u16, &[u8])]) -> Result<(), Error> {
    let mut seen = FxHashSet::default();
    match files.iter().find(|(context, _)| !seen.insert(*context)) {
        Some(&(context, _)) => Err(Error::DuplicateFile { context }),
        None => Ok(()),
    }
}

/// Another version is an error if nothing could be read for it, and damage otherwise.
fn validate_version(files: &[SegmentFile<'_>]) -> Result<(), Error> {
    let nothing_read = files.iter().all(|file| file.frames.is_empty());
    let other = files
        .iter()
        .find_map(|file| match file.torn.as_ref()?.reason {
            TornReason::Version { found } => Some(found),
            _ => None,
        });
    match other {
        Some(found) if nothing_read => Err(Error::Version { found }),
        _ => Ok(()),
    }
}

fn missing_files(files: &[(u16, &[u8])], contexts: u16) -> impl Iterator<Item = TornSegment> {
    let recorded: FxHashSet<u16> = files.iter().map(|&(context, _)| context).collect();
    (0..contexts)
        .filter(move |context| !recorded.contains(context))
        .map(|context| TornSegment {
            context,
            offset: 0,
            bytes_lost: 0,
            reason: TornReason::NoFile,
        })
}

/// The tickets before which no burst and no visit record can be missing.
///
/// A context appends its bursts in order, and its visits, so what it lost comes after the last one
/// that is there. Contexts lose records where their files are torn, and all of them may have if the recording was
/// cut off: what they had gathered was never appended.
fn first_uncertain_tickets(
    rows: &AssembledRows,
    torn: &[TornSegment],
    contexts: u16,
) -> TicketLimits {
    let lost: Vec<u16> = match rows.summary {
        Some(_) => torn
            .iter()
            .map(|t| t.context)
            .filter(|&context| context < contexts)
            .collect(),
        None => (0..contexts).collect(),
    };
    let bursts = rows.bursts.iter().map(|row| (row.context.0, row.ticket));
    let visits = rows.visits.iter().map(|row| (row.context.0, row.ticket));
    TicketLimits {
        bursts: first_lost_ticket(&lost, bursts).min(rows.first_dropped.bursts),
        visits: first_lost_ticket(&lost, visits).min(rows.first_dropped.visits),
    }
}

/// The ticket after the last of the context of `lost` whose last comes first; the highest number if
/// none lost any.
fn first_lost_ticket(lost: &[u16], rows: impl Iterator<Item = (u16, u64)>) -> u64 {
    let mut next_ticket: BTreeMap<u16, u64> = lost.iter().map(|&c| (c, 0)).collect();
    for (context, ticket) in rows {
        if let Some(next) = next_ticket.get_mut(&context) {
            *next = (*next).max(ticket.saturating_add(1));
        }
    }
    next_ticket.into_values().min().unwrap_or(u64::MAX)
}

fn finish_profile(
    mut rows: AssembledRows,
    torn: Vec<TornSegment>,
    uncertain_from: TicketLimits,
) -> AssembledProfile {
    shorten_regions(&mut rows.regions, uncertain_from, &mut rows.losses);
    let meta = ProfileMeta {
        line_bytes: relayout_shadow::LINE_BYTES as u32,
        contexts: rows.contexts,
        values_seen: rows.values_seen(),
        ..ProfileMeta::default()
    };
    let profile = Profile {
        meta,
        sites: rows.sites.rows,
        lines: rows.lines,
        counts: rows.counts,
        conflicts: rows.conflicts,
        pairs: rows.pairs,
        waits: Vec::new(),
        bursts: rows.bursts,
        visits: rows.visits,
        regions: rows.regions,
        ranges: Vec::new(),
    };
    AssembledProfile {
        profile,
        summary: rows.summary,
        gaps: rows.gaps.into_rows(),
        allocs: rows.allocs,
        torn,
        losses: rows.losses,
    }
}

/// Ends regions where their bursts may not be complete.
fn shorten_regions(
    regions: &mut Vec<RegionRow>,
    uncertain_from: TicketLimits,
    losses: &mut SegmentLosses,
) {
    for region in regions
        .iter_mut()
        .filter(|region| region.end_ticket > uncertain_from.bursts)
    {
        region.end_ticket = uncertain_from.bursts;
        losses.regions_shortened += 1;
    }
    for region in regions.iter_mut() {
        let certain = region.end_ticket.min(uncertain_from.visits);
        region.visits_end_ticket = region.visits_end_ticket.map(|end| end.min(certain));
    }
    regions.retain(|region| region.first_ticket <= region.end_ticket);
}
