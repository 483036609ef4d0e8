//! Descriptors with a mask: `page.compound_info` of a later page has bit 0, and the other bits are
//! either the address of the first descriptor, or a mask that turns the descriptor's own address
//! into that one (7.0 and later). Kernels that can free the descriptors of huge pages use masks,
//! where descriptors have a power of two as their size; the value tells, because no address of a
//! descriptor has ones in all upper bits.

use crate::memory::frames::PageFrames;
use crate::memory::paging::GuestMemory;

/// Masks clear fewer bits than this.
const MASK_BITS_MAX: u32 = 32;

/// Returns the first descriptor of the compound page that `descriptor` is part of, or `descriptor`.
pub fn head(
    memory: &GuestMemory<'_>,
    frames: &PageFrames,
    offset: u64,
    descriptor: u64,
) -> Option<u64> {
    let word = memory.read_u64(descriptor.wrapping_add(offset))?;
    if word & 1 == 0 {
        return Some(descriptor);
    }
    let head = match word - 1 {
        mask if is_mask(mask) => descriptor & mask,
        address => address,
    };
    frames.has_descriptor(head).then_some(head)
}

/// Returns true if the ones of `word` are its upper bits.
fn is_mask(word: u64) -> bool {
    word.leading_ones() + word.trailing_zeros() == u64::BITS
        && word.trailing_zeros() < MASK_BITS_MAX
}

#[cfg(test)]
mod tests {
    use super::is_mask;

    #[test]
    fn addresses_are_no_masks() {
        assert!(is_mask(0xffff_ffff_ffff_ff80));
        assert!(!is_mask(0xffff_ea00_0000_1000));
        assert!(!is_mask(0xffd4_0000_0000_1000));
        assert!(!is_mask(0));
        assert!(!is_mask(1 << 63));
    }
}
