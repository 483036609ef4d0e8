//! The coherence model of one line: who holds it, and which bytes are news to whom.

use super::Tally;
use super::bits::Bits;

/// One line; `C` words of contexts, `B` words of bytes.
pub(super) struct Line<const C: usize, const B: usize> {
    /// Contexts with a valid copy.
    valid: Bits<C>,
    /// Of them: those that came by a transfer and have used no byte yet that was news.
    unused: Bits<C>,
    /// Somebody has written it in the trace.
    written: bool,
    /// The last to write it.
    writer: usize,
    /// What `writer` wrote and the others' `news` lack. Not empty only while `writer` alone holds
    /// the line, so that a run of stores by one context costs nothing per store.
    dirty: Bits<B>,
    /// By context: the bytes that others wrote since it lost the line.
    news: Vec<Bits<B>>,
    counted: Counted,
}

/// What a line counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub tally: Tally,
    /// By dense number of context: accesses that had to wait. Empty if that was not counted.
    pub waits: Vec<u64>,
}

/// What an access does to the line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Load,
    /// A store or an exchange, and whether it left every byte as it was as far as is known.
    Store {
        silent: bool,
    },
}

impl<const C: usize, const B: usize> Line<C, B> {
    /// With `waits`, who waits is counted too.
    pub(super) fn new(contexts: usize, waits: bool) -> Self {
        Self {
            valid: Bits::EMPTY,
            unused: Bits::EMPTY,
            written: false,
            writer: 0,
            dirty: Bits::EMPTY,
            news: vec![Bits::EMPTY; contexts],
            counted: Counted {
                tally: Tally::default(),
                waits: vec![0; if waits { contexts } else { 0 }],
            },
        }
    }

    /// `context` touches `bytes`.
    #[inline]
    pub(super) fn access(&mut self, context: usize, bytes: Bits<B>, kind: Kind) {
        if self.valid.contains(context) {
            if self.unused.contains(context) && !(bytes & self.news[context]).is_empty() {
                self.unused.remove(context);
            }
            if kind != Kind::Load && self.valid != Bits::one(context) {
                self.counted.tally.upgrades += 1;
                self.wait(context);
            }
        } else {
            self.fetch(context, bytes, kind);
        }
        if let Kind::Store { silent } = kind {
            self.invalidate_others(context);
            self.written = true;
            self.writer = context;
            if !silent {
                self.dirty = self.dirty | bytes;
            }
        }
    }

    /// Ends the trace.
    pub(super) fn finish(mut self) -> Counted {
        self.counted.tally.false_lifetime += self.unused.len();
        self.counted
    }

    /// `context` gets a copy that it did not have.
    fn fetch(&mut self, context: usize, bytes: Bits<B>, kind: Kind) {
        if !self.dirty.is_empty() {
            let own = self.news[self.writer];
            for news in &mut self.news {
                *news = *news | self.dirty;
            }
            self.news[self.writer] = own;
            self.dirty = Bits::EMPTY;
        }
        self.valid.insert(context);
        if !self.written {
            return;
        }
        self.wait(context);
        match kind {
            Kind::Load => self.counted.tally.read_transfers += 1,
            Kind::Store { .. } => self.counted.tally.write_transfers += 1,
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
        let own = Bits::one(context);
        if self.valid == own {
            return;
        }
        self.counted.tally.false_lifetime += (self.unused & !own).len();
        self.unused = self.unused & own;
        for other in (self.valid & !own).iter() {
            self.news[other] = Bits::EMPTY;
        }
        self.valid = own;
    }
}
