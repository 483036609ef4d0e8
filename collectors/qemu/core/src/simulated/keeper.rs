//! The thread that has the turn while no CPU can execute: before the guest begins, and while all of
//! its CPUs wait for an interrupt.

use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

use relayout_machine::SimulatedTime;
use relayout_shadow::control::TakeOverStage;

use super::qemu_hooks::take_over_clocks;
use super::seat::ThreadBell;
use super::{GUEST, IS_KEEPER, NOBODY, SimulatedGuest, SimulationPhase};

/// Time between two looks at what the host wants, before the guest begins.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Wakes the keeper.
#[derive(Default)]
pub struct KeeperBell {
    bell: ThreadBell,
    /// CPUs that QEMU has started.
    started: AtomicUsize,
}

impl KeeperBell {
    /// Wakes the keeper.
    pub fn ring(&self) {
        self.bell.ring();
    }

    /// Notes that QEMU starts a CPU.
    pub fn note_started(&self) {
        self.started.fetch_add(1, AcqRel);
        self.ring();
    }
}

impl SimulatedGuest {
    /// Starts the keeper. The guest must never be freed.
    pub fn start_keeper(&'static self) -> Result<(), String> {
        std::thread::Builder::new()
            .name("relayout-keeper".to_owned())
            .spawn(move || self.keep())
            .map(drop)
            .map_err(|error| format!("cannot start a thread: {error}"))
    }

    fn keep(&'static self) {
        IS_KEEPER.set(true);
        self.functions.register_thread();
        self.wait_for_host();
        if let Err(reason) = self.take_over() {
            eprintln!("relayout plugin: {reason}");
            self.plugin
                .shadow
                .host
                .fail(&std::io::Error::from_raw_os_error(libc::ENOTSUP));
            return;
        }
        self.plugin
            .shadow
            .host
            .control()
            .set_take_over(TakeOverStage::Done);
        self.wait_for_start();
        loop {
            self.functions.lock();
            self.take_turn();
            self.functions.unlock();
            self.keeper
                .bell
                .wait(|| self.turn.load(Acquire) == NOBODY || self.is_closed());
            if self.is_closed() {
                return;
            }
        }
    }

    fn is_closed(&self) -> bool {
        self.phase() == SimulationPhase::Closed
    }

    fn wait_for_host(&self) {
        while self.plugin.shadow.host.control().take_over() != TakeOverStage::Requested {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Makes QEMU's clocks those of the machine, while the guest is stopped.
    fn take_over(&'static self) -> Result<(), String> {
        self.lock_quiet_guest();
        for (n, seat) in self.seats.iter().enumerate() {
            let cell = self.clocks.cell(n);
            seat.attach(self.functions.cpu(n), cell);
            cell.set(0, 0);
        }
        let taken = take_over_clocks(&self.functions, |clocks| {
            self.stopped.get_or_init(|| clocks);
            self
        });
        self.set_phase(SimulationPhase::TakenOver);
        self.functions.unlock();
        taken
    }

    /// Takes QEMU's lock when all CPUs have done what QEMU wanted of them at the start.
    fn lock_quiet_guest(&self) {
        loop {
            self.functions.lock();
            let is_quiet = (0..self.seats.len()).all(|n| {
                let cpu = self.functions.cpu(n);
                // SAFETY: a stopped CPU is idle unless it has work of QEMU's to do.
                !cpu.is_null() && unsafe { self.functions.is_idle(cpu) }
            });
            if is_quiet {
                return;
            }
            self.functions.unlock();
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until QEMU has started all CPUs, and gives those that do not wait for an interrupt a
    /// place in the order.
    fn wait_for_start(&self) {
        let all = self.seats.len();
        while self.keeper.started.load(Acquire) < all {
            self.keeper
                .bell
                .wait(|| self.keeper.started.load(Acquire) >= all);
        }
        self.functions.lock();
        for (n, seat) in self.seats.iter().enumerate() {
            // SAFETY: one of the guest's CPUs; nobody has the turn but this thread.
            unsafe {
                if !self.functions.is_idle(seat.cpu()) {
                    self.state().machine.start_cpu(n, SimulatedTime(0));
                }
            }
        }
        self.set_phase(SimulationPhase::Running);
        self.functions.unlock();
    }

    /// Gives the turn to a CPU. Lets time pass to the next timers while all wait for an interrupt.
    /// The caller has QEMU's lock.
    fn take_turn(&self) {
        if self.turn.load(Acquire) != NOBODY || self.is_closed() {
            return;
        }
        self.take_outside_kicks();
        self.update_timer();
        loop {
            // SAFETY: this thread has the turn.
            let state = unsafe { self.state() };
            let now = state.machine.next_time();
            let next = now.min(state.next_timer);
            if next == SimulatedTime::NEVER {
                return self.close(Some("all CPUs wait for an interrupt, and no timer is set"));
            }
            if self.note_progress(next) {
                return;
            }
            if state.next_timer <= now {
                self.run_timers(true);
            } else if let Some(turn) = state.machine.next_turn() {
                return self.give_turn(turn.cpu, turn.at);
            }
        }
    }
}

/// Makes the guest the one that QEMU's callbacks use.
pub fn set_guest(guest: SimulatedGuest) -> &'static SimulatedGuest {
    let guest = Box::leak(Box::new(guest));
    GUEST.store(guest, Release);
    guest
}
