//! What one instruction does to what is known.

use relayout_layout::TypeId;

use super::knowledge::{Call, Fact, Home, Knowledge};
use super::state::State;
use super::value::{Pointer, Trust, Value};
use crate::insn::{Effect, Flow, Insn, Machine, Memory, Segment};

/// The state on its way through a block.
pub(super) struct Walk<'k> {
    /// The machine.
    pub(super) machine: &'k dyn Machine,
    /// What is known of types, globals and callees.
    pub(super) knowledge: &'k dyn Knowledge,
    /// What is known here.
    pub(super) state: State,
}

impl Walk<'_> {
    /// Takes in a fact. A container that was found by following the code is kept where the fact
    /// names the member that it has at that place: the outer type says more.
    pub(super) fn learn(&mut self, fact: &Fact) {
        let stated = Pointer {
            target: fact.target,
            offset: fact.offset,
            stride: 0,
            trust: Trust::Stated,
            via: None,
        };
        let Some(home) = self.home(fact.home) else {
            return;
        };
        let known = match home {
            Home::Register(reg) => self.state.register(reg),
            Home::Slot(offset) | Home::Behind(_, offset) => self.state.slot(offset),
        };
        let known = match known {
            Value::Pointer(_) | Value::Local(_) => {
                self.pointer(known).map_or(Value::Unknown, Value::Pointer)
            }
            known => known,
        };
        let value = match known {
            Value::Pointer(p) if p.target == stated.target && p.offset == stated.offset => {
                Pointer {
                    via: p.via,
                    ..stated
                }
            }
            Value::Pointer(p) if !self.knowledge.is_aggregate(stated.target) => p,
            Value::Pointer(p) => {
                let at = p.offset.wrapping_sub(stated.offset);
                if self.knowledge.contains(p.target, at, stated.target) {
                    p
                } else {
                    stated
                }
            }
            Value::Frame(_) | Value::Local(_) => return,
            Value::Constant(n) if self.knowledge.global(n).is_some() => return,
            Value::Constant(_) | Value::Number { .. } | Value::Unknown => stated,
        };
        self.set(home, Value::Pointer(value));
    }

    /// The same place without a detour through a register.
    pub(super) fn home(&self, home: Home) -> Option<Home> {
        let Home::Behind(reg, offset) = home else {
            return Some(home);
        };
        match self.state.register(reg) {
            Value::Frame(at) => Some(Home::Slot(at.wrapping_add(offset))),
            _ => None,
        }
    }

    fn set(&mut self, home: Home, value: Value) {
        match home {
            Home::Register(reg) => self.state.set_register(reg, value),
            Home::Slot(offset) | Home::Behind(_, offset) => self.state.set_slot(offset, value),
        }
    }

    pub(super) fn step(&mut self, insn: &Insn) {
        let results = insn.effects.map(|e| e.and_then(|e| self.result(&e)));
        let stack = self.state.register(self.machine.stack_pointer());
        let called = self.called(insn);
        for memory in insn.memory.iter().flatten().filter(|m| m.writes) {
            if let Value::Frame(at) = self.address(memory) {
                let bytes = (!memory.string).then_some(memory.bytes);
                self.state.forget(at, bytes.filter(|&bytes| bytes > 0));
            }
        }
        self.state.clobber(insn.clobbers);
        for (home, value) in results.into_iter().flatten() {
            self.set(home, value);
        }
        if let Some(called) = called {
            self.state.set_register(self.machine.stack_pointer(), stack);
            match called {
                Call::Nothing => {}
                Call::OnlyReturns => self
                    .state
                    .set_register(self.machine.result(), Value::Unknown),
                Call::Through(_) => self.state.clobber(self.machine.call_clobbers()),
                Call::Returns(result) => {
                    self.state.clobber(self.machine.call_clobbers());
                    self.state
                        .set_register(self.machine.result(), followed(result));
                }
            }
        }
    }

    fn called(&self, insn: &Insn) -> Option<Call> {
        let Flow::Call(target) = insn.flow else {
            return None;
        };
        if let Some(target) = target {
            return Some(match self.knowledge.call(target) {
                Call::Through(reg) => Call::Returns(self.returned_by(self.state.register(reg))),
                known => known,
            });
        }
        let operand = insn.memory.iter().flatten().find(|m| m.reads);
        let through = operand.and_then(|m| self.pointer(self.address(m)));
        Some(through.map_or(Call::Returns(None), |p| {
            self.knowledge.call_through(p.target, p.offset)
        }))
    }

    /// What the function at `value` returns a pointer to.
    fn returned_by(&self, value: Value) -> Option<TypeId> {
        match value {
            Value::Pointer(Pointer {
                target, offset: 0, ..
            }) => self.knowledge.result_of(target),
            _ => None,
        }
    }

    /// What an effect leaves where, from the state before the instruction.
    fn result(&self, effect: &Effect) -> Option<(Home, Value)> {
        let register = |reg| self.state.register(reg);
        let (dst, value) = match *effect {
            Effect::Copy { dst, src } => (dst, register(src)),
            Effect::Constant { dst, value } => (dst, Value::Constant(value)),
            Effect::AddConstant { dst, value } => (dst, register(dst).plus(value)),
            Effect::AddRegister { dst, src } if dst == src => (dst, register(dst).times(2)),
            Effect::AddRegister { dst, src } => (dst, self.sum(register(dst), register(src))),
            Effect::AddMemory { dst, memory } => (dst, self.sum(register(dst), self.load(&memory))),
            Effect::Multiply { dst, src, by } => (dst, register(src).times(by)),
            Effect::AddProduct { dst, base, factors } => {
                let product = product(factors.map(register));
                (
                    dst,
                    base.map_or(product, |base| self.sum(register(base), product)),
                )
            }
            Effect::Subtract {
                dst,
                from,
                what,
                scale,
            } => {
                let what = register(what).times(scale.into());
                (dst, self.difference(register(from), what))
            }
            Effect::Extend { dst, src } => {
                let number = register(src).number();
                let number = number.map(|(step, plus)| Value::Number { step, plus });
                (dst, number.unwrap_or_default())
            }
            Effect::Address { dst, memory } => (dst, self.address(&memory)),
            Effect::Load { dst, memory } => (dst, self.load(&memory)),
            Effect::Select { dst, either } => (dst, register(either[0]).join(register(either[1]))),
            Effect::LocalBase { dst } => (dst, Value::Local(0)),
            Effect::Store { memory, src } => {
                let Value::Frame(at) = self.address(&memory) else {
                    return None;
                };
                return Some((Home::Slot(at), register(src)));
            }
        };
        Some((Home::Register(dst), value))
    }

    /// The address that an operand names.
    pub(super) fn address(&self, memory: &Memory) -> Value {
        let register = |reg| self.state.register(reg);
        let displacement = memory.displacement;
        let base = memory.base.map(register);
        let index = memory
            .index
            .map(|(reg, scale)| register(reg).times(scale.into()));
        let sum = match (base, index) {
            // Three times a number: `lea (%rax,%rax,2)`.
            (Some(base), Some(_)) if memory.base == memory.index.map(|i| i.0) => {
                let scale = memory.index.map_or(0, |i| u64::from(i.1));
                Some(base.times(scale + 1))
            }
            (Some(base), Some(index)) => Some(self.sum(base, index)),
            (one, other) => one.or(other),
        };
        let fixed = Value::Constant(displacement as u64);
        match (sum, memory.segment) {
            (None, Segment::Flat) => fixed,
            (None, Segment::Local) => Value::Local(displacement),
            (Some(sum), Segment::Local) => self.sum(sum, Value::Local(displacement)),
            // The displacement is the address of an array.
            (Some(sum), Segment::Flat) if sum.number().is_some() => self.sum(fixed, sum),
            (Some(sum), Segment::Flat) => sum.plus(displacement),
        }
    }

    /// `a + b`
    fn sum(&self, a: Value, b: Value) -> Value {
        use Value::{Constant, Frame, Local, Number, Pointer};
        match (a, b) {
            (Local(at), Pointer(_)) => b.plus(at),
            (Pointer(_), Local(at)) => a.plus(at),
            (Constant(a), Constant(b)) => Constant(a.wrapping_add(b)),
            (Pointer(_) | Frame(_) | Local(_), Constant(n)) => a.plus(n as i64),
            (Constant(n), Pointer(_) | Frame(_) | Local(_)) => b.plus(n as i64),
            (Local(_), number) | (number, Local(_)) => {
                match self.pointer(if let Local(_) = a { a } else { b }) {
                    Some(p) => moved(p, number),
                    None => Value::Unknown,
                }
            }
            (Pointer(p), number) | (number, Pointer(p)) => moved(p, number),
            (Constant(n), number) | (number, Constant(n)) => self.offset(n, number),
            (Value::Unknown, Value::Unknown) => Value::Unknown,
            (a, b) => match (a.number(), b.number()) {
                // The two may be multiples of one number: how often is not known.
                (Some((_, a)), Some((_, b))) => Number {
                    step: 0,
                    plus: a.wrapping_add(b),
                },
                _ => Value::Unknown,
            },
        }
    }

    /// `a - b`
    fn difference(&self, a: Value, b: Value) -> Value {
        match (a, b) {
            (_, Value::Constant(n)) => a.plus((n as i64).wrapping_neg()),
            (Value::Pointer(_), _) if b.number().is_some() => self.sum(
                a,
                Value::Number {
                    step: b.number().map_or(0, |n| n.0),
                    plus: 0,
                },
            ),
            (Value::Pointer(_), _) | (_, Value::Pointer(_)) => Value::Unknown,
            _ => self.sum(a, b),
        }
    }

    /// What a constant and a number add up to: an address in an array, if the constant is one.
    fn offset(&self, constant: u64, number: Value) -> Value {
        let Some((_, plus)) = number.number() else {
            return Value::Unknown;
        };
        match self.knowledge.global(constant.wrapping_add(plus as u64)) {
            Some((target, offset)) => {
                let first = Pointer {
                    target,
                    offset: offset.wrapping_sub(plus),
                    stride: 0,
                    trust: Trust::Guessed,
                    via: None,
                };
                moved(first, number)
            }
            None => number.plus(constant as i64),
        }
    }

    /// The pointer that a whole-pointer load from `memory` gives.
    fn load(&self, memory: &Memory) -> Value {
        if self.knowledge.is_local_base(memory) {
            return Value::Local(0);
        }
        let address = self.address(memory);
        if let Value::Frame(at) = address {
            return self.state.slot(at);
        }
        let loaded = |p: Pointer| {
            let target = self.knowledge.loaded(p.target, p.offset)?;
            let member = u32::try_from(p.offset).ok().map(|at| (p.target, at));
            Some(Value::Pointer(Pointer {
                target,
                offset: 0,
                stride: 0,
                trust: p.trust.min(Trust::Followed),
                via: member.filter(|_| !self.knowledge.is_aggregate(target)),
            }))
        };
        self.pointer(address).and_then(loaded).unwrap_or_default()
    }

    /// Where a pointer points after all: one that was moved, into an element of an array.
    fn settled(&self, p: Pointer) -> Option<Pointer> {
        if p.stride == 0 {
            return Some(p);
        }
        let (target, offset) = self.knowledge.element(p.target, p.offset, p.stride)?;
        let is_number = |ty| !self.knowledge.is_aggregate(ty);
        let member = u32::try_from(p.offset).ok().map(|at| (p.target, at));
        let via = match is_number(p.target) {
            true => p.via,
            false => member.filter(|_| is_number(target)),
        };
        Some(Pointer {
            target,
            offset,
            stride: 0,
            via,
            ..p
        })
    }

    /// A value as a pointer; addresses of globals count.
    pub(super) fn pointer(&self, value: Value) -> Option<Pointer> {
        match value {
            Value::Pointer(p) => self.settled(p),
            Value::Constant(n) => stated(self.knowledge.global(n)?),
            Value::Local(at) => stated(self.knowledge.local(at as u64)?),
            Value::Unknown | Value::Number { .. } | Value::Frame(_) => None,
        }
    }
}

/// A pointer to a variable.
fn stated((target, offset): (TypeId, i64)) -> Option<Pointer> {
    Some(Pointer {
        target,
        offset,
        stride: 0,
        trust: Trust::Stated,
        via: None,
    })
}

/// A pointer plus a number.
fn moved(p: Pointer, by: Value) -> Value {
    let Some((step, plus)) = by.number() else {
        return Value::Unknown;
    };
    Value::Pointer(p.moved(step)).plus(plus)
}

/// The product of two values, of which one is known.
fn product(factors: [Value; 2]) -> Value {
    match factors {
        [Value::Constant(n), other] | [other, Value::Constant(n)] => other.times(n),
        _ => Value::Number { step: 0, plus: 0 },
    }
}

fn followed(target: Option<TypeId>) -> Value {
    target.map_or(Value::Unknown, |target| {
        Value::Pointer(Pointer {
            target,
            offset: 0,
            stride: 0,
            trust: Trust::Followed,
            via: None,
        })
    })
}
