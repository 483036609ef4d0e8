//! State that a line's detail keeps for each context, and state that only few lines need.
//!
//! Most lines are shared by a few contexts and no value of theirs is compared. So there is room for
//! the first [`NEAR`] contexts; the others, and the values, are in the [`LineExtension`], which a
//! line gets when it needs it. The others come in blocks, of which a line gets those that its
//! contexts are in.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};

use crate::arena::LineMemory;
use crate::host::CollectorHost;
use crate::past::{AccessedBytes, PastAccess};
use crate::wire::ConflictRecord;
use crate::{CONTEXTS_MAX, LINE_BYTES};

/// Contexts that each detail has room for.
pub const NEAR: usize = 8;

/// Kind of a context's event and its fate: bits of [`LineTenure::state`].
const TRANSFER: u16 = 3;
const PENDING: u16 = 4;
const USED: u16 = 8;

/// One context's part of the state that only its own thread touches. All-zero is none.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LineTenure {
    /// The event that brought the line here; in the place of the context, which is known, its kind,
    /// and whether its lifetime class is still to be settled.
    site: u32,
    bytes: AccessedBytes,
    state: u16,
    other: PastAccess,
}

impl LineTenure {
    /// The tenure that begins with this event.
    pub fn begun_by(event: PastAccess, other: PastAccess, transfer: u8, used: bool) -> Self {
        Self {
            site: event.site,
            bytes: event.bytes,
            state: u16::from(transfer) | PENDING | if used { USED } else { 0 },
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
            bytes: self.bytes,
            ..PastAccess::default()
        };
        false_sharing.then(|| ConflictRecord {
            false_lifetime: 1,
            ..conflict_record(line, event, self.other, (self.state & TRANSFER) as u8)
        })
    }
}

/// A context that comes after the first [`NEAR`].
#[repr(C)]
pub struct FarContext {
    pub stale: AtomicU64,
    pub tenure: UnsafeCell<LineTenure>,
}

/// Contexts of a block: as many as a mask of holders has bits.
const BLOCK: usize = 64;

/// Consecutive contexts. Behind the struct follow the [`FarContext`]s.
#[repr(C)]
pub struct FarBlock {
    /// Number of the first context.
    first: usize,
    len: usize,
}

impl FarBlock {
    /// The contexts with their numbers.
    pub fn contexts(&self) -> impl Iterator<Item = (u16, &FarContext)> {
        // SAFETY: `len` contexts were allocated behind the struct.
        let all = unsafe {
            let first = core::ptr::from_ref(self).add(1).cast::<FarContext>();
            core::slice::from_raw_parts(first, self.len)
        };
        (self.first as u16..).zip(all)
    }
}

/// The contexts after the first [`NEAR`], as far as they were here. All-zero is none.
#[repr(C)]
pub struct FarContexts {
    /// Contexts with a valid copy, from number [`BLOCK`] on: the first are in the line's detail.
    holders: [AtomicU64; CONTEXTS_MAX / BLOCK - 1],
    blocks: [AtomicPtr<FarBlock>; CONTEXTS_MAX / BLOCK],
}

impl FarContexts {
    /// The word with the holder bit of `context`, which is at least [`BLOCK`].
    #[inline]
    pub fn holders(&self, context: u16) -> &AtomicU64 {
        &self.holders[usize::from(context) / BLOCK - 1]
    }

    /// All holders from number [`BLOCK`] on, as masks.
    pub fn all_holders(&self) -> &[AtomicU64] {
        &self.holders
    }

    /// The blocks that are there.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, &FarBlock)> {
        let all = self.blocks.iter().enumerate();
        // SAFETY: blocks are never freed.
        all.filter_map(|(n, block)| Some((n, unsafe { block.load(Acquire).as_ref() }?)))
    }

    /// The part of `context`, which is not near, if the line has room for it.
    #[inline]
    pub fn context(&self, context: u16) -> Option<&FarContext> {
        let n = usize::from(context);
        // SAFETY: blocks are never freed.
        let block = unsafe { self.blocks[n / BLOCK].load(Acquire).as_ref() }?;
        debug_assert!(n - block.first < block.len);
        // SAFETY: the context is one of the recording's, so of those behind the block.
        Some(unsafe {
            &*core::ptr::from_ref(block)
                .add(1)
                .cast::<FarContext>()
                .add(n - block.first)
        })
    }

    /// Makes room for `context`, which has none; bytes in `changed` are stale in all of its block.
    pub fn make_room<H: CollectorHost>(
        &self,
        context: u16,
        changed: u64,
        memory: &mut LineMemory<'_, H>,
    ) -> Option<()> {
        let n = usize::from(context) / BLOCK;
        let first = (n * BLOCK).max(NEAR);
        let len = memory.contexts.min((n + 1) * BLOCK) - first;
        let bytes = size_of::<FarBlock>() + len * size_of::<FarContext>();
        let block = memory
            .zeroed_bytes(bytes, align_of::<FarBlock>())?
            .cast::<FarBlock>();
        // SAFETY: fresh zeroed memory, not shared yet.
        let fresh = unsafe { &mut *block };
        (fresh.first, fresh.len) = (first, len);
        fresh
            .contexts()
            .for_each(|(_, far)| far.stale.store(changed, Relaxed));
        self.blocks[n].store(block, Release);
        Some(())
    }
}

/// Bytes of a line, as far as they are known. Only accessed under the lock.
#[repr(C)]
pub struct LineValues {
    /// Bytes that are known.
    pub valid: u64,
    pub bytes: [u8; LINE_BYTES],
}

/// See the module's documentation. All-zero is a fresh one.
#[repr(C)]
pub struct LineExtension {
    pub values: UnsafeCell<LineValues>,
    /// The last store, while it is not known whether it changes bytes; else it has no bytes. Only
    /// accessed under the lock.
    pub awaited: UnsafeCell<PastAccess>,
    far: AtomicPtr<FarContexts>,
}

impl LineExtension {
    /// The contexts that are not near, if any was here.
    #[inline]
    pub fn far(&self) -> Option<&FarContexts> {
        // SAFETY: null, or never freed.
        unsafe { self.far.load(Acquire).as_ref() }
    }

    /// As [`LineExtension::far`], made now if there was none. Under the line's lock.
    pub fn far_or_make<H: CollectorHost>(
        &self,
        memory: &mut LineMemory<'_, H>,
    ) -> Option<&FarContexts> {
        if self.far().is_none() {
            self.far.store(memory.zeroed()?, Release);
        }
        self.far()
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
        addr: line + u64::from(now.offset()),
        other_addr: line + u64::from(other.offset()),
        site: now.site,
        other_site: other.site,
        size: now.size(),
        access: now.access(),
        other_size: other.size(),
        other_access: other.access(),
        other_context: other.context,
        transfer,
        reserved: 0,
        count: 0,
        false_first_touch: 0,
        false_lifetime: 0,
        reserved2: 0,
    }
}
