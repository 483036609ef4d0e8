//! Units of a file and of the files that it refers to, in one space of offsets.
//!
//! A [`DieOffset`] below the end of the file's own `.debug_info` is an offset in it. `.debug_types`
//! follows behind it, and then both sections of each further file (supplementary, `.dwo`).
use std::sync::OnceLock;

use gimli::{Section as _, UnitHeader, UnitOffset};
use rustc_hash::FxHashMap;

use super::die::{DieOffset, DieReference, Dwarf, Reader, Unit};
use crate::Error;

/// Entries of the types of type units, by signature.
pub(super) type Signatures = FxHashMap<u64, DieOffset>;

/// Sections of one file, or of one unit of a package.
pub(super) struct DwarfPart<'a> {
    pub(super) dwarf: Dwarf<'a>,
    /// Start of its `.debug_info` in the common space of offsets.
    info_start: usize,
    /// Start of its `.debug_types` in the common space of offsets.
    types_start: usize,
}

/// Unit that is parsed on first use, because line tables take much memory.
pub(super) struct UnitSlot<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) header: UnitHeader<Reader<'a>>,
    pub(super) part: usize,
    /// Slot of the skeleton unit in the linked file.
    pub(super) skeleton: Option<usize>,
    /// True if the types belong to other files; references to them are still followed.
    pub(super) hidden: bool,
    unit: OnceLock<Option<Box<Unit<'a>>>>,
}

impl UnitSlot<'_> {
    /// Offset of an entry in this unit; `None` if it is in another.
    pub(super) fn offset_of(&self, die: DieOffset) -> Option<UnitOffset> {
        let here = (self.start..self.end).contains(&die.0);
        here.then(|| UnitOffset(die.0 - self.start))
    }
}

/// All parts and units.
#[derive(Default)]
pub(super) struct DwarfUnits<'a> {
    pub(super) parts: Vec<DwarfPart<'a>>,
    /// Units sorted by start.
    pub(super) slots: Vec<UnitSlot<'a>>,
    /// Index of the supplementary file's part.
    supplementary: Option<usize>,
    signatures: Signatures,
}

/// Part with its units, before it is added to the others.
pub(super) struct NewPart<'a> {
    pub(super) part: DwarfPart<'a>,
    pub(super) slots: Vec<UnitSlot<'a>>,
    signatures: Vec<(u64, DieOffset)>,
}

impl<'a> DwarfUnits<'a> {
    /// Reads the headers of a file's units. Their offsets follow those of the existing parts once
    /// the part is [added](Self::add_part).
    pub(super) fn read_part(&self, dwarf: Dwarf<'a>) -> Result<NewPart<'a>, Error> {
        let info_start = self.end();
        let info_bytes = dwarf.debug_info.reader().len();
        let types_start = info_start.saturating_add(info_bytes);
        let mut dwarf = dwarf;
        // Without the cache, a table of many units is read again for each of them.
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let part = DwarfPart {
            dwarf,
            info_start,
            types_start,
        };
        let mut new = NewPart {
            part,
            slots: Vec::new(),
            signatures: Vec::new(),
        };
        let mut headers = new.part.dwarf.units();
        let malformed = || Error::dwarf("the unit headers of .debug_info");
        while let Some(header) = headers.next().map_err(malformed())? {
            new.add_unit(header, self);
        }
        let mut headers = new.part.dwarf.type_units();
        let malformed = || Error::dwarf("the unit headers of .debug_types");
        while let Some(header) = headers.next().map_err(malformed())? {
            new.add_unit(header, self);
        }
        Ok(new)
    }

    /// Adds a part directly after it was read; returns its index.
    pub(super) fn add_part(&mut self, new: NewPart<'a>) -> usize {
        self.parts.push(new.part);
        self.slots.extend(new.slots);
        self.signatures.extend(new.signatures);
        self.parts.len() - 1
    }

    /// Adds the part that [`DieReference::Supplementary`] refers to.
    pub(super) fn add_supplementary(&mut self, new: NewPart<'a>) {
        self.supplementary = Some(self.add_part(new));
    }

    pub(super) fn part(&self, slot: &UnitSlot<'a>) -> &DwarfPart<'a> {
        &self.parts[slot.part]
    }

    pub(super) fn slot_index(&self, die: DieOffset) -> Option<usize> {
        let after = self.slots.partition_point(|slot| slot.start <= die.0);
        let index = after.checked_sub(1)?;
        (die.0 < self.slots[index].end).then_some(index)
    }

    pub(super) fn slot_of(&self, die: DieOffset) -> Option<&UnitSlot<'a>> {
        self.slot_index(die).map(|index| &self.slots[index])
    }

    /// Unit, which is kept from the first use on; `None` if it is malformed.
    pub(super) fn unit<'s>(&self, slot: &'s UnitSlot<'a>) -> Option<&'s Unit<'a>> {
        let parse = || self.parse_unit(slot).ok().map(Box::new);
        slot.unit.get_or_init(parse).as_deref()
    }

    /// Parses the unit anew.
    pub(super) fn parse_unit(&self, slot: &UnitSlot<'a>) -> gimli::Result<Unit<'a>> {
        let mut unit = gimli::Unit::new(&self.part(slot).dwarf, slot.header)?;
        if let Some(skeleton) = slot.skeleton.and_then(|index| self.slots.get(index)) {
            let skeleton = gimli::Unit::new(&self.part(skeleton).dwarf, skeleton.header)?;
            unit.copy_relocated_attributes(&skeleton);
        }
        Ok(unit)
    }

    /// Target of a reference of an entry in `slot`.
    pub(super) fn resolve_reference(
        &self,
        slot: &UnitSlot<'a>,
        reference: DieReference,
    ) -> Option<DieOffset> {
        let start = match reference {
            DieReference::Unit(UnitOffset(offset)) => slot.start.checked_add(offset)?,
            DieReference::Section(offset) => self.part(slot).info_start.checked_add(offset)?,
            DieReference::Signature(signature) => return self.signatures.get(&signature).copied(),
            DieReference::Supplementary(offset) => {
                let part = self.parts.get(self.supplementary?)?;
                part.info_start.checked_add(offset)?
            }
        };
        Some(DieOffset(start))
    }

    fn end(&self) -> usize {
        self.parts.last().map_or(0, |part| {
            let types_bytes = part.dwarf.debug_types.reader().len();
            part.types_start.saturating_add(types_bytes)
        })
    }
}

impl<'a> NewPart<'a> {
    /// Adds a unit. Type units that another `.dwo` already has are left out.
    fn add_unit(&mut self, header: UnitHeader<Reader<'a>>, units: &DwarfUnits<'a>) {
        let start = match (header.debug_info_offset(), header.debug_types_offset()) {
            (Some(offset), _) => self.part.info_start.saturating_add(offset.0),
            (None, Some(offset)) => self.part.types_start.saturating_add(offset.0),
            (None, None) => return,
        };
        if let gimli::UnitType::Type {
            type_signature,
            type_offset,
        }
        | gimli::UnitType::SplitType {
            type_signature,
            type_offset,
        } = header.type_()
        {
            if units.signatures.contains_key(&type_signature.0) {
                return;
            }
            let die = DieOffset(start.saturating_add(type_offset.0));
            self.signatures.push((type_signature.0, die));
        }
        self.slots.push(UnitSlot {
            start,
            end: start.saturating_add(header.length_including_self()),
            header,
            part: units.parts.len(),
            skeleton: None,
            hidden: false,
            unit: OnceLock::new(),
        });
    }
}
