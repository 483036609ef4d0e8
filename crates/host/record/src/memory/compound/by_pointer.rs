//! Descriptors that point to the first page's: `page.compound_head` is its address plus 1 (up to
//! 6.19).

use crate::memory::paging::GuestMemory;

/// Returns the first descriptor of the compound page that `descriptor` is part of, or `descriptor`.
pub fn head(memory: &GuestMemory<'_>, offset: u64, descriptor: u64) -> Option<u64> {
    let word = memory.read_u64(descriptor.wrapping_add(offset))?;
    Some(if word & 1 == 1 { word - 1 } else { descriptor })
}
