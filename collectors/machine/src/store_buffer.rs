//! Stores of a CPU that wait for their lines.
//!
//! Each store takes a place of its own, also one to a line that a store before it waits for: stores leave the buffer in
//! program order, and the processors of the table do not merge those that are in it.

use alloc::collections::VecDeque;

use crate::time::SimulatedTime;

/// Stores in program order. A store leaves the buffer when it and all before it have their lines.
#[derive(Clone, Default, Debug)]
pub(crate) struct StoreBuffer {
    stores: VecDeque<WaitingStore>,
}

#[derive(Clone, Copy, Debug)]
struct WaitingStore {
    line: u32,
    /// Time at which the line arrives. [`SimulatedTime::NEVER`] while the line is not on its way.
    done: SimulatedTime,
}

impl StoreBuffer {
    /// Adds a store to a line that is not on its way.
    pub(crate) fn push(&mut self, line: usize) {
        self.stores.push_back(WaitingStore {
            line: line as u32,
            done: SimulatedTime::NEVER,
        });
    }

    /// Adds a store to a line that another one in the buffer waits for; does nothing if none does.
    pub(crate) fn push_behind(&mut self, line: usize) {
        let mut stores = self.stores.iter().rev();
        if let Some(before) = stores.find(|store| store.line as usize == line) {
            self.stores.push_back(*before);
        }
    }

    /// Removes the stores that are done at a time.
    #[inline]
    pub(crate) fn retire(&mut self, at: SimulatedTime) {
        while self.stores.front().is_some_and(|store| store.done <= at) {
            self.stores.pop_front();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.stores.len()
    }

    /// Returns the time at which the oldest store is done.
    pub(crate) fn oldest_done(&self) -> SimulatedTime {
        self.stores
            .front()
            .map_or(SimulatedTime::default(), |store| store.done)
    }

    /// Returns the time at which all stores are done.
    pub(crate) fn all_done(&self) -> SimulatedTime {
        self.stores
            .iter()
            .map(|store| store.done)
            .max()
            .unwrap_or_default()
    }

    /// Returns whether a store to the line waits at a time.
    #[inline]
    pub(crate) fn waits_for(&self, line: usize, at: SimulatedTime) -> bool {
        self.stores
            .iter()
            .any(|store| store.line as usize == line && store.done > at)
    }

    /// Notes that the line of stores is on its way.
    pub(crate) fn note_arrival(&mut self, line: usize, done: SimulatedTime) {
        for store in &mut self.stores {
            if store.line as usize == line && store.done == SimulatedTime::NEVER {
                store.done = done;
            }
        }
    }
}
