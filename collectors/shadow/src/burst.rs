//! Ordered logs of the accesses around hot lines.
//!
//! What repeats is left out: while no other context is logged in the page, a context's second
//! access of one kind to the same bytes can change nothing, in any layout of what is in the page,
//! since the context already holds the lines that it needs in the state that it needs. Such a
//! stretch of one context is a *turn*. It begins anew when another region of the page joins the
//! log, so that what is logged is complete from each region's first ticket on.
//!
//! So a replay of what is logged counts what a replay of all accesses would, with two exceptions:
//!
//! - An access in one page ends no turn in another. Where bytes of two pages are placed on one
//!   line, transfers between them can be missing.
//! - Turns and tickets are taken one after the other, without a lock around both. An access that
//!   takes a turn while another context's access to a different line of the page takes its ticket
//!   can stand on the other side of it, and so can the repeats that it stands for.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

use crate::LINE_BYTES;
use crate::past::PastAccess;
use crate::table::prefetch;
use crate::wire::RegionRecord;

/// Lines whose accesses are remembered, and accesses of each: a line's are together, since a
/// context that uses one of a line's members mostly uses more.
const FILTER_LINES: usize = 1024;
const LINE_ACCESSES: usize = 24;

/// Accesses that one context has logged in its current turns. The table is fixed: evicted accesses
/// are logged again.
pub struct RepeatFilter {
    lines: [LoggedLine; FILTER_LINES],
}

/// Accesses that a context has logged of a line in a turn. All-zero is none.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct LoggedLine {
    line: u64,
    turn: u64,
    /// The accesses, each at a place of its own: see [`place`].
    accesses: [u16; LINE_ACCESSES],
}

impl RepeatFilter {
    pub const fn new() -> Self {
        Self {
            lines: [LoggedLine {
                line: 0,
                turn: 0,
                accesses: [0; LINE_ACCESSES],
            }; FILTER_LINES],
        }
    }

    /// Returns whether this access was logged in the turn `turn`.
    #[inline]
    pub fn has_logged(&self, turn: u64, line: u64, now: PastAccess, silent: bool) -> bool {
        let logged = &self.lines[line_slot::<FILTER_LINES>(line)];
        let (at, access) = access_slot::<LINE_ACCESSES>(now, silent);
        logged.line == line && logged.turn == turn && logged.accesses[at] == access
    }

    /// Has fetched what is known of a line.
    #[inline]
    pub fn prefetch(&self, line: u64) {
        prefetch(&self.lines[line_slot::<FILTER_LINES>(line)]);
    }

    /// Notes that it is logged.
    pub fn note_logged(&mut self, turn: u64, line: u64, now: PastAccess, silent: bool) {
        let logged = &mut self.lines[line_slot::<FILTER_LINES>(line)];
        if (logged.line, logged.turn) != (line, turn) {
            *logged = LoggedLine {
                line,
                turn,
                accesses: [0; LINE_ACCESSES],
            };
        }
        let (at, access) = access_slot::<LINE_ACCESSES>(now, silent);
        logged.accesses[at] = access;
    }

    /// Forgets that this access was logged as one that may change bytes.
    pub fn forget_changing(&mut self, turn: u64, line: u64, now: PastAccess) {
        let is_logged = self.has_logged(turn, line, now, false);
        if is_logged {
            let (at, _) = access_slot::<LINE_ACCESSES>(now, false);
            self.lines[line_slot::<FILTER_LINES>(line)].accesses[at] = 0;
        }
    }
}

/// The line's place in a filter of `LINES` lines.
#[inline]
pub fn line_slot<const LINES: usize>(line: u64) -> usize {
    let number = line / LINE_BYTES as u64;
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % LINES
}

/// An access as a number, which is not 0 since none has no bytes, and its place among the
/// `ACCESSES` of its line.
#[inline]
pub fn access_slot<const ACCESSES: usize>(now: PastAccess, silent: bool) -> (usize, u16) {
    let access = now.bytes.to_u16() | u16::from(silent);
    let at = (u32::from(access.wrapping_mul(0x9e37)) * ACCESSES as u32) >> 16;
    (at as usize, access)
}

/// Bits of a turn that say whose it is: the context's number and 1.
const TURN_OWNER_BITS: u32 = 16;

/// The turn of `context` in a page if it is its turn.
#[inline]
pub fn own_turn(turn: &AtomicU64, context: u16) -> Option<u64> {
    let now = turn.load(Relaxed);
    (now as u16 == context + 1).then_some(now)
}

/// The turn of `context` in a page, begun now if it was another's.
pub fn take_turn(turn: &AtomicU64, context: u16) -> u64 {
    let mut now = turn.load(Relaxed);
    loop {
        if now as u16 == context + 1 {
            return now;
        }
        let next = ((now >> TURN_OWNER_BITS) + 1) << TURN_OWNER_BITS | u64::from(context + 1);
        match turn.compare_exchange_weak(now, next, Relaxed, Relaxed) {
            Ok(_) => return next,
            Err(other) => now = other,
        }
    }
}

/// Begins the turn in a page anew, so that all is logged again.
pub fn renew_turn(turn: &AtomicU64) {
    turn.fetch_add(1 << TURN_OWNER_BITS, Relaxed);
}

/// An aligned stretch of memory that is, or was, logged. All-zero is a fresh one.
#[repr(C)]
pub struct HotRegion {
    pub first_ticket: u64,
    pub first_op: u64,
    /// Accesses logged.
    pub count: AtomicU32,
    pub closed: AtomicBool,
    /// Accesses of visits logged.
    pub visit_count: AtomicU32,
    /// No more visits are logged, from `visits_end` on.
    pub visits_closed: AtomicBool,
    pub visits_end: AtomicU64,
}

impl HotRegion {
    /// Ends the log of visits at `ticket`, unless it has ended.
    pub fn close_visits(&self, ticket: u64) {
        if !self.visits_closed.swap(true, AcqRel) {
            self.visits_end.store(ticket, Release);
        }
    }
}

/// The region at `start` as it leaves.
pub fn region_record(start: u64, region: &HotRegion, end_ticket: u64, end_op: u64) -> RegionRecord {
    RegionRecord {
        start,
        first_ticket: region.first_ticket,
        end_ticket,
        first_op: region.first_op,
        end_op,
        visits_end_ticket: region.visits_end.load(Acquire).min(end_ticket),
        bytes: crate::REGION_BYTES as u32,
        reserved: 0,
    }
}
