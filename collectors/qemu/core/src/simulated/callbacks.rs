//! Callbacks of a guest in simulated time.

use std::arch::naked_asm;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::Ordering::*;

use relayout_machine::{LineAccess, LineAnswer, LineNumber, LineRequest, LineUse, SimulatedTime};

use super::operands::{BasedSegment, MemoryOperand};
use super::seat::OrderedAccesses;
use super::translate::AccessInstruction;
use super::{OWN_CPU, SimulatedGuest, SimulationPhase, WaitingPlace, guest};
use crate::api::{self, PluginId};
use crate::registers::{FS_BASE, GS_BASE, RegisterReader};

/// Bytes of a line.
const LINE_BYTES: u64 = 64;
/// Bytes of a string that are ordered before its instruction, at most.
const STRING_MAX: u64 = 4096;
/// Number of the register with the count of repetitions, `rcx`.
const COUNT_REGISTER: u8 = 1;
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
    if instruction.site.is_contended()
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

/// Called at the marker of a finished operation.
pub extern "C" fn on_operation(vcpu: c_uint, _data: *mut c_void) {
    if let Some(seat) = guest().and_then(|guest| guest.seats.get(vcpu as usize)) {
        seat.operations.fetch_add(1, Relaxed);
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

/// Addresses that an operand accesses, from `start` to `end`.
#[derive(Clone, Copy)]
struct OperandRange {
    start: u64,
    end: u64,
    access: LineAccess,
}

impl OperandRange {
    /// The parts of the range by lines.
    fn parts(self) -> impl Iterator<Item = Self> {
        let mut start = self.start;
        std::iter::from_fn(move || {
            let rest = Self { start, ..self };
            let next = (start | (LINE_BYTES - 1)).saturating_add(1);
            start = next;
            (rest.start < self.end).then(|| Self {
                end: next.min(self.end),
                ..rest
            })
        })
    }
}

impl SimulatedGuest {
    fn begin_block(&self, n: usize, cost_ps: u64, place: WaitingPlace) {
        if !matches!(
            self.phase(),
            SimulationPhase::TakenOver | SimulationPhase::Running
        ) {
            return self.seats[n].cell().release();
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
    fn go_on(&self, n: usize, at: Option<SimulatedTime>, block_ps: u64) {
        match at {
            Some(at) => self.set_time(n, at, block_ps),
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

    /// Orders the accesses that an instruction is about to make, where others fight over their lines.
    fn order_instruction(&self, n: usize, instruction: &AccessInstruction, place: WaitingPlace) {
        let (seat, pc) = (&self.seats[n], instruction.site.pc);
        let at = SimulatedTime(self.time_of(n) - instruction.rest_ps);
        let kept = seat.take_kept(pc, at);
        seat.ordered.set(OrderedAccesses::at(pc));
        for operand in &instruction.operands {
            let Some(start) = self.operand_address(n, operand) else {
                continue;
            };
            let operand = OperandRange {
                start,
                end: start.saturating_add(self.operand_bytes(n, operand, instruction)),
                access: operand.access,
            };
            if !self.order_operand(n, operand, instruction, kept, place) {
                return seat.cell().release();
            }
        }
        seat.kept.set(None);
    }

    /// Orders the accesses to one operand, line by line, but for what was granted before. Returns false once the window
    /// is closed.
    fn order_operand(
        &self,
        n: usize,
        operand: OperandRange,
        instruction: &AccessInstruction,
        kept: Option<OrderedAccesses>,
        place: WaitingPlace,
    ) -> bool {
        let seat = &self.seats[n];
        let is_string = instruction.is_string;
        for part in operand.parts() {
            let Some(line) = self.line_before(n, part.start) else {
                return true;
            };
            let is_granted = kept.is_some_and(|kept| kept.contains(part.start));
            let was_ordered = match is_granted {
                true => Some(true),
                false => self.order_access(n, line, part, instruction, place),
            };
            match was_ordered {
                Some(false) if !is_string => continue,
                Some(false) => self.note_unordered(n, line, part.access, instruction),
                Some(true) => {}
                None => return false,
            }
            seat.ordered
                .set(seat.ordered.get().with(part.start, part.end));
        }
        true
    }

    /// Orders one access. Returns whether that was necessary; `None` once the window is closed.
    fn order_access(
        &self,
        n: usize,
        line: LineNumber,
        operand: OperandRange,
        instruction: &AccessInstruction,
        place: WaitingPlace,
    ) -> Option<bool> {
        let rest_ps = instruction.rest_ps;
        let mut at = SimulatedTime(self.time_of(n) - rest_ps);
        // SAFETY: this thread has the turn.
        let machine = unsafe { &mut self.state().machine };
        let access = operand.access;
        if !machine.must_order(n, line, access, at) {
            return Some(false);
        }
        at = self.time_before(n, rest_ps);
        let seat = &self.seats[n];
        seat.kept.set(Some(seat.ordered.get()));
        self.refresh_translations(n, at, place);
        if !machine.is_next(n, at) {
            at = self.yield_turn(n, at, place)?;
        }
        let request = LineRequest {
            cpu: n,
            line,
            address: operand.start,
            access,
            site: instruction.site.number,
            at,
        };
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        state.tallies.ordered += 1;
        instruction.site.note_ordered();
        let at = match state.machine.request(request) {
            LineAnswer::Now(at) => at,
            LineAnswer::Waits => {
                let granted = seat.ordered.get().with(operand.start, operand.end);
                seat.kept.set(Some(granted));
                self.pass_turn(n, place)?
            }
        };
        self.set_time(n, at, rest_ps);
        Some(true)
    }

    /// Notes an access that was made, and checks whether it was ordered as it should.
    fn note_access(&self, n: usize, info: u32, vaddr: u64, instruction: &AccessInstruction) {
        let seat = &self.seats[n];
        let ordered = seat.ordered.get();
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        if ordered.pc == instruction.site.pc {
            if ordered.contains(vaddr) {
                return;
            }
            if !ordered.is_empty() && !instruction.repeats && instruction.operands.len() == 1 {
                state.tallies.misplaced += 1;
            }
        }
        let Some(line) = self.line_after(n, info, vaddr) else {
            return;
        };
        let stored = match instruction.operands.first() {
            Some(operand) if operand.access != LineAccess::Load => operand.access,
            _ => LineAccess::Store,
        };
        let access = if api::is_store(info) {
            stored
        } else {
            LineAccess::Load
        };
        self.note_unordered(n, line, access, instruction);
    }

    /// Notes an access that was not ordered.
    fn note_unordered(
        &self,
        n: usize,
        line: LineNumber,
        access: LineAccess,
        instruction: &AccessInstruction,
    ) {
        let at = SimulatedTime(self.time_of(n) - instruction.rest_ps);
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        let line_use = state.machine.note_access(n, line, access, at);
        state.tallies.unordered += u64::from(line_use == LineUse::Contended);
        instruction.site.note_access(line_use);
    }

    /// Returns the bytes of an operand: of a string all that its repetitions access, of others the first.
    fn operand_bytes(
        &self,
        n: usize,
        operand: &MemoryOperand,
        instruction: &AccessInstruction,
    ) -> u64 {
        if !instruction.is_string {
            return 1;
        }
        let count = self.register(n, COUNT_REGISTER).unwrap_or(1);
        count.saturating_mul(operand.bytes.into()).min(STRING_MAX)
    }

    /// Reads a register of CPU `n`, in a callback that reads registers.
    fn register(&self, n: usize, number: u8) -> Option<u64> {
        let find = || {
            // SAFETY: within a callback of a CPU.
            unsafe { RegisterReader::find(crate::insn::TranslatedMachine::X86) }
        };
        let reader = self.plugin.registers.get_or_init(find).as_ref()?;
        let seat = &self.seats[n];
        let buffer = seat.buffer.get().unwrap_or_else(|| {
            let buffer = reader.new_buffer();
            seat.buffer.set(Some(buffer));
            buffer
        });
        // SAFETY: within a callback that reads registers.
        unsafe { reader.read_into(buffer, number) }
    }

    /// Computes the address of an operand from registers.
    fn operand_address(&self, n: usize, operand: &MemoryOperand) -> Option<u64> {
        let read = |number| self.register(n, number);
        let mut address = operand.displacement;
        if let Some(base) = operand.base {
            address = address.wrapping_add(read(base)?);
        }
        if let Some((index, factor)) = operand.index {
            address = address.wrapping_add(read(index)?.wrapping_mul(factor.into()));
        }
        if let Some(bit) = operand.bit {
            address = address.wrapping_add(bit.word_offset(read(bit.register)?));
        }
        if let Some(segment) = operand.segment {
            let start = match segment {
                BasedSegment::Fs => FS_BASE,
                BasedSegment::Gs => GS_BASE,
            };
            address = address.wrapping_add(read(start)?);
        }
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_with_their_lines() {
        let parts = |start, end| -> Vec<(u64, u64)> {
            let access = LineAccess::Load;
            let range = OperandRange { start, end, access };
            range.parts().map(|part| (part.start, part.end)).collect()
        };
        assert_eq!(parts(0x38, 0x39), [(0x38, 0x39)]);
        assert_eq!(
            parts(0x38, 0x90),
            [(0x38, 0x40), (0x40, 0x80), (0x80, 0x90)]
        );
        assert_eq!(parts(0x40, 0x40), []);
        assert_eq!(parts(u64::MAX - 1, u64::MAX), [(u64::MAX - 1, u64::MAX)]);
    }
}
