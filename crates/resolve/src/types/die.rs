//! Reading single entries of `.debug_info`.

use gimli::{AttributeValue, DebuggingInformationEntry, DwAt, constants as dw};
use relayout_layout::dwarf::{DieOffset, DwarfFile, Reader};

/// A unit of the file.
pub type Unit<'f> = gimli::Unit<Reader<'f>>;
/// An entry of a unit.
pub type Entry<'f> = DebuggingInformationEntry<Reader<'f>>;

/// Origins and specifications followed before giving up.
const ORIGINS_MAX: usize = 8;

/// The entry at `die` and its unit.
pub fn entry<'f>(file: &'f DwarfFile<'_>, die: DieOffset) -> Option<(&'f Unit<'f>, Entry<'f>)> {
    let (unit, offset) = file.locate(die)?;
    Some((unit, unit.entry(offset).ok()?))
}

/// The entry that a reference attribute names.
pub fn reference(unit: &Unit<'_>, entry: &Entry<'_>, name: DwAt) -> Option<DieOffset> {
    match entry.attr_value(name)? {
        AttributeValue::UnitRef(offset) => {
            Some(DieOffset(offset.to_debug_info_offset(&unit.header)?.0))
        }
        AttributeValue::DebugInfoRef(offset) => Some(DieOffset(offset.0)),
        _ => None,
    }
}

/// The entry's own `DW_AT_type`, or that of its origin or specification.
pub fn type_of<'f>(
    file: &'f DwarfFile<'_>,
    unit: &'f Unit<'f>,
    die: &Entry<'f>,
) -> Option<DieOffset> {
    if let Some(ty) = reference(unit, die, dw::DW_AT_type) {
        return Some(ty);
    }
    let mut at = origin(unit, die)?;
    for _ in 0..ORIGINS_MAX {
        let (unit, die) = entry(file, at)?;
        if let Some(ty) = reference(unit, &die, dw::DW_AT_type) {
            return Some(ty);
        }
        at = origin(unit, &die)?;
    }
    None
}

/// The entry's own name, or that of its origin or specification.
pub fn name_of<'f>(file: &'f DwarfFile<'_>, die: DieOffset) -> Option<&'f str> {
    let mut at = die;
    for _ in 0..ORIGINS_MAX {
        let (unit, die) = entry(file, at)?;
        if let Some(value) = die.attr_value(dw::DW_AT_name) {
            let text = file.dwarf().attr_string(unit, value).ok()?;
            return std::str::from_utf8(text.slice()).ok();
        }
        at = origin(unit, &die)?;
    }
    None
}

fn origin(unit: &Unit<'_>, die: &Entry<'_>) -> Option<DieOffset> {
    reference(unit, die, dw::DW_AT_abstract_origin)
        .or_else(|| reference(unit, die, dw::DW_AT_specification))
}
