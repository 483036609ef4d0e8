//! Times of the last stores to a line or a member, by context.

/// Last store to a place, and last store to it by another context. Times count from 1; 0 is none.
#[derive(Clone, Copy, Default)]
pub(crate) struct LastStores {
    last: u32,
    /// Context of the last store.
    context: usize,
    /// Last store by another context than `context`.
    by_others: u32,
}

impl LastStores {
    /// Returns the time of the last store by another context than `context`.
    pub(crate) fn by_others_than(&self, context: usize) -> u32 {
        match self.context == context {
            true => self.by_others,
            false => self.last,
        }
    }

    /// Records a store by `context` at the time `now`.
    pub(crate) fn record(&mut self, context: usize, now: u32) {
        if self.context != context {
            self.by_others = self.last;
            self.context = context;
        }
        self.last = now;
    }
}
