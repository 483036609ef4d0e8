//! Live allocations and named objects of the program: address, size and caller.
//!
//! The profile only needs memory whose lines moved. An allocation without a coherence event on its
//! lines leaves nothing behind when it is freed. One with events keeps its entry, and continues in
//! it if the same caller gets the same bytes at the same address again. So a slot of memory that is
//! reused many times is one record, from its first ticket to its last.

mod shard;
mod stacks;

use relayout_shadow::ShadowContext;
use relayout_shadow::wire::AllocRecord;

use self::shard::{AllocationEntry, AllocationShards, SHARDS};
use crate::recording::shadow;
use crate::stack::{CallerFrame, walk_frames};
use crate::thread::inside::InsideRuntime;

/// Allocations of the program.
static HEAP: AllocationShards = AllocationShards::new();
/// Objects that the program named.
static NAMED: AllocationShards = AllocationShards::new();

/// Prepares for allocations. `None` if memory is exhausted.
pub fn start() -> Option<()> {
    stacks::start()
}

/// Keeps all entries as they are until [`end_fork`].
pub fn begin_fork() {
    for shards in [&HEAP, &NAMED] {
        shards.lock_all();
    }
}

/// Ends [`begin_fork`], in the parent and in the child.
pub fn end_fork(is_child: bool) {
    for shards in [&HEAP, &NAMED] {
        shards.unlock_all(is_child);
    }
}

/// Name of an object, as the program gave it.
#[derive(Clone, Copy)]
pub struct ObjectNaming {
    /// Number of the type's name, from 1.
    pub name: u32,
    /// Bytes from element to element; 0 if the object is no array.
    pub stride: u32,
}

/// Adds an allocation of `bytes` at `start`.
pub fn add_heap(inside: &InsideRuntime, start: u64, bytes: u64, caller: CallerFrame) {
    insert_entry(
        &HEAP,
        inside,
        start,
        bytes,
        caller,
        ObjectNaming { name: 0, stride: 0 },
    );
}

/// Adds a name for `bytes` at `start`.
pub fn add_named(
    inside: &InsideRuntime,
    start: u64,
    bytes: u64,
    caller: CallerFrame,
    named: ObjectNaming,
) {
    insert_entry(&NAMED, inside, start, bytes, caller, named);
}

fn insert_entry(
    shards: &AllocationShards,
    inside: &InsideRuntime,
    start: u64,
    bytes: u64,
    caller: CallerFrame,
    named: ObjectNaming,
) {
    let caller = inside.0.allocates_for.unwrap_or(caller);
    let stack = match inside.0.stack {
        Some(bounds) => stacks::number_stack(&walk_frames(caller, bounds)),
        None => stacks::number_stack(&[caller.pc, 0, 0, 0, 0, 0, 0, 0]),
    };
    let entry = AllocationEntry {
        start,
        bytes,
        first_ticket: shadow().next_ticket(),
        end_ticket: u64::MAX,
        events_before: shadow().events_in(start, bytes),
        events: 0,
        stack,
        name: named.name,
        stride: named.stride,
        forks: shards.forks(),
    };
    let mut shard = shards.lock(start);
    let Some(old) = shard.find(start) else {
        return shard.insert(entry);
    };
    // The runtime did not see who freed it, such as the end of a thread.
    if old.end_ticket == u64::MAX {
        old.events += events_since(old);
    }
    if old.events > 0 && old.is_like(&entry) {
        *old = AllocationEntry {
            first_ticket: old.first_ticket,
            events: old.events,
            ..entry
        };
        return;
    }
    let gone = (old.events > 0).then(|| alloc_record(old));
    *old = entry;
    drop(shard);
    if let Some(gone) = gone {
        append_record(inside, &gone);
    }
}

fn append_record(inside: &InsideRuntime, record: &AllocRecord) {
    // SAFETY: the thread is inside, so only this call uses the context.
    unsafe { (*inside.0.context).append(&[*record], &shadow().host) };
}

/// Removes the allocation at `start` and returns its size; `None` if there is none.
pub fn remove_heap(start: u64) -> Option<u64> {
    remove_entry(&HEAP, start)
}

/// Removes the name at `start`.
pub fn remove_named(start: u64) {
    remove_entry(&NAMED, start);
}

fn remove_entry(shards: &AllocationShards, start: u64) -> Option<u64> {
    let mut shard = shards.lock(start);
    let entry = shard.find(start)?;
    if entry.end_ticket != u64::MAX {
        return None;
    }
    let bytes = entry.bytes;
    entry.events += events_since(entry);
    entry.end_ticket = shadow().next_ticket();
    if entry.events == 0 {
        shard.remove(start);
    }
    Some(bytes)
}

/// Returns the events on the entry's lines since its present life began.
fn events_since(entry: &AllocationEntry) -> u64 {
    shadow()
        .events_in(entry.start, entry.bytes)
        .saturating_sub(entry.events_before)
}

fn alloc_record(entry: &AllocationEntry) -> AllocRecord {
    AllocRecord {
        start: entry.start,
        bytes: entry.bytes,
        events: entry.events,
        first_ticket: entry.first_ticket,
        end_ticket: entry.end_ticket,
        frames: stacks::stack_frames(entry.stack),
        name: entry.name,
        stride: entry.stride,
    }
}

/// Appends all entries with events. No thread may be inside. A lock that a crash left taken is
/// skipped.
pub fn append_all(cx: &mut ShadowContext) {
    for shards in [&HEAP, &NAMED] {
        for n in 0..SHARDS {
            let Some(mut shard) = shards.try_lock(n) else {
                continue;
            };
            shard.for_each(|mut entry| {
                if entry.end_ticket == u64::MAX {
                    entry.events += events_since(&entry);
                }
                if entry.events > 0 {
                    cx.append(&[alloc_record(&entry)], &shadow().host);
                }
            });
        }
    }
}
