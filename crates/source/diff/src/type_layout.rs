//! Layout of one type, detached from the arena that the type was loaded into.

use std::fmt;

use relayout_layout::{AggregateKind, BitRange, SourceLine};

/// Key that finds a type in another file. C++ allows to declare a class with `struct`, so the two
/// have the same tag.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeKey {
    /// `struct`, `union`, or a typedef of a type without tag.
    pub tag: TypeTag,
    /// Namespaces and classes around the type.
    pub scope: Option<Box<str>>,
    /// Name without scope, in the common spelling of all compilers.
    pub name: Box<str>,
}

/// Keyword in front of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TypeTag {
    /// `struct` or `class`.
    Struct,
    /// `union`.
    Union,
    /// None: typedef of a struct or union without tag.
    Typedef,
}

/// Layout of a struct, union or class.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeLayout {
    /// Key that finds the type in another file.
    pub key: TypeKey,
    /// Keyword in the source.
    pub kind: AggregateKind,
    /// `sizeof` in bytes.
    pub size: u64,
    /// `aligned(N)` on the type in bytes, where the debug information tells it.
    pub declared_align: Option<u64>,
    /// Place of declaration.
    pub decl: Option<SourceLine>,
    /// Members in order of declaration, including those of anonymous structs and unions.
    pub members: Vec<PlacedMember>,
    /// Unused bits by offset. Unions have none.
    pub gaps: Vec<BitGap>,
    /// Equal for two types if the types and all that they hold by value have the same layout.
    pub fingerprint: u64,
}

/// Member at an offset from the start of the outermost type.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedMember {
    /// Path from the type: `flags`; `u.inuse` for a member of an anonymous type that has a member
    /// name; `slots[].x` for the first element of an array of such types. A base class has its
    /// type's name.
    pub path: Box<str>,
    /// Bytes from the start of the type; for a bitfield, of the byte with its first bit.
    pub offset: u64,
    /// Size in bytes, of a whole array; 0 where unknown. For a bitfield, the bytes that its bits
    /// touch.
    pub size: u64,
    /// True if the file only declares the member's type. Clang does that with classes that other
    /// files define.
    pub type_unknown: bool,
    /// For bitfields: bits from the start of the type.
    pub bits: Option<BitRange>,
    /// Type in the common spelling of all compilers.
    pub type_name: Box<str>,
    /// Named type that the member holds by value, alone or as an array.
    pub held_type: Option<HeldType>,
}

/// Named type that a member holds by value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldType {
    /// Key of the held type.
    pub key: TypeKey,
    /// Fingerprint of the held type, as [`TypeLayout::fingerprint`].
    pub fingerprint: u64,
    /// Size of one element in bytes.
    pub size: u64,
}

impl fmt::Display for TypeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.tag {
            TypeTag::Struct => "struct ",
            TypeTag::Union => "union ",
            TypeTag::Typedef => "",
        })?;
        f.write_str(&self.qualified())
    }
}

impl TypeKey {
    /// Name with its scope: `std::pair<int,int>`.
    pub fn qualified(&self) -> String {
        match &self.scope {
            Some(scope) => format!("{scope}::{}", self.name),
            None => self.name.to_string(),
        }
    }
}

impl PlacedMember {
    /// First bit from the start of the type.
    pub fn start_bits(&self) -> u64 {
        self.bits
            .map_or(self.offset.saturating_mul(8), |bits| bits.offset_bits)
    }

    /// First bit behind the member.
    pub fn end_bits(&self) -> u64 {
        self.start_bits().saturating_add(self.size_bits())
    }

    /// Size in bits.
    pub fn size_bits(&self) -> u64 {
        self.bits
            .map_or(self.size.saturating_mul(8), |bits| bits.size_bits)
    }

    /// Returns true if both sizes are known and differ.
    pub fn is_resized(&self, other: &Self) -> bool {
        self.size_bits() != other.size_bits() && !self.type_unknown && !other.type_unknown
    }

    /// First and last cache line of the member, counted from the start of the type in lines of
    /// `line_bytes`. `None` for a member without size.
    pub fn line_range(&self, line_bytes: u64) -> Option<(u64, u64)> {
        let line_bits = line_bytes.max(1).saturating_mul(8);
        let last = self.end_bits().checked_sub(1)?;
        let first = self.start_bits();
        (self.size_bits() > 0).then_some((first / line_bits, last / line_bits))
    }
}

/// Bits that belong to no member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitGap {
    /// First bit from the start of the type.
    pub start_bits: u64,
    /// Size in bits.
    pub size_bits: u64,
    /// Index of the member in front of the gap; `None` at the start of the type.
    pub after: Option<usize>,
    /// True if the gap ends with the type.
    pub padding: bool,
}

impl BitGap {
    /// First bit behind the gap.
    pub fn end_bits(&self) -> u64 {
        self.start_bits.saturating_add(self.size_bits)
    }
}

impl TypeLayout {
    /// Returns true if both layouts have a declared alignment, and the two differ. Debug
    /// information of some compilers and versions leaves declared alignments out.
    pub(crate) fn is_realigned(&self, other: &Self) -> bool {
        match (self.declared_align, other.declared_align) {
            (Some(own), Some(other)) => own != other,
            _ => false,
        }
    }
}
