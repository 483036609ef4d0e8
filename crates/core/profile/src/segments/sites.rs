//! Sites behind the numbers in records: instructions that the files define, or addresses in
//! the modules of a program.

use relayout_shadow::wire::{
    BurstRecord, ConflictRecord, CountRecord, PairRecord, RecordKind, SiteRecord, VisitRecord,
    WireRecord, read_record,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::frames::SegmentFrame;
use super::{Error, SegmentLosses};
use crate::ids::SiteId;
use crate::model::{LoadedModule, Site};
use crate::validate::SITE_BYTES_MAX;

/// Naming of instructions in a collector's records.
#[derive(Clone, Copy, Debug)]
pub enum SiteNames<'m> {
    /// By numbers, each of which a `SiteRecord` defines.
    Defined,
    /// By the low 32 bits of the address that a call returns to, which lies in one of these modules
    /// (the compiled-in collector).
    ReturnAddresses(&'m [LoadedModule]),
}

/// Address that stands for a call from where no module is.
const NOWHERE: u64 = 0;

/// Rows' numbers of sites, by the numbers in records.
#[derive(Default)]
pub(super) struct AssembledSites {
    /// In the order of their numbers.
    pub(super) rows: Vec<Site>,
    numbers: FxHashMap<u32, SiteId>,
}

impl AssembledSites {
    /// Gathers the sites of all segments, and numbers them without gaps.
    pub(super) fn from_frames<'a>(
        names: SiteNames<'_>,
        frames: impl Iterator<Item = &'a SegmentFrame<'a>>,
        losses: &mut SegmentLosses,
    ) -> Result<Self, Error> {
        match names {
            SiteNames::Defined => Ok(Self::from_numbered(defined_sites(frames, losses)?)),
            SiteNames::ReturnAddresses(modules) => {
                let found = used_numbers(frames).into_iter().map(|low| {
                    let pc = return_address(modules, low);
                    losses.unplaced_sites += u64::from(pc.is_none());
                    let bytes = Vec::new();
                    let pc = pc.unwrap_or(NOWHERE);
                    (low, Site { pc, bytes })
                });
                Ok(Self::from_numbered(found.collect()))
            }
        }
    }

    /// The row of the site with this number in records.
    pub(super) fn row_number(&self, number: u32) -> Option<SiteId> {
        self.numbers.get(&number).copied()
    }

    /// By the collector's numbers; equal calls become one site.
    fn from_numbered(mut found: Vec<(u32, Site)>) -> Self {
        found.sort_unstable_by_key(|(number, _)| *number);
        let mut sites = Self::default();
        let mut calls = FxHashMap::default();
        for (number, site) in found {
            let next = SiteId(sites.rows.len() as u32);
            let row = match site.is_call() {
                true => *calls.entry(site.pc).or_insert(next),
                false => next,
            };
            if row == next {
                sites.rows.push(site);
            }
            sites.numbers.insert(number, row);
        }
        sites
    }
}

fn defined_sites<'a>(
    frames: impl Iterator<Item = &'a SegmentFrame<'a>>,
    losses: &mut SegmentLosses,
) -> Result<Vec<(u32, Site)>, Error> {
    let mut defined: FxHashMap<u32, Site> = FxHashMap::default();
    for record in frames.flat_map(records::<SiteRecord>) {
        let length = usize::from(record.len);
        if length > SITE_BYTES_MAX {
            losses.invalid += 1;
            continue;
        }
        let site = Site {
            pc: record.pc,
            bytes: record.bytes[..length].to_vec(),
        };
        match defined.get(&record.site) {
            Some(earlier) if *earlier != site => {
                let (first, second) = (earlier.pc, site.pc);
                return Err(Error::SiteRedefined {
                    site: record.site,
                    first,
                    second,
                });
            }
            Some(_) => {}
            None => {
                defined.insert(record.site, site);
            }
        }
    }
    Ok(defined.into_iter().collect())
}

/// The numbers that records use.
fn used_numbers<'a>(frames: impl Iterator<Item = &'a SegmentFrame<'a>>) -> FxHashSet<u32> {
    let mut used = FxHashSet::default();
    for frame in frames {
        match frame.kind {
            RecordKind::Count => used.extend(records::<CountRecord>(frame).map(|r| r.site)),
            RecordKind::Burst => used.extend(records::<BurstRecord>(frame).map(|r| r.site)),
            RecordKind::Visit => used.extend(records::<VisitRecord>(frame).map(|r| r.site)),
            RecordKind::Conflict => {
                let sites = records::<ConflictRecord>(frame).flat_map(|r| [r.site, r.other_site]);
                used.extend(sites);
            }
            RecordKind::Pair => {
                used.extend(records::<PairRecord>(frame).flat_map(|r| [r.site, r.other_site]));
            }
            _ => {}
        }
    }
    used
}

/// The address with these low 32 bits that lies in a module (or, after a call that ends one, just
/// behind it); `None` where there is none, or where there are several.
fn return_address(modules: &[LoadedModule], low: u32) -> Option<u64> {
    const STEP: u64 = 1 << 32;
    let mut found = None;
    for module in modules {
        let near = (module.start & !(STEP - 1)) | u64::from(low);
        let first = match near > module.start {
            true => Some(near),
            false => near.checked_add(STEP),
        };
        let Some(pc) = first.filter(|&pc| pc <= module.end) else {
            continue;
        };
        let again = pc.checked_add(STEP).is_some_and(|pc| pc <= module.end);
        if again || found.replace(pc).is_some_and(|other| other != pc) {
            return None;
        }
    }
    found
}

/// The records of a segment if it is of their kind.
pub(super) fn records<'a, T: WireRecord>(
    frame: &SegmentFrame<'a>,
) -> impl Iterator<Item = T> + use<'a, T> {
    let payload = if frame.kind == T::KIND {
        frame.payload
    } else {
        &[]
    };
    payload.chunks_exact(size_of::<T>()).filter_map(read_record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_addresses_by_their_low_bits() {
        let module = |start, end| LoadedModule {
            start,
            end,
            ..LoadedModule::default()
        };
        let modules = [
            module(0x5555_5555_4000, 0x5555_5556_0000),
            module(0x7fff_f7d0_0000, 0x7fff_f7e0_0000),
            // Begins below a multiple of 4 GiB, and ends above.
            module(0x7fff_ffff_f000, 0x8000_0000_1000),
            module(0x1111_f7d0_0000, 0x1111_f7d0_1000),
        ];
        let check = |low, expect| assert_eq!(return_address(&modules, low), expect, "{low:x}");
        check(0x5555_5010, Some(0x5555_5555_5010));
        check(0xf7d7_0000, Some(0x7fff_f7d7_0000));
        check(0xffff_f800, Some(0x7fff_ffff_f800));
        check(0x0000_0800, Some(0x8000_0000_0800));
        check(0x5556_0000, Some(0x5555_5556_0000));
        check(0x1234_5678, None);
        // In two modules: a guess would name the wrong one half of the time.
        check(0xf7d0_0800, None);
    }
}
