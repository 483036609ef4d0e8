//! Roles of instructions for locks and interrupts, as their functions tell.

use relayout_profile::SiteId;

/// Number of contexts that may hold a lock at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockMode {
    /// By one context.
    Alone,
    /// By any number of contexts that read.
    Shared,
}

/// Way in which contexts wait for a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockKind {
    /// They spin on its one word, or in a queue.
    #[default]
    Spinning,
    /// They spin while its owner runs, and sleep otherwise. A woken context that finds the lock taken has it next. It has
    /// several words: owner, queue, and their lock.
    Mutex,
    /// Writers spin as for a mutex, and readers sleep. A woken writer that finds the lock taken sleeps again.
    Semaphore,
    /// A lock of a program, by one word. Contexts sleep in the kernel, and any may take it when it is given back.
    Futex,
    /// The same, for which contexts spin first for a while, unless others sleep.
    SpunFutex,
}

impl LockKind {
    /// Returns true if contexts may sleep for the lock.
    pub fn may_sleep(self) -> bool {
        self != Self::Spinning
    }

    /// Returns true for locks of programs that sleep in the kernel.
    pub fn is_futex(self) -> bool {
        matches!(self, Self::Futex | Self::SpunFutex)
    }
}

/// Role of an instruction beside its access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SiteRole {
    /// Nothing.
    #[default]
    Code,
    /// It may be the first of an interrupt: the entry code, which serves exceptions, too.
    Entry,
    /// It is part of an interrupt.
    Interrupt,
    /// It asks for a lock, or waits for one.
    Acquire(LockKind, LockMode),
    /// It gives a lock back.
    Release,
    /// It waits in a queue in front of a lock, or hands the queue's front on.
    Queue,
    /// It checks whether a sequence count has changed.
    SequenceCheck,
}

/// Roles of the recorded instructions.
pub trait SiteRoles {
    /// Returns the role of an instruction.
    fn role(&self, site: SiteId) -> SiteRole;
}
