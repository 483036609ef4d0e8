//! The type model: what a reader (DWARF, BTF) produces and everything else consumes.
//!
//! A [`Types`] arena owns the types of one binary; a [`TypeId`] indexes it. Readers load lazily:
//! a type is in the arena together with everything reachable *by value*; targets of pointers may
//! still be declarations ([`Aggregate::complete`] false) until they are asked for.
//! All offsets are relative to the start of the aggregate that holds the member.

use std::fmt;

/// Index of a type in its [`Types`] arena; meaningless in another arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

/// Where something was declared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// File as the debug information names it, directory included where known.
    pub file: String,
    /// 1-based line.
    pub line: u32,
}

/// The types of one binary.
#[derive(Clone, Debug, Default)]
pub struct TypeArena {
    pub(crate) types: Vec<Type>,
}

/// One type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `int`, `char`, `_Bool`, ...
    Base {
        /// Name as in C.
        name: String,
        /// Size in bytes.
        size: u64,
    },
    /// An enumeration.
    Enum {
        /// Tag, if any.
        name: Option<String>,
        /// Size in bytes.
        size: u64,
        /// Enumerators in order of declaration.
        enumerators: Vec<(String, i128)>,
    },
    /// A pointer (or C++/Rust reference).
    Pointer {
        /// What it points to; `None` is `void`.
        target: Option<TypeId>,
        /// Size in bytes.
        size: u64,
        /// Printed as `*`, `&` or `&&`.
        sigil: &'static str,
    },
    /// An array; one entry of `counts` per dimension, `None` for a flexible or unknown bound.
    Array {
        /// Element type.
        element: TypeId,
        /// Elements per dimension, outermost first.
        counts: Vec<Option<u64>>,
    },
    /// A typedef.
    Typedef {
        /// Its name.
        name: String,
        /// What it names; `None` is `void`.
        target: Option<TypeId>,
        /// Explicit alignment in bytes, where the debug information carries it.
        declared_align: Option<u64>,
    },
    /// `const`, `volatile`, `restrict`, `_Atomic`.
    Qualified {
        /// The keyword.
        qualifier: &'static str,
        /// What is qualified; `None` is `void`.
        target: Option<TypeId>,
    },
    /// A struct, union or class.
    Aggregate(Aggregate),
    /// A function type.
    Function {
        /// Return type; `None` is `void`.
        result: Option<TypeId>,
        /// Parameter types.
        params: Vec<TypeId>,
        /// Ends in `...`.
        variadic: bool,
    },
    /// Something the reader does not model (the text says what); it has no size.
    Unknown(String),
}

/// What kind of aggregate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AggregateKind {
    /// `struct`
    #[default]
    Struct,
    /// `union`
    Union,
    /// `class`
    Class,
}

impl AggregateKind {
    /// As C and C++ spell it.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Struct => "struct",
            Self::Union => "union",
            Self::Class => "class",
        }
    }
}

impl fmt::Display for AggregateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.keyword())
    }
}

/// What a definition is, as far as it is known before it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DefinitionKind {
    /// `struct`
    Struct,
    /// `union`
    Union,
    /// `class`
    Class,
    /// `enum`
    Enum,
    /// `typedef`
    Typedef,
    /// `int` and the like
    Base,
}

impl DefinitionKind {
    /// Whether it is a struct, union or class.
    pub fn is_aggregate(self) -> bool {
        matches!(self, Self::Struct | Self::Union | Self::Class)
    }
}

/// A struct, union or class and its members.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// struct, union or class.
    pub kind: AggregateKind,
    /// Tag, without what it is nested in; `None` for anonymous ones.
    pub name: Option<String>,
    /// The namespaces, modules and classes around it, `std::__detail`; `None` where there are none,
    /// as in C.
    pub scope: Option<String>,
    /// `sizeof` in bytes.
    pub size: u64,
    /// `__attribute__((aligned(N)))` on the type, in bytes, where the debug information says so.
    pub declared_align: Option<u64>,
    /// Members in declaration order; in that of their offsets where a compiler chose another, as
    /// Rust's does.
    pub members: Vec<Member>,
    /// Rust enums: the alternatives, which share the bytes beside `members`.
    pub variants: Option<Box<EnumVariants>>,
    /// C++: virtual base classes. Where they are, each object says itself; their bytes lie behind
    /// the members.
    pub virtual_bases: Vec<TypeId>,
    /// Where it is declared.
    pub decl: Option<SourceLine>,
    /// False for a mere declaration (`struct x;`).
    pub complete: bool,
}

/// The alternatives of a Rust enum, of which an object is one at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumVariants {
    /// What tells them apart: a tag of its own, or the niche of some variant's member. `None`
    /// where there is only one alternative.
    pub discriminant: Option<Member>,
    /// In order of declaration.
    pub variants: Vec<EnumVariant>,
}

/// One alternative of a Rust enum.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumVariant {
    /// Value of the discriminant; `None` for the one that all other values (a niche) stand for.
    pub discriminant: Option<i128>,
    /// Named as the variant is; its type holds the variant's members.
    pub member: Member,
}

/// One member of an aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// `None` for an anonymous struct/union member.
    pub name: Option<String>,
    /// Its type.
    pub ty: TypeId,
    /// Byte offset from the start of the aggregate; for a bitfield, of its storage unit.
    pub offset: u64,
    /// Bitfields: first bit, counted from the start of the aggregate (little-endian numbering),
    /// and width in bits.
    pub bits: Option<BitRange>,
    /// `aligned(N)` on the member, in bytes, where the debug information says so.
    pub declared_align: Option<u64>,
    /// Where it is declared.
    pub decl: Option<SourceLine>,
}

impl Member {
    /// Member at a byte offset, without bits, alignment or declaration of its own.
    pub fn new(name: impl Into<String>, ty: TypeId, offset: u64) -> Self {
        Self {
            name: Some(name.into()),
            ty,
            offset,
            bits: None,
            declared_align: None,
            decl: None,
        }
    }
}

/// A bitfield's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BitRange {
    /// First bit, from the start of the aggregate.
    pub offset_bits: u64,
    /// Width in bits.
    pub size_bits: u64,
}

/// A member as found by offset: its path and its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberAt {
    /// `mmap_lock.owner`, `chunk_md.contig_hint`, `lruvecs[].lists[]`; array indices are dropped so
    /// that equal members of different elements fall together. Empty when the offset is in a hole.
    pub path: String,
    /// Named aggregate types from the outermost inwards: `["mm_struct", "rw_semaphore"]`.
    pub types_path: Vec<String>,
    /// Offset of the innermost member from the start of the outermost aggregate, in bytes.
    pub offset: u64,
    /// Size of the innermost member in bytes.
    pub size: u64,
}
