//! What the file puts at an address: code and initialised data.

use object::{Object, ObjectSection, SectionFlags};

use crate::elf::{Elf, with_elf};

/// One section that is loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch<'a> {
    address: u64,
    bytes: &'a [u8],
}

/// Loaded sections with contents, by address. Sections at 0 (per-cpu data, relocatable objects)
/// are left out: their addresses are offsets of something else.
pub(super) fn loaded<'a>(elf: &Elf<'a>) -> Vec<Stretch<'a>> {
    let mut stretches: Vec<Stretch<'a>> = with_elf!(elf, file => {
        file.sections()
            .filter(|section| {
                let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
                sh_flags.0 & object::elf::SHF_ALLOC.0 != 0 && section.address() != 0
            })
            .filter_map(|section| {
                let bytes = section.data().ok().filter(|bytes| !bytes.is_empty())?;
                Some(Stretch { address: section.address(), bytes })
            })
            .collect()
    });
    stretches.sort_by_key(|stretch| stretch.address);
    stretches
}

/// `len` bytes at `address`, if one stretch holds them all.
pub(super) fn at<'a>(stretches: &[Stretch<'a>], address: u64, len: usize) -> Option<&'a [u8]> {
    let after = stretches.partition_point(|stretch| stretch.address <= address);
    let stretch = stretches.get(after.checked_sub(1)?)?;
    let start = usize::try_from(address - stretch.address).ok()?;
    stretch.bytes.get(start..start.checked_add(len)?)
}
