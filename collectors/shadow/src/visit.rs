//! Logging visits of hot lines with the time of each access: how long a context has a line, and how
//! long it does other things before it comes back.
//!
//! A *visit* is a stretch of one context's accesses to a line that follow each other closely, while
//! no other context is logged in the page. Within a visit, what repeats is left out as in the
//! [bursts](crate::burst); but where bursts leave out what a context repeats in its turn, a context
//! that comes back later begins another visit, and is logged again: on a machine with more contexts,
//! others would have taken the line meanwhile.
//!
//! Only the first visits of each region are logged, and none from where a region's log ends.

use core::sync::atomic::Ordering::*;

use crate::burst::{HotRegion, access_slot, line_slot, take_turn};
use crate::context::ShadowContext;
use crate::host::{AccessFacts, CollectorHost};
use crate::page::{PageShadow, region_in_page};
use crate::past::PastAccess;
use crate::shadow::ShadowMemory;
use crate::wire::{COMPARE_EXCHANGE, VisitRecord};

/// Records that a context gathers before it appends them.
pub const VISIT_RECORDS: usize = 1024;

/// Lines whose visits are remembered, and accesses of each.
const VISITED_LINES: usize = 256;
const VISIT_ACCESSES: usize = 20;

/// Accesses that one context has logged in its last visits. The table is fixed: evicted accesses
/// are logged again.
pub struct VisitFilter {
    lines: [VisitedLine; VISITED_LINES],
}

/// The last visit of a context to a line. All-zero is none.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct VisitedLine {
    line: u64,
    turn: u64,
    /// Clock of the access that was logged last.
    clock: u64,
    /// The accesses, each at a place of its own: see [`access_slot`].
    accesses: [u16; VISIT_ACCESSES],
}

/// When an access is made.
struct VisitTime {
    clock: u64,
    /// Ticks without a logged access to the line after which the next one begins a visit.
    gap: u64,
}

impl VisitFilter {
    pub const fn new() -> Self {
        let none = VisitedLine {
            line: 0,
            turn: 0,
            clock: 0,
            accesses: [0; VISIT_ACCESSES],
        };
        Self {
            lines: [none; VISITED_LINES],
        }
    }

    /// Notes an access in the turn `turn`. Returns false if it repeats another of its visit.
    fn note_new(&mut self, turn: u64, line: u64, time: VisitTime, now: PastAccess) -> bool {
        let VisitTime { clock, gap } = time;
        let visited = &mut self.lines[line_slot::<VISITED_LINES>(line)];
        let is_same = (visited.line, visited.turn) == (line, turn)
            && clock.wrapping_sub(visited.clock) <= gap;
        let (at, access) = access_slot::<VISIT_ACCESSES>(now, false);
        if is_same && visited.accesses[at] == access {
            return false;
        }
        if !is_same {
            visited.accesses = [0; VISIT_ACCESSES];
        }
        (visited.line, visited.turn, visited.clock) = (line, turn, clock);
        visited.accesses[at] = access;
        true
    }
}

impl<H: CollectorHost> ShadowMemory<H> {
    /// Logs an access to `line`, which is hot, unless it repeats another of its visit.
    pub(crate) fn log_visit(
        &self,
        cx: &mut ShadowContext,
        shadow: &PageShadow,
        line: u64,
        now: PastAccess,
        facts: &impl AccessFacts,
    ) {
        let n = region_in_page(line);
        // SAFETY: regions are never freed.
        let Some(region) = (unsafe { shadow.regions[n].load(Acquire).as_ref() }) else {
            return;
        };
        if region.visits_closed.load(Relaxed) {
            return;
        }
        let Some(clock) = facts.clock() else { return };
        let turn = take_turn(&shadow.turn, cx.id);
        let gap = self.config.visit_gap;
        if !(cx.visited).note_new(turn, line, VisitTime { clock, gap }, now) {
            return;
        }
        let ticket = self.tickets.fetch_add(1, Relaxed);
        if !self.reserve_visit(cx, region) {
            region.close_visits(ticket);
            return;
        }
        if cx.visits.is_full() {
            cx.append_visits(&self.host);
        }
        cx.visits.push(VisitRecord {
            ticket,
            clock,
            addr: line + u64::from(now.offset()),
            site: now.site,
            operation: cx.operations,
            size: now.size(),
            access: now.access(),
            instruction: facts.instruction(),
            stored: facts.stored().map_or(2, u8::from),
            reserved: 0,
        });
    }

    /// Notes whether the compare-and-exchange at `addr`, which `cx` has just made, stored.
    pub fn note_exchange(&self, cx: &mut ShadowContext, addr: u64, stored: bool) {
        if let Some(last) = cx.visits.last_mut()
            && last.addr == addr
            && last.instruction & COMPARE_EXCHANGE != 0
            && last.stored == 2
        {
            last.stored = stored.into();
        }
    }

    /// Takes one record from the budgets of the region and of all contexts, of these in portions.
    fn reserve_visit(&self, cx: &mut ShadowContext, region: &HotRegion) -> bool {
        const PORTION: u64 = 256;
        if region.visit_count.fetch_add(1, Relaxed) >= self.config.visits_region_max {
            return false;
        }
        if cx.visit_quota == 0 {
            if self.visits.fetch_add(PORTION, Relaxed) + PORTION > self.config.visits_total_max {
                return false;
            }
            cx.visit_quota = PORTION;
        }
        cx.visit_quota -= 1;
        true
    }
}
