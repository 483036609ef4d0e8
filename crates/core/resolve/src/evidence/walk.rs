//! Effects of instructions on the known values.

use relayout_layout::TypeId;

use super::knowledge::{CallEffect, TypeKnowledge, ValueHome, VariableFact};
use super::state::RegisterState;
use super::value::{AbstractValue, EvidenceTrust, TypedPointer};
use crate::insn::{
    AddressSegment, DecodedInsn, InsnEffect, InsnFlow, InstructionSet, MemoryOperand,
};

/// Walk through a block, with the state so far.
pub(super) struct CodeWalk<'k> {
    /// Instruction set of the code.
    pub(super) machine: &'k dyn InstructionSet,
    /// Knowledge about types, globals and callees.
    pub(super) knowledge: &'k dyn TypeKnowledge,
    /// Known values before the next instruction.
    pub(super) state: RegisterState,
}

impl CodeWalk<'_> {
    /// Applies a fact. If the code led to a container that has the fact's type at that offset, the
    /// container is kept, since the outer type tells more.
    pub(super) fn learn_fact(&mut self, fact: &VariableFact) {
        let stated = TypedPointer {
            target: fact.target,
            offset: fact.offset,
            stride: 0,
            trust: EvidenceTrust::Stated,
            via: None,
        };
        let Some(home) = self.resolve_home(fact.home) else {
            return;
        };
        let known = match home {
            ValueHome::Register(reg) => self.state.register(reg),
            ValueHome::Slot(offset) | ValueHome::Behind(_, offset) => self.state.slot(offset),
        };
        let known = match known {
            AbstractValue::Pointer(_) | AbstractValue::Local(_) => self
                .pointer(known)
                .map_or(AbstractValue::Unknown, AbstractValue::Pointer),
            known => known,
        };
        let value = match known {
            AbstractValue::Pointer(p) if p.target == stated.target && p.offset == stated.offset => {
                TypedPointer {
                    via: p.via,
                    ..stated
                }
            }
            AbstractValue::Pointer(p) if !self.knowledge.is_aggregate(stated.target) => p,
            AbstractValue::Pointer(p) => {
                let at = p.offset.wrapping_sub(stated.offset);
                if self.knowledge.contains(p.target, at, stated.target) {
                    p
                } else {
                    stated
                }
            }
            AbstractValue::Frame(_) | AbstractValue::Local(_) => return,
            // The type of an aggregate tells more than its place.
            AbstractValue::FrameStep { .. } if !self.knowledge.is_aggregate(stated.target) => {
                return;
            }
            AbstractValue::Constant(n) if self.knowledge.global_at(n).is_some() => return,
            AbstractValue::Constant(_)
            | AbstractValue::FrameStep { .. }
            | AbstractValue::Number { .. }
            | AbstractValue::Unknown => stated,
        };
        self.set_home(home, AbstractValue::Pointer(value));
    }

    /// Returns the home without the detour through a register.
    pub(super) fn resolve_home(&self, home: ValueHome) -> Option<ValueHome> {
        let ValueHome::Behind(reg, offset) = home else {
            return Some(home);
        };
        match self.state.register(reg) {
            AbstractValue::Frame(at) => Some(ValueHome::Slot(at.wrapping_add(offset))),
            _ => None,
        }
    }

    fn set_home(&mut self, home: ValueHome, value: AbstractValue) {
        match home {
            ValueHome::Register(reg) => self.state.set_register(reg, value),
            ValueHome::Slot(offset) | ValueHome::Behind(_, offset) => {
                self.state.set_slot(offset, value)
            }
        }
    }

    pub(super) fn step_insn(&mut self, insn: &DecodedInsn) {
        let results = insn.effects.map(|e| e.and_then(|e| self.effect_result(&e)));
        let stack = self.state.register(self.machine.stack_pointer());
        let called = self.call_effect(insn);
        for memory in insn.memory.iter().flatten().filter(|m| m.writes) {
            if let AbstractValue::Frame(at) = self.address(memory) {
                let bytes = (!memory.string).then_some(memory.bytes);
                self.state
                    .forget_overlapping(at, bytes.filter(|&bytes| bytes > 0));
            }
        }
        self.state.clobber(insn.clobbers);
        for (home, value) in results.into_iter().flatten() {
            self.set_home(home, value);
        }
        if let Some(called) = called {
            self.state.set_register(self.machine.stack_pointer(), stack);
            match called {
                CallEffect::Nothing => {}
                CallEffect::OnlyReturns => self
                    .state
                    .set_register(self.machine.result_register(), AbstractValue::Unknown),
                CallEffect::Through(_) => self.state.clobber(self.machine.call_clobbers()),
                CallEffect::Returns(result) => {
                    self.state.clobber(self.machine.call_clobbers());
                    self.state
                        .set_register(self.machine.result_register(), followed_pointer(result));
                }
            }
        }
    }

    fn call_effect(&self, insn: &DecodedInsn) -> Option<CallEffect> {
        let InsnFlow::Call(target) = insn.flow else {
            return None;
        };
        if let Some(target) = target {
            return Some(match self.knowledge.call_effect(target) {
                CallEffect::Through(reg) => {
                    CallEffect::Returns(self.type_returned_by(self.state.register(reg)))
                }
                known => known,
            });
        }
        let operand = insn.memory.iter().flatten().find(|m| m.reads);
        let through = operand.and_then(|m| self.pointer(self.address(m)));
        Some(through.map_or(CallEffect::Returns(None), |p| {
            self.knowledge.indirect_call_effect(p.target, p.offset)
        }))
    }

    /// Returns the target of the pointer that the function at `value` returns.
    fn type_returned_by(&self, value: AbstractValue) -> Option<TypeId> {
        match value {
            AbstractValue::Pointer(TypedPointer {
                target, offset: 0, ..
            }) => self.knowledge.result_type(target),
            _ => None,
        }
    }

    /// Returns home and value that an effect sets, from the state before the instruction.
    fn effect_result(&self, effect: &InsnEffect) -> Option<(ValueHome, AbstractValue)> {
        let register = |reg| self.state.register(reg);
        let (dst, value) = match *effect {
            InsnEffect::Copy { dst, src } => (dst, register(src)),
            InsnEffect::Constant { dst, value } => (dst, AbstractValue::Constant(value)),
            InsnEffect::AddConstant { dst, value } => (dst, register(dst).plus(value)),
            InsnEffect::AddRegister { dst, src } if dst == src => (dst, register(dst).times(2)),
            InsnEffect::AddRegister { dst, src } => (dst, self.sum(register(dst), register(src))),
            InsnEffect::AddMemory { dst, memory } => {
                (dst, self.sum(register(dst), self.load(&memory)))
            }
            InsnEffect::Multiply { dst, src, by } => (dst, register(src).times(by)),
            InsnEffect::AddProduct { dst, base, factors } => {
                let product = product(factors.map(register));
                (
                    dst,
                    base.map_or(product, |base| self.sum(register(base), product)),
                )
            }
            InsnEffect::Subtract {
                dst,
                from,
                subtrahend,
                scale,
            } => {
                let subtrahend = register(subtrahend).times(scale.into());
                (dst, self.difference(register(from), subtrahend))
            }
            InsnEffect::Extend { dst, src } => {
                let number = register(src).as_number();
                let number = number.map(|(step, plus)| AbstractValue::Number { step, plus });
                (dst, number.unwrap_or_default())
            }
            InsnEffect::Address { dst, memory } => (dst, self.address(&memory)),
            InsnEffect::Load { dst, memory } => (dst, self.load(&memory)),
            InsnEffect::Select { dst, either } => {
                (dst, register(either[0]).join(register(either[1])))
            }
            InsnEffect::LocalBase { dst } => (dst, AbstractValue::Local(0)),
            InsnEffect::Store { memory, src } => {
                let AbstractValue::Frame(at) = self.address(&memory) else {
                    return None;
                };
                return Some((ValueHome::Slot(at), register(src)));
            }
        };
        Some((ValueHome::Register(dst), value))
    }

    /// Returns the address of an operand.
    pub(super) fn address(&self, memory: &MemoryOperand) -> AbstractValue {
        let register = |reg| self.state.register(reg);
        let displacement = memory.displacement;
        let base = memory.base.map(register);
        let index = memory
            .index
            .map(|(reg, scale)| register(reg).times(scale.into()));
        let sum = match (base, index) {
            // `lea (%rax,%rax,2)` is three times a number.
            (Some(base), Some(_)) if memory.base == memory.index.map(|i| i.0) => {
                let scale = memory.index.map_or(0, |i| u64::from(i.1));
                Some(base.times(scale + 1))
            }
            (Some(base), Some(index)) => Some(self.sum(base, index)),
            (part, other) => part.or(other),
        };
        let fixed = AbstractValue::Constant(displacement as u64);
        match (sum, memory.segment) {
            (None, AddressSegment::Flat) => fixed,
            (None, AddressSegment::Local) => AbstractValue::Local(displacement),
            (Some(sum), AddressSegment::Local) => self.sum(sum, AbstractValue::Local(displacement)),
            // The displacement is the address of an array.
            (Some(sum), AddressSegment::Flat) if sum.as_number().is_some() => self.sum(fixed, sum),
            (Some(sum), AddressSegment::Flat) => sum.plus(displacement),
        }
    }

    /// Returns `a + b`.
    fn sum(&self, a: AbstractValue, b: AbstractValue) -> AbstractValue {
        use AbstractValue::{Constant, Frame, FrameStep, Local, Number, Pointer};
        match (a, b) {
            (Local(at), Pointer(_)) => b.plus(at),
            (Pointer(_), Local(at)) => a.plus(at),
            (Constant(a), Constant(b)) => Constant(a.wrapping_add(b)),
            (Pointer(_) | Frame(_) | FrameStep { .. } | Local(_), Constant(n)) => a.plus(n as i64),
            (Constant(n), Pointer(_) | Frame(_) | FrameStep { .. } | Local(_)) => b.plus(n as i64),
            (frame @ (Frame(_) | FrameStep { .. }), number)
            | (number, frame @ (Frame(_) | FrameStep { .. })) => { number.as_number() }
                .and_then(|number| frame.stepped_in_frame(number))
                .unwrap_or_default(),
            (Local(_), number) | (number, Local(_)) => {
                match self.pointer(if let Local(_) = a { a } else { b }) {
                    Some(p) => move_pointer(p, number),
                    None => AbstractValue::Unknown,
                }
            }
            (Pointer(p), number) | (number, Pointer(p)) => move_pointer(p, number),
            (Constant(n), number) | (number, Constant(n)) => self.indexed_global(n, number),
            (AbstractValue::Unknown, AbstractValue::Unknown) => AbstractValue::Unknown,
            (a, b) => match (a.as_number(), b.as_number()) {
                // Both may be multiples of the same number, but the factor is unknown.
                (Some((_, a)), Some((_, b))) => Number {
                    step: 0,
                    plus: a.wrapping_add(b),
                },
                _ => AbstractValue::Unknown,
            },
        }
    }

    /// Returns `a - b`.
    fn difference(&self, a: AbstractValue, b: AbstractValue) -> AbstractValue {
        match (a, b) {
            (_, AbstractValue::Constant(n)) => a.plus((n as i64).wrapping_neg()),
            (AbstractValue::Pointer(_), _) if b.as_number().is_some() => self.sum(
                a,
                AbstractValue::Number {
                    step: b.as_number().map_or(0, |n| n.0),
                    plus: 0,
                },
            ),
            (AbstractValue::Pointer(_) | AbstractValue::Frame(_), _)
            | (AbstractValue::FrameStep { .. }, _)
            | (_, AbstractValue::Pointer(_) | AbstractValue::Frame(_))
            | (_, AbstractValue::FrameStep { .. }) => AbstractValue::Unknown,
            _ => self.sum(a, b),
        }
    }

    /// Returns the sum of a constant and a number. If the constant is the address of a global, the
    /// sum is an address in an array.
    fn indexed_global(&self, constant: u64, number: AbstractValue) -> AbstractValue {
        let Some((_, plus)) = number.as_number() else {
            return AbstractValue::Unknown;
        };
        match self.knowledge.global_at(constant.wrapping_add(plus as u64)) {
            Some((target, offset)) => {
                let first = TypedPointer {
                    target,
                    offset: offset.wrapping_sub(plus),
                    stride: 0,
                    trust: EvidenceTrust::Guessed,
                    via: None,
                };
                move_pointer(first, number)
            }
            None => number.plus(constant as i64),
        }
    }

    /// Returns the pointer that a load of a whole pointer from `memory` gives.
    fn load(&self, memory: &MemoryOperand) -> AbstractValue {
        if self.knowledge.is_local_base(memory) {
            return AbstractValue::Local(0);
        }
        let address = self.address(memory);
        if let AbstractValue::Frame(at) = address {
            return self.state.slot(at);
        }
        let loaded = |p: TypedPointer| {
            let target = self.knowledge.pointee_at(p.target, p.offset)?;
            let member = u32::try_from(p.offset).ok().map(|at| (p.target, at));
            Some(AbstractValue::Pointer(TypedPointer {
                target,
                offset: 0,
                stride: 0,
                trust: p.trust.min(EvidenceTrust::Followed),
                via: member,
            }))
        };
        self.pointer(address).and_then(loaded).unwrap_or_default()
    }

    /// Returns the target of a moved pointer: an element of an array.
    fn settle_stride(&self, p: TypedPointer) -> Option<TypedPointer> {
        if p.stride == 0 {
            return Some(p);
        }
        let (target, offset) = self.knowledge.element_at(p.target, p.offset, p.stride)?;
        let is_number = |ty| !self.knowledge.is_aggregate(ty);
        let member = u32::try_from(p.offset).ok().map(|at| (p.target, at));
        // Elements of the last array tell the owner, which nothing else may access.
        let is_in_tail = |(ty, at)| target != p.target && self.knowledge.is_in_open_tail(ty, at);
        let names_array = is_number(target) || member.is_some_and(is_in_tail);
        let via = match names_array && !is_number(p.target) {
            true => member,
            false => p.via,
        };
        Some(TypedPointer {
            target,
            offset,
            stride: 0,
            via,
            ..p
        })
    }

    /// Returns a value as a pointer. Addresses of globals count.
    pub(super) fn pointer(&self, value: AbstractValue) -> Option<TypedPointer> {
        match value {
            AbstractValue::Pointer(p) => self.settle_stride(p),
            AbstractValue::Constant(n) => stated_pointer(self.knowledge.global_at(n)?),
            AbstractValue::Local(at) => stated_pointer(self.knowledge.local_at(at as u64)?),
            AbstractValue::Unknown
            | AbstractValue::Number { .. }
            | AbstractValue::Frame(_)
            | AbstractValue::FrameStep { .. } => None,
        }
    }
}

/// Returns a pointer to a variable.
fn stated_pointer((target, offset): (TypeId, i64)) -> Option<TypedPointer> {
    Some(TypedPointer {
        target,
        offset,
        stride: 0,
        trust: EvidenceTrust::Stated,
        via: None,
    })
}

/// Returns a pointer plus a number.
fn move_pointer(p: TypedPointer, by: AbstractValue) -> AbstractValue {
    let Some((step, plus)) = by.as_number() else {
        return AbstractValue::Unknown;
    };
    AbstractValue::Pointer(p.moved_by_steps(step)).plus(plus)
}

/// Returns the product of two values, of which one is known.
fn product(factors: [AbstractValue; 2]) -> AbstractValue {
    match factors {
        [AbstractValue::Constant(n), other] | [other, AbstractValue::Constant(n)] => other.times(n),
        _ => AbstractValue::Number { step: 0, plus: 0 },
    }
}

fn followed_pointer(target: Option<TypeId>) -> AbstractValue {
    target.map_or(AbstractValue::Unknown, |target| {
        AbstractValue::Pointer(TypedPointer {
            target,
            offset: 0,
            stride: 0,
            trust: EvidenceTrust::Followed,
            via: None,
        })
    })
}
