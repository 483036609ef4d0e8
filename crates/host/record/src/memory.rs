//! The guest's memory at the end of the window, read as a debugger would read it, while the machine
//! is stopped.

mod files;
mod frames;
mod layout;
mod list;
mod pages;
mod paging;
mod percpu;
mod slab;
mod tasks;
mod vmalloc;

use relayout_profile::Addr;
use relayout_profile::RunId;
use relayout_profile::{RangeKind, RangeRow};

use self::frames::PageFrames;
use self::layout::KernelOffsets;
use self::paging::GuestMemory;
use crate::{Error, GuestKernel};

pub(crate) use self::paging::LowMemory;

/// Ranges of the guest's memory for one run, sorted by start.
pub struct MemorySnapshot {
    /// Ranges, each once.
    pub ranges: Vec<RangeRow>,
    /// Descriptions of the data that could not be read.
    pub gaps: Vec<String>,
}

/// Reads the guest's memory from `bytes` (the file behind it). `pages` are the addresses of the
/// pages (4 KiB) that matter, ascending: slabs, allocations and kinds of pages are looked up for
/// them only.
///
/// # Errors
/// The debug file lacks a symbol or type that every kernel of this kind has. What merely cannot be
/// read in this guest becomes a gap.
pub fn read_snapshot(
    kernel: &GuestKernel<'_>,
    bytes: &[u8],
    run: RunId,
    cpus: u16,
    pages: &[u64],
) -> Result<MemorySnapshot, Error> {
    let offsets = KernelOffsets::new(kernel)?;
    let memory = GuestMemory::new(
        bytes,
        kernel.symbol_address("init_top_pgt")?,
        LowMemory::for_q35(bytes.len() as u64),
    );
    let mut ranges = area_ranges(kernel, &memory, run)?;
    let mut gaps = Vec::new();
    ranges.extend(percpu::ranges(
        kernel, &memory, &offsets, run, cpus, pages, &mut gaps,
    )?);
    match PageFrames::read(kernel, &memory, offsets.page_size)? {
        Some(frames) => {
            ranges.extend(slab::ranges(&memory, &offsets, &frames, run, pages));
            // Static data of CPUs are in the direct map too, and are better known.
            let percpu_ranges: Vec<_> = ranges
                .iter()
                .filter(|range| range.kind == RangeKind::PerCpu)
                .map(|range| range.start.0..range.start.0.saturating_add(range.bytes))
                .collect();
            let others: Vec<u64> = pages
                .iter()
                .copied()
                .filter(|page| !percpu_ranges.iter().any(|range| range.contains(page)))
                .collect();
            ranges.extend(pages::ranges(&memory, &offsets, &frames, run, &others));
        }
        None => gaps.push("the bases of the direct map and the page array".into()),
    }
    ranges.extend(vmalloc::ranges(
        kernel, &memory, &offsets, run, pages, &mut gaps,
    )?);
    ranges.extend(tasks::stack_ranges(
        kernel, &memory, &offsets, run, &mut gaps,
    )?);
    ranges.sort_by_key(|range| (range.start, range.bytes, range.kind));
    ranges.dedup();
    Ok(MemorySnapshot { ranges, gaps })
}

/// Image, direct map, page array, vmalloc space.
fn area_ranges(
    kernel: &GuestKernel<'_>,
    memory: &GuestMemory<'_>,
    run: RunId,
) -> Result<Vec<RangeRow>, Error> {
    let text = kernel.symbol_address("_text")?;
    let end = kernel.symbol_address("_end")?;
    let image = range_row(run, RangeKind::Image, text, end.saturating_sub(text));
    let physical_end = memory.physical_end();
    let areas = [
        ("page_offset_base", RangeKind::DirectMap, physical_end),
        (
            "vmemmap_base",
            RangeKind::PageArray,
            physical_end / PAGE_BYTES * 64,
        ),
        ("vmalloc_base", RangeKind::Vmalloc, VMALLOC_BYTES),
    ];
    let area_row = |(base, kind, bytes)| {
        let start = memory.read_u64(kernel.symbol_address(base).ok()?)?;
        Some(range_row(run, kind, start, bytes))
    };
    Ok(std::iter::once(image)
        .chain(areas.into_iter().filter_map(area_row))
        .collect())
}

const PAGE_BYTES: u64 = 4096;
/// Bytes of vmalloc space with four-level page tables (kernel documentation, x86_64 mm).
const VMALLOC_BYTES: u64 = 32 << 40;

fn range_row(run: RunId, kind: RangeKind, start: u64, bytes: u64) -> RangeRow {
    RangeRow {
        run,
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

#[cfg(test)]
mod tests;
