//! Kinds of pages outside of slabs, from `struct page`.

use std::collections::BTreeSet;

use relayout_profile::Addr;
use relayout_profile::RunId;
use relayout_profile::{PIPE_CONTENT, RangeKind, RangeRow};

use super::compound::CompoundPages;
use super::files::FileNames;
use super::frames::PageFrames;
use super::lookup::{KernelLookup, MissingItem};
use super::page_types::{PageType, PageTypes};
use super::paging::GuestMemory;
use super::{PAGE_BYTES, range_row};

/// Reads the descriptors of pages, whatever the pages are used for.
pub struct DescriptorReader {
    compound: CompoundPages,
    types: PageTypes,
}

impl DescriptorReader {
    /// Chooses the forms that the debug information has.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        Ok(Self {
            compound: CompoundPages::find(lookup)?,
            types: PageTypes::find(lookup)?,
        })
    }

    /// Size of a descriptor.
    pub fn descriptor_bytes(&self) -> u64 {
        self.compound.descriptor_bytes()
    }
}

/// The descriptors of one guest's pages.
pub struct PageDescriptors<'r> {
    /// Pages and the places of their descriptors.
    pub frames: PageFrames,
    /// Reader of what they hold.
    pub reader: &'r DescriptorReader,
}

impl PageDescriptors<'_> {
    /// Returns the first descriptor of the compound page that has `address`.
    pub fn head(&self, memory: &GuestMemory<'_>, address: u64) -> Option<u64> {
        let descriptor = self.frames.descriptor(address)?;
        self.reader.compound.head(memory, &self.frames, descriptor)
    }

    /// Order of the compound page at `head`.
    pub fn order(&self, memory: &GuestMemory<'_>, head: u64) -> u32 {
        self.reader.compound.order(memory, &self.frames, head)
    }

    /// Type of the page at `head`.
    pub fn type_of(&self, memory: &GuestMemory<'_>, head: u64) -> Option<PageType> {
        self.reader.types.type_of(memory, head)
    }
}

/// Owners of pages that have no type.
pub struct PageOwners<'g, 'm> {
    /// Names of files.
    pub files: FileNames<'g, 'm>,
    /// Descriptors of the pages of pipes.
    pub pipe_pages: BTreeSet<u64>,
}

/// Offsets and flags in the descriptor of a page that has no type.
pub struct PageUseReader {
    flags: u64,
    reserved_flag: Option<u32>,
    mapping: Option<u64>,
}

impl PageUseReader {
    /// Looks up the offsets.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let in_page = lookup.member("page", "mapping").ok();
        Ok(Self {
            flags: lookup.member("page", "flags")?,
            reserved_flag: lookup.bit_number("pageflags", "PG_reserved").ok(),
            mapping: in_page.or_else(|| lookup.member("folio", "mapping").ok()),
        })
    }

    /// One range for each stretch of `pages` of one kind; `owner` is its name. Pages of which
    /// nothing is known are left out.
    pub fn ranges(
        &self,
        memory: &GuestMemory<'_>,
        descriptors: &PageDescriptors<'_>,
        owners: &mut PageOwners<'_, '_>,
        run: RunId,
        pages: &[u64],
    ) -> Vec<RangeRow> {
        let mut ranges: Vec<RangeRow> = Vec::new();
        for &page in pages {
            let Some(kind) = self.page_kind(memory, descriptors, owners, page) else {
                continue;
            };
            let owner = match kind {
                PageKind::Described(description) => description,
                PageKind::File(mapping) => owners.files.describe_mapping(mapping),
            };
            match ranges.last_mut() {
                Some(last)
                    if last.owner == owner
                        && last.start.saturating_add(last.bytes) == Addr(page) =>
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

    fn page_kind(
        &self,
        memory: &GuestMemory<'_>,
        descriptors: &PageDescriptors<'_>,
        owners: &PageOwners<'_, '_>,
        page: u64,
    ) -> Option<PageKind> {
        let head = descriptors.head(memory, page)?;
        let page_type = descriptors.type_of(memory, head)?;
        if page_type == PageType::Slab {
            return None;
        }
        let flags = memory.read_u64(head.wrapping_add(self.flags))?;
        if { self.reserved_flag }.is_some_and(|bit| flags >> bit & 1 == 1) {
            return Some(PageKind::Described("boot memory"));
        }
        match page_type {
            PageType::Table => return Some(PageKind::Described("page table")),
            PageType::Free => return Some(PageKind::Described("free page")),
            PageType::Slab | PageType::Other => return None,
            PageType::Untyped => {}
        }
        // include/linux/page-flags.h: bit 0 of `mapping` marks anonymous memory.
        match memory.read_u64(head.wrapping_add(self.mapping?))? {
            0 => { owners.pipe_pages.contains(&head) }.then_some(PageKind::Described(PIPE_CONTENT)),
            mapping if mapping & 1 == 1 => Some(PageKind::Described("anonymous page")),
            mapping => Some(PageKind::File(mapping)),
        }
    }
}

/// Kind of a page.
enum PageKind {
    /// A kind that needs no further look-up, in words.
    Described(&'static str),
    /// Content of the file with this mapping.
    File(u64),
}
