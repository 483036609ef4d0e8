//! Owners of addresses: a member of an object, a scalar variable, or memory of unknown type.

use relayout_layout::MemberAt;

use crate::objects::ObjectId;

/// What an address of a recording is.
#[derive(Clone, Debug, PartialEq)]
pub enum AddressOwner {
    /// A member of an object; the path is empty in a hole.
    Member {
        /// The object.
        object: ObjectId,
        /// The member, from the object's type inwards.
        path: MemberAt,
    },
    /// A global or per-cpu variable that is no aggregate (an array of such counts as one).
    ScalarGlobal {
        /// The object: all of it.
        object: ObjectId,
        /// The variable.
        symbol: String,
    },
    /// Not known.
    Unresolved(UnresolvedClass),
}

/// What memory is where no type is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnresolvedClass {
    /// A task's stack.
    Stack,
    /// vmalloc space, allocated by the function; empty where that is not known.
    Vmalloc(String),
    /// A page that no slab owns, and what it is (`page table`, `page cache`); empty where that is not
    /// known.
    PageData(String),
    /// A slot of the named slab cache.
    Slab(String),
    /// Per-cpu memory allocated at run time.
    PerCpuDynamic,
    /// The kernel image, where neither variable nor type is known.
    Image,
    /// A user heap allocation.
    Heap,
    /// Thread-local storage.
    Tls,
    /// Anything else.
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
