//! DWARF sections of a file, and memory for those that have to be decompressed or relocated.
use std::borrow::Cow;
use std::sync::OnceLock;

use gimli::{EndianSlice, RunTimeEndian, SectionId};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::die::Reader;
use crate::Error;
use crate::elf::ElfBinary;

/// Memory for sections that had to be decompressed or relocated, of the file itself and of files
/// that it refers to. See [`DwarfFile::parse_with_store`](super::DwarfFile::parse_with_store).
///
/// Units of gimli borrow from their sections, so the sections have to live outside the file that
/// indexes them.
#[derive(Debug, Default)]
pub struct SectionStore {
    pub(super) own: SectionBuffers,
    /// Split units in the file itself.
    pub(super) in_object: SectionBuffers,
    pub(super) supplementary: SectionBuffers,
    pub(super) package: SectionBuffers,
    pub(super) split: SectionBuffers,
    /// Names of instances of templates that the file has without their arguments, outside and
    /// inside of functions.
    pub(super) instance_names: OnceLock<String>,
    pub(super) local_instance_names: OnceLock<String>,
}

/// Sections in memory of their own.
pub(super) type SectionBuffers = OnceLock<Vec<Vec<u8>>>;

/// Naming scheme of a file's sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionNaming {
    /// `.debug_info`
    Linked,
    /// `.debug_info.dwo`
    Split,
}

/// Sections of one file.
pub(super) struct DwarfSections<'a> {
    ready: FxHashMap<SectionId, &'a [u8]>,
    endian: RunTimeEndian,
}

/// Sections that describe types and addresses. Others are not read.
const WANTED_SECTIONS: [SectionId; 14] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugCuIndex,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugTuIndex,
    SectionId::DebugTypes,
];

impl<'a> DwarfSections<'a> {
    /// Reads the sections of one file.
    pub(super) fn read(
        elf: &ElfBinary<'a>,
        naming: SectionNaming,
        store: Option<&'a SectionBuffers>,
    ) -> Result<Self, Error> {
        let mut read = Self::read_all(&[elf], naming, store)?;
        read.pop().unwrap_or(Err(Error::NoDebugInfo))
    }

    /// Reads the sections of several files, which share `store`. Each file has a result of its own.
    pub(super) fn read_all(
        elfs: &[&ElfBinary<'a>],
        naming: SectionNaming,
        store: Option<&'a SectionBuffers>,
    ) -> Result<Vec<Result<Self, Error>>, Error> {
        let fresh: Vec<Result<Vec<SectionContents<'a>>, Error>> = elfs
            .par_iter()
            .map(|elf| read_sections(elf, naming))
            .collect();
        let mut buffers = Vec::new();
        let mut changed = None;
        let files: Vec<_> = fresh
            .into_iter()
            .map(|file| {
                file.map(|sections| {
                    let mut places = Vec::with_capacity(sections.len());
                    for (id, bytes) in sections {
                        places.push((
                            id,
                            match bytes {
                                Cow::Borrowed(bytes) => Ok(bytes),
                                Cow::Owned(bytes) => {
                                    changed = changed.or(Some(id));
                                    buffers.push(bytes);
                                    Err(buffers.len() - 1)
                                }
                            },
                        ));
                    }
                    places
                })
            })
            .collect();
        let kept = keep_buffers(buffers, changed, store)?;
        let find = |place: Result<&'a [u8], usize>| {
            place.unwrap_or_else(|index| kept.get(index).map_or(&[][..], Vec::as_slice))
        };
        let sections = files.into_iter().zip(elfs).map(|(file, elf)| {
            let ready = file?.into_iter().map(|(id, place)| (id, find(place)));
            Ok(Self {
                ready: ready.collect(),
                endian: elf.endian(),
            })
        });
        Ok(sections.collect())
    }

    pub(super) fn get(&self, id: SectionId) -> Reader<'a> {
        let bytes = self.ready.get(&id).copied().unwrap_or_default();
        EndianSlice::new(bytes, self.endian)
    }

    pub(super) fn has(&self, id: SectionId) -> bool {
        self.ready.get(&id).is_some_and(|bytes| !bytes.is_empty())
    }

    pub(super) fn dwarf(&self) -> Result<gimli::Dwarf<Reader<'a>>, Error> {
        gimli::Dwarf::load(|id| Ok(self.get(id)))
    }
}

/// Section with its id; owned if it was decompressed or relocated.
type SectionContents<'a> = (SectionId, Cow<'a, [u8]>);

fn read_sections<'a>(
    elf: &ElfBinary<'a>,
    naming: SectionNaming,
) -> Result<Vec<SectionContents<'a>>, Error> {
    let read = |id: &SectionId| {
        let name = match naming {
            SectionNaming::Linked => Some(id.name()),
            SectionNaming::Split => id.dwo_name(),
        };
        let section = elf.section(name?).transpose()?;
        Some(section.map(|bytes| (*id, bytes)))
    };
    WANTED_SECTIONS.par_iter().filter_map(read).collect()
}

fn keep_buffers(
    buffers: Vec<Vec<u8>>,
    changed: Option<SectionId>,
    store: Option<&SectionBuffers>,
) -> Result<&[Vec<u8>], Error> {
    let Some(first) = changed else {
        return Ok(&[]);
    };
    let refuse = Error::NeedsStore {
        section: first.name(),
    };
    let Some(cell) = store else {
        return Err(refuse);
    };
    cell.set(buffers).map_err(|_| refuse)?;
    Ok(cell.get().map_or(&[], Vec::as_slice))
}
