//! State that a line's detail keeps for each context, and state that only few lines need.
//!
//! Most lines are shared by a few contexts and no value of theirs is compared. So there is room for
//! the first [`NEAR`] contexts; the others, and the values, are in the [`LineExtension`], which a
//! line gets when it needs it.

use core::cell::UnsafeCell;
use core::sync::atomic::AtomicU64;

use crate::LINE_BYTES;
use crate::past::PastAccess;
use crate::wire::ConflictRecord;

/// Contexts that each detail has room for.
pub const NEAR: usize = 8;

/// Kind of a context's event and its fate: bits of [`LineTenure::state`].
const TRANSFER: u8 = 3;
const PENDING: u8 = 4;
const USED: u8 = 8;

/// One context's part of the state that only its own thread touches. All-zero is none.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LineTenure {
    /// The event that brought the line here; in the place of the context, which is known, its kind,
    /// and whether its lifetime class is still to be settled.
    site: u32,
    offset: u8,
    size: u8,
    access: u8,
    state: u8,
    other: PastAccess,
}

impl LineTenure {
    /// The tenure that begins with this event.
    pub fn begun_by(event: PastAccess, other: PastAccess, transfer: u8, used: bool) -> Self {
        Self {
            site: event.site,
            offset: event.offset,
            size: event.size,
            access: event.access,
            state: transfer | PENDING | if used { USED } else { 0 },
            other,
        }
    }

    /// Returns whether the context has since used a byte that another had changed.
    pub fn is_used(&self) -> bool {
        self.state & USED != 0
    }

    /// Notes such a use.
    pub fn note_use(&mut self) {
        self.state |= USED;
    }

    /// Settles the event's class; if it is false by lifetime, the record that says so.
    pub fn settle(&mut self, line: u64) -> Option<ConflictRecord> {
        let false_sharing = self.state & (PENDING | USED) == PENDING;
        self.state &= !PENDING;
        let event = PastAccess {
            site: self.site,
            offset: self.offset,
            size: self.size,
            access: self.access,
            ..PastAccess::default()
        };
        false_sharing.then(|| ConflictRecord {
            false_lifetime: 1,
            ..conflict_record(line, event, self.other, self.state & TRANSFER)
        })
    }
}

/// A context that comes after the first [`NEAR`].
#[repr(C)]
pub struct FarContext {
    pub stale: AtomicU64,
    pub tenure: UnsafeCell<LineTenure>,
}

/// Bytes of a line, as far as they are known. Only accessed under the lock.
#[repr(C)]
pub struct LineValues {
    /// Bytes that are known.
    pub valid: u64,
    pub bytes: [u8; LINE_BYTES],
}

/// See the module's documentation. All-zero is a fresh one. Behind the struct follow the far
/// contexts.
#[repr(C)]
pub struct LineExtension {
    pub values: UnsafeCell<LineValues>,
    /// The last store, while it is not known whether it changes bytes; else its size is 0. Only
    /// accessed under the lock.
    pub awaited: UnsafeCell<PastAccess>,
}

impl LineExtension {
    /// Bytes of one for `contexts` contexts.
    pub const fn bytes_for(contexts: usize) -> usize {
        size_of::<Self>() + contexts.saturating_sub(NEAR) * size_of::<FarContext>()
    }

    /// The part of context number `context`, which is not near.
    ///
    /// # Safety
    /// The context is below the number that this was made for.
    #[inline]
    pub unsafe fn far_context(&self, context: usize) -> &FarContext {
        debug_assert!(context >= NEAR);
        // SAFETY: as promised by the caller, it lies within what was allocated.
        unsafe {
            let first = core::ptr::from_ref(self).add(1).cast::<FarContext>();
            &*first.add(context - NEAR)
        }
    }
}

/// A record of an event of `line` that counts nothing yet.
pub fn conflict_record(
    line: u64,
    now: PastAccess,
    other: PastAccess,
    transfer: u8,
) -> ConflictRecord {
    ConflictRecord {
        addr: line + u64::from(now.offset),
        other_addr: line + u64::from(other.offset),
        site: now.site,
        other_site: other.site,
        size: now.size,
        access: now.access,
        other_size: other.size,
        other_access: other.access,
        other_context: u16::from(other.context),
        transfer,
        reserved: 0,
        count: 0,
        false_first_touch: 0,
        false_lifetime: 0,
        reserved2: 0,
    }
}
