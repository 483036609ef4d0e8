//! Mappings of a process: the areas (`vm_area_struct`) of its address space.

mod listed;
mod maple;

use super::PAGE_BYTES;
use super::files::{FileReader, dentry_path};
use super::lookup::{KernelLookup, MissingItem};
use super::paging::GuestMemory;

use self::listed::ListedAreas;
use self::maple::MapleAreas;

/// Mappings of one process that are read, at most: as many as the kernel allows by default.
const MAPPINGS_MAX: usize = 65_536;

/// Part of an address space that is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryMapping {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Path of the mapped file from the root of its file system; `None` for memory without a file.
    pub path: Option<String>,
    /// Byte of the file at `start`.
    pub file_offset: u64,
}

/// Form in which a kernel keeps the areas of an address space.
enum AreasForm {
    /// A list (up to 6.0).
    Listed(ListedAreas),
    /// A maple tree (6.1 and later).
    Maple(MapleAreas),
}

/// Offsets on the way from an address space to its mappings and their files.
pub struct MappingReader {
    areas: AreasForm,
    start: u64,
    end: u64,
    page_offset: u64,
    file: u64,
    /// Of the `dentry` in `struct file`.
    file_entry: u64,
    files: FileReader,
}

impl MappingReader {
    /// Chooses the form that the debug information has.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let areas = match MapleAreas::find(lookup) {
            Ok(tree) => AreasForm::Maple(tree),
            Err(_) => AreasForm::Listed(ListedAreas::find(lookup)?),
        };
        let path = lookup.member("file", "f_path")?;
        Ok(Self {
            areas,
            start: lookup.member("vm_area_struct", "vm_start")?,
            end: lookup.member("vm_area_struct", "vm_end")?,
            page_offset: lookup.member("vm_area_struct", "vm_pgoff")?,
            file: lookup.member("vm_area_struct", "vm_file")?,
            file_entry: path + lookup.member("path", "dentry")?,
            files: FileReader::find(lookup)?,
        })
    }

    /// Returns the mappings of the address space that `space` (an `mm_struct`) describes, by start. `None` if it has
    /// none.
    pub fn mappings(&self, memory: &GuestMemory<'_>, space: u64) -> Option<Vec<MemoryMapping>> {
        let areas = match &self.areas {
            AreasForm::Listed(list) => list.areas(memory, space),
            AreasForm::Maple(tree) => tree.areas(memory, space),
        };
        let mut mappings: Vec<MemoryMapping> = { areas.into_iter() }
            .filter_map(|area| self.mapping(memory, area))
            .collect();
        mappings.sort_by_key(|mapping| mapping.start);
        (!mappings.is_empty()).then_some(mappings)
    }

    fn mapping(&self, memory: &GuestMemory<'_>, area: u64) -> Option<MemoryMapping> {
        let read = |offset: u64| memory.read_u64(area.wrapping_add(offset));
        let (start, end) = (read(self.start)?, read(self.end)?);
        let file = read(self.file).filter(|&file| file != 0);
        let path = file.and_then(|file| {
            let entry = memory.read_u64(file.wrapping_add(self.file_entry))?;
            dentry_path(memory, &self.files, entry)
        });
        (start < end).then_some(MemoryMapping {
            start,
            end,
            path,
            file_offset: read(self.page_offset)?.saturating_mul(PAGE_BYTES),
        })
    }
}
