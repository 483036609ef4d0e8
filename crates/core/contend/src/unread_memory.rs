//! Costs of the readers of guest memory that were left out of a recording: transfers without a
//! name, in the areas of memory that a reader would have described.
//!
//! A kernel whose slabs could not be read has 30% of its transfers on memory of the direct map that
//! nothing names. No more than these would have a name with that reader.

use std::collections::BTreeMap;

use relayout_profile::{Addr, ConflictRow, LeftOutReader, Profile, RangeKind, RangeRow, RunId};
use serde::{Deserialize, Serialize};

use crate::finding::share;
use crate::group;

/// A reader that was left out, and the transfers that have no name without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnreadMemory {
    /// Subject of the reader: `slabs`.
    pub reader: String,
    /// Item that the reader lacked: `member 'slab.slab_cache'`.
    pub missing: String,
    /// Transfers without a name in the areas that it would have described: the most that it costs.
    pub transfers: u64,
    /// Their fraction of all transfers.
    pub share: f64,
}

/// Returns the left-out readers of `profile`, whose transfers without a name are `unresolved`.
pub(crate) fn unread_memory(
    profile: &Profile,
    unresolved: &BTreeMap<&str, Vec<&ConflictRow>>,
    total_transfers: u64,
) -> Vec<UnreadMemory> {
    let cost = |reader: &LeftOutReader| {
        let areas = reader_areas(profile, reader);
        let rows = unresolved.values().flatten();
        let rows = rows.filter(|row| areas.contains(row.run, row.addr));
        let transfers = rows.map(|row| group::row_tally(row).transfers()).sum();
        UnreadMemory {
            reader: reader.reader.clone(),
            missing: reader.missing.clone(),
            transfers,
            share: share(transfers, total_transfers, 0.0),
        }
    };
    profile.meta.left_out_readers.iter().map(cost).collect()
}

/// Areas of one reader.
struct ReaderAreas<'p> {
    /// Whole areas that the reader describes.
    described: Vec<&'p RangeRow>,
    /// The image, which no reader describes.
    image: Vec<&'p RangeRow>,
}

fn reader_areas<'p>(profile: &'p Profile, reader: &LeftOutReader) -> ReaderAreas<'p> {
    let rows = || profile.ranges.iter();
    let is_whole = |row: &&RangeRow| row.owner.is_empty() && row.stride == 0;
    ReaderAreas {
        described: rows()
            .filter(is_whole)
            .filter(|row| reader.areas.contains(&row.kind))
            .collect(),
        image: rows().filter(|row| row.kind == RangeKind::Image).collect(),
    }
}

impl ReaderAreas<'_> {
    /// Returns true if the reader could have named `addr`. Where nothing says which areas it would
    /// have described, these are all outside of the image.
    fn contains(&self, run: RunId, addr: Addr) -> bool {
        let holds = |row: &&RangeRow| {
            let offset = addr.checked_sub(row.start);
            row.run == run && offset.is_some_and(|offset| offset < row.bytes)
        };
        match self.described.is_empty() {
            true => !self.image.iter().any(holds),
            false => self.described.iter().any(holds),
        }
    }
}
