//! Turns: how long a CPU may execute, who is next, and how threads wait.

use std::sync::atomic::Ordering::*;

use relayout_machine::SimulatedTime;

use super::{ALONE_MAX_PS, NOBODY, SimulatedGuest, SimulationPhase, WaitingPlace};

impl SimulatedGuest {
    /// Time of CPU `n`, on whose thread this is, with its present block.
    pub(super) fn time_of(&self, n: usize) -> u64 {
        let seat = &self.seats[n];
        seat.cell().time_ps(seat.ask_at.get())
    }

    /// Time of CPU `n`, which has the turn, with `rest_ps` of its block to come. Its code in this turn took longer
    /// if another thread of its core executes.
    pub(super) fn time_before(&self, n: usize, rest_ps: u64) -> SimulatedTime {
        let at = self.time_of(n) - rest_ps;
        // SAFETY: the caller's thread has the turn.
        let (factor, divisor) = unsafe { self.state() }.machine.issue_factor(n);
        let code_ps = at.saturating_sub(self.seats[n].began_at.get());
        SimulatedTime(at + code_ps * (factor - divisor) / divisor)
    }

    /// Makes CPU `n` execute from `at` on, with `block_ps` of its block added already.
    pub(super) fn set_time(&self, n: usize, at: SimulatedTime, block_ps: u64) {
        let seat = &self.seats[n];
        let ask_at = self.ask_time(n, at).0.saturating_add(block_ps);
        seat.ask_at.set(ask_at);
        seat.began_at.set(at.0);
        seat.cell().set(at.0 + block_ps, ask_at);
    }

    /// Returns when CPU `n`, which has the turn and executes from `at` on, has to ask again.
    fn ask_time(&self, n: usize, at: SimulatedTime) -> SimulatedTime {
        // SAFETY: the caller's thread has the turn.
        let state = unsafe { self.state() };
        let until = state.machine.run_until(n).min(state.next_timer);
        until.max(at).min(at.after(ALONE_MAX_PS))
    }

    /// Ends the turn of CPU `n` at a time, and waits until it has it again. Returns when that is;
    /// `None` once the window is closed.
    pub(super) fn yield_turn(
        &self,
        n: usize,
        at: SimulatedTime,
        place: WaitingPlace,
    ) -> Option<SimulatedTime> {
        // SAFETY: this thread has the turn.
        unsafe { self.state() }.machine.end_turn(n, at);
        self.pass_turn(n, place)
    }

    /// Gives the turn to the CPU that is next, which may be `n` itself, and waits until `n` has it.
    pub(super) fn pass_turn(&self, n: usize, place: WaitingPlace) -> Option<SimulatedTime> {
        self.take_outside_kicks();
        self.update_timer();
        loop {
            // SAFETY: this thread has the turn.
            let state = unsafe { self.state() };
            let now = state.machine.next_time();
            if state.next_timer <= now {
                self.run_timers(false);
                continue;
            }
            if now != SimulatedTime::NEVER && self.note_progress(now) {
                return self.wait_for_turn(n, place);
            }
            match state.machine.next_turn() {
                Some(turn) if turn.cpu == n => return Some(turn.at),
                Some(turn) => self.give_turn(turn.cpu, turn.at),
                None => self.ring_keeper(),
            }
            return self.wait_for_turn(n, place);
        }
    }

    /// Gives the turn to CPU `n`, which may still have to wake up.
    pub(super) fn give_turn(&self, n: usize, at: SimulatedTime) {
        // SAFETY: this thread has the turn.
        unsafe { self.state() }.tallies.turns += 1;
        let seat = &self.seats[n];
        seat.turn_at.store(at.0, Relaxed);
        self.turn.store(n, Release);
        seat.bell.ring();
    }

    pub(super) fn ring_keeper(&self) {
        self.turn.store(NOBODY, Release);
        self.keeper.ring();
    }

    /// Waits until CPU `n`, whose thread this is, has the turn. `None` once the window is closed, unless CPUs are held
    /// in their code from then on.
    ///
    /// QEMU's exclusive sections wait until no CPU is in translated code. Then it leaves its code, and
    /// waits again when it enters: this does not return.
    pub(super) fn wait_for_turn(&self, n: usize, place: WaitingPlace) -> Option<SimulatedTime> {
        let seat = &self.seats[n];
        loop {
            if let WaitingPlace::Code { return_address } = place
                && seat.must_leave.swap(false, AcqRel)
            {
                seat.note_leaving();
                // SAFETY: the place of a callback that may be left, on the CPU's own thread.
                unsafe { self.functions.leave_block(seat.cpu(), return_address) }
            }
            if self.lets_go(place) {
                return None;
            }
            if self.has_turn(n) {
                return Some(SimulatedTime(seat.turn_at.load(Relaxed)));
            }
            seat.bell
                .wait(|| self.has_turn(n) || self.lets_go(place) || seat.must_leave.load(Acquire));
        }
    }

    /// Returns whether a CPU that waits at `place` goes on without order.
    fn lets_go(&self, place: WaitingPlace) -> bool {
        let is_in_code = matches!(place, WaitingPlace::Code { .. });
        self.phase() == SimulationPhase::Closed && !(is_in_code && self.is_held.load(Acquire))
    }
}
