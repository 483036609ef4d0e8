//! Translations that are thrown away, so that code calls what it has proved to need.
//!
//! At first all code calls back after each of its accesses. At a few times of the simulation, what has met
//! contended lines is translated anew with a callback before it, and what has met none with no callback.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Release;

use relayout_machine::SimulatedTime;

use super::{SimulatedGuest, WaitingPlace};

/// Time of the first look.
pub const FIRST_LOOK: SimulatedTime = SimulatedTime(20_000_000);
/// Share of accesses to contended lines that code does not order, for which it is translated again.
const UNORDERED_SHARE: f64 = 0.01;
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

    /// Makes sites call what they have proved to need, if that changes enough.
    fn apply_learnt(&self, at: SimulatedTime) -> bool {
        let sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        let learnt = sites.learnt();
        let end = self.options.warm_ps + self.options.length_ps;
        let rest = end.saturating_sub(at.0) as f64 / at.0 as f64;
        let is_enough = learnt.unordered as f64 > UNORDERED_SHARE * learnt.contended as f64
            || learnt.needless as f64 * rest > NEEDLESS_MIN;
        if is_enough {
            sites.apply_learnt();
        }
        sites.begin_period();
        is_enough
    }
}
