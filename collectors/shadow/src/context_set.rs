//! Sets of contexts, of which a line's state word has room for the first few only.

use core::sync::atomic::{AtomicU64, Ordering::*};

use crate::CONTEXTS_MAX;

/// Words of a set.
pub const WORDS: usize = CONTEXTS_MAX / 64;

/// Contexts that have a copy of a line that is only read. All-zero is none.
#[repr(C, align(64))]
pub struct ContextSet {
    words: [AtomicU64; WORDS],
}

impl ContextSet {
    #[inline]
    pub fn contains(&self, context: u16) -> bool {
        let n = usize::from(context);
        self.words[n / 64].load(Relaxed) >> (n % 64) & 1 == 1
    }

    pub fn insert(&self, context: u16) {
        let n = usize::from(context);
        self.words[n / 64].fetch_or(1 << (n % 64), Relaxed);
    }

    /// Adds the contexts of these masks, and one more.
    pub fn insert_all(&self, masks: &[u64; WORDS], context: u16) {
        for (word, mask) in self.words.iter().zip(masks) {
            word.fetch_or(*mask, Relaxed);
        }
        self.insert(context);
    }

    /// The contexts as masks, 64 in each.
    pub fn masks(&self) -> [u64; WORDS] {
        core::array::from_fn(|n| self.words[n].load(Relaxed))
    }
}
