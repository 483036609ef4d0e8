//! The coherence model: lines, who holds them, and which bytes are news to whom.

use super::Tally;
use super::bits::Bits;

/// One line; `C` words of contexts, `B` words of bytes.
struct Line<const C: usize, const B: usize> {
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
    tally: Tally,
}

/// All lines of one object.
pub(super) struct Machine<const C: usize, const B: usize> {
    contexts: usize,
    lines: Vec<Line<C, B>>,
    /// By line and context: the bytes that others wrote since the context lost the line.
    news: Vec<Bits<B>>,
}

/// A store, and whether it changed a byte as far as is known.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Load,
    Store,
    SilentStore,
}

impl<const C: usize, const B: usize> Machine<C, B> {
    pub(super) fn new(lines: usize, contexts: usize) -> Self {
        let line = || Line {
            valid: Bits::EMPTY,
            unused: Bits::EMPTY,
            written: false,
            writer: 0,
            dirty: Bits::EMPTY,
            tally: Tally::default(),
        };
        Self {
            contexts,
            lines: (0..lines).map(|_| line()).collect(),
            news: vec![Bits::EMPTY; lines * contexts],
        }
    }

    /// `context` touches `bytes` of `line`.
    #[inline]
    pub(super) fn access(&mut self, line: usize, context: usize, bytes: Bits<B>, kind: Kind) {
        let news = &mut self.news[line * self.contexts..][..self.contexts];
        let line = &mut self.lines[line];
        let store = !matches!(kind, Kind::Load);
        if line.valid.contains(context) {
            if line.unused.contains(context) && !(bytes & news[context]).is_empty() {
                line.unused.remove(context);
            }
            if store && line.valid != Bits::one(context) {
                line.tally.upgrades += 1;
            }
        } else {
            line.fetch(news, context, bytes, store);
        }
        if store {
            line.invalidate_others(news, context);
            line.written = true;
            line.writer = context;
            if matches!(kind, Kind::Store) {
                line.dirty = line.dirty | bytes;
            }
        }
    }

    /// Ends the trace and hands out what each line counted.
    pub(super) fn finish(self) -> impl Iterator<Item = Tally> {
        self.lines.into_iter().map(|mut line| {
            line.tally.false_lifetime += line.unused.len();
            line.tally
        })
    }
}

impl<const C: usize, const B: usize> Line<C, B> {
    /// `context` gets a copy that it did not have.
    fn fetch(&mut self, news: &mut [Bits<B>], context: usize, bytes: Bits<B>, store: bool) {
        if !self.dirty.is_empty() {
            for (other, news) in news.iter_mut().enumerate() {
                if other != self.writer {
                    *news = *news | self.dirty;
                }
            }
            self.dirty = Bits::EMPTY;
        }
        self.valid.insert(context);
        if !self.written {
            return;
        }
        if store {
            self.tally.write_transfers += 1;
        } else {
            self.tally.read_transfers += 1;
        }
        if (bytes & news[context]).is_empty() {
            self.tally.false_first_touch += 1;
            self.unused.insert(context);
        }
    }

    /// All but `context` lose their copies.
    fn invalidate_others(&mut self, news: &mut [Bits<B>], context: usize) {
        let own = Bits::one(context);
        if self.valid == own {
            return;
        }
        self.tally.false_lifetime += (self.unused & !own).len();
        self.unused = self.unused & own;
        for other in (self.valid & !own).iter() {
            news[other] = Bits::EMPTY;
        }
        self.valid = own;
    }
}
