//! Ranges of memory by address.

use relayout_profile::{Addr, Profile, RangeKind, RangeRow, RunId};

/// Owner of the ranges of page tables. Each page of such a range is a cell.
const PAGE_TABLE: &str = "page table";
/// Bytes of a page of page tables.
const PAGE_BYTES: u64 = 4096;

/// Ranges by address, with nested ones under those that hold them.
#[derive(Clone, Debug, Default)]
pub struct RangeIndex {
    /// Rows by run and start, longer ones first.
    rows: Vec<RangeRow>,
    /// Innermost row that holds each row.
    parents: Vec<Option<usize>>,
}

/// Stretch of memory that no object crosses the ends of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectCell {
    /// Recording.
    pub run: RunId,
    /// First byte.
    pub start: Addr,
    /// First byte after.
    pub end: Addr,
    /// Number of the range; `None` if the profile describes nothing there.
    pub range: Option<u32>,
}

impl RangeIndex {
    /// Sorts the profile's ranges.
    pub fn new(profile: &Profile) -> Self {
        let mut rows = profile.ranges.clone();
        rows.sort_by(|a, b| {
            (a.run, a.start, b.bytes, a.kind).cmp(&(b.run, b.start, a.bytes, b.kind))
        });
        let mut parents: Vec<Option<usize>> = Vec::with_capacity(rows.len());
        let mut open: Vec<usize> = Vec::new();
        for (n, row) in rows.iter().enumerate() {
            while let Some(&top) = open.last() {
                if rows[top].run == row.run && holds(&rows[top], row.start) {
                    break;
                }
                open.pop();
            }
            parents.push(open.last().copied());
            open.push(n);
        }
        Self { rows, parents }
    }

    /// Returns the number of the smallest range that holds `addr`.
    pub fn find_range(&self, run: RunId, addr: Addr) -> Option<u32> {
        let after = self
            .rows
            .partition_point(|r| (r.run, r.start) <= (run, addr));
        let mut at = after.checked_sub(1);
        while let Some(n) = at {
            if self.rows[n].run != run {
                return None;
            }
            if holds(&self.rows[n], addr) {
                return u32::try_from(n).ok();
            }
            at = self.parents[n];
        }
        None
    }

    /// Returns a range by its number.
    pub fn row(&self, range: u32) -> &RangeRow {
        &self.rows[range as usize]
    }

    /// Returns the cell around `addr`: a slot of a slab, a page of page tables, else the range, or
    /// all memory outside of ranges. `None` before the first slot of a slab.
    pub fn cell(&self, run: RunId, addr: Addr) -> Option<ObjectCell> {
        let Some(range) = self.find_range(run, addr).map(|n| self.bounding_range(n)) else {
            return Some(ObjectCell {
                run,
                start: Addr(0),
                end: Addr(u64::MAX),
                range: None,
            });
        };
        let row = self.row(range);
        let end = row.start.saturating_add(row.bytes);
        let whole = ObjectCell {
            run,
            start: row.start,
            end,
            range: Some(range),
        };
        if row.kind == RangeKind::DirectMap && row.owner == PAGE_TABLE {
            let start = addr.align_down(PAGE_BYTES);
            return Some(ObjectCell {
                start,
                end: start + PAGE_BYTES,
                ..whole
            });
        }
        if row.kind != RangeKind::Slab || row.stride == 0 {
            return Some(whole);
        }
        let stride = u64::from(row.stride);
        let slot = addr.checked_sub(row.first)? / stride;
        let start = row.first + slot * stride;
        let bytes = if row.object_bytes == 0 {
            row.stride
        } else {
            row.object_bytes
        };
        Some(ObjectCell {
            start,
            end: Addr(start.saturating_add(u64::from(bytes)).min(end).0),
            ..whole
        })
    }
}

impl RangeIndex {
    /// Returns the range that bounds objects in `range`. Ranges of other pages only name their
    /// contents and bound nothing, unless they are one allocation.
    fn bounding_range(&self, range: u32) -> u32 {
        let row = self.row(range);
        let is_bounded = row.owner == PAGE_TABLE || is_boot_allocation(row);
        let names_only = row.kind == RangeKind::DirectMap && !is_bounded;
        let parent = self.parents[range as usize].filter(|_| names_only);
        parent.and_then(|n| u32::try_from(n).ok()).unwrap_or(range)
    }
}

/// Returns true if the range is one allocation that the boot made, before there were slabs.
pub fn is_boot_allocation(row: &RangeRow) -> bool {
    row.kind == RangeKind::DirectMap && row.object_bytes > 0
}

fn holds(row: &RangeRow, addr: Addr) -> bool {
    addr.checked_sub(row.start)
        .is_some_and(|offset| offset < row.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(kind: RangeKind, start: u64, bytes: u64) -> RangeRow {
        RangeRow {
            run: RunId(0),
            kind,
            start: Addr(start),
            bytes,
            owner: String::new(),
            id: 0,
            first: Addr(start),
            stride: 0,
            object_bytes: 0,
        }
    }

    fn ranges(rows: Vec<RangeRow>) -> RangeIndex {
        RangeIndex::new(&Profile {
            ranges: rows,
            ..Profile::default()
        })
    }

    #[test]
    fn the_smallest_range_wins() {
        let all = ranges(vec![
            range(RangeKind::Slab, 0x2000, 0x1000),
            range(RangeKind::DirectMap, 0x1000, 0x10000),
        ]);
        let kind = |addr| all.find_range(RunId(0), addr).map(|n| all.row(n).kind);
        assert_eq!(kind(Addr(0x2fff)), Some(RangeKind::Slab));
        assert_eq!(kind(Addr(0x3000)), Some(RangeKind::DirectMap));
        assert_eq!(kind(Addr(0x11000)), None);
        assert_eq!(all.find_range(RunId(1), Addr(0x2fff)), None);
    }

    #[test]
    fn slots_are_cells() {
        let mut row = range(RangeKind::Slab, 0x2000, 0x1000);
        (row.stride, row.object_bytes) = (192, 136);
        let cell = ranges(vec![row])
            .cell(RunId(0), Addr(0x2000 + 200))
            .expect("inside");
        assert_eq!((cell.start.0, cell.end.0), (0x20c0, 0x20c0 + 136));
    }

    #[test]
    fn allocations_of_the_boot_bound_objects_and_other_pages_do_not() {
        let page = RangeRow {
            owner: "pcpu_chunk.alloc_map".into(),
            ..range(RangeKind::DirectMap, 0x2000, 0x80)
        };
        let allocation = RangeRow {
            object_bytes: 0x80,
            ..page.clone()
        };
        let bounds = |row: RangeRow| {
            let ranges = ranges(vec![range(RangeKind::DirectMap, 0x1000, 0x10000), row]);
            let cell = ranges.cell(RunId(0), Addr(0x2010)).expect("in a range");
            (cell.start.0, cell.end.0)
        };
        assert_eq!(bounds(allocation), (0x2000, 0x2080));
        assert_eq!(bounds(page), (0x1000, 0x11000));
    }
}
