//! What pages were that no slab has: `struct page`.

use relayout_profile::{RangeKind, RangeRow};

use super::files::Files;
use super::frames::Frames;
use super::layout::Offsets;
use super::paging::GuestMemory;
use super::{PAGE_BYTES, row};

/// `page_type` of a page that has one: these bits, less those of its type.
const TYPED: u32 = 0xf000_0000;
const BUDDY: u32 = 0x80;
const TABLE: u32 = 0x200;

/// One range for each stretch of `pages` of one kind; `owner` is its name. Pages of which nothing is
/// known are left out.
pub fn ranges(
    memory: &GuestMemory<'_>,
    offsets: &Offsets,
    frames: &Frames,
    run: u16,
    pages: &[u64],
) -> Vec<RangeRow> {
    let mut files = Files::new(memory, offsets.file.as_ref());
    let mut ranges: Vec<RangeRow> = Vec::new();
    for &page in pages {
        let descriptor = frames.descriptor(page);
        let Some(kind) = descriptor.and_then(|at| kind(memory, offsets, at)) else {
            continue;
        };
        let what = match kind {
            Kind::Known(what) => what,
            Kind::File(mapping) => files.describe(mapping),
        };
        match ranges.last_mut() {
            Some(last) if last.owner == what && last.start + last.bytes == page => {
                last.bytes += PAGE_BYTES;
            }
            _ => {
                let mut range = row(run, RangeKind::DirectMap, page, PAGE_BYTES);
                range.owner = what.to_owned();
                ranges.push(range);
            }
        }
    }
    ranges
}

/// What a page is.
enum Kind {
    /// What is to be said of it.
    Known(&'static str),
    /// Content of the file with this mapping.
    File(u64),
}

fn kind(memory: &GuestMemory<'_>, offsets: &Offsets, descriptor: u64) -> Option<Kind> {
    // Of several pages that belong together, the first is described.
    let compound = memory.u64(descriptor + offsets.page_compound_head)?;
    let descriptor = if compound & 1 == 1 {
        compound - 1
    } else {
        descriptor
    };
    let flags = memory.u64(descriptor.wrapping_add(offsets.page_flags))?;
    let has = |bit: u32| flags >> bit & 1 == 1;
    if has(offsets.slab_flag_bit) {
        return None;
    }
    if offsets.reserved_flag_bit.is_some_and(has) {
        return Some(Kind::Known("boot memory"));
    }
    let page_type = memory.u32(descriptor.wrapping_add(offsets.page_type?))?;
    // A count of mappings is in the same place; it is nowhere near the bits of a type.
    if page_type & TYPED == TYPED && page_type != u32::MAX {
        return match !page_type {
            bits if bits & TABLE != 0 => Some(Kind::Known("page table")),
            bits if bits & BUDDY != 0 => Some(Kind::Known("free page")),
            _ => None,
        };
    }
    // include/linux/page-flags.h: bit 0 of `mapping` marks anonymous memory.
    match memory.u64(descriptor.wrapping_add(offsets.page_mapping?))? {
        0 => None,
        mapping if mapping & 1 == 1 => Some(Kind::Known("anonymous page")),
        mapping => Some(Kind::File(mapping)),
    }
}
