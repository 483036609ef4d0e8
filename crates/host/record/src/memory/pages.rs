//! Kinds of pages outside of slabs, from `struct page`.

use relayout_profile::Addr;
use relayout_profile::RunId;
use relayout_profile::{RangeKind, RangeRow};

use super::files::FileNames;
use super::frames::{PageFrames, head_descriptor};
use super::layout::KernelOffsets;
use super::paging::GuestMemory;
use super::{PAGE_BYTES, range_row};

/// `page_type` of a page that has one: these bits, less those of its type.
const PAGE_TYPE_BITS: u32 = 0xf000_0000;
const PAGE_TYPE_BUDDY: u32 = 0x80;
const PAGE_TYPE_TABLE: u32 = 0x200;

/// One range for each stretch of `pages` of one kind; `owner` is its name. Pages of which nothing
/// is known are left out.
pub fn ranges(
    memory: &GuestMemory<'_>,
    offsets: &KernelOffsets,
    frames: &PageFrames,
    run: RunId,
    pages: &[u64],
) -> Vec<RangeRow> {
    let mut files = FileNames::new(memory, offsets.file.as_ref());
    let mut ranges: Vec<RangeRow> = Vec::new();
    for &page in pages {
        let descriptor = frames.descriptor(page);
        let Some(kind) = descriptor.and_then(|at| page_kind(memory, offsets, at)) else {
            continue;
        };
        let owner = match kind {
            PageKind::Described(description) => description,
            PageKind::File(mapping) => files.describe_mapping(mapping),
        };
        match ranges.last_mut() {
            Some(last)
                if last.owner == owner && last.start.saturating_add(last.bytes) == Addr(page) =>
            {
                last.bytes += PAGE_BYTES;
            }
            _ => {
                let mut range = range_row(run, RangeKind::DirectMap, page, PAGE_BYTES);
                range.owner = owner.to_owned();
                ranges.push(range);
            }
        }
    }
    ranges
}

/// Kind of a page.
enum PageKind {
    /// A kind that needs no further look-up, in words.
    Described(&'static str),
    /// Content of the file with this mapping.
    File(u64),
}

fn page_kind(
    memory: &GuestMemory<'_>,
    offsets: &KernelOffsets,
    descriptor: u64,
) -> Option<PageKind> {
    let descriptor = head_descriptor(memory, offsets, descriptor)?;
    let flags = memory.read_u64(descriptor.wrapping_add(offsets.page_flags))?;
    let has_flag = |bit: u32| flags >> bit & 1 == 1;
    if has_flag(offsets.slab_flag_bit) {
        return None;
    }
    if offsets.reserved_flag_bit.is_some_and(has_flag) {
        return Some(PageKind::Described("boot memory"));
    }
    let page_type = memory.read_u32(descriptor.wrapping_add(offsets.page_type?))?;
    // A count of mappings is in the same place; it is nowhere near the bits of a type.
    if page_type & PAGE_TYPE_BITS == PAGE_TYPE_BITS && page_type != u32::MAX {
        return match !page_type {
            bits if bits & PAGE_TYPE_TABLE != 0 => Some(PageKind::Described("page table")),
            bits if bits & PAGE_TYPE_BUDDY != 0 => Some(PageKind::Described("free page")),
            _ => None,
        };
    }
    // include/linux/page-flags.h: bit 0 of `mapping` marks anonymous memory.
    match memory.read_u64(descriptor.wrapping_add(offsets.page_mapping?))? {
        0 => None,
        mapping if mapping & 1 == 1 => Some(PageKind::Described("anonymous page")),
        mapping => Some(PageKind::File(mapping)),
    }
}
