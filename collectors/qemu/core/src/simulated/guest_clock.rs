//! The guest's clocks and timers, and wake-ups of its CPUs.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::*;

use relayout_machine::SimulatedTime;

use super::qemu_hooks::{GuestTime, QemuCpu};
use super::{NOBODY, OWN_CPU, PS, SimulatedGuest, SimulationPhase, TIMER_PS};

impl SimulatedGuest {
    /// Asks QEMU for the next timer. The thread has the turn.
    pub(super) fn update_timer(&self) {
        let now = self.clock_ps() / PS;
        let next = match self.functions.time_to_timer() {
            Some(nanoseconds) => SimulatedTime((now + nanoseconds).saturating_mul(PS)),
            None => SimulatedTime::NEVER,
        };
        // SAFETY: this thread has the turn.
        unsafe { self.state() }.next_timer = next;
    }

    /// Runs the timers that are next, at their time. The thread has the turn, and QEMU's lock if it
    /// says so.
    pub(super) fn run_timers(&self, has_lock: bool) {
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        let at = state.next_timer.0;
        state.tallies.timers += 1;
        TIMER_PS.set(Some(at));
        if !has_lock {
            self.functions.lock();
        }
        self.functions.run_timers();
        if !has_lock {
            self.functions.unlock();
        }
        self.update_timer();
        TIMER_PS.set(None);
        self.timers_ran_ps.store(at, Release);
    }

    /// Time of the guest for this thread.
    fn clock_ps(&self) -> u64 {
        if let Some(at) = TIMER_PS.get() {
            return at;
        }
        let n = OWN_CPU.get();
        if n != NOBODY && self.has_turn(n) {
            return self.time_of(n).max(self.timers_ran_ps.load(Acquire));
        }
        self.timers_ran_ps.load(Acquire)
    }

    /// Notes that a CPU was woken, by the thread with the turn.
    fn note_own_kick(&self, n: usize, at_ps: u64) {
        let cpu = self.functions.cpu(n);
        // SAFETY: one of the guest's CPUs.
        if unsafe { self.functions.is_idle(cpu) } {
            return;
        }
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        state.tallies.kicks += 1;
        state.machine.interrupt(n, SimulatedTime(at_ps));
    }

    /// Notes that the code of CPU `running`, which has the turn, has woken CPU `n`: it may be next before
    /// the running one asks again.
    fn note_kick_by_code(&self, running: usize, n: usize) {
        let now = self.time_of(running);
        self.note_own_kick(n, now);
        self.set_time(running, SimulatedTime(now), 0);
    }

    /// Notes the wake-ups that came from elsewhere, as of now. The thread has the turn.
    pub(super) fn take_outside_kicks(&self) {
        if self.order_breaks.load(Relaxed) == 0 {
            return;
        }
        let mut kicks = { self.outside_kicks.lock() }.unwrap_or_else(PoisonError::into_inner);
        let woken = std::mem::take(&mut *kicks);
        drop(kicks);
        for n in woken {
            self.note_own_kick(n, self.clock_ps());
        }
    }
}

impl GuestTime for SimulatedGuest {
    fn clock_ns(&self) -> i64 {
        let begin = self.stopped.get().map_or(0, |clocks| clocks.clock_ns);
        begin + (self.clock_ps() / PS) as i64
    }

    fn ticks(&self) -> i64 {
        let begin = self.stopped.get().map_or(0, |clocks| clocks.ticks);
        let passed = u128::from(self.clock_ps()) * u128::from(self.options.tsc_khz) / 1_000_000_000;
        begin + passed as i64
    }

    fn note_kick(&self, cpu: *mut QemuCpu) {
        let Some(n) = self.seats.iter().position(|seat| seat.cpu() == cpu) else {
            return;
        };
        // What a CPU must do for an interrupt, QEMU says with its lock held. Without, it waits for all
        // CPUs to leave their code.
        if !self.functions.has_lock() {
            self.seats[n].must_leave.store(true, Release);
            self.seats[n].bell.ring();
            return;
        }
        match self.phase() {
            SimulationPhase::TakenOver => self.keeper.note_started(),
            SimulationPhase::Running if self.is_own_turn() => {
                match (TIMER_PS.get(), OWN_CPU.get()) {
                    (None, running @ ..NOBODY) => self.note_kick_by_code(running, n),
                    _ => self.note_own_kick(n, self.clock_ps()),
                }
            }
            SimulationPhase::Running => {
                self.order_breaks.fetch_add(1, Relaxed);
                let mut kicks =
                    { self.outside_kicks.lock() }.unwrap_or_else(PoisonError::into_inner);
                kicks.push(n);
                drop(kicks);
                if self.turn.load(Acquire) == NOBODY {
                    self.keeper.ring();
                }
            }
            SimulationPhase::Closed => {
                self.seats[n].must_leave.store(true, Release);
                self.seats[n].bell.ring();
            }
            SimulationPhase::Loading => {}
        }
    }
}
