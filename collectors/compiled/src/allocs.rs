//! The program's live allocations and named objects: where, how large, by whom.
//!
//! What the profile keeps is only what moved: of an allocation none of whose lines had a coherence
//! event while it lived nothing is left when it is freed. One that had keeps its entry, and goes on in
//! it if the same caller gets the same bytes at the same address again: so a slot of memory that is
//! used over and over is one record, from its first ticket to its last.

mod shard;
mod stacks;

use relayout_shadow::Context;
use relayout_shadow::wire::AllocRecord;

use self::shard::{Entry, SHARDS, Shards};
use crate::runtime::shadow;
use crate::stack::{Caller, walk};
use crate::thread::Inside;

/// What a thread allocated.
static HEAP: Shards = Shards::new();
/// What the program named.
static NAMED: Shards = Shards::new();

/// Prepares for allocations; `None` if there is no memory.
pub fn start() -> Option<()> {
    stacks::start()
}

/// An object that the program named.
#[derive(Clone, Copy)]
pub struct Named {
    /// Number of the type's name, from 1.
    pub name: u32,
    /// Bytes from element to element; 0: no array.
    pub stride: u32,
}

/// `bytes` at `start` were allocated.
pub fn add(inside: &Inside, start: u64, bytes: u64, caller: Caller) {
    insert(
        &HEAP,
        inside,
        start,
        bytes,
        caller,
        Named { name: 0, stride: 0 },
    );
}

/// `bytes` at `start` got a name.
pub fn add_named(inside: &Inside, start: u64, bytes: u64, caller: Caller, named: Named) {
    insert(&NAMED, inside, start, bytes, caller, named);
}

fn insert(shards: &Shards, inside: &Inside, start: u64, bytes: u64, caller: Caller, named: Named) {
    let caller = inside.0.allocates_for.unwrap_or(caller);
    let stack = match inside.0.stack {
        Some(bounds) => stacks::number(&walk(caller, bounds)),
        None => stacks::number(&[caller.pc, 0, 0, 0, 0, 0, 0, 0]),
    };
    let entry = Entry {
        start,
        bytes,
        first_ticket: shadow().ticket(),
        end_ticket: u64::MAX,
        events_before: shadow().events(start, bytes),
        events: 0,
        stack,
        name: named.name,
        stride: named.stride,
    };
    let mut shard = shards.lock(start);
    let Some(old) = shard.find(start) else {
        return shard.insert(entry);
    };
    // Freed by someone whom we did not see, such as the end of a thread.
    if old.end_ticket == u64::MAX {
        old.events += events_since(old);
    }
    if old.events > 0 && old.is_like(&entry) {
        *old = Entry {
            first_ticket: old.first_ticket,
            events: old.events,
            ..entry
        };
        return;
    }
    let gone = (old.events > 0).then(|| record(old));
    *old = entry;
    drop(shard);
    if let Some(gone) = gone {
        append(inside, &gone);
    }
}

fn append(inside: &Inside, record: &AllocRecord) {
    // SAFETY: inside, so only this call uses the context.
    unsafe { (*inside.0.context).append(&[*record], &shadow().host) };
}

/// What was at `start` is freed, or has no name any more. Returns its size; `None` if it is not
/// known.
pub fn remove(start: u64) -> Option<u64> {
    remove_from(&HEAP, start)
}

/// As [`remove`], for a name.
pub fn remove_named(start: u64) {
    remove_from(&NAMED, start);
}

fn remove_from(shards: &Shards, start: u64) -> Option<u64> {
    let mut shard = shards.lock(start);
    let entry = shard.find(start)?;
    if entry.end_ticket != u64::MAX {
        return None;
    }
    let bytes = entry.bytes;
    entry.events += events_since(entry);
    entry.end_ticket = shadow().ticket();
    if entry.events == 0 {
        shard.remove(start);
    }
    Some(bytes)
}

/// Events on its lines in its present life.
fn events_since(entry: &Entry) -> u64 {
    shadow()
        .events(entry.start, entry.bytes)
        .saturating_sub(entry.events_before)
}

fn record(entry: &Entry) -> AllocRecord {
    AllocRecord {
        start: entry.start,
        bytes: entry.bytes,
        events: entry.events,
        first_ticket: entry.first_ticket,
        end_ticket: entry.end_ticket,
        frames: stacks::get(entry.stack),
        name: entry.name,
        stride: entry.stride,
    }
}

/// Appends all that moved. No thread may be inside; locks that a crash left taken are passed over.
pub fn append_all(cx: &mut Context) {
    for shards in [&HEAP, &NAMED] {
        for n in 0..SHARDS {
            let Some(mut shard) = shards.try_lock(n) else {
                continue;
            };
            shard.for_each(|entry| {
                let mut entry = *entry;
                if entry.end_ticket == u64::MAX {
                    entry.events += events_since(&entry);
                }
                if entry.events > 0 {
                    cx.append(&[record(&entry)], &shadow().host);
                }
            });
        }
    }
}
