//! Memory of each CPU: its copy of the static per-cpu data, and the chunks for further allocations.

use relayout_profile::RunId;
use std::collections::BTreeSet;

use relayout_profile::{RangeKind, RangeRow};

use super::layout::{ChunkOffsets, KernelOffsets};
use super::list::follow_list;
use super::paging::GuestMemory;
use super::{PAGE_BYTES, range_row};
use crate::{Error, GuestKernel};

/// Most lists of chunks, one for each class of free bytes.
const SLOTS_MAX: u32 = 64;
/// Most pages of one CPU's unit of a chunk.
const UNIT_PAGES_MAX: u32 = 4096;

/// Most CPUs that a kernel is built for.
const POSSIBLE_CPUS_MAX: u32 = 8192;

/// The static data of all CPUs, and their units of chunks that have one of `pages`.
pub fn ranges(
    kernel: &GuestKernel<'_>,
    memory: &GuestMemory<'_>,
    offsets: &KernelOffsets,
    run: RunId,
    cpus: u16,
    pages: &[u64],
    gaps: &mut Vec<String>,
) -> Result<Vec<RangeRow>, Error> {
    let cpus = possible_cpus(kernel, memory).max(cpus);
    let mut ranges = static_ranges(kernel, memory, run, cpus, gaps)?;
    let Some(units) = PercpuUnits::read(kernel, memory, cpus) else {
        gaps.push("the units of per-cpu memory".into());
        return Ok(ranges);
    };
    let Some(chunk) = &offsets.chunk else {
        gaps.push("chunks of per-cpu memory".into());
        return Ok(ranges);
    };
    for (number, at) in (0..).zip(chunk_addresses(kernel, memory, chunk)) {
        match PercpuChunk::read(memory, chunk, at, number) {
            Some(chunk) => ranges.extend(chunk.unit_ranges(&units, run, pages)),
            None => gaps.push(format!("the chunk of per-cpu memory at {at:#x}")),
        }
    }
    Ok(ranges)
}

/// CPUs that the guest could have: each has memory of its own, also if it never came. 0 if the
/// guest does not say.
fn possible_cpus(kernel: &GuestKernel<'_>, memory: &GuestMemory<'_>) -> u16 {
    let at = kernel.symbol_address("nr_cpu_ids").ok();
    at.and_then(|at| memory.read_u32(at))
        .map_or(0, |count| count.min(POSSIBLE_CPUS_MAX) as u16)
}

fn static_ranges(
    kernel: &GuestKernel<'_>,
    memory: &GuestMemory<'_>,
    run: RunId,
    cpus: u16,
    gaps: &mut Vec<String>,
) -> Result<Vec<RangeRow>, Error> {
    let offsets = kernel.symbol_address("__per_cpu_offset")?;
    let start = kernel.symbol_address("__per_cpu_start")?;
    let bytes = kernel
        .symbol_address("__per_cpu_end")?
        .saturating_sub(start);
    let mut ranges = Vec::new();
    for cpu in 0..cpus {
        match memory.read_u64(offsets + u64::from(cpu) * 8) {
            Some(offset) => {
                let mut range =
                    range_row(run, RangeKind::PerCpu, offset.wrapping_add(start), bytes);
                range.id = cpu.into();
                ranges.push(range);
            }
            None => gaps.push(format!("per-cpu area of CPU {cpu}")),
        }
    }
    Ok(ranges)
}

/// Offsets of the CPUs' units from a chunk's base.
struct PercpuUnits {
    offsets: Vec<u64>,
    bytes: u64,
}

impl PercpuUnits {
    fn read(kernel: &GuestKernel<'_>, memory: &GuestMemory<'_>, cpus: u16) -> Option<Self> {
        let table = memory.read_u64(kernel.symbol_address("pcpu_unit_offsets").ok()?)?;
        let bytes = memory.read_u32(kernel.symbol_address("pcpu_unit_size").ok()?)?;
        let offset = |cpu: u16| memory.read_u64(table.wrapping_add(u64::from(cpu) * 8));
        Some(Self {
            offsets: (0..cpus).map(offset).collect::<Option<_>>()?,
            bytes: bytes.into(),
        })
    }
}

/// Returns the addresses of all chunks, first those that booting made.
fn chunk_addresses(
    kernel: &GuestKernel<'_>,
    memory: &GuestMemory<'_>,
    offsets: &ChunkOffsets,
) -> Vec<u64> {
    let read_word = |name: &str| memory.read_u64(kernel.symbol_address(name).ok()?);
    let booted = ["pcpu_first_chunk", "pcpu_reserved_chunk"].map(read_word);
    let booted: Vec<u64> = booted.into_iter().flatten().filter(|&at| at != 0).collect();
    let lists = read_word("pcpu_chunk_lists");
    let slots = kernel
        .symbol_address("pcpu_nr_slots")
        .ok()
        .and_then(|at| memory.read_u32(at))
        .unwrap_or(0)
        .min(SLOTS_MAX);
    let mut others = BTreeSet::new();
    for slot in 0..u64::from(slots) {
        let Some(head) = lists.map(|lists| lists.wrapping_add(slot * 16)) else {
            break;
        };
        let first = head.wrapping_sub(offsets.list);
        others.extend(follow_list(memory, first, offsets.list, head));
    }
    others.retain(|at| !booted.contains(at));
    booted.into_iter().chain(others).collect()
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
    fn read(
        memory: &GuestMemory<'_>,
        offsets: &ChunkOffsets,
        at: u64,
        number: u64,
    ) -> Option<Self> {
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
