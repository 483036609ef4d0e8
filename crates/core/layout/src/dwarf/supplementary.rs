//! Supplementary file, to which `dwz` moves types and strings that several debug files have in
//! common. The others refer to them (`DW_FORM_GNU_ref_alt`, `DW_FORM_ref_sup4`), as partial units
//! that they import.
use gimli::{UnitHeader, constants as dw};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::companions::{CompanionFiles, HexBytes, MissingCompanion, SupplementaryLink};
use super::die::{self, DieReference, Dwarf, Reader};
use super::parts::{DwarfUnits, NewPart};
use super::sections::{DwarfSections, SectionNaming, SectionStore};
use crate::Error;
use crate::elf::ElfBinary;

impl SupplementaryLink {
    /// Reads the link of the file to its supplementary file; `None` for most files.
    pub(crate) fn read(elf: &ElfBinary<'_>) -> Result<Option<Self>, Error> {
        if let Some(section) = elf.section(".gnu_debugaltlink")? {
            return Ok(parse_link(&section));
        }
        // Version, 1 in the supplementary file itself, name, length of the id, id.
        let section = elf.section(".debug_sup")?.unwrap_or_default();
        let Some((&[_, _, 0], rest)) = section.split_first_chunk::<3>() else {
            return Ok(None);
        };
        Ok(parse_link(rest).map(|mut link| {
            if !link.build_id.is_empty() {
                link.build_id.remove(0);
            }
            link
        }))
    }
}

fn parse_link(bytes: &[u8]) -> Option<SupplementaryLink> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some(SupplementaryLink {
        name: String::from_utf8_lossy(&bytes[..end]).into_owned(),
        build_id: bytes[end + 1..].to_vec(),
    })
}

/// Reads the supplementary file that `elf` refers to, and adds its strings to `dwarf`. `None` if
/// `elf` refers to none.
pub(super) fn attach_supplementary<'a>(
    elf: &ElfBinary<'a>,
    dwarf: &mut Dwarf<'a>,
    companions: &'a dyn CompanionFiles,
    store: Option<&'a SectionStore>,
) -> Result<Option<Dwarf<'a>>, MissingCompanion> {
    let unreadable = |name: &str| {
        let path = name.to_owned();
        |source| MissingCompanion::Unreadable {
            path,
            cause: Box::new(source),
        }
    };
    let link = SupplementaryLink::read(elf).map_err(unreadable(".gnu_debugaltlink"))?;
    let Some(link) = link else {
        return Ok(None);
    };
    let Some(bytes) = companions.supplementary(&link) else {
        return Err(MissingCompanion::Supplementary {
            name: link.name,
            build_id: HexBytes(link.build_id),
        });
    };
    let other = ElfBinary::parse(bytes).map_err(unreadable(&link.name))?;
    let found = other.build_id().unwrap_or_default();
    if found != link.build_id {
        return Err(MissingCompanion::OtherSupplementary {
            name: link.name,
            found: HexBytes(found),
            wanted: HexBytes(link.build_id),
        });
    }
    let store = store.map(|store| &store.supplementary);
    let sections = DwarfSections::read(&other, SectionNaming::Linked, store);
    let sections = sections.map_err(unreadable(&link.name))?;
    let load = || sections.dwarf().map_err(unreadable(&link.name));
    dwarf.set_sup(load()?);
    load().map(Some)
}

/// Hides units that no unit of the file itself imports, because they belong to other programs.
pub(super) fn hide_unimported<'a>(units: &DwarfUnits<'a>, mut new: NewPart<'a>) -> NewPart<'a> {
    let starts: Vec<usize> = new.slots.iter().map(|slot| slot.start).collect();
    let first = starts.first().copied().unwrap_or(0);
    let own = units.slots.par_iter();
    let mut open: Vec<usize> = own
        .flat_map_iter(|slot| imported_units(&units.part(slot).dwarf, slot.header))
        .filter_map(|import| match import {
            DieReference::Supplementary(offset) => first.checked_add(offset),
            _ => None,
        })
        .collect();
    let mut kept = FxHashSet::default();
    while let Some(imported) = open.pop() {
        // An import names the root entry of a unit, which is behind the unit's header.
        let behind = starts.partition_point(|start| *start <= imported);
        let Some(index) = behind.checked_sub(1) else {
            continue;
        };
        if !kept.insert(starts[index]) {
            continue;
        }
        let further = imported_units(&new.part.dwarf, new.slots[index].header);
        open.extend(further.into_iter().filter_map(|import| match import {
            DieReference::Section(offset) => first.checked_add(offset),
            _ => None,
        }));
    }
    for slot in &mut new.slots {
        slot.hidden = !kept.contains(&slot.start);
    }
    new
}

/// Units that a unit imports; none for malformed units.
fn imported_units<'a>(dwarf: &Dwarf<'a>, header: UnitHeader<Reader<'a>>) -> Vec<DieReference> {
    let mut found = Vec::new();
    let _ = collect_imports(dwarf, header, &mut found);
    found
}

fn collect_imports<'a>(
    dwarf: &Dwarf<'a>,
    header: UnitHeader<Reader<'a>>,
    found: &mut Vec<DieReference>,
) -> gimli::Result<()> {
    let unit = gimli::Unit::new(dwarf, header)?;
    let mut tree = unit.entries_tree(None)?;
    let mut children = tree.root()?.children();
    while let Some(child) = children.next()? {
        let entry = child.entry();
        if entry.tag() == dw::DW_TAG_imported_unit {
            let import = entry.attr_value(dw::DW_AT_import);
            found.extend(import.and_then(|unit| die::die_reference(&unit)));
        }
    }
    Ok(())
}
