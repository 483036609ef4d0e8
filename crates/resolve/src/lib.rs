//! From (pc, address) to (object, type, member path).

pub mod insn;
