//! Inputs and results of the analysis of a function.

use relayout_layout::TypeId;

use super::value::{EvidenceTrust, Via};
use crate::insn::{DwarfRegister, MemoryOperand};

/// Knowledge about types, globals and callees that the analysis asks for.
pub trait TypeKnowledge: Sync {
    /// Returns the size of a type in bytes.
    fn size_of(&self, ty: TypeId) -> Option<u64>;
    /// Returns true if objects of the type may be longer than the type, because it ends in an array
    /// without a length.
    fn is_open_ended(&self, ty: TypeId) -> bool;
    /// Returns true if `offset` of a type is in an array at its end that may have more elements than it
    /// is declared with.
    fn is_in_open_tail(&self, ty: TypeId, offset: u32) -> bool;
    /// Returns the target of the pointer stored at `offset` of a `ty`, if there is one.
    fn pointee_at(&self, ty: TypeId, offset: i64) -> Option<TypeId>;
    /// Returns the target of a pointer to `offset` of a `ty`, and the offset in it, after a move by
    /// an unknown multiple of `stride` bytes: an element of an array. A stride of 1 tells nothing.
    fn element_at(&self, ty: TypeId, offset: i64, stride: u32) -> Option<(TypeId, i64)>;
    /// Returns true if an `inner` lies at `offset` of `outer`.
    fn contains(&self, outer: TypeId, offset: i64, inner: TypeId) -> bool;
    /// Returns true if the type is a struct, union or class.
    fn is_aggregate(&self, ty: TypeId) -> bool;
    /// Returns the type of the global at a link-time address, and the offset in it.
    fn global_at(&self, address: u64) -> Option<(TypeId, i64)>;
    /// Returns the type of the per-cpu variable at an offset of the per-cpu area, and the offset in
    /// it.
    fn local_at(&self, offset: u64) -> Option<(TypeId, i64)>;
    /// Returns true if the operand holds the distance from per-cpu offsets to a CPU's copy.
    fn is_local_base(&self, memory: &MemoryOperand) -> bool;
    /// Returns the effect of a call of a known function.
    fn call_effect(&self, target: u64) -> CallEffect;
    /// Returns the effect of a call through a pointer stored at `offset` of a `ty`.
    fn indirect_call_effect(&self, ty: TypeId, offset: i64) -> CallEffect;
    /// Returns the target of the pointer that a function of the type `function` returns.
    fn result_type(&self, function: TypeId) -> Option<TypeId>;
}

/// Effect of a call on registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEffect {
    /// No effect: a tracing hook.
    Nothing,
    /// Only a result: the kernel's `PV_CALLEE_SAVE` functions.
    OnlyReturns,
    /// Effects of the calling convention, with a pointer to this type as the result, if known.
    Returns(Option<TypeId>),
    /// Effects of the function in the register, through which the callee jumps.
    Through(DwarfRegister),
}

/// Home of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueHome {
    /// Register.
    Register(DwarfRegister),
    /// Slot of the frame, at this offset from the canonical frame address.
    Slot(i64),
    /// Memory at this offset from the register's value, in code without optimisation. It counts
    /// only if that is an address in the frame.
    Behind(DwarfRegister, i64),
}

/// Fact from the debug information: a pointer variable between two addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableFact {
    /// First address for which the fact holds.
    pub start: u64,
    /// First address after the fact.
    pub end: u64,
    /// Home of the pointer.
    pub home: ValueHome,
    /// Type of the target.
    pub target: TypeId,
    /// Bytes from the start of the target to the address in the pointer.
    pub offset: i64,
    /// The variable has this home in its whole scope, so every value stored there is its value.
    pub fixed: bool,
}

/// Aggregate in the function's own frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalVariable {
    /// First address for which the aggregate lives there.
    pub start: u64,
    /// First address after its life.
    pub end: u64,
    /// Home of its first byte; never a register.
    pub home: ValueHome,
    /// Type of the aggregate.
    pub ty: TypeId,
}

/// Memory operand about which evidence is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandQuery {
    /// Address of the instruction.
    pub pc: u64,
    /// Operand of the instruction, or of a parameter of the call that it is.
    pub operand: MemoryOperand,
    /// True if its type is wanted, too: a range that a call walks is of no single type.
    pub wants_type: bool,
}

/// Evidence of one memory operand, by the code around the instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperandEvidence {
    /// Type that it accesses.
    pub accessed: Option<TypeEvidence>,
    /// Its place in the function's own frame.
    pub frame: Option<FramePlace>,
}

/// Place of a memory operand in the frame of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FramePlace {
    /// Bytes from the canonical frame address to the operand, or to one of the elements that it may
    /// be.
    pub offset: i64,
    /// Bytes between the places that the operand may be at, as those of an index; 0 if it is at
    /// `offset`.
    pub step: u32,
}

/// Evidence of one memory operand: the type that it accesses, by the instruction alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeEvidence {
    /// Type of the object.
    pub ty: TypeId,
    /// Bytes from the start of the object to the operand's first byte.
    pub offset: i64,
    /// Trust in the evidence.
    pub trust: EvidenceTrust,
    /// Member that holds the pointer or the array of the access, if the type is a number's.
    pub via: Option<Via>,
}
