//! Owners of addresses: a member of an object, a scalar variable, or memory of unknown type.

use relayout_layout::MemberAt;

use crate::objects::ObjectId;

/// Owner of an address in a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum AddressOwner {
    /// Member of an object. The path is empty in a hole.
    Member {
        /// Object that holds the address.
        object: ObjectId,
        /// Member, named from the object's type inwards.
        path: MemberAt,
    },
    /// Global or per-cpu variable that is no aggregate. An array of scalars counts as one scalar.
    ScalarGlobal {
        /// Object, which is the whole variable.
        object: ObjectId,
        /// Name of the variable.
        symbol: String,
    },
    /// Memory of unknown type.
    Unresolved(UnresolvedClass),
}

/// Kind of memory whose type is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnresolvedClass {
    /// Stack of a task.
    Stack,
    /// vmalloc space, with the function that allocated it; empty if that is unknown.
    Vmalloc(String),
    /// Page that belongs to no slab, with its use (`page table`, `page cache`); empty if that is
    /// unknown.
    PageData(String),
    /// Slot of the named slab cache.
    Slab(String),
    /// Per-cpu memory allocated at run time.
    PerCpuDynamic,
    /// Kernel image, at an address without a known variable.
    Image,
    /// User heap allocation.
    Heap,
    /// Thread-local storage.
    Tls,
    /// Any other memory.
    Other,
}

impl std::fmt::Display for UnresolvedClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stack => f.write_str("stack"),
            Self::Vmalloc(maker) if maker.is_empty() => f.write_str("vmalloc"),
            Self::Vmalloc(maker) => write!(f, "vmalloc by {maker}"),
            Self::PageData(content) if content.is_empty() => f.write_str("page data"),
            Self::PageData(content) => f.write_str(content),
            Self::Slab(cache) => write!(f, "slab {cache}"),
            Self::PerCpuDynamic => f.write_str("per-cpu dynamic"),
            Self::Image => f.write_str("image"),
            Self::Heap => f.write_str("heap"),
            Self::Tls => f.write_str("thread-local"),
            Self::Other => f.write_str("other"),
        }
    }
}
