//! Lines that the threads of a crew use together.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::crew::{LinePadded, MEMORY_PLACES, WindowJob};

/// Words at each place, each on a line pair of its own.
const PLACE_WORDS: usize = 4;

/// Words on lines of their own, some for each place in memory.
pub struct CrewLines(Vec<LinePadded<AtomicU64>>);

impl CrewLines {
    /// Words that are 0. All are written to, so that no window pays for a page fault.
    pub fn new() -> Self {
        let words = MEMORY_PLACES * PLACE_WORDS;
        Self((0..words).map(|_| LinePadded::default()).collect())
    }

    /// Words of a window.
    pub fn words<A>(&self, job: &WindowJob<A>) -> [&AtomicU64; PLACE_WORDS] {
        std::array::from_fn(|number| &*self.0[job.place * PLACE_WORDS + number])
    }

    /// Sets the words of a window to 0.
    pub fn clear<A>(&self, job: &WindowJob<A>) {
        for word in self.words(job) {
            word.store(0, Relaxed);
        }
    }
}
