//! What a struct's layout takes beside the order of its members, as one can print it.

use std::fmt;

use super::{Atom, Bitfield, Shape};

/// One thing that has to be written into a struct so that its members get the offsets they have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attribute {
    /// `packed` on the type.
    Packed,
    /// `aligned(N)` on the type: bytes.
    Aligned(u64),
    /// `packed` on a member.
    PackedMember(String),
    /// `aligned(N)` on a member.
    AlignedMember {
        /// Name of the member.
        member: String,
        /// Bytes.
        align: u64,
    },
    /// Unnamed bitfields of this many bits together.
    UnnamedBits {
        /// Name of the member they are in front of; `None`: at the end.
        before: Option<String>,
        /// Bits.
        bits: u64,
    },
    /// `:0`, which closes a unit of bitfields.
    ZeroWidth {
        /// Name of the member it is in front of; `None`: at the end.
        before: Option<String>,
    },
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |before: &Option<String>| match before {
            Some(member) => format!("before {member}"),
            None => "at the end".to_owned(),
        };
        match self {
            Self::Packed => f.write_str("packed"),
            Self::Aligned(align) => write!(f, "aligned({align})"),
            Self::PackedMember(member) => write!(f, "packed on {member}"),
            Self::AlignedMember { member, align } => write!(f, "aligned({align}) on {member}"),
            Self::UnnamedBits { before, bits } => {
                write!(f, "{bits} unnamed bits {}", place(before))
            }
            Self::ZeroWidth { before } => write!(f, ":0 {}", place(before)),
        }
    }
}

impl Shape {
    /// The fewest attributes that explain the offsets and the size that were compiled, those of
    /// the type first, then by member. Empty for most structs.
    pub fn attributes(&self) -> Vec<Attribute> {
        let mut found = Vec::new();
        if self.type_packed {
            found.push(Attribute::Packed);
        }
        if self.type_align > 1 {
            found.push(Attribute::Aligned(self.type_align));
        }
        for atom in &self.atoms {
            of_atom(atom, &mut found);
        }
        if !self.is_empty_class() {
            unnamed(&self.tail, None, &mut found);
        }
        found
    }

    /// A class of C++ without members: it takes one byte all the same.
    pub(super) fn is_empty_class(&self) -> bool {
        let bits: u64 = self.tail.iter().map(|field| field.width_bits).sum();
        self.atoms.is_empty() && self.head.end == 0 && bits == 8
    }
}

fn of_atom(atom: &Atom, found: &mut Vec<Attribute>) {
    unnamed(&atom.before, Some(&atom.name), found);
    let aligned = Some(atom.aligned).filter(|align| *align > 1);
    on_member(&atom.name, atom.packed, aligned, found);
    let mut pending = 0;
    let named = atom.bits.iter().enumerate().filter(|(_, bits)| bits.named);
    for ((index, field), name) in named.zip(&atom.names) {
        unnamed(&atom.bits[pending..index], Some(name), found);
        let aligned = Some(field.aligned).filter(|align| *align > 0);
        on_member(name, field.packed, aligned, found);
        pending = index + 1;
    }
}

fn on_member(name: &str, packed: bool, aligned: Option<u64>, found: &mut Vec<Attribute>) {
    if packed {
        found.push(Attribute::PackedMember(name.to_owned()));
    }
    if let Some(align) = aligned {
        found.push(Attribute::AlignedMember {
            member: name.to_owned(),
            align,
        });
    }
}

fn unnamed(fields: &[Bitfield], before: Option<&str>, found: &mut Vec<Attribute>) {
    let before = || before.map(str::to_owned);
    let bits: u64 = fields.iter().map(|field| field.width_bits).sum();
    if bits > 0 {
        found.push(Attribute::UnnamedBits {
            before: before(),
            bits,
        });
    } else if !fields.is_empty() {
        found.push(Attribute::ZeroWidth { before: before() });
    }
}
