//! Coherence model of a line: its holders, and the bytes that are news to each context.

use super::CoherenceTally;
use super::bits::BitSet;

/// A line with `C` words of contexts and `B` words of bytes.
pub(super) struct CoherenceLine<const C: usize, const B: usize> {
    /// Contexts with a valid copy.
    valid: BitSet<C>,
    /// Contexts with a valid copy that came by a transfer and have not used any news yet.
    unused: BitSet<C>,
    /// True if it was written in the trace.
    written: bool,
    /// Last context that wrote it.
    writer: usize,
    /// Bytes that `writer` wrote and that the others' `news` lack. Not empty only while `writer`
    /// alone holds the line, so that a run of stores by one context costs nothing per store.
    dirty: BitSet<B>,
    /// By context: bytes that others wrote since it lost the line.
    news: Vec<BitSet<B>>,
    counted: LineCounts,
}

/// Counts of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct LineCounts {
    pub tally: CoherenceTally,
    /// Accesses that waited, by dense number of the context. Empty if waits were not counted.
    pub waits: Vec<u64>,
}

/// Effect of an access on the line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessEffect {
    Load,
    /// A store or an exchange; `silent` if it is known to have left every byte as it was.
    Store {
        silent: bool,
    },
}

impl<const C: usize, const B: usize> CoherenceLine<C, B> {
    /// Line without copies. With `waits`, the waits of each context are counted too.
    pub(super) fn new(contexts: usize, waits: bool) -> Self {
        Self {
            valid: BitSet::EMPTY,
            unused: BitSet::EMPTY,
            written: false,
            writer: 0,
            dirty: BitSet::EMPTY,
            news: vec![BitSet::EMPTY; contexts],
            counted: LineCounts {
                tally: CoherenceTally::default(),
                waits: vec![0; if waits { contexts } else { 0 }],
            },
        }
    }

    /// Processes an access of `context` to `bytes`.
    #[inline]
    pub(super) fn access(&mut self, context: usize, bytes: BitSet<B>, kind: AccessEffect) {
        if self.valid.contains(context) {
            if self.unused.contains(context) && !(bytes & self.news[context]).is_empty() {
                self.unused.remove(context);
            }
            if kind != AccessEffect::Load && self.valid != BitSet::single(context) {
                self.counted.tally.upgrades += 1;
                self.wait(context);
            }
        } else {
            self.fetch(context, bytes, kind);
        }
        if let AccessEffect::Store { silent } = kind {
            self.invalidate_others(context);
            self.written = true;
            self.writer = context;
            if !silent {
                self.dirty = self.dirty | bytes;
            }
        }
    }

    /// Ends the trace, and returns the counts.
    pub(super) fn finish(mut self) -> LineCounts {
        self.counted.tally.false_lifetime += self.unused.len();
        self.counted
    }

    /// Gives `context` a copy that it did not have.
    fn fetch(&mut self, context: usize, bytes: BitSet<B>, kind: AccessEffect) {
        if !self.dirty.is_empty() {
            let own = self.news[self.writer];
            for news in &mut self.news {
                *news = *news | self.dirty;
            }
            self.news[self.writer] = own;
            self.dirty = BitSet::EMPTY;
        }
        self.valid.insert(context);
        if !self.written {
            return;
        }
        self.wait(context);
        match kind {
            AccessEffect::Load => self.counted.tally.read_transfers += 1,
            AccessEffect::Store { .. } => self.counted.tally.write_transfers += 1,
        }
        if (bytes & self.news[context]).is_empty() {
            self.counted.tally.false_first_touch += 1;
            self.unused.insert(context);
        }
    }

    #[inline]
    fn wait(&mut self, context: usize) {
        if let Some(waits) = self.counted.waits.get_mut(context) {
            *waits += 1;
        }
    }

    /// Invalidates all copies but that of `context`.
    #[inline]
    fn invalidate_others(&mut self, context: usize) {
        let own = BitSet::single(context);
        if self.valid == own {
            return;
        }
        self.counted.tally.false_lifetime += (self.unused & !own).len();
        self.unused = self.unused & own;
        for other in (self.valid & !own).iter() {
            self.news[other] = BitSet::EMPTY;
        }
        self.valid = own;
    }
}
