//! What the analysis of a function asks for, is told, and answers.

use relayout_layout::TypeId;

use super::value::{EvidenceTrust, Via};
use crate::insn::{DwarfRegister, MemoryOperand};

/// What the analysis asks about types, globals and callees.
pub trait TypeKnowledge: Sync {
    /// Size of a type in bytes.
    fn size_of(&self, ty: TypeId) -> Option<u64>;
    /// Whether objects of the type may be longer than it: it ends in an array without a length.
    fn is_open_ended(&self, ty: TypeId) -> bool;
    /// What the pointer stored at `offset` in a `ty` points to, if there is one.
    fn pointee_at(&self, ty: TypeId, offset: i64) -> Option<TypeId>;
    /// What a pointer to `offset` of a `ty` points to, and the offset in it, once it was moved by an
    /// unknown multiple of `stride` bytes (1: of nothing known): an element of an array.
    fn element_at(&self, ty: TypeId, offset: i64, stride: u32) -> Option<(TypeId, i64)>;
    /// Whether an `inner` lies at `offset` of `outer`.
    fn contains(&self, outer: TypeId, offset: i64, inner: TypeId) -> bool;
    /// Whether the type is a struct, union or class.
    fn is_aggregate(&self, ty: TypeId) -> bool;
    /// The global at a link-time address and the offset in it.
    fn global_at(&self, address: u64) -> Option<(TypeId, i64)>;
    /// The per-cpu variable at an offset of the per-cpu area, and the offset in it.
    fn local_at(&self, offset: u64) -> Option<(TypeId, i64)>;
    /// Whether the operand holds the distance from per-cpu offsets to a CPU's copy.
    fn is_local_base(&self, memory: &MemoryOperand) -> bool;
    /// What a call of a known function does.
    fn call_effect(&self, target: u64) -> CallEffect;
    /// What a call through a pointer stored at `offset` of a `ty` does.
    fn indirect_call_effect(&self, ty: TypeId, offset: i64) -> CallEffect;
    /// What a function of the type `function` returns a pointer to.
    fn result_type(&self, function: TypeId) -> Option<TypeId>;
}

/// What a call does to registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEffect {
    /// Nothing: a tracing hook.
    Nothing,
    /// Nothing but to return something: the kernel's `PV_CALLEE_SAVE` functions.
    OnlyReturns,
    /// As the calling convention says; returns a pointer to this type, if known.
    Returns(Option<TypeId>),
    /// What the function does that the register points to: it stands in for a call through it.
    Through(DwarfRegister),
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueHome {
    /// In a register.
    Register(DwarfRegister),
    /// In the frame, at this offset from the canonical frame address.
    Slot(i64),
    /// In memory, at this offset from what the register holds: the frame of code that is not
    /// optimised. Counts only where that is an address in the frame.
    Behind(DwarfRegister, i64),
}

/// The debug information's word on a pointer variable between two addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableFact {
    /// First address where it holds.
    pub start: u64,
    /// First address after.
    pub end: u64,
    /// Where the value is.
    pub home: ValueHome,
    /// What it points to.
    pub target: TypeId,
    /// Where in it, in bytes.
    pub offset: i64,
    /// The variable has this home in its whole scope, so that whatever is stored there is its
    /// value.
    pub fixed: bool,
}

/// An aggregate in the function's own frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalVariable {
    /// First address where it lives there.
    pub start: u64,
    /// First address after.
    pub end: u64,
    /// Where it starts; never a register.
    pub home: ValueHome,
    /// Its type.
    pub ty: TypeId,
}

/// What a memory operand accesses, by the instruction alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeEvidence {
    /// Type of the object.
    pub ty: TypeId,
    /// Bytes from the object's start to the operand's first byte.
    pub offset: i64,
    /// How sure.
    pub trust: EvidenceTrust,
    /// The member whose pointer or array led there, where the type is a number's.
    pub via: Option<Via>,
}
