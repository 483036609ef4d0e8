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
            trust: Trust::Stated,
        };
        let Some(home) = self.home(fact.home) else {
            return;
        };
        let known = match home {
            Home::Register(reg) => self.state.register(reg),
            Home::Slot(offset) | Home::Behind(_, offset) => self.state.slot(offset),
        };
        let value = match known {
            Value::Pointer(p) if p.target == stated.target && p.offset == stated.offset => stated,
            Value::Pointer(p) if !self.knowledge.is_aggregate(stated.target) => p,
            Value::Pointer(p) => {
                let at = p.offset.wrapping_sub(stated.offset);
                if self.knowledge.contains(p.target, at, stated.target) {
                    p
                } else {
                    stated
                }
            }
            Value::Frame(_) | Value::LocalBase => return,
            Value::Constant(n) if self.knowledge.global(n).is_some() => return,
            Value::Constant(_) | Value::Unknown => stated,
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
                self.state.set_slot(at, Value::Unknown);
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
            return Some(self.knowledge.call(target));
        }
        let operand = insn.memory.iter().flatten().find(|m| m.reads);
        let through = operand.and_then(|m| self.pointer(self.address(m)));
        Some(through.map_or(Call::Returns(None), |p| {
            self.knowledge.call_through(p.target, p.offset)
        }))
    }

    /// What an effect leaves where, from the state before the instruction.
    fn result(&self, effect: &Effect) -> Option<(Home, Value)> {
        let register = |reg| self.state.register(reg);
        let (dst, value) = match *effect {
            Effect::Copy { dst, src } => (dst, register(src)),
            Effect::Constant { dst, value } => (dst, Value::Constant(value)),
            Effect::AddConstant { dst, value } => (dst, register(dst).plus(value)),
            Effect::AddRegister { dst, src } => (dst, self.sum(register(dst), register(src), 1, 0)),
            Effect::AddMemory { dst, memory } => {
                (dst, self.sum(register(dst), self.load(&memory), 1, 0))
            }
            Effect::Address { dst, memory } => (dst, self.address(&memory)),
            Effect::Load { dst, memory } => (dst, self.load(&memory)),
            Effect::Select { dst, src } => {
                let size_of = |ty| self.knowledge.size_of(ty);
                (dst, register(dst).join(register(src), size_of))
            }
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
        if memory.segment == Segment::Local {
            return match (base, memory.index) {
                (None, None) => self.per_cpu(displacement as u64),
                (Some(base), None) => self.sum(base, Value::LocalBase, 1, displacement),
                _ => Value::Unknown,
            };
        }
        match (base, memory.index) {
            (None, None) => Value::Constant(displacement as u64),
            (Some(Value::Unknown), None) => self.indexed_global(displacement as u64),
            (Some(Value::LocalBase), None) => self.per_cpu(displacement as u64),
            (Some(base), None) => base.plus(displacement),
            (None, Some((index, 1))) => register(index).plus(displacement),
            (None, Some(_)) => self.indexed_global(displacement as u64),
            (Some(base), Some((index, scale))) => {
                self.sum(base, register(index), scale, displacement)
            }
        }
    }

    /// `a + b * scale + displacement`
    fn sum(&self, a: Value, b: Value, scale: u8, displacement: i64) -> Value {
        use Value::{Constant, LocalBase};
        match (a, b) {
            (LocalBase, Constant(n)) | (Constant(n), LocalBase) if scale == 1 => {
                self.per_cpu(n.wrapping_add(displacement as u64))
            }
            (LocalBase, Value::Pointer(_)) if scale == 1 => b.plus(displacement),
            (Value::Pointer(_), LocalBase) => a.plus(displacement),
            (_, Constant(n)) => {
                a.plus(displacement.wrapping_add((n as i64).wrapping_mul(i64::from(scale))))
            }
            (Constant(n), Value::Pointer(_) | Value::Frame(_)) if scale == 1 => {
                b.plus(displacement.wrapping_add(n as i64))
            }
            (Constant(n), _) => self.indexed_global(n.wrapping_add(displacement as u64)),
            (Value::Pointer(p), _) => self.indexed(p, displacement),
            (_, Value::Pointer(p)) if scale == 1 => self.indexed(p, displacement),
            _ => Value::Unknown,
        }
    }

    /// A pointer moved by an unknown index.
    fn indexed(&self, p: Pointer, displacement: i64) -> Value {
        let element = self
            .knowledge
            .element(p.target, p.offset.wrapping_add(displacement));
        element.map_or(Value::Unknown, |(target, offset)| {
            Value::Pointer(Pointer {
                target,
                offset,
                trust: Trust::Guessed,
            })
        })
    }

    fn indexed_global(&self, address: u64) -> Value {
        let Some((target, offset)) = self.knowledge.global(address) else {
            return Value::Unknown;
        };
        self.indexed(
            Pointer {
                target,
                offset,
                trust: Trust::Guessed,
            },
            0,
        )
    }

    fn per_cpu(&self, offset: u64) -> Value {
        self.knowledge
            .local(offset)
            .map_or(Value::Unknown, |(target, offset)| {
                Value::Pointer(Pointer {
                    target,
                    offset,
                    trust: Trust::Stated,
                })
            })
    }

    /// The pointer that a whole-pointer load from `memory` gives.
    fn load(&self, memory: &Memory) -> Value {
        if self.knowledge.is_local_base(memory) {
            return Value::LocalBase;
        }
        let address = self.address(memory);
        if let Value::Frame(at) = address {
            return self.state.slot(at);
        }
        let loaded = |p: Pointer| {
            let target = self.knowledge.loaded(p.target, p.offset)?;
            Some(Value::Pointer(Pointer {
                target,
                offset: 0,
                trust: p.trust.min(Trust::Followed),
            }))
        };
        self.pointer(address).and_then(loaded).unwrap_or_default()
    }

    /// A value as a pointer; addresses of globals count.
    pub(super) fn pointer(&self, value: Value) -> Option<Pointer> {
        match value {
            Value::Pointer(p) => Some(p),
            Value::Constant(n) => {
                let (target, offset) = self.knowledge.global(n)?;
                Some(Pointer {
                    target,
                    offset,
                    trust: Trust::Stated,
                })
            }
            Value::Unknown | Value::Frame(_) | Value::LocalBase => None,
        }
    }
}

fn followed(target: Option<TypeId>) -> Value {
    target.map_or(Value::Unknown, |target| {
        Value::Pointer(Pointer {
            target,
            offset: 0,
            trust: Trust::Followed,
        })
    })
}
