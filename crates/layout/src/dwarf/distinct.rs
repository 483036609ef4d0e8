//! Same name, different types: one representative each.

use gimli::constants as dw;

use super::{DieOffset, DwarfFile};

/// What tells definitions apart without loading them.
#[derive(PartialEq, Eq)]
struct Print {
    tag: gimli::DwTag,
    size: Option<u64>,
    line: Option<u64>,
}

impl DwarfFile<'_> {
    /// Of the definitions of a name, the first of each kind, size and line of declaration, in file
    /// order. Two headers that declare a type at the same line with the same size count as one.
    pub fn distinct_types(&self, name: &str) -> Vec<DieOffset> {
        let mut seen: Vec<Print> = Vec::new();
        let mut found = Vec::new();
        for &die in self.find_types(name) {
            let Some(print) = self.print_of(die) else {
                continue;
            };
            if !seen.contains(&print) {
                seen.push(print);
                found.push(die);
            }
        }
        found
    }

    fn print_of(&self, die: DieOffset) -> Option<Print> {
        let (unit, offset) = self.locate(die)?;
        let entry = unit.entry(offset).ok()?;
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        let (size, line) = (number(dw::DW_AT_byte_size), number(dw::DW_AT_decl_line));
        Some(Print {
            tag: entry.tag(),
            size,
            line,
        })
    }
}
