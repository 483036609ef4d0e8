//! Names of addresses and instructions. In the product, a resolver over debug information gives
//! them; in tests, a table does.

use relayout_layout::MemberAt;
use relayout_profile::{Addr, RunId, SiteId};
use serde::{Deserialize, Serialize};

/// Names the objects at addresses and the sources of instructions.
pub trait AddressNamer {
    /// Returns the target of an access of `size` bytes at `addr` in recording `run`.
    fn target_at(&self, run: RunId, addr: Addr, size: u8) -> AccessTarget;

    /// Returns the targets of accesses, each as [`target_at`](Self::target_at) does. Profiles have up to
    /// millions of them.
    fn targets_at(&self, places: &[(RunId, Addr, u8)]) -> Vec<AccessTarget> {
        let target = |&(run, addr, size): &(RunId, Addr, u8)| self.target_at(run, addr, size);
        places.iter().map(target).collect()
    }

    /// Returns the source of an instruction; `site` indexes the profile's sites.
    fn source_of_site(&self, site: SiteId) -> SiteSource;

    /// Returns what an instruction does with the value that it accesses; `site` indexes the
    /// profile's sites.
    fn operation_of_site(&self, _site: SiteId) -> SiteOperation {
        SiteOperation::Unknown
    }
}

/// Operation of an instruction on the value in memory, as far as remedies tell operations apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SiteOperation {
    /// A load, a plain store, or not known.
    #[default]
    Unknown,
    /// Another value takes its place.
    Exchange,
    /// Another value takes its place if it is as expected.
    CompareExchange,
    /// An atomic addition whose result is not used: of a sum.
    Add,
    /// An atomic addition whose result is used: of a ticket or an index.
    DrawNumber,
    /// An atomic subtraction whose result is not used.
    Subtract,
    /// An atomic subtraction after which the value is used or tested: of a count of references.
    Release,
    /// Bits are set, cleared or inverted.
    Bits,
}

/// Target of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessTarget {
    /// A member of an object of known type. An empty [`MemberAt::path`] is a hole in it.
    Member {
        /// Object that has the member.
        object: TargetObject,
        /// Innermost member, from the object's type.
        member: MemberAt,
    },
    /// A variable that is not of an aggregate type.
    Scalar(TargetObject),
    /// Unknown; the class tells the kind of memory: `slab kmalloc-192`, `stack`.
    Unresolved(String),
}

/// An object in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetObject {
    /// Address of the first byte.
    pub base: Addr,
    /// Size in bytes.
    pub bytes: u64,
    /// Name of the variable, if it is one (`runqueues`, also for each CPU's copy).
    pub variable: Option<String>,
    /// Function that declares the variable, if it is local.
    pub declaring: Option<DeclaringFunction>,
    /// Allocation site in words, if known: `malloc in items_init (items.c:75)`.
    pub origin: Option<String>,
    /// Array that the object is, or is an element of.
    pub array: Option<ElementArray>,
    /// Confidence in its type, in percent: 100 unless the type was elected.
    pub type_percent: u8,
    /// Type that other code takes the same memory for, if the evidence disagrees.
    pub rival_type: Option<String>,
}

/// Function that declares a local variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeclaringFunction {
    /// Name of the function.
    pub name: String,
    /// File of the declaration, as the debug information names it.
    pub file: Option<String>,
    /// 1-based line of the declaration.
    pub line: Option<u32>,
}

/// An array in memory, whose elements lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementArray {
    /// Address of the first element.
    pub base: Addr,
    /// Bytes from one element to the next.
    pub stride: u64,
    /// Number of elements.
    pub count: u64,
}

impl ElementArray {
    /// Returns the index of the element that holds `addr`; `None` outside of the array.
    pub fn index_of(&self, addr: Addr) -> Option<u64> {
        let index = addr.checked_sub(self.base)?.checked_div(self.stride)?;
        (index < self.count).then_some(index)
    }
}

/// Source position of an instruction. Fields are `None` where the debug information does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SiteSource {
    /// Function that the code belongs to, as a disassembly names it.
    pub function: Option<String>,
    /// Functions inlined there, from the outside inwards, as `get_task > refcount_inc`: the one of the
    /// place, and the innermost of those that it calls. `None` where nothing was inlined.
    pub inlined: Option<String>,
    /// File of the innermost function that is no helper of a library, as the debug information names
    /// it.
    pub file: Option<String>,
    /// 1-based line.
    pub line: Option<u32>,
}
