//! Spelling of types in the emitted text.
use std::fmt::Write as _;

use super::c_names::unsigned_of_size;
use super::{EmitLanguage, StructEmitter};
use crate::abi::bitfield::Bitfield;
use crate::abi::error::AbiError;
use crate::abi::target::is_valid_align;
use crate::types::NESTING_MAX;
use crate::{Type, TypeId};

/// Integers of C by their names in debug information; `long` is as wide as a pointer.
const C_INTEGERS: &[(&str, u64)] = &[
    ("char", 1),
    ("signed char", 1),
    ("unsigned char", 1),
    ("short", 2),
    ("short int", 2),
    ("short unsigned int", 2),
    ("unsigned short", 2),
    ("int", 4),
    ("unsigned int", 4),
    ("long", 0),
    ("long int", 0),
    ("long unsigned int", 0),
    ("unsigned long", 0),
    ("long long", 8),
    ("long long int", 8),
    ("long long unsigned int", 8),
    ("unsigned long long", 8),
    ("__int128", 16),
    ("__int128 unsigned", 16),
    ("unsigned __int128", 16),
];

impl StructEmitter<'_, '_> {
    /// Type in front of a member's name, and the dimensions behind the name. `owner` is the struct
    /// that holds the member.
    pub(super) fn spell_type(
        &mut self,
        id: TypeId,
        depth: u32,
        owner: &str,
    ) -> Result<(String, String), AbiError> {
        let not_c = |why: String| AbiError::NotC {
            name: owner.to_owned(),
            member: String::new(),
            why,
        };
        if depth > NESTING_MAX {
            return Err(not_c("it nests too deeply".to_owned()));
        }
        let types = self.abi.types;
        let plain = |ty: String| Ok((ty, String::new()));
        match types.types.get(id.0 as usize) {
            // `()` and `!` of Rust.
            Some(Type::Base { size: 0, .. }) => Ok(("unsigned char".to_owned(), "[0]".to_owned())),
            Some(Type::Base { name, size }) => {
                let found = self.spell_base(name, *size);
                plain(found.ok_or_else(|| not_c(format!("{name} of {size} bytes")))?)
            }
            Some(Type::Enum { size, .. }) => plain(
                self.spell_enum(*size)
                    .ok_or_else(|| not_c(format!("an enum of {size} bytes")))?,
            ),
            Some(Type::Pointer { size, .. }) if *size == self.abi.target.pointer_size => {
                plain("void *".to_owned())
            }
            Some(Type::Pointer { size, align, .. }) if *size == 2 * align => {
                Ok(("void *".to_owned(), "[2]".to_owned()))
            }
            Some(Type::Pointer { size, .. }) => {
                let found = unsigned_of_size(*size).map(str::to_owned);
                plain(found.ok_or_else(|| not_c(format!("a pointer of {size} bytes")))?)
            }
            Some(Type::Array { element, counts }) => {
                let (ty, inner) = self.spell_type(*element, depth + 1, owner)?;
                let mut dimensions = String::new();
                for count in counts.first().map_or(&[None][..], |_| counts) {
                    let count = count.unwrap_or(0);
                    write!(dimensions, "[{count}]").expect("strings take all text");
                }
                Ok((ty, dimensions + &inner))
            }
            Some(Type::Typedef {
                target: Some(target),
                declared_align,
                ..
            }) => match declared_align.filter(is_valid_align) {
                Some(align) => self.spell_aligned_typedef(id, *target, align, depth, owner),
                None => self.spell_type(*target, depth + 1, owner),
            },
            Some(Type::Qualified {
                qualifier: "_Atomic",
                target: Some(target),
            }) if self.language == EmitLanguage::C => {
                let (ty, dimensions) = self.spell_type(*target, depth + 1, owner)?;
                Ok((format!("_Atomic({ty})"), dimensions))
            }
            Some(Type::Qualified {
                target: Some(target),
                ..
            }) => self.spell_type(*target, depth + 1, owner),
            Some(Type::Aggregate(aggregate)) => plain(self.nested_tag(id, aggregate, depth + 1)?),
            _ => Err(not_c("it has no size".to_owned())),
        }
    }

    /// Type of a bitfield.
    pub(super) fn spell_bitfield_type(
        &mut self,
        id: TypeId,
        field: &Bitfield,
        depth: u32,
        owner: &str,
    ) -> Result<String, AbiError> {
        let (ty, _) = self.spell_type(id, depth + 1, owner)?;
        // C allows a bool of one bit.
        let wide = field.width_bits > 1 && matches!(ty.as_str(), "_Bool" | "bool");
        Ok(if wide { "unsigned char".to_owned() } else { ty })
    }

    fn spell_aligned_typedef(
        &mut self,
        id: TypeId,
        target: TypeId,
        align: u64,
        depth: u32,
        owner: &str,
    ) -> Result<(String, String), AbiError> {
        if let Some(name) = self.aligned_typedefs.get(&id) {
            return Ok((name.clone(), String::new()));
        }
        let (ty, dimensions) = self.spell_type(target, depth + 1, owner)?;
        let name = format!("{}t{}", self.prefix, id.0);
        let line = format!("typedef {ty} {name}{dimensions} __attribute__((aligned({align})));\n");
        self.text.push_str(&line);
        self.aligned_typedefs.insert(id, name.clone());
        Ok((name, String::new()))
    }

    /// Base type by its name if the compiler knows the name, or by its size.
    fn spell_base(&self, name: &str, size: u64) -> Option<String> {
        if let Some(part) = name.strip_prefix("complex ") {
            return Some(format!("__complex__ {}", self.spell_base(part, size / 2)?));
        }
        let bool = match self.language {
            EmitLanguage::C => "_Bool",
            EmitLanguage::Cxx => "bool",
        };
        let long = self.abi.target.pointer_size;
        let same_size = |known: u64| size == if known == 0 { long } else { known };
        let integer = C_INTEGERS.iter().find(|(other, _)| *other == name);
        Some(match (name, size) {
            ("_Bool" | "bool", 1) => bool.to_owned(),
            ("long double", 8 | 12 | 16) => name.to_owned(),
            (_, 4) if name.contains("loat") => "float".to_owned(),
            (_, 8) if name.contains("loat") || name.contains("double") => "double".to_owned(),
            (_, 16) if name.contains("loat") => "_Float128".to_owned(),
            ("__int128 unsigned", 16) => "unsigned __int128".to_owned(),
            _ => match integer {
                Some((_, known)) if same_size(*known) => name.to_owned(),
                _ => unsigned_of_size(size)?.to_owned(),
            },
        })
    }

    /// Enum of so many bytes, which is defined at its first use.
    fn spell_enum(&mut self, size: u64) -> Option<String> {
        let ty = unsigned_of_size(size).filter(|_| size <= 8)?;
        let tag = format!("enum {}e{size}", self.prefix);
        if self.enum_sizes.insert(size) {
            let constant = format!("{}E{size}", self.prefix);
            let line = match (self.language, size) {
                (EmitLanguage::Cxx, _) => format!("{tag} : {ty} {{ {constant} }};\n"),
                (_, 1) => format!("{tag} {{ {constant} }} __attribute__((packed));\n"),
                (_, 2) => format!("{tag} {{ {constant} = 0x7fff }} __attribute__((packed));\n"),
                (_, 4) => format!("{tag} {{ {constant} = 0x7fffffff }};\n"),
                _ => format!("{tag} {{ {constant} = 0x7fffffffffffffff }};\n"),
            };
            self.text.push_str(&line);
        }
        Some(tag)
    }
}
