//! Which object an address belongs to.

pub mod cache;
pub mod find;
pub mod finder;
pub mod fixed;
pub mod heap;
mod kernel;
pub mod ranges;
pub mod vote;

use relayout_layout::TypeId;

/// Index of an object in its resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// What kind of memory an object is in, and what names it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A variable of the image, or an element of it.
    Global {
        /// The variable.
        symbol: String,
    },
    /// One CPU's copy of a static per-cpu variable, or an element of it.
    PerCpu {
        /// The variable.
        symbol: String,
        /// Whose copy.
        cpu: u32,
    },
    /// In a slot of a slab cache.
    Slab {
        /// The cache.
        cache: String,
    },
    /// An element of the array of page descriptors.
    Page,
    /// On a task's stack.
    Stack {
        /// The task's comm.
        task: String,
    },
    /// In a user heap allocation, or an element of an array there.
    Heap {
        /// Where it was allocated: `malloc in items_init (items.c:75)`; empty where that is not known.
        site: String,
    },
    /// A thread's copy of a thread-local variable, or an element of it.
    ThreadLocal {
        /// The variable.
        symbol: String,
        /// The context whose copy it is.
        context: u32,
    },
    /// An object that the program named itself.
    Named,
    /// In memory that nothing describes: dynamic per-cpu memory, boot-time allocations, pages.
    Memory,
}

/// One object that the profile's accesses fall into.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedObject {
    /// Recording.
    pub run: u16,
    /// Address of its first byte.
    pub base: u64,
    /// Its bytes; more than the type's size where it ends in a flexible array.
    pub bytes: u64,
    /// Its type's name; for scalars, as in C.
    pub type_name: String,
    /// Its type, in [`Resolution::types`](crate::Resolution::types).
    pub ty: TypeId,
    /// Where it lives.
    pub kind: ObjectKind,
    /// 1 where the type is certain (globals, page descriptors, caches whose type is known by name
    /// and size); else the part of the evidence that agrees, less where there is little of it.
    pub confidence: f32,
    /// What the type rests on.
    pub votes: VoteCounts,
}

impl ObjectKind {
    /// The variable that the object is, or is an element of.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Global { symbol }
            | Self::PerCpu { symbol, .. }
            | Self::ThreadLocal { symbol, .. } => Some(symbol),
            _ => None,
        }
    }
}

impl ResolvedObject {
    /// The variable that it is, or is an element of.
    pub fn variable(&self) -> Option<&str> {
        self.kind.variable()
    }
}

/// Weights of evidence. An access whose operand has a stated type counts 4, one whose type was
/// followed through the code 3, a guessed one 1, each times the logarithm of how often it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VoteCounts {
    /// Evidence that agrees.
    pub support: f64,
    /// Evidence for something else in the same place.
    pub against: f64,
}

impl VoteCounts {
    /// The part that agrees, with one vote of doubt added.
    pub fn confidence(self) -> f32 {
        (self.support / (self.support + self.against + 1.0)) as f32
    }
}
