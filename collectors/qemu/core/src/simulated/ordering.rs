//! Accesses that are ordered before they execute, and those that are noted after it.

use relayout_machine::{LineAccess, LineAnswer, LineNumber, LineRequest, LineUse, SimulatedTime};

use super::operands::{MemoryOperand, StoredValue};
use super::seat::OrderedAccesses;
use super::translate::AccessInstruction;
use super::{SimulatedGuest, WaitingPlace};
use crate::api;

/// Bytes of a line.
pub(super) const LINE_BYTES: u64 = 64;

/// Addresses that an operand accesses, from `start` to `end`.
#[derive(Clone, Copy)]
struct OperandRange {
    start: u64,
    end: u64,
    access: LineAccess,
    /// Stores there are left out where they change nothing.
    is_checked: bool,
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
    /// Orders the accesses that an instruction is about to make, where others fight over their lines.
    pub(super) fn order_instruction(
        &self,
        n: usize,
        instruction: &AccessInstruction,
        place: WaitingPlace,
    ) {
        let (seat, pc) = (&self.seats[n], instruction.site.pc);
        let at = SimulatedTime(self.time_of(n) - instruction.rest_ps);
        let kept = seat.take_kept(pc, at);
        seat.ordered.set(OrderedAccesses::at(pc));
        for operand in &instruction.operands {
            let Some(start) = self.operand_address(n, operand) else {
                continue;
            };
            let is_checked = operand.access == LineAccess::Store && self.checks_stores(n, start);
            let operand = OperandRange {
                start,
                end: start.saturating_add(self.operand_bytes(n, operand, instruction)),
                access: match is_checked {
                    true => self.checked_access(n, operand, start),
                    false => operand.access,
                },
                is_checked,
            };
            let ordered = seat.ordered.get();
            seat.ordered
                .set(ordered.of_operand(operand.start, operand.end));
            if !self.order_operand(n, operand, instruction, kept, place) {
                return seat.cell().release();
            }
        }
        seat.kept.set(None);
    }

    /// Returns what CPU `n` is about to do with an operand whose stores are left out where they change nothing.
    fn checked_access(&self, n: usize, operand: &MemoryOperand, start: u64) -> LineAccess {
        if self.changes_memory(n, operand, start) == Some(false) {
            LineAccess::Load
        } else {
            LineAccess::Update
        }
    }

    /// Returns whether a store is about to change what it stores to; `None` if that is not known.
    fn changes_memory(&self, n: usize, operand: &MemoryOperand, start: u64) -> Option<bool> {
        let stored = match operand.stored? {
            StoredValue::Constant(value) => value,
            StoredValue::Register(number) => self.register(n, number)?,
        };
        // SAFETY: in a callback on the thread of this CPU.
        let present = unsafe {
            let cpu = self.seats[n].cpu();
            self.functions.read_memory(cpu, start, operand.bytes)
        };
        let unused_bits = 64 - 8 * u32::from(operand.bytes).clamp(1, 8);
        Some((stored ^ present?) << unused_bits != 0)
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
        let notes_itself =
            instruction.is_counted_string() || instruction.is_unseen || operand.is_checked;
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
                Some(false) if !notes_itself => continue,
                Some(false) => self.note_unordered(n, line, part, instruction),
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
            address: self.result_address(n, operand.start, line),
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
    pub(super) fn note_access(
        &self,
        n: usize,
        info: u32,
        vaddr: u64,
        instruction: &AccessInstruction,
    ) {
        let seat = &self.seats[n];
        let ordered = seat.ordered.get();
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        // Accesses of a site that is contended no more are not ordered: what was ordered is of an earlier execution.
        if ordered.pc == instruction.site.pc && instruction.site.is_contended() {
            if ordered.contains(vaddr) {
                return;
            }
            if ordered.are_elsewhere(vaddr)
                && instruction.string.is_none()
                && instruction.operands.len() == 1
            {
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
        let is_store = api::is_store(info);
        let is_checked = is_store && stored == LineAccess::Store && self.checks_stores(n, vaddr);
        let access = match is_store {
            // Of a store at a site that was not known to be checked, nobody knows any more whether it changed anything.
            true if is_checked => LineAccess::Update,
            true => stored,
            false => LineAccess::Load,
        };
        let operand = OperandRange {
            start: vaddr,
            end: vaddr,
            access,
            is_checked,
        };
        self.note_unordered(n, line, operand, instruction);
    }

    /// Notes an access that was not ordered.
    fn note_unordered(
        &self,
        n: usize,
        line: LineNumber,
        operand: OperandRange,
        instruction: &AccessInstruction,
    ) {
        let at = SimulatedTime(self.time_of(n) - instruction.rest_ps);
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        let line_use = state.machine.note_access(n, line, operand.access, at);
        state.tallies.unordered += u64::from(line_use == LineUse::Contended);
        instruction.site.note_access(match operand.is_checked {
            // From its next translation on, the site is looked at before it stores, as contended ones are.
            true => LineUse::Contended,
            false => line_use,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_with_their_lines() {
        let parts = |start, end| -> Vec<(u64, u64)> {
            let access = LineAccess::Load;
            let range = OperandRange {
                start,
                end,
                access,
                is_checked: false,
            };
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
