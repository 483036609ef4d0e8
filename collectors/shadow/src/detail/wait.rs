//! Stores that are announced before they are made, so that their effect is known only later.
//!
//! Until then the line counts the bytes as unchanged. The wait ends when the collector settles it,
//! or at the line's next access, by which the bytes count as changed. So another context that gets
//! the line in between never counts as misled by a store that did change it.

use core::sync::atomic::Ordering::Relaxed;

use super::AWAITED;
use super::guard::DetailGuard;
use crate::arena::LineMemory;
use crate::host::{CollectorHost, StoreEffect};
use crate::past::PastAccess;

/// An awaited store to a line.
#[derive(Clone, Copy)]
pub struct LineWait {
    pub store: PastAccess,
    /// Another context's store to these bytes was awaited when this one began, and may be made
    /// after it.
    pub is_contested: bool,
}

impl DetailGuard<'_> {
    /// Begins to wait for `store`. `None` if there is no memory for it.
    pub(super) fn begin_wait<H: CollectorHost>(
        &mut self,
        store: PastAccess,
        is_contested: bool,
        memory: &mut LineMemory<'_, H>,
    ) -> Option<LineWait> {
        let extension = self.detail.extension_or_make(memory)?;
        self.detail.note_stores(AWAITED);
        // SAFETY: under the lock.
        unsafe {
            *extension.awaited.get() = store;
            (*extension.values.get()).valid &= !store.bytes.mask();
        }
        Some(LineWait {
            store,
            is_contested,
        })
    }

    /// Ends a wait: the bytes count as changed. Returns the store, without bytes if there was none.
    #[inline]
    pub(super) fn end_wait(&mut self) -> PastAccess {
        if self.detail.stores.load(Relaxed) & AWAITED == 0 {
            return PastAccess::default();
        }
        let awaited = self.take_awaited();
        if awaited.size() != 0 {
            self.note_change(awaited);
        }
        awaited
    }

    fn take_awaited(&mut self) -> PastAccess {
        let rest = self.detail.extension();
        // SAFETY: under the lock.
        rest.map_or(PastAccess::default(), |rest| unsafe {
            core::mem::take(&mut *rest.awaited.get())
        })
    }

    /// Marks what an earlier store changed. Nobody has accessed the line since.
    fn note_change(&mut self, store: PastAccess) {
        let (detail, changed) = (self.detail, store.bytes.mask());
        let locked = self.history();
        locked.changed |= changed;
        locked.marked |= changed;
        locked.writes[store.bytes.words()].fill(store);
        detail.mark_stale(store.context, changed);
    }

    /// Settles a wait. Returns whether the store was silent; `None` if that is not known.
    pub fn settle_wait(&mut self, wait: &LineWait, effect: StoreEffect) -> Option<bool> {
        let store = wait.store;
        let awaited = self.take_awaited();
        let is_waiting = awaited.to_u64() == store.to_u64();
        let is_last = is_waiting
            || awaited.bytes.mask() & store.bytes.mask() == 0
                && self.history().writes[store.bytes.words()]
                    .iter()
                    .all(|last| last.to_u64() == store.to_u64());
        let silent = match effect {
            StoreEffect::Exact { is_silent } => Some(is_silent),
            StoreEffect::Compared { is_silent } => {
                (is_last && !wait.is_contested).then_some(is_silent)
            }
            StoreEffect::Unknown => None,
        };
        if !is_waiting {
            self.put_back(awaited);
        } else if silent != Some(true) {
            self.note_change(store);
        }
        silent
    }

    /// Continues to wait for another context's store.
    fn put_back(&mut self, awaited: PastAccess) {
        if let Some(rest) = self.detail.extension() {
            // SAFETY: under the lock.
            unsafe { *rest.awaited.get() = awaited };
        }
    }
}
