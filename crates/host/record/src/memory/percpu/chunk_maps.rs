//! Maps of the chunks that booting made. Those of later chunks are allocations of their own; these
//! come from memory that was handed out before there were slabs, so nothing else tells their bounds.

use relayout_profile::{RangeKind, RangeRow, RunId};

use crate::memory::lookup::KernelLookup;
use crate::memory::paging::GuestMemory;
use crate::memory::range_row;

/// Most bits of a map that are believed.
const BITS_MAX: u32 = 1 << 24;
const WORD_BYTES: u64 = 8;

/// Members of `struct pcpu_chunk` that point to a map.
const MAPS: [&str; 2] = ["alloc_map", "bound_map"];

/// Offsets of the pointers to a chunk's maps.
pub struct ChunkMaps {
    maps: Vec<(String, u64)>,
    /// Offset of the number of bits of each.
    bits: Option<u64>,
}

impl ChunkMaps {
    /// Looks up the pointers that the kernel's chunks have.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Self {
        let mut map = |name: &&str| {
            let offset = lookup.member("pcpu_chunk", name).ok()?;
            Some((format!("pcpu_chunk.{name}"), offset))
        };
        let maps = MAPS.iter().filter_map(&mut map).collect();
        let whole = lookup.member("pcpu_chunk", "chunk_md").ok();
        let bits = lookup.member("pcpu_block_md", "nr_bits").ok();
        let bits = whole.zip(bits).map(|(whole, bits)| whole + bits);
        Self { maps, bits }
    }

    /// Returns the ranges of the maps of the chunk at `chunk`, each one allocation.
    pub fn ranges(&self, memory: &GuestMemory<'_>, run: RunId, chunk: u64) -> Vec<RangeRow> {
        let bits = { self.bits }.and_then(|offset| memory.read_u32(chunk.wrapping_add(offset)));
        let words = bits.unwrap_or(0).min(BITS_MAX).div_ceil(u64::BITS);
        let map_range = |(owner, offset): &(String, u64)| {
            let start = memory.read_u64(chunk.wrapping_add(*offset))?;
            let bytes = u64::from(words) * WORD_BYTES;
            let mut range = range_row(run, RangeKind::DirectMap, start, bytes);
            range.owner.clone_from(owner);
            range.object_bytes = u32::try_from(bytes).ok()?;
            (start != 0 && bytes > 0).then_some(range)
        };
        self.maps.iter().filter_map(map_range).collect()
    }
}
