//! Memory of each CPU: its copy of the static per-cpu data, and the chunks for further allocations.

mod chunk_maps;

use relayout_profile::{Addr, RunId};
use std::collections::BTreeSet;

use relayout_profile::{RangeKind, RangeRow};

use self::chunk_maps::ChunkMaps;
use super::list::follow_list;
use super::lookup::{KernelLookup, MissingItem};
use super::paging::GuestMemory;
use super::{PAGE_BYTES, range_row};

/// Most lists of chunks, one for each class of free bytes.
const SLOTS_MAX: u32 = 64;
/// Most pages of one CPU's unit of a chunk.
const UNIT_PAGES_MAX: u32 = 4096;

/// Most CPUs that a kernel is built for.
const POSSIBLE_CPUS_MAX: u32 = 8192;

/// Places of the CPUs' copies of static data.
///
/// A CPU's copy of a variable is at the variable's address plus the CPU's offset. The addresses
/// begin at 0 (x86-64 up to 6.14) or are those of a section of the image; the sum is the same.
pub struct StaticDataReader {
    /// Address of the table of offsets by CPU.
    cpu_offsets: u64,
    start: u64,
    bytes: u64,
    /// Address of the number of possible CPUs.
    cpu_count: Option<u64>,
}

impl StaticDataReader {
    /// Looks up the symbols.
    pub fn find(lookup: &KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let start = lookup.symbol("__per_cpu_start")?;
        Ok(Self {
            cpu_offsets: lookup.symbol("__per_cpu_offset")?,
            start,
            bytes: lookup.symbol("__per_cpu_end")?.saturating_sub(start),
            cpu_count: lookup.symbol("nr_cpu_ids").ok(),
        })
    }

    /// Returns the CPUs that the guest could have: each has memory of its own, also if it never
    /// came. 0 if the guest does not say.
    pub fn possible_cpus(&self, memory: &GuestMemory<'_>) -> u16 {
        let count = self.cpu_count.and_then(|at| memory.read_u32(at));
        count.map_or(0, |count| count.min(POSSIBLE_CPUS_MAX) as u16)
    }

    /// Returns whether the variable at this address has a copy for each CPU.
    pub fn has_copies(&self, variable: u64) -> bool {
        variable
            .checked_sub(self.start)
            .is_some_and(|offset| offset < self.bytes)
    }

    /// Returns the addresses of the copies that `cpus` CPUs have of a variable, whose own address
    /// is `variable`.
    pub fn copies(&self, memory: &GuestMemory<'_>, variable: u64, cpus: u16) -> Vec<u64> {
        let offsets = (0..cpus).map_while(|cpu| self.cpu_offset(memory, cpu));
        offsets
            .map(|offset| offset.wrapping_add(variable))
            .collect()
    }

    fn cpu_offset(&self, memory: &GuestMemory<'_>, cpu: u16) -> Option<u64> {
        memory.read_u64(self.cpu_offsets.checked_add(u64::from(cpu) * 8)?)
    }

    /// Returns the copies of `cpus` CPUs, without those that cannot be read.
    pub fn ranges(&self, memory: &GuestMemory<'_>, run: RunId, cpus: u16) -> Vec<RangeRow> {
        let copy = |cpu: u16| {
            let offset = self.cpu_offset(memory, cpu)?;
            let start = offset.wrapping_add(self.start);
            let mut range = range_row(run, RangeKind::PerCpu, start, self.bytes);
            range.first = Addr(offset);
            range.id = cpu.into();
            Some(range)
        };
        (0..cpus).filter_map(copy).collect()
    }
}

/// Type of the chunks from which per-cpu memory is allocated.
pub const CHUNK_TYPE: &str = "pcpu_chunk";

/// Places and offsets of the chunks from which per-cpu memory is allocated.
pub struct ChunkReader {
    list: u64,
    base_addr: u64,
    start_offset: u64,
    pages: u64,
    unit_offsets: u64,
    unit_bytes: u64,
    /// Addresses of pointers to the chunks that booting made.
    booted: Vec<u64>,
    /// Address of the pointer to the lists of the other chunks.
    lists: u64,
    /// Address of the number of lists.
    list_count: u64,
    maps: ChunkMaps,
}

impl ChunkReader {
    /// Looks up symbols and offsets.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let booted = ["pcpu_first_chunk", "pcpu_reserved_chunk"];
        Ok(Self {
            list: lookup.member(CHUNK_TYPE, "list")?,
            base_addr: lookup.member(CHUNK_TYPE, "base_addr")?,
            start_offset: lookup.member(CHUNK_TYPE, "start_offset")?,
            pages: lookup.member(CHUNK_TYPE, "nr_pages")?,
            unit_offsets: lookup.symbol("pcpu_unit_offsets")?,
            unit_bytes: lookup.symbol("pcpu_unit_size")?,
            booted: { booted.iter() }
                .filter_map(|name| lookup.symbol(name).ok())
                .collect(),
            lists: lookup.symbol("pcpu_chunk_lists")?,
            list_count: lookup.symbol("pcpu_nr_slots")?,
            maps: ChunkMaps::find(lookup),
        })
    }

    /// Returns the units of `cpus` CPUs that have one of `pages`. `None` if the memory does not say
    /// where units are.
    pub fn ranges(
        &self,
        memory: &GuestMemory<'_>,
        run: RunId,
        cpus: u16,
        pages: &[u64],
    ) -> Option<Vec<RangeRow>> {
        let units = PercpuUnits::read(self, memory, cpus)?;
        let booted = self.booted_chunks(memory);
        let mut ranges: Vec<RangeRow> = { booted.iter() }
            .flat_map(|&at| self.maps.ranges(memory, run, at))
            .collect();
        let chunks = (0..).zip(self.chunk_addresses(memory, booted));
        let chunks = chunks.filter_map(|(number, at)| PercpuChunk::read(memory, self, at, number));
        ranges.extend(chunks.flat_map(|chunk| chunk.unit_ranges(&units, run, pages)));
        Some(ranges)
    }

    fn booted_chunks(&self, memory: &GuestMemory<'_>) -> Vec<u64> {
        let booted = self.booted.iter().filter_map(|&at| memory.read_u64(at));
        booted.filter(|&at| at != 0).collect()
    }

    /// Returns the addresses of all chunks.
    pub fn chunks(&self, memory: &GuestMemory<'_>) -> Vec<u64> {
        self.chunk_addresses(memory, self.booted_chunks(memory))
    }

    /// Returns the addresses of all chunks, first those that booting made.
    fn chunk_addresses(&self, memory: &GuestMemory<'_>, booted: Vec<u64>) -> Vec<u64> {
        let lists = memory.read_u64(self.lists);
        let count = memory.read_u32(self.list_count).unwrap_or(0);
        let mut others = BTreeSet::new();
        for slot in 0..u64::from(count.min(SLOTS_MAX)) {
            let Some(head) = lists.map(|lists| lists.wrapping_add(slot * 16)) else {
                break;
            };
            let first = head.wrapping_sub(self.list);
            others.extend(follow_list(memory, first, self.list, head));
        }
        others.retain(|at| !booted.contains(at));
        booted.into_iter().chain(others).collect()
    }
}

/// Offsets of the CPUs' units from a chunk's base.
struct PercpuUnits {
    offsets: Vec<u64>,
    bytes: u64,
}

impl PercpuUnits {
    fn read(reader: &ChunkReader, memory: &GuestMemory<'_>, cpus: u16) -> Option<Self> {
        let table = memory.read_u64(reader.unit_offsets)?;
        let bytes = memory.read_u32(reader.unit_bytes)?;
        let offset = |cpu: u16| memory.read_u64(table.wrapping_add(u64::from(cpu) * 8));
        Some(Self {
            offsets: (0..cpus).map(offset).collect::<Option<_>>()?,
            bytes: bytes.into(),
        })
    }
}

/// Memory of all CPUs that is allocated from together.
struct PercpuChunk {
    base: u64,
    /// Bytes of one CPU's unit.
    bytes: u64,
    /// Bytes at its start that are not its own: a chunk begins with a page, the static data before
    /// the first one end where they will.
    start_offset: u64,
    number: u64,
}

impl PercpuChunk {
    fn read(memory: &GuestMemory<'_>, offsets: &ChunkReader, at: u64, number: u64) -> Option<Self> {
        let read_int = |offset: u64| memory.read_u32(at.wrapping_add(offset));
        let bytes = u64::from(read_int(offsets.pages)?.min(UNIT_PAGES_MAX)) * PAGE_BYTES;
        Some(Self {
            base: memory.read_u64(at.wrapping_add(offsets.base_addr))?,
            bytes,
            start_offset: u64::from(read_int(offsets.start_offset)?).min(bytes),
            number,
        })
    }

    /// The units that have one of `pages`. What was allocated where in them is not followed: most
    /// of it in a window is freed again, and given to something else in other pieces.
    fn unit_ranges(&self, units: &PercpuUnits, run: RunId, pages: &[u64]) -> Vec<RangeRow> {
        let unit_range = |(cpu, offset): (u32, &u64)| {
            let start = self.base.wrapping_add(*offset);
            let page = pages[pages.partition_point(|&page| page < start)..].first()?;
            if page - start >= self.bytes {
                return None;
            }
            let bytes = self.bytes - self.start_offset;
            let start = start.wrapping_add(self.start_offset);
            let mut range = range_row(run, RangeKind::PerCpu, start, bytes);
            range.id = cpu;
            // Above the offsets of static data, and the same for all CPUs.
            let number = (self.number + 1) * units.bytes + self.start_offset;
            range.stride = u32::try_from(number).ok()?;
            Some(range)
        };
        (0..).zip(&units.offsets).filter_map(unit_range).collect()
    }
}
