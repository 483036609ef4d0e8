//! Values that a caller and the machine exchange.

use crate::time::SimulatedTime;

/// Address of a cache line divided by its 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LineNumber(pub u64);

/// Kind of an access to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineAccess {
    /// Loads.
    Load,
    /// Stores. The CPU does not wait for the line.
    Store,
    /// Loads and stores without a lock, such as `add %rax, (%rbx)`.
    Update,
    /// Loads and stores at once, such as `lock cmpxchg`. It waits for all earlier stores.
    Atomic,
}

impl LineAccess {
    /// Returns whether the access loads.
    pub fn loads(self) -> bool {
        self != Self::Store
    }

    /// Returns whether the access stores.
    pub fn stores(self) -> bool {
        self != Self::Load
    }
}

/// Access to a line that has to be done in the order of simulated time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineRequest {
    /// CPU of the guest.
    pub cpu: usize,
    /// Line.
    pub line: LineNumber,
    /// Address of the access, under which it is counted.
    pub address: u64,
    /// Kind of the access.
    pub access: LineAccess,
    /// Number of the instruction, as the caller numbers them.
    pub site: u32,
    /// Time at which the instruction would execute if the CPU had the line.
    pub at: SimulatedTime,
}

/// Answer to a [`LineRequest`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineAnswer {
    /// The instruction executes at this time, and the CPU goes on.
    Now(SimulatedTime),
    /// The turn is over. The instruction executes when the CPU has its next turn.
    Waits,
}

/// Use of a line that an access met which was not requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineUse {
    /// One CPU uses the line, nobody stores to it, or no other CPU has used it for the time of
    /// [`crate::MachineRule::OrderedWithin`].
    Quiet,
    /// Several CPUs use it, and one stores to it.
    Shared,
    /// The access should have been requested.
    Contended,
}

/// Turn of a CPU to execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuTurn {
    /// CPU of the guest.
    pub cpu: usize,
    /// Time of its clock.
    pub at: SimulatedTime,
}
