//! Entries of a file's debug information, including split and shared units.

use gimli::{DebuggingInformationEntry, DwAt, constants as dw};
use relayout_layout::dwarf::{DieOffset, DwarfFile, Reader};

/// Unit of the file.
pub type Unit<'f> = gimli::Unit<Reader<'f>>;
/// Entry of a unit.
pub type Entry<'f> = DebuggingInformationEntry<Reader<'f>>;

/// Origins and specifications followed, at most.
const ORIGINS_MAX: usize = 8;

/// Reads the entry at `die` and its unit.
pub fn read_entry<'f>(
    file: &'f DwarfFile<'_>,
    die: DieOffset,
) -> Option<(&'f Unit<'f>, Entry<'f>)> {
    let (unit, offset) = file.locate_die(die)?;
    Some((unit, unit.entry(offset).ok()?))
}

/// Returns the entry that a reference attribute of `entry` names. `near` is that entry, or another
/// one of its unit.
pub fn reference<'f>(
    file: &'f DwarfFile<'_>,
    near: DieOffset,
    entry: &Entry<'f>,
    name: DwAt,
) -> Option<DieOffset> {
    file.follow_reference(near, &entry.attr_value(name)?)
}

/// Returns the entry's own `DW_AT_type`, or that of its origin or specification. `near` is the
/// entry, or another one of its unit.
pub fn type_of<'f>(file: &'f DwarfFile<'_>, near: DieOffset, die: &Entry<'f>) -> Option<DieOffset> {
    if let Some(ty) = reference(file, near, die, dw::DW_AT_type) {
        return Some(ty);
    }
    let mut at = origin_of(file, near, die)?;
    for _ in 0..ORIGINS_MAX {
        let (_, die) = read_entry(file, at)?;
        if let Some(ty) = reference(file, at, &die, dw::DW_AT_type) {
            return Some(ty);
        }
        at = origin_of(file, at, &die)?;
    }
    None
}

/// Returns the entry's own name, or that of its origin or specification.
pub fn name_of<'f>(file: &'f DwarfFile<'_>, die: DieOffset) -> Option<&'f str> {
    text_of(file, die, dw::DW_AT_name)
}

/// Returns the name of the entry's symbol, or else its own, or those of its origin or specification.
pub fn symbol_name_of<'f>(file: &'f DwarfFile<'_>, die: DieOffset) -> Option<&'f str> {
    text_of(file, die, dw::DW_AT_linkage_name).or_else(|| name_of(file, die))
}

/// Returns a text attribute of the entry, or of its origin or specification.
fn text_of<'f>(file: &'f DwarfFile<'_>, die: DieOffset, name: DwAt) -> Option<&'f str> {
    let mut at = die;
    for _ in 0..ORIGINS_MAX {
        let (unit, die) = read_entry(file, at)?;
        if let Some(value) = die.attr_value(name) {
            let text = file.dwarf_of(at).attr_string(unit, value).ok()?;
            return std::str::from_utf8(text.slice()).ok();
        }
        at = origin_of(file, at, &die)?;
    }
    None
}

fn origin_of<'f>(file: &'f DwarfFile<'_>, near: DieOffset, die: &Entry<'f>) -> Option<DieOffset> {
    reference(file, near, die, dw::DW_AT_abstract_origin)
        .or_else(|| reference(file, near, die, dw::DW_AT_specification))
}
