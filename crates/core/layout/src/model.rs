//! Model of types that the readers of DWARF and BTF produce.
//!
//! A [`TypeArena`] owns the types of one binary, and a [`TypeId`] indexes it. Readers load lazily:
//! a type is in the arena together with everything that it holds *by value*. Targets of pointers
//! may be declarations without members ([`Aggregate::complete`] is false) until they are asked for.
//! All offsets count from the start of the aggregate that holds the member.

use std::fmt;

use crate::InlineNamespaces;

/// Index of a type in its [`TypeArena`]; meaningless in another arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

/// Place of a declaration in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// File in the debug information, with its directory where known.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
}

/// Types of one binary.
#[derive(Clone, Debug, Default)]
pub struct TypeArena {
    pub(crate) types: Vec<Type>,
    /// Inline namespaces of the types, as far as they were given.
    pub(crate) inline_namespaces: InlineNamespaces,
}

/// Type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `int`, `char`, `_Bool`, ...
    Base {
        /// Name in C.
        name: String,
        /// Size in bytes.
        size: u64,
    },
    /// Enumeration.
    Enum {
        /// Tag, if any.
        name: Option<String>,
        /// Size in bytes.
        size: u64,
        /// Enumerators in order of declaration.
        enumerators: Vec<(String, i128)>,
    },
    /// Pointer, or reference of C++ or Rust.
    Pointer {
        /// Type that it points to; `None` for `void`.
        target: Option<TypeId>,
        /// Size in bytes.
        size: u64,
        /// Natural alignment in bytes: that of a word, of which a pointer to a member function
        /// has two.
        align: u64,
        /// `*`, `&`, `&&` or `::*`.
        sigil: &'static str,
    },
    /// Array with an entry of `counts` for each dimension.
    Array {
        /// Element type.
        element: TypeId,
        /// Number of elements of each dimension, outermost first; `None` for a flexible or unknown
        /// bound.
        counts: Vec<Option<u64>>,
    },
    /// Typedef.
    Typedef {
        /// Name of the typedef.
        name: String,
        /// Type that it names; `None` for `void`.
        target: Option<TypeId>,
        /// Declared alignment in bytes, where the debug information has it.
        declared_align: Option<u64>,
    },
    /// `const`, `volatile`, `restrict`, `_Atomic`.
    Qualified {
        /// Keyword.
        qualifier: &'static str,
        /// Type that is qualified; `None` for `void`.
        target: Option<TypeId>,
    },
    /// Struct, union or class.
    Aggregate(Aggregate),
    /// Function type.
    Function {
        /// Return type; `None` for `void`.
        result: Option<TypeId>,
        /// Parameter types.
        params: Vec<TypeId>,
        /// True if the parameters end in `...`.
        variadic: bool,
    },
    /// Type that the reader does not model, by its name; it has no size.
    Unknown(String),
}

/// Keyword of an aggregate.
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
    /// Keyword in C and C++.
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

/// Kind of a definition, which is known before it is loaded.
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
    /// Kind with this number in a kept index.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        let all = [
            Self::Struct,
            Self::Union,
            Self::Class,
            Self::Enum,
            Self::Typedef,
            Self::Base,
        ];
        all.into_iter().find(|kind| *kind as u8 == number)
    }

    /// Returns true for a struct, union or class.
    pub fn is_aggregate(self) -> bool {
        matches!(self, Self::Struct | Self::Union | Self::Class)
    }
}

/// Struct, union or class with its members.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// Keyword.
    pub kind: AggregateKind,
    /// Tag without scope; `None` for anonymous aggregates.
    pub name: Option<String>,
    /// Namespaces, modules and classes around it: `std::__detail`. `None` without scope, as in C.
    pub scope: Option<String>,
    /// `sizeof` in bytes.
    pub size: u64,
    /// `__attribute__((aligned(N)))` on the type, in bytes, where the debug information has it.
    pub declared_align: Option<u64>,
    /// Members in declaration order, or in the order of offsets where the compiler reorders
    /// members, as Rust's does.
    pub members: Vec<Member>,
    /// Alternatives of a Rust enum, which share the bytes beside `members`.
    pub variants: Option<Box<EnumVariants>>,
    /// Virtual base classes of C++. Their offsets vary by object; their bytes are behind the
    /// members.
    pub virtual_bases: Vec<TypeId>,
    /// Access of its parts, if the debug information states any.
    pub access: Option<Box<StatedAccess>>,
    /// Place of declaration.
    pub decl: Option<SourceLine>,
    /// False for a declaration without members (`struct x;`).
    pub complete: bool,
}

/// Access of the parts of a class, as far as it is stated: compilers leave out what is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatedAccess {
    /// Access of each of the members, in their order.
    pub members: Vec<Option<MemberAccess>>,
    /// Member functions: index of the first member behind each, and its access.
    pub functions: Vec<(usize, MemberAccess)>,
    /// Access of each of the virtual bases.
    pub virtual_bases: Vec<Option<MemberAccess>>,
}

/// Access specifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberAccess {
    /// `public`
    Public,
    /// `protected`
    Protected,
    /// `private`
    Private,
}

impl MemberAccess {
    /// Returns the keyword of C++.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Protected => "protected",
            Self::Private => "private",
        }
    }
}

impl Aggregate {
    /// Returns the name as users of the type write it, with its scope; `None` for anonymous
    /// aggregates.
    pub fn readable_name(&self) -> Option<String> {
        let name = self.name.as_deref()?;
        Some(crate::readable_type_name(self.scope.as_deref(), name))
    }

    /// Returns the tag as the source declares it, without template arguments.
    pub fn declared_name(&self) -> Option<&str> {
        let name = self.name.as_deref()?;
        let end = name.find('<').filter(|end| *end > 0).unwrap_or(name.len());
        Some(name[..end].trim_end())
    }
}

/// Alternatives of a Rust enum. An object is one of them at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumVariants {
    /// Member that tells the alternatives apart: a tag of its own, or the niche of an alternative's
    /// member. `None` with a single alternative.
    pub discriminant: Option<Member>,
    /// Alternatives in order of declaration.
    pub variants: Vec<EnumVariant>,
}

/// Alternative of a Rust enum.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumVariant {
    /// Value of the discriminant; `None` for the alternative that all other values (a niche) stand
    /// for.
    pub discriminant: Option<i128>,
    /// Member with the name of the alternative. Its type holds the alternative's members.
    pub member: Member,
}

/// Member of an aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Name; `None` for an anonymous struct or union, and for a base class.
    pub name: Option<String>,
    /// True for a base class of C++. False for an unnamed member of a tagged struct, which C has
    /// with `-fms-extensions`: that one is an anonymous struct.
    pub is_base: bool,
    /// Type of the member.
    pub ty: TypeId,
    /// Byte offset from the start of the aggregate; for a bitfield, of its storage unit.
    pub offset: u64,
    /// For a bitfield: its bits, counted from the start of the aggregate.
    pub bits: Option<BitRange>,
    /// `aligned(N)` on the member, in bytes, where the debug information has it.
    pub declared_align: Option<u64>,
    /// Place of declaration.
    pub decl: Option<SourceLine>,
}

impl Member {
    /// Member at a byte offset, without bits, declared alignment and place of declaration.
    pub fn new(name: impl Into<String>, ty: TypeId, offset: u64) -> Self {
        Self {
            name: Some(name.into()),
            is_base: false,
            ty,
            offset,
            bits: None,
            declared_align: None,
            decl: None,
        }
    }

    /// Returns true if the names inside the member's type are names of the struct around it: an
    /// anonymous struct or union, also one with a tag. A base class has a name of its own.
    pub fn is_anonymous(&self) -> bool {
        self.name.is_none() && self.bits.is_none() && !self.is_base
    }
}

/// Bits of a bitfield.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BitRange {
    /// First bit from the start of the aggregate, in little-endian numbering.
    pub offset_bits: u64,
    /// Width in bits.
    pub size_bits: u64,
}

/// Bytes of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberSpan {
    /// Path of the member from the type that the offset counts from.
    pub path: String,
    /// Offset of its first byte, in bytes.
    pub offset: u64,
    /// Size in bytes; 0 if unknown.
    pub size: u64,
}

/// Member at an offset, by its path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemberAt {
    /// Path of the member: `mmap_lock.owner`, `chunk_md.contig_hint`, `lruvecs[].lists[]`. Array
    /// indices are left out, so that equal members of different elements have the same path. Empty
    /// for a hole.
    pub path: String,
    /// Named aggregates from the outermost inwards: `["mm_struct", "rw_semaphore"]`.
    pub types_path: Vec<String>,
    /// Offset of the innermost member from the start of the outermost aggregate, in bytes.
    pub offset: u64,
    /// Size of the innermost member in bytes.
    pub size: u64,
    /// Elements of the arrays on the path, outermost first: one for each `[]` in it.
    pub elements: Vec<ArrayElement>,
}

/// Element of an array in a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayElement {
    /// Offset of the array from the start of the outermost aggregate, in bytes.
    pub array_offset: u64,
    /// Bytes from one element to the next.
    pub stride: u64,
    /// Number of elements, of all dimensions; 0 where the type does not tell.
    pub count: u64,
    /// Number of elements of each dimension but the first.
    pub inner_counts: Vec<u64>,
    /// Index of the element, by its place in memory.
    pub index: u64,
}

impl ArrayElement {
    /// Returns an index as the source writes it: `[5]`, or `[1][1]` in an array of two dimensions.
    pub fn index_words(&self, index: u64) -> String {
        let (mut rest, mut words) = (index, Vec::new());
        for count in self.inner_counts.iter().rev() {
            words.push(format!("[{}]", rest % (*count).max(1)));
            rest /= (*count).max(1);
        }
        words.push(format!("[{rest}]"));
        words.reverse();
        words.concat()
    }
}
