//! Carves the accesses of one object out of a profile's bursts.
//!
//! Bursts hold the accesses to *regions*: ranges around hot lines, each logged from one ticket to
//! another. An object may touch several regions and have bytes in none. Its trace is cut down to
//! the tickets in which all its regions were logged, because missing accesses would make the others
//! look cheaper. The trace tells which bytes are covered.

use std::ops::Range;

use relayout_profile::{Addr, BurstRow, Profile, RegionRow, RunId};
use rustc_hash::FxHashMap;

use crate::replay::{ObjectTrace, TraceAccess};

/// Size of the aligned blocks by which accesses are indexed, in bytes.
const BLOCK_BYTES: u64 = 512;
/// Maximum size of an access.
const ACCESS_BYTES_MAX: u64 = u8::MAX as u64;

/// Range of the ordered indices by run and block.
type Blocks = FxHashMap<(RunId, u64), Range<u32>>;

/// The bursts of a profile, indexed by address.
pub struct TraceIndex<'p> {
    bursts: &'p [BurstRow],
    /// Range of `order` by run and block.
    blocks: Blocks,
    /// Indices of `bursts` by block, then in recorded order.
    order: Vec<u32>,
    /// Regions by run and start.
    regions: Vec<RegionRow>,
    region_bytes_max: u64,
}

/// Address range of an object in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectExtent {
    /// Recording.
    pub run: RunId,
    /// Address of the first byte.
    pub base: Addr,
    /// Bytes.
    pub bytes: u32,
}

/// Part of an object that one region holds.
struct LoggedPart {
    bytes: Range<u32>,
    /// Tickets in which it was logged, ascending and disjoint.
    windows: Vec<Range<u64>>,
    /// Number of accesses to it.
    accesses: usize,
}

impl<'p> TraceIndex<'p> {
    /// Indexes the bursts of `profile`: a pass to count and a pass to place, without a comparison
    /// sort.
    pub fn new(profile: &'p Profile) -> Self {
        let bursts = &profile.bursts[..profile.bursts.len().min(u32::MAX as usize)];
        let (blocks, order) = index_bursts(bursts);
        let mut regions = profile.regions.clone();
        regions.sort_unstable_by_key(|region| (region.run, region.start, region.first_ticket));
        let region_bytes_max = regions
            .iter()
            .map(|region| region.bytes)
            .max()
            .unwrap_or(0)
            .into();
        Self {
            bursts,
            blocks,
            order,
            regions,
            region_bytes_max,
        }
    }

    /// Returns the traces of the object at `extent`: one for each stretch of time in which all of
    /// its regions were logged. Empty if nothing of it was logged.
    ///
    /// If its regions were never all logged at once, those with the fewest accesses are left out,
    /// and their bytes are not in [`ObjectTrace::covered`].
    pub fn traces(&self, extent: ObjectExtent) -> Vec<ObjectTrace> {
        let accesses = self.accesses(extent);
        let (windows, covered) = common_windows(self.parts(extent, &accesses));
        windows
            .into_iter()
            .map(|window| {
                let from = accesses.partition_point(|(ticket, _)| *ticket < window.start);
                let to = accesses.partition_point(|(ticket, _)| *ticket < window.end);
                let kept = accesses[from..to].iter().map(|(_, access)| *access);
                ObjectTrace {
                    base: extent.base,
                    accesses: kept.filter(|access| touches(&covered, access)).collect(),
                    operations: self.operations(extent, &window),
                    covered: covered.clone(),
                }
            })
            .filter(|trace| !trace.accesses.is_empty())
            .collect()
    }

    /// Returns all logged accesses to the object in recorded order, also from times in which not
    /// all of it was logged.
    pub(crate) fn logged_accesses(&self, extent: ObjectExtent) -> Vec<TraceAccess> {
        let accesses = self.accesses(extent).into_iter();
        accesses.map(|(_, access)| access).collect()
    }

    /// Returns the accesses to the object with their tickets, in recorded order, clipped at its
    /// ends.
    fn accesses(&self, extent: ObjectExtent) -> Vec<(u64, TraceAccess)> {
        let end = extent.base.saturating_add(extent.bytes.into());
        let first_block = extent.base.0.saturating_sub(ACCESS_BYTES_MAX) / BLOCK_BYTES;
        let mut found: Vec<u32> = (first_block..=end.0.saturating_sub(1) / BLOCK_BYTES)
            .filter_map(|block| self.blocks.get(&(extent.run, block)))
            .flat_map(|range| &self.order[range.start as usize..range.end as usize])
            .copied()
            .filter(|&index| {
                let burst = &self.bursts[index as usize];
                burst.addr < end && burst.addr.saturating_add(burst.size.into()) > extent.base
            })
            .collect();
        found.sort_unstable_by_key(|&index| self.bursts[index as usize].ticket);
        found
            .into_iter()
            .map(|index| clip_access(&self.bursts[index as usize], extent.base, end))
            .collect()
    }

    /// Returns the logged parts of the object by region; the most accessed first.
    fn parts(&self, extent: ObjectExtent, accesses: &[(u64, TraceAccess)]) -> Vec<LoggedPart> {
        let mut parts: Vec<LoggedPart> = Vec::new();
        for region in self.regions_of(extent) {
            let bytes = overlap(region, extent);
            let window = region.first_ticket..region.end_ticket;
            match parts.last_mut() {
                Some(part) if part.bytes == bytes => part.windows.push(window),
                _ => parts.push(LoggedPart {
                    bytes,
                    windows: vec![window],
                    accesses: 0,
                }),
            }
        }
        for (_, access) in accesses {
            let end = access.offset + u32::from(access.size);
            for part in &mut parts {
                let touched = access.offset < part.bytes.end && end > part.bytes.start;
                part.accesses += usize::from(touched);
            }
        }
        parts.sort_by_key(|part| std::cmp::Reverse(part.accesses));
        parts
    }

    fn regions_of(&self, extent: ObjectExtent) -> impl Iterator<Item = &RegionRow> {
        let end = extent.base.saturating_add(extent.bytes.into());
        let low = Addr(extent.base.0.saturating_sub(self.region_bytes_max));
        let from = self
            .regions
            .partition_point(|region| (region.run, region.start) < (extent.run, low));
        self.regions[from..]
            .iter()
            .take_while(move |region| region.run == extent.run && region.start < end)
            .filter(move |region| region.start.saturating_add(region.bytes.into()) > extent.base)
    }

    /// Returns the operations finished in `window`. They are interpolated between the marks at both
    /// ends of the object's longest region that was logged throughout.
    fn operations(&self, extent: ObjectExtent, window: &Range<u64>) -> u64 {
        self.regions_of(extent)
            .filter(|region| region.first_ticket <= window.start && window.end <= region.end_ticket)
            .max_by_key(|region| region.end_ticket - region.first_ticket)
            .map_or(0, |region| {
                let operations = region.end_op.saturating_sub(region.first_op);
                let tickets = region.end_ticket - region.first_ticket;
                let part = u128::from(window.end - window.start) * u128::from(operations);
                // At most `operations`, since the window is within the region's.
                part.checked_div(tickets.into()).unwrap_or(0) as u64
            })
    }
}

/// Groups bursts by run and block, in their order.
fn index_bursts(bursts: &[BurstRow]) -> (Blocks, Vec<u32>) {
    let block = |burst: &BurstRow| (burst.run, burst.addr / BLOCK_BYTES);
    let mut numbers: FxHashMap<(RunId, u64), u32> = FxHashMap::default();
    let mut counts: Vec<u32> = Vec::new();
    let of_burst: Vec<u32> = bursts
        .iter()
        .map(|burst| {
            let number = *numbers.entry(block(burst)).or_insert_with(|| {
                counts.push(0);
                counts.len() as u32 - 1
            });
            counts[number as usize] += 1;
            number
        })
        .collect();
    let mut next: Vec<u32> = counts
        .iter()
        .scan(0, |sum, &count| {
            let first = *sum;
            *sum += count;
            Some(first)
        })
        .collect();
    let mut order = vec![0; bursts.len()];
    for (index, &number) in of_burst.iter().enumerate() {
        order[next[number as usize] as usize] = index as u32;
        next[number as usize] += 1;
    }
    let range = |number: u32| {
        let end = next[number as usize];
        end - counts[number as usize]..end
    };
    (
        numbers
            .into_iter()
            .map(|(key, number)| (key, range(number)))
            .collect(),
        order,
    )
}

/// Returns the part of `burst` between `base` and `end`.
fn clip_access(burst: &BurstRow, base: Addr, end: Addr) -> (u64, TraceAccess) {
    let first = burst.addr.max(base);
    let past = burst.addr.saturating_add(burst.size.into()).min(end);
    let access = TraceAccess {
        context: burst.context,
        // Both fit: the extent's length is a u32, the access's a u8.
        offset: (first - base) as u32,
        size: (past - first) as u8,
        access: burst.access,
        silent: burst.silent,
        site: burst.site,
    };
    (burst.ticket, access)
}

fn overlap(region: &RegionRow, extent: ObjectExtent) -> Range<u32> {
    let offset = |addr: Addr| addr.saturating_sub(extent.base).min(extent.bytes.into()) as u32;
    offset(region.start)..offset(region.start.saturating_add(region.bytes.into()))
}

fn touches(covered: &[Range<u32>], access: &TraceAccess) -> bool {
    let end = access.offset + u32::from(access.size);
    covered
        .iter()
        .any(|bytes| access.offset < bytes.end && end > bytes.start)
}

/// Returns the windows in which all `parts` were logged, and their bytes. Parts that would leave no
/// window are left out.
fn common_windows(parts: Vec<LoggedPart>) -> (Vec<Range<u64>>, Vec<Range<u32>>) {
    let mut windows: Option<Vec<Range<u64>>> = None;
    let mut covered: Vec<Range<u32>> = Vec::new();
    for part in parts {
        let both = match &windows {
            None => part.windows,
            Some(windows) => intersect(windows, &part.windows),
        };
        if !both.is_empty() {
            windows = Some(both);
            covered.push(part.bytes);
        }
    }
    covered.sort_unstable_by_key(|bytes| bytes.start);
    covered.dedup_by(|next, last| {
        let joined = next.start <= last.end;
        if joined {
            last.end = last.end.max(next.end);
        }
        joined
    });
    (windows.unwrap_or_default(), covered)
}

fn intersect(left: &[Range<u64>], right: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut both: Vec<Range<u64>> = left
        .iter()
        .flat_map(|a| right.iter().map(|b| a.start.max(b.start)..a.end.min(b.end)))
        .filter(|window| !window.is_empty())
        .collect();
    both.sort_unstable_by_key(|window| window.start);
    both
}
