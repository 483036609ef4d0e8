//! Objects, and the memory that they are in.

mod ballot;
pub mod cache;
pub mod find;
pub mod finder;
pub mod fixed;
pub mod heap;
mod kernel;
pub mod ranges;
mod stack;
mod stated;
mod text;
pub mod vote;

pub use stated::StatedObjects;
pub use text::StringLibrary;

use relayout_layout::{SourceLine, TypeId};
use relayout_profile::{Addr, RunId};

/// Index of an object in its resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// Kind of memory that an object is in, with the name of that memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// Variable of the image, or an element of it.
    Global {
        /// Name of the variable.
        symbol: String,
    },
    /// Copy of a static per-cpu variable, or an element of it.
    PerCpu {
        /// Name of the variable.
        symbol: String,
        /// CPU that owns the copy.
        cpu: u32,
    },
    /// Object in a slot of a slab cache.
    Slab {
        /// Name of the cache.
        cache: String,
    },
    /// Element of the array of page descriptors.
    Page,
    /// Object on a task's stack.
    Stack {
        /// Name (`comm`) of the task.
        task: String,
        /// Variable that the object is, or is an element of; `None` for a struct, which its type
        /// names.
        variable: Option<StackVariable>,
    },
    /// Object in a user heap allocation, or an element of an array there.
    Heap {
        /// Place of the allocation: `malloc in items_init (items.c:75)`; empty if unknown.
        site: String,
        /// Member whose pointer leads to it: `element of std::vector<Worker> net::Pool.workers`, `held by
        /// net::Server.pool`; empty if unknown.
        holder: String,
    },
    /// A thread's copy of a thread-local variable, or an element of it.
    ThreadLocal {
        /// Name of the variable.
        symbol: String,
        /// Context that owns the copy.
        context: u32,
    },
    /// Object that the program named.
    Named,
    /// Object in memory without a description: dynamic per-cpu memory, boot-time allocations,
    /// pages.
    Memory,
}

/// Number, or array of numbers, that a function declares on its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackVariable {
    /// Name of the variable.
    pub name: String,
    /// Function that declares it: `integrate`.
    pub function: String,
    /// Line of the declaration.
    pub declared: Option<SourceLine>,
}

/// Object that accesses of the profile fall into.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedObject {
    /// Recording.
    pub run: RunId,
    /// Address of the first byte.
    pub base: Addr,
    /// Size in bytes; more than the type's if the type ends in a flexible array.
    pub bytes: u64,
    /// Name of the type; for scalars, as in C.
    pub type_name: String,
    /// Type, in [`Resolution::types`](crate::Resolution::types).
    pub ty: TypeId,
    /// Kind of memory.
    pub kind: ObjectKind,
    /// 1 if the type is certain (globals, page descriptors, caches typed by name and size), else
    /// the fraction of the evidence that agrees, reduced if there is little evidence, and to a tenth
    /// for a type of a standard library that fills only a part of an allocation.
    pub confidence: f32,
    /// Votes for and against the type.
    pub votes: VoteCounts,
    /// Type for which most of the votes against it are, if there are any.
    pub rival: Option<String>,
    /// Array that the object is, or is an element of; `None` for an object beside no other.
    pub array: Option<ArrayExtent>,
}

/// Place of an array in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayExtent {
    /// Address of the first element.
    pub base: Addr,
    /// Bytes from one element to the next.
    pub stride: u64,
    /// Number of elements.
    pub count: u64,
}

impl ArrayExtent {
    /// Returns the array of `bytes` at `base`, with elements of `stride` bytes; `None` if it has
    /// fewer than two.
    pub(crate) fn of_elements(base: Addr, stride: u64, bytes: u64) -> Option<Self> {
        let count = bytes.checked_div(stride)?;
        (count > 1).then_some(Self {
            base,
            stride,
            count,
        })
    }
}

impl ObjectKind {
    /// Returns the variable that the object is, or is an element of.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Global { symbol }
            | Self::PerCpu { symbol, .. }
            | Self::ThreadLocal { symbol, .. } => Some(symbol),
            _ => self.stack_variable().map(|variable| variable.name.as_str()),
        }
    }

    /// Returns the local variable that the object is, or is an element of.
    pub fn stack_variable(&self) -> Option<&StackVariable> {
        match self {
            Self::Stack { variable, .. } => variable.as_ref(),
            _ => None,
        }
    }
}

impl ResolvedObject {
    /// Returns true if the address is in the object.
    pub fn holds(&self, run: RunId, addr: Addr) -> bool {
        let offset = addr.checked_sub(self.base);
        self.run == run && offset.is_some_and(|offset| offset < self.bytes)
    }

    /// Returns the confidence in its type in whole percent.
    pub fn confidence_percent(&self) -> u8 {
        (self.confidence * 100.0) as u8
    }

    /// Returns the variable that the object is, or is an element of.
    pub fn variable(&self) -> Option<&str> {
        self.kind.variable()
    }
}

/// Weights of evidence. An access counts 4 if the type is stated, 3 if it was followed through the
/// code, and 1 if it was guessed, each times the logarithm of its count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VoteCounts {
    /// Evidence that agrees.
    pub support: f64,
    /// Evidence for another type in the same place.
    pub against: f64,
}

impl VoteCounts {
    /// Returns the fraction that agrees, with one vote of doubt added.
    pub fn confidence(self) -> f32 {
        (self.support / (self.support + self.against + 1.0)) as f32
    }
}
