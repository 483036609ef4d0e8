//! Code and initialised data of a file by address.

use object::{Object, ObjectSection, SectionFlags};

use crate::elf::{ElfBinary, with_elf};

/// Section that is loaded into memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadedSection<'a> {
    address: u64,
    bytes: &'a [u8],
}

/// Loaded sections with contents, by address. Sections at 0 (per-cpu data, relocatable objects) are
/// left out, because their addresses are offsets into other blocks.
pub(super) fn loaded_sections<'a>(elf: &ElfBinary<'a>) -> Vec<LoadedSection<'a>> {
    let mut sections: Vec<LoadedSection<'a>> = with_elf!(elf, file => {
        file.sections()
            .filter(|section| {
                let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
                sh_flags.0 & object::elf::SHF_ALLOC.0 != 0 && section.address() != 0
            })
            .filter_map(|section| {
                let bytes = section.data().ok().filter(|bytes| !bytes.is_empty())?;
                Some(LoadedSection { address: section.address(), bytes })
            })
            .collect()
    });
    sections.sort_by_key(|section| section.address);
    sections
}

/// `len` bytes at `address`, if one section holds them all.
pub(super) fn bytes_at<'a>(
    sections: &[LoadedSection<'a>],
    address: u64,
    len: usize,
) -> Option<&'a [u8]> {
    let after = sections.partition_point(|section| section.address <= address);
    let section = sections.get(after.checked_sub(1)?)?;
    let start = usize::try_from(address - section.address).ok()?;
    section.bytes.get(start..start.checked_add(len)?)
}
