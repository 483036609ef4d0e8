//! What this crate asks of whoever knows objects and sources: a resolver over debug information in
//! the product, a table in tests.

use relayout_layout::MemberAt;

/// Names addresses and instructions.
pub trait AddressNamer {
    /// What lies at `addr` in recording `run`, for an access of `size` bytes.
    fn target_at(&self, run: u16, addr: u64, size: u8) -> AccessTarget;

    /// The source of an instruction; `site` indexes the profile's sites.
    fn source_of_site(&self, site: u32) -> SiteSource;
}

/// What lies at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessTarget {
    /// A member of an object of known type. An empty [`MemberPath::path`] is a hole in it.
    Member {
        /// The object.
        object: TargetObject,
        /// The innermost member, from the object's type.
        member: MemberAt,
    },
    /// A variable that is not of an aggregate type.
    Scalar(TargetObject),
    /// Not known; the class says what kind of memory it is: `slab kmalloc-192`, `stack`.
    Unresolved(String),
}

/// One object in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetObject {
    /// Address of its first byte.
    pub base: u64,
    /// Bytes.
    pub bytes: u64,
    /// Name of the variable, if it is one (`runqueues`, also for each CPU's copy).
    pub variable: Option<String>,
    /// Where it was allocated, in words, if that is known: `malloc in items_init (items.c:75)`.
    pub origin: Option<String>,
}

/// Where an instruction comes from. Fields are `None` where the debug information does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteSource {
    /// Function that the code belongs to, as a disassembly names it.
    pub function: Option<String>,
    /// The innermost function inlined there; `None` where nothing was inlined.
    pub inlined: Option<String>,
    /// File of the innermost function, as the debug information names it.
    pub file: Option<String>,
    /// 1-based line.
    pub line: Option<u32>,
}
