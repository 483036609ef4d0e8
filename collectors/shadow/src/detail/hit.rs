//! Accesses by a context that has the line, and that move nothing: nearly all that a line with
//! detail sees.

use core::sync::atomic::Ordering::*;

use super::guard::{DetailGuard, ValueEffect};
use super::{AWAITED, LineDetail};
use crate::host::AccessValue;
use crate::past::PastAccess;

impl LineDetail {
    /// Returns whether `now` is a load that changes nothing here. Needs no lock; called on the
    /// context's thread.
    #[inline]
    pub fn is_plain_hit(&self, now: PastAccess) -> bool {
        !now.bytes.is_store() && self.is_held(now.context) && self.uses_nothing_new(now)
    }

    /// Makes a store by the only context that has a copy, one of the first 64, and returns whether it
    /// is known to be silent. `None` if it may be more than that, or another thread has the lock;
    /// then nothing was done. `value` gives what is stored, as for [`DetailGuard::access`]. Called on the context's
    /// thread.
    #[inline]
    pub fn try_own_store(
        &self,
        now: PastAccess,
        value: impl FnOnce() -> Option<AccessValue>,
    ) -> Option<bool> {
        if !self.is_settled_owner(now.context) || !self.uses_nothing_new(now) {
            return None;
        }
        let value = value();
        if matches!(value, Some(AccessValue::Awaited)) {
            return None;
        }
        let mut held = self.try_lock()?;
        // Another context may have come before the lock was taken.
        if !self.is_settled_owner(now.context) {
            return None;
        }
        held.make_own_store(now, value)
    }

    /// Returns whether `context`, one of the first 64, alone has a copy, and no store is awaited.
    #[inline]
    fn is_settled_owner(&self, context: u16) -> bool {
        context < 64
            && self.holders.load(Relaxed) == 1 << context
            && !self.is_held_far.load(Relaxed)
            && self.stores.load(Relaxed) & AWAITED == 0
    }

    /// Returns whether the context, which has a copy, has used what others changed, or does not use
    /// it now. Called on its thread.
    #[inline(always)]
    fn uses_nothing_new(&self, now: PastAccess) -> bool {
        match self.stale.get(usize::from(now.context)) {
            Some(stale) if stale.load(Relaxed) & now.bytes.mask() == 0 => true,
            _ => self.has_used_stale(now),
        }
    }

    #[inline(never)]
    fn has_used_stale(&self, now: PastAccess) -> bool {
        // SAFETY: only this context's thread touches its tenure.
        self.stale_bytes(now.context) & now.bytes.mask() == 0
            || (self.tenure(now.context)).is_some_and(|tenure| unsafe { (*tenure).is_used() })
    }
}

impl DetailGuard<'_> {
    /// Makes a store by the only context that has a copy. Returns whether it is known to be silent;
    /// `None` if there is no room for its value, and nothing was done.
    #[inline]
    fn make_own_store(&mut self, now: PastAccess, value: Option<AccessValue>) -> Option<bool> {
        let effect = match (value, self.detail.extension()) {
            (Some(_), None) => return None,
            (None, None) => ValueEffect::default(),
            (value, Some(extension)) => self.note_value(now, value, extension),
        };
        let silent = effect.silent == Some(true);
        self.apply_store(now, silent, true);
        Some(silent)
    }
}
