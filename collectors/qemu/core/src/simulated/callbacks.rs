//! Callbacks of a guest in simulated time.

use std::arch::naked_asm;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::Ordering::*;

use relayout_machine::SimulatedTime;

use super::seat::OrderedAccesses;
use super::translate::AccessInstruction;
use super::{OWN_CPU, SimulatedGuest, SimulationPhase, WaitingPlace, guest};
use crate::api::PluginId;

/// Stands for the address of a pause instruction, whose callback does not know it.
const NO_PC: u64 = 0;

/// Defines a callback that calls a function with a third argument: the address to which it returns.
macro_rules! callback_with_place {
    ($(#[$attribute:meta])* $name:ident => $function:ident) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        pub extern "C" fn $name(_vcpu: c_uint, _data: *mut c_void) {
            #[cfg(target_arch = "x86_64")]
            naked_asm!("mov rdx, [rsp]", "jmp {}", sym $function);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("mov x2, x30", "b {}", sym $function);
        }
    };
}

callback_with_place! {
    /// Called at the beginning of a block whose CPU has to ask whether it may go on.
    on_block_due => block_due
}
callback_with_place! {
    /// Called before an instruction with memory operands.
    on_instruction => instruction_comes
}
callback_with_place! {
    /// Called at a pause instruction.
    on_pause => pause_comes
}
callback_with_place! {
    /// Called at a `wfe`.
    on_wait_for_event => wait_for_event_comes
}

extern "C" fn block_due(vcpu: c_uint, cost_ps: *mut c_void, return_address: usize) {
    if let Some(guest) = guest() {
        OWN_CPU.set(vcpu as usize);
        let place = WaitingPlace::Code { return_address };
        guest.begin_block(vcpu as usize, cost_ps as u64, place);
    }
}

extern "C" fn instruction_comes(vcpu: c_uint, data: *mut c_void, return_address: usize) {
    // SAFETY: the data of this callback, never freed.
    let instruction = unsafe { &*data.cast::<AccessInstruction>() };
    // What QEMU does not show can be noted here only.
    if (instruction.site.is_contended() || instruction.is_unseen)
        && let Some(guest) = guest()
        && guest.has_turn(vcpu as usize)
    {
        let place = WaitingPlace::Code { return_address };
        guest.order_instruction(vcpu as usize, instruction, place);
    }
}

/// Called after an access.
pub extern "C" fn on_access(vcpu: c_uint, info: u32, vaddr: u64, data: *mut c_void) {
    if let Some(guest) = guest()
        && guest.has_turn(vcpu as usize)
    {
        // SAFETY: as above.
        let instruction = unsafe { &*data.cast::<AccessInstruction>() };
        guest.note_access(vcpu as usize, info, vaddr, instruction);
    }
}

extern "C" fn pause_comes(vcpu: c_uint, rest_ps: *mut c_void, return_address: usize) {
    if let Some(guest) = guest()
        && guest.has_turn(vcpu as usize)
    {
        let place = WaitingPlace::Code { return_address };
        guest.pause(vcpu as usize, rest_ps as u64, place);
    }
}

extern "C" fn wait_for_event_comes(vcpu: c_uint, rest_ps: *mut c_void, return_address: usize) {
    let seat = guest().and_then(|guest| guest.seats.get(vcpu as usize));
    if seat.is_some_and(|seat| !seat.has_event.take()) {
        pause_comes(vcpu, rest_ps, return_address);
    }
}

/// Called at an instruction that gives its CPU an event, for which the next `wfe` does not wait.
pub extern "C" fn on_event(vcpu: c_uint, _data: *mut c_void) {
    if let Some(seat) = guest().and_then(|guest| guest.seats.get(vcpu as usize)) {
        seat.has_event.set(true);
    }
}

/// Called at the marker of a finished operation.
pub extern "C" fn on_operation(vcpu: c_uint, _data: *mut c_void) {
    let Some((guest, seat)) =
        guest().and_then(|guest| Some((guest, guest.seats.get(vcpu as usize)?)))
    else {
        return;
    };
    seat.operations.fetch_add(1, Relaxed);
    if guest.options.user_ps > 0 && guest.has_turn(vcpu as usize) {
        seat.cell().advance(guest.options.user_ps);
    }
}

/// Called when a CPU begins to wait for an interrupt, with QEMU's lock.
pub extern "C" fn on_idle(_id: PluginId, vcpu: c_uint) {
    if let Some(guest) = guest()
        && guest.phase() == SimulationPhase::Running
        && guest.has_turn(vcpu as usize)
    {
        OWN_CPU.set(vcpu as usize);
        guest.begin_idle(vcpu as usize);
    }
}

/// Called when a CPU goes on after it has waited, with QEMU's lock.
pub extern "C" fn on_resume(_id: PluginId, vcpu: c_uint) {
    if let Some(guest) = guest()
        && matches!(
            guest.phase(),
            SimulationPhase::TakenOver | SimulationPhase::Running
        )
    {
        OWN_CPU.set(vcpu as usize);
        guest.end_idle(vcpu as usize);
    }
}

impl SimulatedGuest {
    fn begin_block(&self, n: usize, cost_ps: u64, place: WaitingPlace) {
        if !matches!(
            self.phase(),
            SimulationPhase::TakenOver | SimulationPhase::Running
        ) {
            // One that was between two runs of code is held at the first block.
            let at = match self.is_held.load(Acquire) {
                true => self.wait_for_turn(n, place),
                false => None,
            };
            return self.go_on(n, at, cost_ps);
        }
        let has_left = self.seats[n].has_left.take();
        let at = match self.has_turn(n) && !has_left {
            true => {
                let at = self.time_before(n, cost_ps);
                self.refresh_translations(n, at, place);
                self.yield_turn(n, at, place)
            }
            false => self.wait_for_turn(n, place),
        };
        self.go_on(n, at, cost_ps);
    }

    /// Lets CPU `n` execute from `at` on, with `block_ps` of its block to come; without order once
    /// the window is closed.
    pub(super) fn go_on(&self, n: usize, at: Option<SimulatedTime>, block_ps: u64) {
        match at {
            Some(at) => self.set_time(n, at, block_ps),
            None if self.is_held.load(Acquire) => self.seats[n].cell().set(0, 0),
            None => self.seats[n].cell().release(),
        }
    }

    fn begin_idle(&self, n: usize) {
        let at = self.time_before(n, 0);
        self.update_timer();
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        state.machine.go_idle(n, at);
        // The keeper runs timers: one of them might wake this CPU, which does not wait yet.
        let now = state.machine.next_time();
        let is_due = state.next_timer <= now;
        match (!is_due).then(|| state.machine.next_turn()).flatten() {
            Some(turn) => self.give_turn(turn.cpu, turn.at),
            None => self.ring_keeper(),
        }
    }

    fn end_idle(&self, n: usize) {
        // Others need QEMU's lock meanwhile.
        self.functions.unlock();
        let at = self.wait_for_turn(n, WaitingPlace::Between);
        self.functions.lock();
        self.go_on(n, at, 0);
    }

    fn pause(&self, n: usize, rest_ps: u64, place: WaitingPlace) {
        let seat = &self.seats[n];
        let at = SimulatedTime(self.time_of(n) - rest_ps);
        if seat.take_kept(NO_PC, at).is_some() {
            return;
        }
        let at = self.time_before(n, rest_ps);
        // SAFETY: this thread has the turn.
        unsafe { self.state() }.machine.pause(n, at);
        seat.kept.set(Some(OrderedAccesses::at(NO_PC)));
        let at = self.pass_turn(n, place);
        seat.kept.set(None);
        self.go_on(n, at, rest_ps);
    }
}
