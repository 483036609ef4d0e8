//! Expected coherence events where only counts are known: samples of hardware.
//!
//! Where most accesses are missing, nothing can be replayed. But the counts of accesses by context
//! tell how often a line has to move, if the accesses of different contexts come in random order.
//!
//! - **Episodes**, not accesses, are counted: the accesses that a context makes to a line one after
//!   the other bring it there once. An operation runs each of its instructions about once, so that
//!   a context has as many episodes on a line as its most frequent instruction there has accesses.
//!   But an instruction that clears or copies the line accesses each word of it in one episode,
//!   which then has as many accesses as words; counts do not tell it from one that picks a word
//!   each time. And several operations without a common instruction, such as taking and dropping a
//!   reference, have more episodes than any instruction has accesses. They show where they store to
//!   the same granule, since an operation does that once, while it may load it again and again. So
//!   the number of episodes is the geometric mean of the accesses of the most frequent instruction
//!   and those of the most used granule: all stores to it, or the accesses of one instruction if
//!   those are more. The same holds for stores.
//! - **Transfers** into context `t`, with `A` episodes of its own and `W` stores by the others: in
//!   random order a share `W/(A+W)` of the episodes has another's store before it, so `A*W/(A+W)`.
//!   That is half of the harmonic mean: never more than `A`, never more than `W`.
//! - They fall on `t`'s accesses in proportion to their counts; loads make read transfers, stores
//!   and read-writes make write transfers. The other side is one of the others' stores, in
//!   proportion too.
//! - **Upgrades** by `t`, with `S` stores of its own and `R` episodes of the others: `S*R/(S+R)`
//!   stores find that others have used the line since; less those that are write transfers.
//! - Silent stores invalidate the line like all others, and so count as stores.
//! - **False or true** is decided by bytes: of `A*W/(A+W)` transfers, those are true to which a
//!   store `W'` to bytes that are used contributes: `A*W'/(A+W')`. *By first touch*, the bytes are
//!   those of the access. *By lifetime*, they are all that the context ever uses on that line. It
//!   need not use them each time, so that the number that is false by lifetime is a lower bound.
//!   Silent stores change no byte.
//! - **Order**: the order of the samples, where it is known, shows how far the order of all
//!   accesses was random. `a` samples of a context and `w` of the others' stores in random order
//!   have, on average, `a*w/(a+w)` of the former right after the latter: `(a+w-1)` neighbours, each
//!   so with probability `a*w/((a+w)*(a+w-1))`. Where fewer are seen, contexts have the line for
//!   long at a time, and transfers and upgrades on that line are fewer by that share. Samples so
//!   far apart that a context's turn has none or one give a share of 1, and tell nothing.
//!
//! The form is that of Raman, Hundt and Mannarswamy (CGO 2007), who count co-access, with the rate
//! of alternation of two random streams in place of their minimum.

mod alternation;
mod expected_line;
mod observed_hitm;
mod rate_rows;
mod sample_order;

use std::collections::BTreeMap;

use relayout_profile::{AccessCoverage, Addr, ConflictRow, Profile, RunId};

use expected_line::ExpectedLine;
pub(crate) use observed_hitm::ObservedHitm;
use sample_order::SampleOrder;

/// Returns true if a profile has counts, but no order of all accesses and no other sides.
pub fn lacks_order(profile: &Profile) -> bool {
    profile.meta.coverage == AccessCoverage::Samples && profile.conflicts.is_empty()
}

/// Estimates coherence events from the counts of `profile`, and from the order of its samples where
/// it is known. The rows are in the order of the table `conflicts`.
pub fn estimate(profile: &Profile) -> Vec<ConflictRow> {
    let line_bytes = u64::from(profile.meta.line_bytes).max(1);
    let mut lines: BTreeMap<(RunId, Addr), Vec<rate_rows::RateRow>> = BTreeMap::new();
    for count in &profile.counts {
        for row in rate_rows::RateRow::split_at_lines(count, line_bytes) {
            lines
                .entry((count.run, row.line_addr(line_bytes)))
                .or_default()
                .push(row);
        }
    }
    let order = SampleOrder::new(profile, line_bytes);
    let mut events = Vec::new();
    for ((run, line), rows) in lines {
        let before = events.len();
        ExpectedLine::new(run, rows, order.turns_at(run, line)).estimate(&mut events);
        events[before..].sort_by_key(|event: &ConflictRow| (event.addr, event.context));
    }
    events.sort_by_key(|event| (event.run, event.addr));
    events
}
