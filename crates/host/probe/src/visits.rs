//! Loops that visit a line now and then: both threads work on data of their own in between, as programs do.
//!
//! In the loops that do nothing but access a line, a CPU that has it uses it many times. Here each visit finds that the
//! other CPU has taken the line, so that the cost is that of one visit.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::*};

use crate::instructions::{complete_stores, order_accesses, prefetch_for_store};

/// Steps of work between two visits: a fixed part, and up to as many more at random, so that the threads do not fall
/// into step.
const WORK_STEPS: u32 = 150;
/// A power of two.
const RANDOM_STEPS: u32 = 128;
/// Instructions of a step of work.
const STEP_INSTRUCTIONS: u32 = 4;

/// A way of visiting a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineVisit {
    /// A load whose value is needed at once.
    Load,
    /// A locked addition.
    Exchange,
    /// A load, so many instructions that do not need its value, and a locked addition to the same word.
    LoadExchange(u32),
    /// A load, and a locked addition that cannot begin before the value of the load is there.
    LoadThenExchange,
    /// A load, and a compare-and-exchange of the loaded value.
    LoadCompareExchange(LoadGap),
    /// A load, a store, and a wait until the store has its line.
    LoadStore(LoadGap),
}

/// Code between a load and a store to the same word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadGap {
    /// So many instructions that do not need the loaded value.
    Instructions(u32),
    /// Nothing; but the line is fetched for a store before the load.
    Prefetch,
    /// A fence.
    Fence,
    /// The computation of the store's address, which needs the loaded value.
    Address,
}

/// Work and visits of one thread.
pub struct LineVisitor {
    /// Result of the work, and source of its random length.
    value: u64,
}

impl LineVisitor {
    /// A visitor; two of different seeds do not fall into step.
    pub fn new(seed: u64) -> Self {
        Self { value: seed | 1 }
    }

    /// Works, and then visits the line of a word.
    pub fn work_and_visit(&mut self, visit: LineVisit, word: &AtomicU64) {
        let random = (self.value >> 32) as u32 & (RANDOM_STEPS - 1);
        self.value = work(self.value, WORK_STEPS + random);
        match visit {
            LineVisit::Load => self.value ^= black_box(word.load(Relaxed)) & 1,
            LineVisit::Exchange => {
                word.fetch_add(2, Relaxed);
            }
            LineVisit::LoadExchange(instructions) => {
                let loaded = black_box(word.load(Relaxed));
                self.value = work(self.value, instructions / STEP_INSTRUCTIONS);
                word.fetch_add(2, Relaxed);
                black_box(loaded);
            }
            LineVisit::LoadThenExchange => {
                let loaded = black_box(word.load(Relaxed));
                word_after(word, loaded).fetch_add(2, Relaxed);
            }
            LineVisit::LoadCompareExchange(gap) => {
                let (loaded, word) = self.load_before(gap, word);
                // Another CPU may have been faster; the line was here all the same.
                let _ = word.compare_exchange(loaded, loaded.wrapping_add(2), Relaxed, Relaxed);
            }
            LineVisit::LoadStore(gap) => {
                let (loaded, word) = self.load_before(gap, word);
                word.store(self.value, Relaxed);
                complete_stores();
                black_box(loaded);
            }
        }
    }
}

impl LineVisitor {
    /// Loads a word and passes the gap. Returns the loaded value, and the word to store to.
    fn load_before<'w>(&mut self, gap: LoadGap, word: &'w AtomicU64) -> (u64, &'w AtomicU64) {
        if gap == LoadGap::Prefetch {
            prefetch_for_store(word);
        }
        let loaded = black_box(word.load(Relaxed));
        match gap {
            LoadGap::Instructions(instructions) => {
                self.value = work(self.value, instructions / STEP_INSTRUCTIONS);
            }
            LoadGap::Prefetch => {}
            LoadGap::Fence => order_accesses(),
            LoadGap::Address => return (loaded, word_after(word, loaded)),
        }
        (loaded, word)
    }
}

/// Returns the word, at an address that is known only when `value` is.
pub fn word_after(word: &AtomicU64, value: u64) -> &AtomicU64 {
    let zero = value & black_box(0);
    let word = std::ptr::from_ref(word).wrapping_add(zero as usize);
    // SAFETY: zero elements behind the word is the word.
    unsafe { &*word }
}

/// Does steps of a computation of which each needs the one before: two instructions after another, twice at the same
/// time.
pub fn work(value: u64, steps: u32) -> u64 {
    let (mut first, mut second) = (value, !value);
    for _ in 0..steps {
        first = first.rotate_left(5) ^ 0x9e37_79b9_7f4a_7c15;
        second = second.rotate_left(7) ^ 0xbf58_476d_1ce4_e5b9;
    }
    black_box(first ^ second)
}
