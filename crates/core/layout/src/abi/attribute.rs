//! Attributes and unnamed bitfields that a struct's layout needs beside the order of its members.
use std::fmt;

use crate::abi::bitfield::Bitfield;
use crate::abi::layout::{LayoutAtom, StructShape};

/// Attribute or unnamed bitfield that the source needs for the compiled offsets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LayoutAttribute {
    /// `packed` on the type.
    Packed,
    /// `aligned(N)` on the type, in bytes.
    Aligned(u64),
    /// `packed` on a member.
    PackedMember(String),
    /// `aligned(N)` on a member.
    AlignedMember {
        /// Name of the member.
        member: String,
        /// Alignment in bytes.
        align: u64,
    },
    /// Adjacent unnamed bitfields.
    UnnamedBits {
        /// Name of the member behind them; `None` at the end of the struct.
        before: Option<String>,
        /// Sum of their widths in bits.
        bits: u64,
    },
    /// `:0`, which ends a storage unit of bitfields.
    ZeroWidth {
        /// Name of the member behind it; `None` at the end of the struct.
        before: Option<String>,
    },
}

impl fmt::Display for LayoutAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = |before: &Option<String>| match before {
            Some(member) => format!("before {member}"),
            None => "at the end".to_owned(),
        };
        match self {
            Self::Packed => f.write_str("packed"),
            Self::Aligned(align) => write!(f, "aligned({align})"),
            Self::PackedMember(member) => write!(f, "packed on {member}"),
            Self::AlignedMember { member, align } => write!(f, "aligned({align}) on {member}"),
            Self::UnnamedBits { before, bits } => {
                write!(f, "{bits} unnamed bits {}", position(before))
            }
            Self::ZeroWidth { before } => write!(f, ":0 {}", position(before)),
        }
    }
}

impl StructShape {
    /// Fewest attributes that explain the compiled offsets and size: those of the type first, then
    /// by member. Empty for most structs.
    pub fn attributes(&self) -> Vec<LayoutAttribute> {
        let mut attributes = Vec::new();
        if self.type_packed {
            attributes.push(LayoutAttribute::Packed);
        }
        if self.type_align > 1 {
            attributes.push(LayoutAttribute::Aligned(self.type_align));
        }
        for atom in &self.atoms {
            push_atom_attributes(atom, &mut attributes);
        }
        if !self.is_empty_class() {
            push_unnamed_bits(&self.tail, None, &mut attributes);
        }
        attributes
    }

    /// Returns true for a C++ class without members, which still has one byte.
    pub(super) fn is_empty_class(&self) -> bool {
        let bits: u64 = self.tail.iter().map(|field| field.width_bits).sum();
        self.atoms.is_empty() && self.head.end == 0 && bits == 8
    }
}

fn push_atom_attributes(atom: &LayoutAtom, attributes: &mut Vec<LayoutAttribute>) {
    push_unnamed_bits(&atom.unnamed_before, Some(&atom.name), attributes);
    let aligned = Some(atom.explicit_align).filter(|align| *align > 1);
    push_member_attributes(&atom.name, atom.packed, aligned, attributes);
    let mut pending = 0;
    let named = atom
        .bitfields
        .iter()
        .enumerate()
        .filter(|(_, bits)| bits.is_named);
    for ((index, field), name) in named.zip(&atom.names) {
        push_unnamed_bits(&atom.bitfields[pending..index], Some(name), attributes);
        let aligned = Some(field.explicit_align).filter(|align| *align > 0);
        push_member_attributes(name, field.packed, aligned, attributes);
        pending = index + 1;
    }
}

fn push_member_attributes(
    name: &str,
    packed: bool,
    aligned: Option<u64>,
    attributes: &mut Vec<LayoutAttribute>,
) {
    if packed {
        attributes.push(LayoutAttribute::PackedMember(name.to_owned()));
    }
    if let Some(align) = aligned {
        attributes.push(LayoutAttribute::AlignedMember {
            member: name.to_owned(),
            align,
        });
    }
}

fn push_unnamed_bits(
    fields: &[Bitfield],
    before: Option<&str>,
    attributes: &mut Vec<LayoutAttribute>,
) {
    let before = || before.map(str::to_owned);
    let bits: u64 = fields.iter().map(|field| field.width_bits).sum();
    if bits > 0 {
        attributes.push(LayoutAttribute::UnnamedBits {
            before: before(),
            bits,
        });
    } else if !fields.is_empty() {
        attributes.push(LayoutAttribute::ZeroWidth { before: before() });
    }
}
