//! Call stacks by number, each stored once. Stacks are only added, without locks.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

use crate::stack::Frames;
use crate::sys;

/// Stacks, at most; further ones get number 0, which is an empty stack.
const STACKS_MAX: usize = 1 << 19;
const SLOTS: usize = STACKS_MAX * 2;

static STACKS: AtomicPtr<Frames> = AtomicPtr::new(null_mut());
static TABLE: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());
static NEXT: AtomicU32 = AtomicU32::new(1);

pub fn start() -> Option<()> {
    STACKS.store(
        sys::zeroed(STACKS_MAX * size_of::<Frames>())?.cast(),
        Release,
    );
    TABLE.store(sys::zeroed(SLOTS * 4)?.cast(), Release);
    Some(())
}

/// Returns the number of a stack, a new one if necessary.
pub fn number_stack(frames: &Frames) -> u32 {
    let mut hash = 0u64;
    for &frame in frames {
        hash = (hash.rotate_left(7) ^ frame).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    let (table, mut at) = (TABLE.load(Acquire), (hash >> 24) as usize % SLOTS);
    let mut own = 0;
    loop {
        // SAFETY: below the size of the table, which is never freed.
        let slot = unsafe { &*table.add(at) };
        let mut found = slot.load(Acquire);
        if found == 0 {
            if own == 0 {
                own = NEXT.fetch_add(1, Relaxed);
                if own as usize >= STACKS_MAX {
                    NEXT.store(STACKS_MAX as u32, Relaxed);
                    return 0;
                }
                // SAFETY: below the size of the table; no other thread has this number.
                unsafe { *STACKS.load(Acquire).add(own as usize) = *frames };
            }
            match slot.compare_exchange(0, own, AcqRel, Acquire) {
                Ok(_) => return own,
                Err(other) => found = other,
            }
        }
        if stack_frames(found) == *frames {
            return found;
        }
        at = (at + 1) % SLOTS;
    }
}

pub fn stack_frames(number: u32) -> Frames {
    // SAFETY: numbers are below the size of the table, and are written before they are returned.
    unsafe { *STACKS.load(Acquire).add(number as usize) }
}
