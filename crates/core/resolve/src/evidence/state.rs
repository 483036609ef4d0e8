//! Values of all registers and stack slots at one point of a function.

use super::value::AbstractValue;
use crate::insn::{DwarfRegister, REGISTERS, RegSet};

/// Bytes of a slot, which is the size of a pointer.
const SLOT_BYTES: i64 = 8;

/// Stack slots that are followed, at most; further ones are forgotten.
const MAX_SLOTS: usize = 64;

/// Known values of registers and slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegisterState {
    registers: [AbstractValue; REGISTERS],
    /// Slots with a known value other than a number, by offset from the canonical frame address,
    /// sorted.
    slots: Vec<(i64, AbstractValue)>,
}

impl RegisterState {
    /// Returns the value of a register.
    pub fn register(&self, reg: DwarfRegister) -> AbstractValue {
        self.registers
            .get(usize::from(reg.0))
            .copied()
            .unwrap_or_default()
    }

    /// Sets the value of a register.
    pub fn set_register(&mut self, reg: DwarfRegister, value: AbstractValue) {
        if let Some(slot) = self.registers.get_mut(usize::from(reg.0)) {
            *slot = value;
        }
    }

    /// Forgets the values of `registers`.
    pub fn clobber(&mut self, registers: RegSet) {
        for reg in registers.iter() {
            self.set_register(reg, AbstractValue::Unknown);
        }
    }

    /// Returns the value of the 8-byte slot at `offset`.
    pub fn slot(&self, offset: i64) -> AbstractValue {
        let found = self.slots.binary_search_by_key(&offset, |s| s.0);
        found.map_or(AbstractValue::Unknown, |at| self.slots[at].1)
    }

    /// Forgets the slots that overlap `bytes` bytes from `offset` on, or all slots behind it.
    pub fn forget_overlapping(&mut self, offset: i64, bytes: Option<u32>) {
        let end = bytes.map_or(i64::MAX, |bytes| offset.saturating_add(bytes.into()));
        let apart = |at: i64| at >= end || at.saturating_add(SLOT_BYTES) <= offset;
        self.slots.retain(|slot| apart(slot.0));
    }

    /// Sets the value of a slot and forgets the slots that overlap it.
    pub fn set_slot(&mut self, offset: i64, value: AbstractValue) {
        self.forget_overlapping(offset, Some(SLOT_BYTES as u32));
        let is_known = value.as_number().is_none();
        if is_known && self.slots.len() < MAX_SLOTS {
            let at = self.slots.partition_point(|s| s.0 < offset);
            self.slots.insert(at, (offset, value));
        }
    }

    /// Keeps the knowledge that is also in `other`. Returns true if some was lost.
    pub fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            let joined = mine.join(*theirs);
            changed |= joined != *mine;
            *mine = joined;
        }
        self.slots.retain_mut(|(offset, mine)| {
            let joined = mine.join(other.slot(*offset));
            changed |= joined != *mine;
            *mine = joined;
            joined != AbstractValue::Unknown
        });
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_forgets_what_it_overlaps() {
        let mut state = RegisterState::default();
        state.set_slot(-16, AbstractValue::Constant(1));
        state.set_slot(-24, AbstractValue::Constant(2));
        state.set_slot(-12, AbstractValue::Constant(3));
        assert_eq!(state.slot(-16), AbstractValue::Unknown);
        assert_eq!(state.slot(-24), AbstractValue::Constant(2));
        state.forget_overlapping(-28, Some(4));
        assert_eq!(state.slot(-24), AbstractValue::Constant(2));
        state.forget_overlapping(-28, Some(8));
        assert_eq!(state.slot(-24), AbstractValue::Unknown);
    }

    #[test]
    fn join_keeps_what_agrees() {
        let (mut a, mut b) = (RegisterState::default(), RegisterState::default());
        a.set_register(DwarfRegister(3), AbstractValue::Constant(0x10000));
        a.set_slot(-8, AbstractValue::Constant(7));
        b.set_register(DwarfRegister(3), AbstractValue::Constant(0x10000));
        assert!(a.join(&b));
        assert_eq!(
            a.register(DwarfRegister(3)),
            AbstractValue::Constant(0x10000)
        );
        assert_eq!(a.slot(-8), AbstractValue::Unknown);
        assert!(!a.join(&b));
    }
}
