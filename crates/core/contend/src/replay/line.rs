//! The coherence model of one line: who holds it, and which bytes are news to whom.

use super::CoherenceTally;
use super::bits::BitSet;

/// One line; `C` words of contexts, `B` words of bytes.
pub(super) struct CoherenceLine<const C: usize, const B: usize> {
    /// Contexts with a valid copy.
    valid: BitSet<C>,
    /// Of them: those that came by a transfer and have used no byte yet that was news.
    unused: BitSet<C>,
    /// Somebody has written it in the trace.
    written: bool,
    /// The last to write it.
    writer: usize,
    /// What `writer` wrote and the others' `news` lack. Not empty only while `writer` alone holds
    /// the line, so that a run of stores by one context costs nothing per store.
    dirty: BitSet<B>,
    /// By context: the bytes that others wrote since it lost the line.
    news: Vec<BitSet<B>>,
    counted: LineCounts,
}

/// What a line counted.
#[derive(Clone, Debug, Default)]
pub(super) struct LineCounts {
    pub tally: CoherenceTally,
    /// By dense number of context: accesses that had to wait. Empty if that was not counted.
    pub waits: Vec<u64>,
}

/// What an access does to the line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessEffect {
    Load,
    /// A store or an exchange, and whether it left every byte as it was as far as is known.
    Store {
        silent: bool,
    },
}

impl<const C: usize, const B: usize> CoherenceLine<C, B> {
    /// With `waits`, who waits is counted too.
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

    /// `context` touches `bytes`.
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

    /// Ends the trace.
    pub(super) fn finish(mut self) -> LineCounts {
        self.counted.tally.false_lifetime += self.unused.len();
        self.counted
    }

    /// `context` gets a copy that it did not have.
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

    /// All but `context` lose their copies.
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
