//! Follows pointers forward through one function until nothing changes.
//!
//! Each basic block starts with what all ways into it agree on, completed by what the debug
//! information says of variables there. A fixed point is reached since joins only ever lose
//! knowledge; a bound on the number of visits guards against mistakes in that argument.

use std::collections::VecDeque;

use relayout_layout::TypeId;

use super::code::Code;
use super::state::State;
use super::value::{Pointer, Trust, Value};
use crate::insn::{Effect, Flow, Insn, Machine, Memory, Reg, Segment};

/// Visits of one block after which the analysis of the function stops.
const MAX_VISITS: usize = 64;

/// What the analysis asks about types, globals and callees.
pub trait Knowledge: Sync {
    /// Size of a type in bytes.
    fn size_of(&self, ty: TypeId) -> Option<u64>;
    /// What the pointer stored at `offset` in a `ty` points to, if there is one.
    fn loaded(&self, ty: TypeId, offset: i64) -> Option<TypeId>;
    /// The innermost array element that holds `offset` of a `ty`, and the offset in it; `ty` itself
    /// if that place is in no array.
    fn element(&self, ty: TypeId, offset: i64) -> Option<(TypeId, i64)>;
    /// Whether an `inner` lies at `offset` of `outer`.
    fn contains(&self, outer: TypeId, offset: i64, inner: TypeId) -> bool;
    /// Whether the type is a struct, union or class.
    fn is_aggregate(&self, ty: TypeId) -> bool;
    /// The global at a link-time address and the offset in it.
    fn global(&self, address: u64) -> Option<(TypeId, i64)>;
    /// The per-cpu variable at an offset of the per-cpu area, and the offset in it.
    fn local(&self, offset: u64) -> Option<(TypeId, i64)>;
    /// Whether the operand holds the distance from per-cpu offsets to a CPU's copy.
    fn is_local_base(&self, memory: &Memory) -> bool;
    /// What a call of a known function does.
    fn call(&self, target: u64) -> Call;
    /// What a call through a pointer stored at `offset` of a `ty` does.
    fn call_through(&self, ty: TypeId, offset: i64) -> Call;
}

/// What a call does to registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Nothing: a tracing hook.
    Nothing,
    /// Nothing but to return something: the kernel's `PV_CALLEE_SAVE` functions.
    OnlyReturns,
    /// As the calling convention says; returns a pointer to this type, if known.
    Returns(Option<TypeId>),
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In a register.
    Register(Reg),
    /// In the frame, at this offset from the canonical frame address.
    Slot(i64),
    /// In memory, at this offset from what the register holds: the frame of code that is not
    /// optimised. Counts only where that is an address in the frame.
    Behind(Reg, i64),
}

/// The debug information's word on a pointer variable between two addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// First address where it holds.
    pub start: u64,
    /// First address after.
    pub end: u64,
    /// Where the value is.
    pub home: Home,
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
pub struct Local {
    /// First address where it lives there.
    pub start: u64,
    /// First address after.
    pub end: u64,
    /// Where it starts; never a register.
    pub home: Home,
    /// Its type.
    pub ty: TypeId,
}

/// What a memory operand accesses, by the instruction alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Type of the object.
    pub ty: TypeId,
    /// Bytes from the object's start to the operand's first byte.
    pub offset: i64,
    /// How sure.
    pub trust: Trust,
}

/// One analysed function.
#[derive(Debug)]
pub struct Function {
    code: Code,
    facts: Vec<Fact>,
    locals: Vec<Local>,
    entries: Vec<Option<State>>,
}

impl Function {
    /// Analyses a function that starts at `entry`.
    pub fn analyse(
        machine: &dyn Machine,
        knowledge: &dyn Knowledge,
        code: Code,
        mut facts: Vec<Fact>,
        locals: Vec<Local>,
        entry: u64,
    ) -> Self {
        facts.sort_by_key(|f| f.start);
        let mut function = Self {
            entries: vec![None; code.blocks.len()],
            code,
            facts,
            locals,
        };
        let first = function
            .code
            .index_at(entry)
            .and_then(|i| function.code.block_of(i));
        if let Some(block) = first {
            let mut state = State::default();
            state.set_register(
                machine.stack_pointer(),
                Value::Frame(machine.entry_stack_offset()),
            );
            function.entries[block] = Some(state);
            function.run(machine, knowledge, block);
        }
        function
    }

    /// What the debug information says of the function's pointers.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// What the operand of `insn`, the instruction that ran at `pc`, accesses. `insn` may differ
    /// from the code that was analysed (the kernel patches itself).
    pub fn evidence(
        &self,
        machine: &dyn Machine,
        knowledge: &dyn Knowledge,
        insn: &Insn,
        operand: &Memory,
    ) -> Option<Evidence> {
        let index = self.code.index_at(insn.address)?;
        let block = self.code.block_of(index)?;
        let mut walk = Walk {
            machine,
            knowledge,
            state: self.entry_state(block),
        };
        for at in self.code.blocks[block].first..index {
            self.learn(&mut walk, at, block);
            self.step(&mut walk, at);
        }
        self.learn(&mut walk, index, block);
        let pointer = match walk.address(operand) {
            Value::Frame(at) => self.local(&walk, insn.address, at)?,
            value => walk.pointer(value)?,
        };
        let size = knowledge.size_of(pointer.target)?;
        let inside = u64::try_from(pointer.offset).is_ok_and(|o| o < size);
        inside.then_some(Evidence {
            ty: pointer.target,
            offset: pointer.offset,
            trust: pointer.trust,
        })
    }

    fn entry_state(&self, block: usize) -> State {
        self.entries
            .get(block)
            .cloned()
            .flatten()
            .unwrap_or_default()
    }

    fn run(&mut self, machine: &dyn Machine, knowledge: &dyn Knowledge, entry: usize) {
        let mut queue = VecDeque::from([entry]);
        let mut visits = vec![0; self.code.blocks.len()];
        while let Some(block) = queue.pop_front() {
            visits[block] += 1;
            if visits[block] > MAX_VISITS {
                return;
            }
            let mut walk = Walk {
                machine,
                knowledge,
                state: self.entry_state(block),
            };
            for at in self.code.blocks[block].first..self.code.blocks[block].end {
                self.learn(&mut walk, at, block);
                self.step(&mut walk, at);
            }
            for &next in &self.code.blocks[block].successors {
                let changed = match &mut self.entries[next] {
                    Some(known) => known.join(&walk.state, |ty| knowledge.size_of(ty)),
                    unknown => {
                        *unknown = Some(walk.state.clone());
                        true
                    }
                };
                if changed && !queue.contains(&next) {
                    queue.push_back(next);
                }
            }
        }
    }

    /// Applies the facts that begin with instruction `at`: all that hold if it starts a block or
    /// follows a call, since not every callee clobbers what the convention lets it.
    fn learn(&self, walk: &mut Walk<'_>, at: usize, block: usize) {
        let address = self.code.insns[at].address;
        let after = self.facts.partition_point(|f| f.start <= address);
        let previous = (self.code.blocks[block].first < at).then(|| &self.code.insns[at - 1]);
        let before = match previous {
            Some(last) if !matches!(last.flow, Flow::Call(_)) => {
                self.facts.partition_point(|f| f.start <= last.address)
            }
            _ => 0,
        };
        for fact in self.facts[before..after].iter().filter(|f| address < f.end) {
            walk.learn(fact);
        }
    }

    /// Takes instruction `at`. A value stored to a variable's home has the variable's type, in the
    /// register that it came from too.
    fn step(&self, walk: &mut Walk<'_>, at: usize) {
        let insn = &self.code.insns[at];
        let stored = insn
            .effects
            .iter()
            .flatten()
            .find_map(|effect| match effect {
                Effect::Store { memory, src } => match walk.address(memory) {
                    Value::Frame(at) if walk.state.register(*src) == Value::Unknown => {
                        Some((*src, at))
                    }
                    _ => None,
                },
                _ => None,
            });
        walk.step(insn);
        let Some((src, slot)) = stored else { return };
        let home = Some(Home::Slot(slot));
        let holds = |f: &&Fact| f.fixed && (f.start..f.end).contains(&insn.address);
        let fact = self
            .facts
            .iter()
            .filter(holds)
            .find(|f| walk.home(f.home) == home);
        if let Some(fact) = fact {
            walk.learn(fact);
            walk.state.set_register(src, walk.state.slot(slot));
        }
    }

    /// The aggregate of the frame that holds `at`.
    fn local(&self, walk: &Walk<'_>, pc: u64, at: i64) -> Option<Pointer> {
        self.locals
            .iter()
            .filter(|l| (l.start..l.end).contains(&pc))
            .find_map(|local| {
                let Some(Home::Slot(start)) = walk.home(local.home) else {
                    return None;
                };
                let offset = at.wrapping_sub(start);
                let size = walk.knowledge.size_of(local.ty)?;
                let inside = u64::try_from(offset).is_ok_and(|o| o < size);
                inside.then_some(Pointer {
                    target: local.ty,
                    offset,
                    trust: Trust::Stated,
                })
            })
    }
}

/// The state on its way through a block.
struct Walk<'k> {
    machine: &'k dyn Machine,
    knowledge: &'k dyn Knowledge,
    state: State,
}

impl Walk<'_> {
    /// Takes in a fact. A container that was found by following the code is kept where the fact
    /// names the member that it has at that place: the outer type says more.
    fn learn(&mut self, fact: &Fact) {
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
    fn home(&self, home: Home) -> Option<Home> {
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

    fn step(&mut self, insn: &Insn) {
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
    fn address(&self, memory: &Memory) -> Value {
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
    fn pointer(&self, value: Value) -> Option<Pointer> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::x86::X86_64;
    use proptest::prelude::*;

    const NODE: TypeId = TypeId(1);
    const OUTER: TypeId = TypeId(2);

    /// `NODE` (16 bytes) holds a pointer to `NODE` at 8; `OUTER` (64 bytes) holds a `NODE` at 32.
    struct Fixed;

    impl Knowledge for Fixed {
        fn size_of(&self, ty: TypeId) -> Option<u64> {
            [(NODE, 16), (OUTER, 64)]
                .iter()
                .find(|s| s.0 == ty)
                .map(|s| s.1)
        }
        fn loaded(&self, ty: TypeId, offset: i64) -> Option<TypeId> {
            [(NODE, 8), (OUTER, 40)]
                .contains(&(ty, offset))
                .then_some(NODE)
        }
        fn element(&self, ty: TypeId, offset: i64) -> Option<(TypeId, i64)> {
            Some((ty, offset))
        }
        fn contains(&self, outer: TypeId, offset: i64, inner: TypeId) -> bool {
            (outer, offset, inner) == (OUTER, 32, NODE)
        }
        fn is_aggregate(&self, _: TypeId) -> bool {
            true
        }
        fn global(&self, address: u64) -> Option<(TypeId, i64)> {
            (0x5000..0x5040)
                .contains(&address)
                .then(|| (OUTER, (address - 0x5000) as i64))
        }
        fn local(&self, offset: u64) -> Option<(TypeId, i64)> {
            (0x100..0x110)
                .contains(&offset)
                .then(|| (NODE, (offset - 0x100) as i64))
        }
        fn is_local_base(&self, memory: &Memory) -> bool {
            memory.segment == Segment::Local && memory.displacement == 0x40
        }
        fn call(&self, _: u64) -> Call {
            Call::Returns(Some(NODE))
        }
        fn call_through(&self, _: TypeId, _: i64) -> Call {
            Call::Returns(None)
        }
    }

    fn parameter(target: TypeId, end: u64) -> Fact {
        Fact {
            start: 0x1000,
            end,
            home: Home::Register(Reg(5)),
            target,
            offset: 0,
            fixed: false,
        }
    }

    /// `expect` is the evidence of the last instruction with a memory operand.
    fn check(bytes: &[u8], facts: &[Fact], expect: Option<(TypeId, i64)>) {
        let code = Code::decode(&X86_64, &[(0x1000, bytes)]);
        let last = *code
            .insns
            .iter()
            .rfind(|i| i.memory[0].is_some())
            .expect("an operand");
        let function = Function::analyse(&X86_64, &Fixed, code, facts.to_vec(), Vec::new(), 0x1000);
        let operand = last.memory[0].expect("just found");
        let found = function.evidence(&X86_64, &Fixed, &last, &operand);
        assert_eq!(found.map(|e| (e.ty, e.offset)), expect, "{bytes:02x?}");
    }

    #[test]
    fn a_parameter_is_followed_through_copies() {
        // mov %rdi,%rbx; mov 0x8(%rbx),%eax
        let code = [0x48, 0x89, 0xfb, 0x8b, 0x43, 0x08];
        check(&code, &[parameter(NODE, 0x1001)], Some((NODE, 8)));
    }

    #[test]
    fn a_loaded_member_points_to_its_type() {
        // mov 0x8(%rdi),%rax; mov (%rax),%ecx
        let code = [0x48, 0x8b, 0x47, 0x08, 0x8b, 0x08];
        check(&code, &[parameter(NODE, 0x1001)], Some((NODE, 0)));
    }

    #[test]
    fn an_embedded_member_stays_in_its_container() {
        // lea 0x20(%rdi),%rax; mov 0x4(%rax),%ecx, where rax is said to point to a NODE
        let code = [0x48, 0x8d, 0x47, 0x20, 0x8b, 0x48, 0x04];
        let inner = Fact {
            start: 0x1004,
            home: Home::Register(Reg(0)),
            ..parameter(NODE, 0x1007)
        };
        check(&code, &[parameter(OUTER, 0x1001), inner], Some((OUTER, 36)));
    }

    #[test]
    fn a_spilled_pointer_comes_back() {
        // push %rdi; xor %edi,%edi; pop %rdx; mov (%rdx),%eax
        let code = [0x57, 0x31, 0xff, 0x5a, 0x8b, 0x02];
        check(&code, &[parameter(NODE, 0x1001)], Some((NODE, 0)));
    }

    #[test]
    fn a_call_clobbers_and_returns() {
        // call .+5; mov (%rax),%ecx    and    call .+5; mov (%rdi),%ecx
        check(&[0xe8, 0, 0, 0, 0, 0x8b, 0x08], &[], Some((NODE, 0)));
        check(
            &[0xe8, 0, 0, 0, 0, 0x8b, 0x0f],
            &[parameter(NODE, 0x1001)],
            None,
        );
    }

    #[test]
    fn a_per_cpu_address_is_formed_from_its_offset() {
        // mov $0x100,%rax; add %gs:0x40,%rax; mov 0x8(%rax),%ecx
        let code = [
            0x48, 0xc7, 0xc0, 0x00, 0x01, 0, 0, 0x65, 0x48, 0x03, 0x04, 0x25, 0x40, 0, 0, 0, 0x8b,
            0x48, 0x08,
        ];
        check(&code, &[], Some((NODE, 8)));
    }

    #[test]
    fn outside_of_the_type_is_no_evidence() {
        // mov -0x8(%rdi),%eax
        check(&[0x8b, 0x47, 0xf8], &[parameter(NODE, 0x1001)], None);
    }

    proptest! {
        #[test]
        fn any_code_comes_to_an_end(
            bytes in proptest::collection::vec(any::<u8>(), 1..600),
            facts in proptest::collection::vec(
                (0u64..600, 0u64..600, 0u8..20, 0u32..4, any::<i64>(), any::<bool>()), 0..20),
        ) {
            let facts = facts.into_iter().map(|(start, len, reg, ty, offset, slot)| Fact {
                start: 0x1000 + start,
                end: 0x1000 + start + len,
                home: if slot { Home::Slot(offset) } else { Home::Register(Reg(reg)) },
                target: TypeId(ty),
                offset, fixed: slot,
            });
            let code = Code::decode(&X86_64, &[(0x1000, &bytes)]);
            let insns = code.insns.clone();
            let function =
                Function::analyse(&X86_64, &Fixed, code, facts.collect(), Vec::new(), 0x1000);
            for insn in insns {
                for operand in insn.memory.iter().flatten() {
                    let _ = function.evidence(&X86_64, &Fixed, &insn, operand);
                }
            }
        }
    }
}
