//! The pass over all units that finds the names of types.
//!
//! Every entry outside functions is passed over once, so this is where the time of opening a file
//! goes: abbreviations are read for skipping, values that nobody asks for are not decoded, and a
//! name stays an offset into its section until all units are joined. `DW_AT_sibling` lets the scan
//! jump over bodies and members; where a producer leaves it out, children are read and ignored.

mod walk;

use gimli::{DwTag, Encoding, Reader as _, Section as _, SectionId, constants as dw};
use rayon::prelude::*;

use super::DieOffset;
use super::abbrev::AbbreviationTable;
use super::companions::SplitUnit;
use super::die::Dwarf;
use super::parts::{DwarfUnits, UnitSlot};
use crate::{DefinitionKind, Error};
use walk::NameScan;

/// A type definition as the index knows it, without loading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeDefinition {
    /// Its entry.
    pub die: DieOffset,
    /// `sizeof` in bytes; `u32::MAX` where the entry does not say, or more than fits.
    pub size: u32,
    /// Lower half of the line of its declaration; 0 where the entry does not say.
    pub line: u16,
    /// What it is.
    pub kind: DefinitionKind,
}

/// Where a name is: compared instead of the text, since linkers keep each string once. Names that
/// are not in the file itself (in a `.dwo`) are looked up at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NameKey {
    /// Offset in this section.
    InSection(SectionId, usize),
    /// Index in [`UnitNames::inline`].
    Inline(usize),
}

/// The definitions of one unit, in file order.
#[derive(Default)]
pub(super) struct UnitNames<'s> {
    pub(super) definitions: Vec<(NameKey, TypeDefinition)>,
    /// Names that stand in the entries themselves, or had to be looked up.
    pub(super) inline: Vec<&'s str>,
    /// Namespaces, modules and types around definitions, each after the one that it is in.
    pub(super) scopes: Vec<DefinitionScope>,
    /// Indices of definitions that are in a scope, in order, and of their scope.
    pub(super) scoped: Vec<(u32, u32)>,
    /// The unit is a skeleton: where its contents are.
    pub(super) split: Option<SplitUnit>,
}

/// What types may be nested in.
#[derive(Clone, Copy)]
pub(super) struct DefinitionScope {
    /// Index of the scope around it.
    pub(super) parent: Option<u32>,
    /// `None` for what has no name, such as the namespace that a file has for itself.
    pub(super) name: Option<NameKey>,
}

/// Scans all units from the given one on, in parallel; the result does not depend on the number of
/// threads.
pub(super) fn scan_type_names<'s>(
    units: &DwarfUnits<'s>,
    from: usize,
) -> Result<Vec<UnitNames<'s>>, Error> {
    let slots = units.slots.get(from..).unwrap_or_default();
    slots
        .par_iter()
        .map_init(AbbreviationCache::default, |cache, slot| {
            let mut read = || {
                if slot.hidden {
                    return Ok(UnitNames::default());
                }
                cache.prepare(units, slot)?;
                let mut scan = NameScan::new(units, slot, &cache.abbreviations);
                scan.walk()?;
                Ok(scan.found)
            };
            let place = || format!("the unit at {:#x} of .debug_info", slot.start);
            read().map_err(|error| Error::dwarf(place())(error))
        })
        .collect()
}

/// The abbreviations read last: units of one table follow each other.
#[derive(Default)]
struct AbbreviationCache {
    abbreviations: AbbreviationTable,
    read: Option<(usize, usize, Encoding)>,
}

impl AbbreviationCache {
    fn prepare<'s>(&mut self, units: &DwarfUnits<'s>, slot: &UnitSlot<'s>) -> gimli::Result<()> {
        let (at, encoding) = (slot.header.debug_abbrev_offset().0, slot.header.encoding());
        let key = Some((slot.part, at, encoding));
        if self.read == key {
            return Ok(());
        }
        self.read = None;
        let mut input = *units.part(slot).dwarf.debug_abbrev.reader();
        input.skip(at)?;
        self.abbreviations.read(input, encoding)?;
        self.read = key;
        Ok(())
    }
}

/// The text at an offset of a string section.
pub(super) fn section_text<'s>(
    dwarf: &Dwarf<'s>,
    section: SectionId,
    offset: usize,
) -> Option<&'s str> {
    let text = match section {
        SectionId::DebugStr => dwarf.debug_str.get_str(gimli::DebugStrOffset(offset)),
        SectionId::DebugLineStr => {
            let offset = gimli::DebugLineStrOffset(offset);
            dwarf.debug_line_str.get_str(offset)
        }
        _ => return None,
    };
    std::str::from_utf8(text.ok()?.slice()).ok()
}

pub(super) fn definition_kind(tag: DwTag) -> Option<DefinitionKind> {
    Some(match tag {
        dw::DW_TAG_structure_type => DefinitionKind::Struct,
        dw::DW_TAG_union_type => DefinitionKind::Union,
        dw::DW_TAG_class_type => DefinitionKind::Class,
        dw::DW_TAG_enumeration_type => DefinitionKind::Enum,
        dw::DW_TAG_typedef => DefinitionKind::Typedef,
        dw::DW_TAG_base_type => DefinitionKind::Base,
        _ => return None,
    })
}

pub(super) fn is_aggregate_tag(tag: DwTag) -> bool {
    definition_kind(tag).is_some_and(DefinitionKind::is_aggregate)
}
