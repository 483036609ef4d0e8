//! Locks of a simulation: who holds each, and who waits.
//!
//! Those that wait stand in a queue, and the first polls the lock's words: it takes their lines back each time that
//! somebody stores to them. A lock that is given back goes to the first; readers go together.

use std::collections::VecDeque;

use crate::lines::copy_count;
use crate::placed::{PlacedLock, PlacedOperations};
use crate::roles::LockMode;

/// CPU that waits for a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockWaiter {
    pub cpu: u32,
    pub mode: LockMode,
    /// When it came.
    pub since: u64,
}

/// State of a lock, or of the copy of a group of CPUs.
#[derive(Debug, Default)]
struct LockState {
    /// CPUs that hold it.
    holders: u32,
    /// They hold it to read.
    is_shared: bool,
    queue: VecDeque<LockWaiter>,
}

/// All locks of a simulation.
pub(crate) struct SimulatedLocks<'s> {
    placed: &'s [PlacedLock],
    states: Vec<LockState>,
    /// Index of each lock's first copy.
    firsts: Vec<usize>,
    /// Locks whose waiters poll a line: by line.
    polling: Vec<Vec<u32>>,
}

impl<'s> SimulatedLocks<'s> {
    pub fn new(placed: &'s PlacedOperations, cpus: u32) -> Self {
        let mut firsts = Vec::with_capacity(placed.locks.len());
        let mut polling = vec![Vec::new(); placed.lines.len()];
        let mut count = 0;
        for (number, lock) in (0u32..).zip(&placed.locks) {
            firsts.push(count);
            count += copy_count(placed.lines[lock.line as usize].sharing, cpus);
            for line in &lock.polled {
                polling[*line as usize].push(number);
            }
        }
        Self {
            placed: &placed.locks,
            states: (0..count).map(|_| LockState::default()).collect(),
            firsts,
            polling,
        }
    }

    /// Returns what is known of a lock.
    pub fn placed(&self, lock: u32) -> &'s PlacedLock {
        &self.placed[lock as usize]
    }

    /// Returns the locks whose waiters poll a line.
    pub fn polling(&self, line: u32) -> &[u32] {
        &self.polling[line as usize]
    }

    /// Takes a lock for a CPU and returns true, or puts the CPU into the queue.
    pub fn take_or_wait(&mut self, lock: u32, copy: usize, waiter: LockWaiter) -> bool {
        let state = &mut self.states[self.firsts[lock as usize] + copy];
        let is_reader = waiter.mode == LockMode::Shared;
        let is_free = state.holders == 0 || (state.is_shared && is_reader);
        if is_free && state.queue.is_empty() {
            state.holders += 1;
            state.is_shared = is_reader;
            return true;
        }
        state.queue.push_back(waiter);
        false
    }

    /// Gives a lock back, and returns those that have it now.
    pub fn give_back(&mut self, lock: u32, copy: usize) -> Vec<LockWaiter> {
        let state = &mut self.states[self.firsts[lock as usize] + copy];
        state.holders = state.holders.saturating_sub(1);
        let mut next = Vec::new();
        if state.holders > 0 {
            return next;
        }
        while let Some(waiter) = state.queue.front().copied() {
            let is_reader = waiter.mode == LockMode::Shared;
            let goes_along = is_reader && state.is_shared;
            if !(next.is_empty() || goes_along) {
                break;
            }
            state.is_shared = is_reader;
            state.queue.pop_front();
            next.push(waiter);
        }
        state.holders = next.len() as u32;
        next
    }

    /// Returns the CPU at the front of a lock's queue, if it polls: readers sleep.
    pub fn poller(&self, lock: u32, copy: usize) -> Option<u32> {
        let state = &self.states[self.firsts[lock as usize] + copy];
        let first = state.queue.front()?;
        (first.mode == LockMode::Alone).then_some(first.cpu)
    }
}
