//! Tasks of a simulation, and the CPUs that execute them.
//!
//! There is a task for each CPU, or more where the recording has more contexts than that. A CPU executes another of its
//! tasks when one ends an operation or falls asleep.

use std::collections::VecDeque;

use relayout_statistics::random::{RandomSequence, SplitMix64};

use super::NO_WORD;
use crate::locking::{LockComer, LockCopy};

/// Step of a task at its next event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TaskStep {
    /// It draws an operation.
    #[default]
    Begin,
    /// It begins its next access, or ends the operation.
    Execute,
    /// It ends an access, whose line is there.
    Finish,
    /// It goes on behind the access that asked for a lock, which it was given.
    GoOn,
}

/// Task with the operation that it executes.
pub(super) struct SimulatedTask {
    pub cpu: u32,
    /// Part that its operations belong to.
    pub part: usize,
    /// Draws operations.
    pub choice: SplitMix64,
    /// Draws the code between accesses.
    pub jitter: SplitMix64,
    pub step: TaskStep,
    pub operation: usize,
    pub next: usize,
    /// Index behind the last check of a sequence count after which the accesses before were executed again.
    pub reread_to: usize,
    /// Time that it waited for the line of its access.
    pub waited: u64,
    /// Versions of the words that the accesses of the operation loaded.
    pub loaded: Vec<u32>,
    /// Locks that it holds.
    pub held: Vec<LockCopy>,
    /// Its wait for a lock that it asked for in vain.
    pub wait: Option<LockWait>,
}

/// Wait of a task for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockWait {
    pub lock: LockCopy,
    pub asked_at: u64,
    /// State in which it asks again.
    pub comer: LockComer,
}

impl SimulatedTask {
    /// Creates a task. CPUs take the parts in turn, and so do the tasks beyond those of the CPUs.
    pub fn new(seed: u64, task: u32, cpus: u32, parts: usize) -> Self {
        let own_seed = |purpose: u64| {
            let mut mixed = SplitMix64::new(seed ^ (u64::from(task) << 8 | purpose));
            SplitMix64::new(mixed.bits())
        };
        Self {
            cpu: task % cpus,
            part: task as usize % parts,
            choice: own_seed(1),
            jitter: own_seed(2),
            step: TaskStep::Begin,
            operation: 0,
            next: 0,
            reread_to: 0,
            waited: 0,
            loaded: Vec::new(),
            held: Vec::new(),
            wait: None,
        }
    }
}

/// CPU, the task that it executes, and its stores.
#[derive(Default)]
pub(super) struct SimulatedCpu {
    pub running: Option<u32>,
    /// Tasks that could run.
    pub ready: VecDeque<u32>,
    /// When all stores so far are done.
    pub drained_at: u64,
    /// Stores that wait for their lines, in order: when each is done, and its word. Some are done already.
    pub stores: VecDeque<(u64, u32)>,
    /// Time of the code that a wait has hidden.
    pub hidden: u64,
}

impl SimulatedCpu {
    /// Adds stores to lines that the CPU has, which wait for those before them.
    pub fn hold_back_stores(&mut self, count: u16, at: u64) {
        if self.drained_at > at {
            let held = std::iter::repeat_n((self.drained_at, NO_WORD), count.into());
            self.stores.extend(held);
        }
    }

    /// Returns when another store may wait for its line, if `stores_max` wait.
    pub fn store_room(&mut self, at: u64, stores_max: usize) -> Option<u64> {
        while self.stores.front().is_some_and(|(end, _)| *end <= at) {
            self.stores.pop_front();
        }
        let too_many = (self.stores.len() + 1).checked_sub(stores_max)?;
        Some(self.stores.get(too_many.checked_sub(1)?)?.0)
    }
}
