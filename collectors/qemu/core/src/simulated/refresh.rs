//! Translations that are thrown away, so that code calls what it has proved to need.
//!
//! At first all code calls back before and after each of its accesses. At a few times of the simulation, all is
//! translated anew, and what has met no line of other CPUs calls nothing.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Release;

use relayout_machine::SimulatedTime;

use super::{SimulatedGuest, WaitingPlace};

/// Time of the first look.
pub const FIRST_LOOK: SimulatedTime = SimulatedTime(20_000_000);
/// Callbacks in the rest of the window that are needless, for which code is translated again: about as much
/// time as that takes.
const NEEDLESS_MIN: f64 = 4e6;

impl SimulatedGuest {
    /// Throws translations away, if it is time for that and enough was learnt. Then CPU `n`, which has the
    /// turn at `at`, leaves its code, as do all that wait in theirs, and enters again: this does not return.
    pub(super) fn refresh_translations(&self, n: usize, at: SimulatedTime, place: WaitingPlace) {
        let WaitingPlace::Code { return_address } = place else {
            return;
        };
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        if at < state.look_at {
            return;
        }
        // Ten looks for each tenfold of time.
        state.look_at = at.after(at.0 / 4);
        if !self.apply_learnt(at) {
            return;
        }
        let seat = &self.seats[n];
        seat.keep_turn(at);
        // SAFETY: QEMU empties its translations in an exclusive section, for which this CPU leaves its code.
        unsafe {
            self.functions.flush_translations(seat.cpu());
            seat.must_leave.store(false, Release);
            self.functions.leave_block(seat.cpu(), return_address)
        }
    }

    /// Makes sites quiet that have called for nothing, if that saves enough in the rest of the window.
    fn apply_learnt(&self, at: SimulatedTime) -> bool {
        let sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        let end = self.options.end_ps();
        let rest = end.saturating_sub(at.0) as f64 / at.0 as f64;
        let is_enough = sites.needless_calls() as f64 * rest > NEEDLESS_MIN;
        if is_enough {
            sites.make_quiet();
        }
        sites.begin_period();
        is_enough
    }
}
