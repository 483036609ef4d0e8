//! Source line that declares an entry.

use gimli::{AttributeValue, constants as dw};

use super::DieOffset;
use super::file::DwarfFile;
use super::types::file_name;
use crate::SourceLine;

/// Origins and specifications followed, at most.
const ORIGINS_MAX: usize = 8;

impl DwarfFile<'_> {
    /// Returns the line that declares the entry at `die`, which may be told by its origin or
    /// specification.
    pub fn declared_line(&self, die: DieOffset) -> Option<SourceLine> {
        let mut at = die;
        for _ in 0..ORIGINS_MAX {
            let (unit, offset) = self.locate_die(at)?;
            let entry = unit.entry(offset).ok()?;
            if let Some(line) = entry.attr_value(dw::DW_AT_decl_line) {
                let line = u32::try_from(line.udata_value()?).ok()?;
                let index = match entry.attr_value(dw::DW_AT_decl_file)? {
                    AttributeValue::FileIndex(index) => index,
                    other => other.udata_value()?,
                };
                let file = file_name(self, at, index)?;
                return Some(SourceLine { file, line });
            }
            let origin = { entry.attr_value(dw::DW_AT_abstract_origin) }
                .or_else(|| entry.attr_value(dw::DW_AT_specification))?;
            at = self.follow_reference(at, &origin)?;
        }
        None
    }
}
