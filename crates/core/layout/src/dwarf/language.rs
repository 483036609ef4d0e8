//! Languages of compilation units.
use std::fmt;

use gimli::{AttributeValue, DwAt, DwLang, constants as dw};

use super::die::Unit;

/// `DW_AT_language_name` of DWARF 6.
pub(super) const DW_AT_LANGUAGE_NAME: DwAt = DwAt(0x90);

/// Distance of the numbers of DWARF 6 (`DW_LNAME_*`) from those before it (`DW_LANG_*`).
const NAMES_START: u32 = 1 << 16;

/// Language of a compilation unit, by its number in DWARF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitLanguage(u32);

/// Units of one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanguageUnits {
    /// Language.
    pub language: UnitLanguage,
    /// Number of its compilation units.
    pub units: u64,
}

impl UnitLanguage {
    /// Language of `DW_AT_language`.
    pub(super) fn from_code(code: u64) -> Option<Self> {
        u16::try_from(code).ok().map(|code| Self(u32::from(code)))
    }

    /// Language of `DW_AT_language_name`.
    pub(super) fn from_name(name: u64) -> Option<Self> {
        u16::try_from(name)
            .ok()
            .map(|name| Self(NAMES_START + u32::from(name)))
    }

    /// Language that the root of a unit states.
    pub(super) fn of_unit(unit: &Unit<'_>) -> Option<Self> {
        let root = unit.entry(unit.header.root_offset()).ok()?;
        let number = |name| match root.attr_value(name)? {
            AttributeValue::Language(language) => Some(u64::from(language.0)),
            value => value.udata_value(),
        };
        let name = number(DW_AT_LANGUAGE_NAME).and_then(Self::from_name);
        name.or_else(|| number(dw::DW_AT_language).and_then(Self::from_code))
    }

    /// Language with this number in a kept index.
    pub(super) fn from_number(number: u32) -> Self {
        Self(number)
    }

    pub(super) fn number(self) -> u32 {
        self.0
    }

    /// Returns true for C, whose struct declarations form no scopes.
    pub(super) fn is_c(self) -> bool {
        matches!(
            self.family(),
            Some(LanguageFamily::C | LanguageFamily::Assembler)
        )
    }

    /// Returns true for C++.
    pub(super) fn is_cxx(self) -> bool {
        self.family() == Some(LanguageFamily::Cxx)
    }

    /// Returns true for the languages whose types are read as their compilers mean them: C, C++,
    /// Rust and Go. Assembler has no types.
    pub fn is_supported(self) -> bool {
        matches!(
            self.family(),
            Some(
                LanguageFamily::C
                    | LanguageFamily::Assembler
                    | LanguageFamily::Cxx
                    | LanguageFamily::Rust
                    | LanguageFamily::Go
            )
        )
    }

    /// Lower bound of arrays that state none (DWARF 5, table 7.17).
    pub(super) fn lower_bound(self) -> i128 {
        let counts_from_one = matches!(
            self.family(),
            Some(LanguageFamily::Other(
                "Fortran" | "Ada" | "Pascal" | "Modula-2" | "Modula-3" | "COBOL" | "PL/I" | "Julia"
            ))
        );
        i128::from(counts_from_one)
    }

    fn family(self) -> Option<LanguageFamily> {
        match self.0.checked_sub(NAMES_START) {
            Some(name) => family_of_name(name),
            None => family_of_code(DwLang(self.0 as u16)),
        }
    }
}

impl fmt::Display for UnitLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.family() {
            Some(LanguageFamily::C) => f.write_str("C"),
            Some(LanguageFamily::Assembler) => f.write_str("assembler"),
            Some(LanguageFamily::Cxx) => f.write_str("C++"),
            Some(LanguageFamily::Rust) => f.write_str("Rust"),
            Some(LanguageFamily::Go) => f.write_str("Go"),
            Some(LanguageFamily::Other(name)) => f.write_str(name),
            None => match self.0.checked_sub(NAMES_START) {
                Some(name) => write!(
                    f,
                    "a language with the number {name:#x} (DW_AT_language_name)"
                ),
                None => write!(
                    f,
                    "a language with the number {:#x} (DW_AT_language)",
                    self.0
                ),
            },
        }
    }
}

/// Language without its version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LanguageFamily {
    C,
    Assembler,
    Cxx,
    Rust,
    Go,
    Other(&'static str),
}

fn family_of_code(code: DwLang) -> Option<LanguageFamily> {
    use LanguageFamily::{Assembler, C, Cxx, Go, Other, Rust};
    Some(match code {
        dw::DW_LANG_C
        | dw::DW_LANG_C89
        | dw::DW_LANG_C99
        | dw::DW_LANG_C11
        | dw::DW_LANG_C17
        // C23
        | DwLang(0x3e) => C,
        // DW_LANG_Assembly
        dw::DW_LANG_Mips_Assembler | dw::DW_LANG_SUN_Assembler | DwLang(0x31) => Assembler,
        dw::DW_LANG_C_plus_plus
        | dw::DW_LANG_C_plus_plus_03
        | dw::DW_LANG_C_plus_plus_11
        | dw::DW_LANG_C_plus_plus_14
        | dw::DW_LANG_C_plus_plus_17
        | dw::DW_LANG_C_plus_plus_20
        // C++23
        | DwLang(0x3a) => Cxx,
        dw::DW_LANG_Rust => Rust,
        dw::DW_LANG_Go => Go,
        dw::DW_LANG_Fortran77
        | dw::DW_LANG_Fortran90
        | dw::DW_LANG_Fortran95
        | dw::DW_LANG_Fortran03
        | dw::DW_LANG_Fortran08
        | dw::DW_LANG_Fortran18
        // Fortran 2023
        | DwLang(0x3f) => Other("Fortran"),
        dw::DW_LANG_Ada83 | dw::DW_LANG_Ada95 | dw::DW_LANG_Ada2005 | dw::DW_LANG_Ada2012 => {
            Other("Ada")
        }
        dw::DW_LANG_Pascal83 | dw::DW_LANG_BORLAND_Delphi => Other("Pascal"),
        dw::DW_LANG_Modula2 => Other("Modula-2"),
        dw::DW_LANG_Modula3 => Other("Modula-3"),
        dw::DW_LANG_Cobol74 | dw::DW_LANG_Cobol85 => Other("COBOL"),
        dw::DW_LANG_PLI => Other("PL/I"),
        dw::DW_LANG_Julia => Other("Julia"),
        dw::DW_LANG_D => Other("D"),
        dw::DW_LANG_Swift => Other("Swift"),
        dw::DW_LANG_Zig => Other("Zig"),
        dw::DW_LANG_ObjC => Other("Objective-C"),
        dw::DW_LANG_ObjC_plus_plus => Other("Objective-C++"),
        dw::DW_LANG_Java => Other("Java"),
        dw::DW_LANG_Kotlin => Other("Kotlin"),
        dw::DW_LANG_Haskell => Other("Haskell"),
        dw::DW_LANG_OCaml => Other("OCaml"),
        dw::DW_LANG_Python => Other("Python"),
        dw::DW_LANG_UPC => Other("Unified Parallel C"),
        dw::DW_LANG_OpenCL => Other("OpenCL"),
        dw::DW_LANG_Dylan => Other("Dylan"),
        dw::DW_LANG_Crystal => Other("Crystal"),
        dw::DW_LANG_BLISS => Other("BLISS"),
        dw::DW_LANG_RenderScript | dw::DW_LANG_GOOGLE_RenderScript => Other("RenderScript"),
        _ => return None,
    })
}

/// Language of a `DW_LNAME_*`.
fn family_of_name(name: u32) -> Option<LanguageFamily> {
    use LanguageFamily::{Assembler, C, Cxx, Go, Other, Rust};
    Some(match name {
        0x01 => Other("Ada"),
        0x02 => Other("BLISS"),
        0x03 => C,
        0x04 => Cxx,
        0x05 => Other("COBOL"),
        0x06 => Other("Crystal"),
        0x07 => Other("D"),
        0x08 => Other("Dylan"),
        0x09 => Other("Fortran"),
        0x0a => Go,
        0x0b => Other("Haskell"),
        0x0c => Other("Java"),
        0x0d => Other("Julia"),
        0x0e => Other("Kotlin"),
        0x0f => Other("Modula-2"),
        0x10 => Other("Modula-3"),
        0x11 => Other("OCaml"),
        0x12 => Other("OpenCL"),
        0x13 => Other("Objective-C"),
        0x14 => Other("Objective-C++"),
        0x15 => Other("Pascal"),
        0x16 => Other("PL/I"),
        0x17 => Other("Python"),
        0x18 => Other("RenderScript"),
        0x19 => Rust,
        0x1a => Other("Swift"),
        0x1b => Other("Unified Parallel C"),
        0x1c => Other("Zig"),
        0x1d => Assembler,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::UnitLanguage;

    #[test]
    fn languages_by_either_number() {
        let check = |language: Option<UnitLanguage>, name: &str, supported, lower| {
            let language = language.expect("a number of 16 bits");
            assert_eq!(language.to_string(), name);
            assert_eq!(language.is_supported(), supported, "{name}");
            assert_eq!(language.lower_bound(), lower, "{name}");
        };
        let (code, name) = (UnitLanguage::from_code, UnitLanguage::from_name);
        check(code(0x1d), "C", true, 0);
        check(code(0x8001), "assembler", true, 0);
        check(code(0x21), "C++", true, 0);
        check(code(0x1c), "Rust", true, 0);
        check(code(0x16), "Go", true, 0);
        check(code(0x0e), "Fortran", false, 1);
        check(code(0x0d), "Ada", false, 1);
        check(code(0x13), "D", false, 0);
        check(name(0x09), "Fortran", false, 1);
        check(name(0x03), "C", true, 0);
        check(name(0x15), "Pascal", false, 1);
        check(
            code(0x7777),
            "a language with the number 0x7777 (DW_AT_language)",
            false,
            0,
        );
    }
}
