//! A guest in simulated time: one CPU executes at a time, the one whose time is the smallest.
//!
//! QEMU runs each CPU of the guest in a thread of its own. Here all of them wait but one, which has
//! the *turn*. It keeps the turn until its time passes that of the next, or until it wants a line
//! that others fight over. [`relayout_machine`] decides who is next, and when a line arrives; this
//! module makes QEMU's threads and clocks follow.
//!
//! Whoever has the turn may use the machine. Without a CPU that can execute, the [`keeper`] has it,
//! a thread of the plugin that lets time pass to the next timer.
//!
//! Nothing that the host does decides the order: a thread that wakes up late is waited for, timers
//! run when simulated time has come to them, and all clocks of the guest are simulated time.

mod callbacks;
mod cpu_clock;
mod instruction_costs;
mod keeper;
mod line_numbers;
mod operands;
mod qemu_hooks;
mod refresh;
mod results;
mod seat;
mod setup;
mod sites;
mod translate;

use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, OnceLock, PoisonError};

use relayout_machine::{ByteMap, SimulatedMachine, SimulatedTime};

use self::cpu_clock::CpuClocks;
use self::qemu_hooks::{GuestTime, QemuCpu, QemuFunctions, StoppedClocks};
use self::seat::CpuSeat;
use self::sites::SiteTable;
use crate::api::{self, PluginId};
use crate::plugin::RecordingPlugin;

pub use self::setup::{SimulationOptions, install_simulation};

/// Value of [`SimulatedGuest::turn`] while no CPU executes.
const NOBODY: usize = usize::MAX;
/// Picoseconds in a nanosecond.
const PS: u64 = 1000;

/// Time after which a CPU asks that executes alone: the guest may have set a timer.
const ALONE_MAX_PS: u64 = 20_000_000;

/// Part of a simulation's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum SimulationPhase {
    /// QEMU still loads the guest.
    Loading = 0,
    /// The clocks are the machine's; the guest is stopped.
    TakenOver = 1,
    /// The guest executes in simulated time.
    Running = 2,
    /// The window is over: CPUs execute as QEMU lets them.
    Closed = 3,
}

/// Where the thread of a CPU waits for its turn.
#[derive(Clone, Copy, Debug)]
enum WaitingPlace {
    /// In a callback of translated code, which returns to this address.
    Code {
        /// Address in the code of QEMU's translation.
        return_address: usize,
    },
    /// Between two runs of translated code.
    Between,
}

/// What only the thread with the turn uses.
struct TurnState {
    machine: SimulatedMachine,
    /// Time of the next timer of the guest.
    next_timer: SimulatedTime,
    /// The counts begin at the time at which the window opens.
    is_warm: bool,
    /// The guest's work has failed: the window does not end before the guest has said why.
    has_failed: bool,
    tallies: OrderTallies,
    /// Time from which on code is translated again, if much was learnt.
    look_at: SimulatedTime,
}

/// How well the order was kept.
#[derive(Clone, Copy, Debug, Default)]
struct OrderTallies {
    /// Accesses that were ordered before they executed, at the address that they then had.
    ordered: u64,
    /// Accesses whose address was computed wrongly.
    misplaced: u64,
    /// Accesses that should have been ordered, and were not.
    unordered: u64,
    /// Times at which the turn went to another CPU.
    turns: u64,
    /// Runs of the guest's timers.
    timers: u64,
    /// Wake-ups of a CPU.
    kicks: u64,
}

/// A guest in simulated time.
pub struct SimulatedGuest {
    /// The plugin, which records what the guest does.
    plugin: &'static RecordingPlugin,
    functions: QemuFunctions,
    clocks: CpuClocks,
    options: SimulationOptions,
    /// Bytes that are said to lie elsewhere.
    moved_bytes: ByteMap,
    sites: Mutex<SiteTable>,
    seats: Box<[CpuSeat]>,
    /// CPU that has the turn, or [`NOBODY`]: the keeper has it.
    turn: AtomicUsize,
    phase: AtomicU8,
    state: UnsafeCell<TurnState>,
    /// The guest's clocks when it was taken over.
    stopped: OnceLock<StoppedClocks>,
    /// Time of the last timers: what threads without a turn read.
    timers_ran_ps: AtomicU64,
    /// Wake-ups that no CPU with the turn caused.
    outside_kicks: Mutex<Vec<usize>>,
    /// Number of those.
    order_breaks: AtomicU64,
    keeper: keeper::KeeperBell,
}

// SAFETY: `state` is used by the thread with the turn only, which passes it on by `turn`.
unsafe impl Sync for SimulatedGuest {}
// SAFETY: QEMU's functions and cells may be used by any thread.
unsafe impl Send for SimulatedGuest {}

static GUEST: AtomicPtr<SimulatedGuest> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the simulated guest, if there is one.
fn guest() -> Option<&'static SimulatedGuest> {
    // SAFETY: null, or set once from a leaked box.
    unsafe { GUEST.load(Acquire).as_ref() }
}

/// Translates a block of the simulated guest, if there is one.
pub fn translate_simulated(tb: *mut api::TranslationBlock) {
    if let Some(guest) = guest() {
        guest.translate(tb);
    }
}

/// Closes the window because the guest's work is done, as CPU `n` says.
pub fn end_window(n: usize) {
    if let Some(guest) = guest().filter(|guest| guest.has_turn(n)) {
        guest.close(None);
    }
}

/// Keeps the window open beyond its time because the guest's work has failed, as CPU `n` says. The guest
/// needs simulated time to write the reason to its console, where the host finds it.
pub fn keep_window_open(n: usize) {
    if let Some(guest) = guest().filter(|guest| guest.has_turn(n)) {
        // SAFETY: this thread has the turn.
        unsafe { guest.state() }.has_failed = true;
    }
}

/// Registers the callbacks of CPUs that begin and end to wait for an interrupt.
pub fn register_idle_callbacks(id: PluginId) {
    // SAFETY: callbacks of the right types, for the plugin that is being installed.
    unsafe {
        api::qemu_plugin_register_vcpu_idle_cb(id, callbacks::on_idle);
        api::qemu_plugin_register_vcpu_resume_cb(id, callbacks::on_resume);
    }
}

thread_local! {
    /// CPU that this thread runs, or [`NOBODY`].
    static OWN_CPU: Cell<usize> = const { Cell::new(NOBODY) };
    /// This thread is the keeper.
    static IS_KEEPER: Cell<bool> = const { Cell::new(false) };
    /// Time of the timers that this thread runs.
    static TIMER_PS: Cell<Option<u64>> = const { Cell::new(None) };
}

impl SimulatedGuest {
    fn phase(&self) -> SimulationPhase {
        match self.phase.load(Acquire) {
            0 => SimulationPhase::Loading,
            1 => SimulationPhase::TakenOver,
            2 => SimulationPhase::Running,
            _ => SimulationPhase::Closed,
        }
    }

    fn set_phase(&self, phase: SimulationPhase) {
        self.phase.store(phase as u8, Release);
    }

    /// Returns true if CPU `n`, which this thread runs, has the turn.
    #[inline(always)]
    fn has_turn(&self, n: usize) -> bool {
        self.turn.load(Acquire) == n
    }

    /// Returns true if this thread has the turn.
    fn is_own_turn(&self) -> bool {
        match self.turn.load(Acquire) {
            NOBODY => IS_KEEPER.get(),
            n => OWN_CPU.get() == n,
        }
    }

    /// What only the thread with the turn uses.
    ///
    /// # Safety
    /// This thread has the turn, and no other reference of this kind is alive.
    #[allow(clippy::mut_from_ref)]
    unsafe fn state(&self) -> &mut TurnState {
        // SAFETY: as promised.
        unsafe { &mut *self.state.get() }
    }

    /// Time of CPU `n`, on whose thread this is, with its present block.
    fn time_of(&self, n: usize) -> u64 {
        let seat = &self.seats[n];
        seat.cell().time_ps(seat.ask_at.get())
    }

    /// Time of CPU `n`, which has the turn, with `rest_ps` of its block to come. Its code in this turn took longer
    /// if another thread of its core executes.
    fn time_before(&self, n: usize, rest_ps: u64) -> SimulatedTime {
        let at = self.time_of(n) - rest_ps;
        // SAFETY: the caller's thread has the turn.
        let (factor, divisor) = unsafe { self.state() }.machine.issue_factor(n);
        let code_ps = at.saturating_sub(self.seats[n].began_at.get());
        SimulatedTime(at + code_ps * (factor - divisor) / divisor)
    }

    /// Makes CPU `n` execute from `at` on, with `block_ps` of its block added already.
    fn set_time(&self, n: usize, at: SimulatedTime, block_ps: u64) {
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
    fn yield_turn(
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
    fn pass_turn(&self, n: usize, place: WaitingPlace) -> Option<SimulatedTime> {
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
                return None;
            }
            match state.machine.next_turn() {
                Some(turn) if turn.cpu == n => return Some(turn.at),
                Some(turn) => self.give_turn(turn.cpu, turn.at),
                None => self.ring_keeper(),
            }
            return self.wait_for_turn(n, place);
        }
    }

    /// Opens and closes the window when its time has come. Returns true once it is closed.
    fn note_progress(&self, now: SimulatedTime) -> bool {
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        if !state.is_warm && now.0 >= self.options.warm_ps {
            state.is_warm = true;
            state.machine.reset_counts();
            state.tallies = OrderTallies::default();
            for seat in &self.seats {
                seat.operations.store(0, Relaxed);
            }
            self.plugin.open_window();
        }
        let end = self.options.warm_ps.saturating_add(self.options.length_ps);
        if now.0 >= end && now != SimulatedTime::NEVER && !state.has_failed {
            self.close(None);
        }
        self.phase() == SimulationPhase::Closed
    }

    fn operations(&self) -> u64 {
        self.seats
            .iter()
            .map(|seat| seat.operations.load(Relaxed))
            .sum()
    }

    /// Gives the turn to CPU `n`, which may still have to wake up.
    fn give_turn(&self, n: usize, at: SimulatedTime) {
        // SAFETY: this thread has the turn.
        unsafe { self.state() }.tallies.turns += 1;
        let seat = &self.seats[n];
        seat.turn_at.store(at.0, Relaxed);
        self.turn.store(n, Release);
        seat.bell.ring();
    }

    fn ring_keeper(&self) {
        self.turn.store(NOBODY, Release);
        self.keeper.ring();
    }

    /// Waits until CPU `n`, whose thread this is, has the turn. `None` once the window is closed.
    ///
    /// QEMU's exclusive sections wait until no CPU is in translated code. Then it leaves its code, and
    /// waits again when it enters: this does not return.
    fn wait_for_turn(&self, n: usize, place: WaitingPlace) -> Option<SimulatedTime> {
        let seat = &self.seats[n];
        loop {
            if let WaitingPlace::Code { return_address } = place
                && seat.must_leave.swap(false, AcqRel)
            {
                seat.note_leaving();
                // SAFETY: the place of a callback that may be left, on the CPU's own thread.
                unsafe { self.functions.leave_block(seat.cpu(), return_address) }
            }
            if self.phase() == SimulationPhase::Closed {
                return None;
            }
            if self.has_turn(n) {
                return Some(SimulatedTime(seat.turn_at.load(Relaxed)));
            }
            seat.bell.wait(|| {
                self.has_turn(n)
                    || self.phase() == SimulationPhase::Closed
                    || seat.must_leave.load(Acquire)
            });
        }
    }

    /// Asks QEMU for the next timer. The thread has the turn.
    fn update_timer(&self) {
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
    fn run_timers(&self, has_lock: bool) {
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
    fn take_outside_kicks(&self) {
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

    /// Ends the window: writes the results, and lets all CPUs go.
    fn close(&self, problem: Option<&str>) {
        if self.phase() == SimulationPhase::Closed {
            return;
        }
        self.write_results(problem);
        self.plugin.close_window(problem.is_none());
        // What is translated from now on, the host decides.
        self.plugin.instrument.store(false, Release);
        self.set_phase(SimulationPhase::Closed);
        self.turn.store(NOBODY, Release);
        for seat in &self.seats {
            seat.bell.ring();
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
            SimulationPhase::Loading | SimulationPhase::Closed => {}
        }
    }
}
