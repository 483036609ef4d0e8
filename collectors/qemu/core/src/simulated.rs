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

mod aarch64;
mod addresses;
mod callbacks;
mod cpu_clock;
mod decoded_instruction;
mod guest_clock;
mod instruction_costs;
mod keeper;
mod line_numbers;
mod operands;
mod ordering;
mod qemu_hooks;
mod recorded_program;
mod refresh;
mod results;
mod seat;
mod setup;
mod sites;
mod translate;
mod turns;
mod x86;

use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, OnceLock};

use relayout_machine::{ByteMap, SimulatedMachine, SimulatedTime};

use self::cpu_clock::CpuClocks;
use self::qemu_hooks::{QemuFunctions, StoppedClocks};
use self::seat::CpuSeat;
use self::sites::SiteTable;
use crate::api::{self, PluginId};
use crate::plugin::RecordingPlugin;

pub use self::recorded_program::executes_recorded_program;
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
    /// Changes of page tables of which all CPUs hear.
    page_changes: AtomicU64,
    /// CPU that has the turn, or [`NOBODY`]: the keeper has it.
    turn: AtomicUsize,
    phase: AtomicU8,
    /// CPUs stay where they are after the window, until the host stops them: their memory is read next.
    is_held: AtomicBool,
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
        match guest.options.program {
            // Its memory is read next.
            Some(_) => guest.end_held(),
            None => guest.close(None),
        }
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
        if now.0 >= self.options.end_ps() && now != SimulatedTime::NEVER && !state.has_failed {
            self.end_held();
        }
        self.phase() == SimulationPhase::Closed
    }

    fn operations(&self) -> u64 {
        self.seats
            .iter()
            .map(|seat| seat.operations.load(Relaxed))
            .sum()
    }

    /// Ends the window: writes the results, and lets all CPUs go that are not held.
    fn close(&self, problem: Option<&str>) {
        if self.phase() == SimulationPhase::Closed {
            return;
        }
        self.write_results(problem);
        self.plugin.close_window(problem.is_none());
        // CPUs are held at the begin of a block, also of code that was never executed before. What else is translated from
        // now on, the host decides.
        let are_held = self.is_held.load(Acquire);
        self.plugin.instrument.store(are_held, Release);
        self.set_phase(SimulationPhase::Closed);
        self.turn.store(NOBODY, Release);
        for seat in &self.seats {
            seat.bell.ring();
        }
    }
}
