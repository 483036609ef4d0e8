//! Forward analysis of pointers through one function, to a fixed point.
//!
//! Each basic block starts with the values that all paths into it agree on, completed by the facts
//! of the debug information. The analysis ends because joins only lose knowledge. A bound on the
//! number of visits guards against mistakes in that argument.

use std::collections::VecDeque;
use std::ops::Range;

use super::code::FunctionCode;
use super::facts::FactIndex;
use super::knowledge::{
    FramePlace, LocalVariable, OperandEvidence, OperandQuery, TypeEvidence, TypeKnowledge,
    ValueHome, VariableFact,
};
use super::state::RegisterState;
use super::value::{AbstractValue, EvidenceTrust, TypedPointer};
use super::walk::CodeWalk;
use crate::insn::{DecodedInsn, InsnEffect, InsnFlow, InstructionSet, MemoryOperand};

/// Visits of one block after which the analysis of the function stops.
const MAX_VISITS: usize = 64;
/// Instructions that are tried for the home of a variable, at most: the prologue comes before the
/// frame register has its value.
const HOME_INSNS_MAX: usize = 16;

/// Analysed function.
#[derive(Debug)]
pub struct AnalysedFunction {
    code: FunctionCode,
    facts: FactIndex,
    locals: Vec<LocalVariable>,
    entries: Vec<Option<RegisterState>>,
}

impl AnalysedFunction {
    /// Analyses a function that starts at `entry`.
    pub fn analyse(
        machine: &dyn InstructionSet,
        knowledge: &dyn TypeKnowledge,
        code: FunctionCode,
        facts: Vec<VariableFact>,
        locals: Vec<LocalVariable>,
        entry: u64,
    ) -> Self {
        let mut function = Self {
            entries: vec![None; code.blocks.len()],
            code,
            facts: FactIndex::new(facts),
            locals,
        };
        let first = function
            .code
            .index_at(entry)
            .and_then(|i| function.code.block_of(i));
        if let Some(block) = first {
            let mut state = RegisterState::default();
            state.set_register(
                machine.stack_pointer(),
                AbstractValue::Frame(machine.entry_stack_offset()),
            );
            function.entries[block] = Some(state);
            function.run_to_fixpoint(machine, knowledge, block);
        }
        function
    }

    /// Returns the facts of the debug information about the function's pointers.
    pub fn facts(&self) -> &[VariableFact] {
        self.facts.as_slice()
    }

    /// Returns the instruction that ends at `address`.
    pub fn insn_before(&self, address: u64) -> Option<&DecodedInsn> {
        let insns = &self.code.insns;
        let at = insns
            .partition_point(|i| i.address < address)
            .checked_sub(1)?;
        Some(&insns[at]).filter(|i| i.next_address() == address)
    }

    /// Returns the evidence of an operand of `insn`, an instruction that ran. It may differ from the
    /// code that was analysed, since the kernel patches itself.
    pub fn evidence(
        &self,
        machine: &dyn InstructionSet,
        knowledge: &dyn TypeKnowledge,
        insn: &DecodedInsn,
        operand: &MemoryOperand,
    ) -> Option<TypeEvidence> {
        let query = OperandQuery {
            pc: insn.address,
            operand: *operand,
            wants_type: true,
        };
        let found = self.evidence_of_all(machine, knowledge, &[query]);
        found.into_iter().next()?.accessed
    }

    /// Returns the offset of a variable's home from the canonical frame address, by the first
    /// instruction for which it holds. `None` for a home outside of the frame.
    pub fn home_offset(
        &self,
        machine: &dyn InstructionSet,
        knowledge: &dyn TypeKnowledge,
        (home, span): (ValueHome, Range<u64>),
    ) -> Option<i64> {
        if let ValueHome::Slot(offset) = home {
            return Some(offset);
        }
        let holds = |insn: &&DecodedInsn| span.contains(&insn.address);
        let insns = self.code.insns.iter().filter(holds).take(HOME_INSNS_MAX);
        insns
            .filter_map(|insn| self.walk_to(machine, knowledge, insn.address))
            .find_map(|walk| match walk.resolve_home(home) {
                Some(ValueHome::Slot(offset)) => Some(offset),
                _ => None,
            })
    }

    /// Returns the walk with the values before the instruction at `address`.
    fn walk_to<'k>(
        &self,
        machine: &'k dyn InstructionSet,
        knowledge: &'k dyn TypeKnowledge,
        address: u64,
    ) -> Option<CodeWalk<'k>> {
        let index = self.code.index_at(address)?;
        let block = self.code.block_of(index)?;
        let mut walk = CodeWalk {
            machine,
            knowledge,
            state: self.entry_state(block),
        };
        for at in self.code.blocks[block].first..index {
            self.learn_facts_at(&mut walk, at, block);
            self.step_insn(&mut walk, at);
        }
        self.learn_facts_at(&mut walk, index, block);
        Some(walk)
    }

    /// Returns the evidence of many operands, in the order of `queries`. Each block is walked once for
    /// all of them: generated code has blocks of thousands of instructions.
    pub fn evidence_of_all(
        &self,
        machine: &dyn InstructionSet,
        knowledge: &dyn TypeKnowledge,
        queries: &[OperandQuery],
    ) -> Vec<OperandEvidence> {
        let mut found = vec![OperandEvidence::default(); queries.len()];
        let place = |(n, query): (usize, &OperandQuery)| {
            let insn = self.code.index_at(query.pc)?;
            let block = self.code.block_of(insn)?;
            Some((block, insn, n))
        };
        let mut places: Vec<_> = queries.iter().enumerate().filter_map(place).collect();
        places.sort_unstable();
        for in_block in places.chunk_by(|a, b| a.0 == b.0) {
            let block = in_block[0].0;
            let mut walk = CodeWalk {
                machine,
                knowledge,
                state: self.entry_state(block),
            };
            let mut at = self.code.blocks[block].first;
            self.learn_facts_at(&mut walk, at, block);
            for &(_, insn, n) in in_block {
                while at < insn {
                    self.step_insn(&mut walk, at);
                    at += 1;
                    self.learn_facts_at(&mut walk, at, block);
                }
                found[n] = self.operand_evidence(&walk, &queries[n]);
            }
        }
        found
    }

    /// Returns the evidence of an operand of the instruction that `walk` has come to.
    fn operand_evidence(
        &self,
        walk: &CodeWalk<'_>,
        OperandQuery {
            pc,
            operand,
            wants_type,
        }: &OperandQuery,
    ) -> OperandEvidence {
        let address = walk.address(operand);
        let pointer = || match address {
            AbstractValue::Frame(at) => self.local_at(walk, *pc, at),
            value => walk.pointer(value),
        };
        let pointer = wants_type.then(pointer).flatten();
        OperandEvidence {
            accessed: pointer.and_then(|pointer| evidence_within_type(walk.knowledge, pointer)),
            frame: match address {
                AbstractValue::Frame(offset) => Some(FramePlace { offset, step: 0 }),
                AbstractValue::FrameStep { at, step } => Some(FramePlace { offset: at, step }),
                _ => None,
            },
        }
    }

    fn entry_state(&self, block: usize) -> RegisterState {
        self.entries
            .get(block)
            .cloned()
            .flatten()
            .unwrap_or_default()
    }

    fn run_to_fixpoint(
        &mut self,
        machine: &dyn InstructionSet,
        knowledge: &dyn TypeKnowledge,
        entry: usize,
    ) {
        let mut queue = VecDeque::from([entry]);
        let mut visits = vec![0; self.code.blocks.len()];
        while let Some(block) = queue.pop_front() {
            visits[block] += 1;
            if visits[block] > MAX_VISITS {
                return;
            }
            let mut walk = CodeWalk {
                machine,
                knowledge,
                state: self.entry_state(block),
            };
            for at in self.code.blocks[block].first..self.code.blocks[block].end {
                self.learn_facts_at(&mut walk, at, block);
                self.step_insn(&mut walk, at);
            }
            for &next in &self.code.blocks[block].successors {
                let changed = match &mut self.entries[next] {
                    Some(known) => known.join(&walk.state),
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

    /// Applies the facts that begin with instruction `at`. At the start of a block and after a call
    /// all facts that hold are applied, since not every callee clobbers all registers that it may.
    fn learn_facts_at(&self, walk: &mut CodeWalk<'_>, at: usize, block: usize) {
        let address = self.code.insns[at].address;
        let previous = (self.code.blocks[block].first < at).then(|| &self.code.insns[at - 1]);
        match previous {
            Some(last) if !matches!(last.flow, InsnFlow::Call(_)) => {
                let begun = self.facts.begun_after(last.address, address);
                begun.for_each(|fact| walk.learn_fact(fact));
            }
            _ => self
                .facts
                .holding_at(address)
                .for_each(|fact| walk.learn_fact(fact)),
        }
    }

    /// Steps over instruction `at`. A value that is stored to a variable's fixed home gets the
    /// variable's type, also in the register that it came from.
    fn step_insn(&self, walk: &mut CodeWalk<'_>, at: usize) {
        let insn = &self.code.insns[at];
        let store = |effect: &InsnEffect| match effect {
            InsnEffect::Store { memory, src } => match walk.address(memory) {
                AbstractValue::Frame(at) => Some((*src, at, walk.state.register(*src))),
                _ => None,
            },
            _ => None,
        };
        let stored = insn.effects.map(|effect| effect.as_ref().and_then(store));
        walk.step_insn(insn);
        for (src, slot, before) in stored.into_iter().flatten() {
            let home = Some(ValueHome::Slot(slot));
            let mut facts = self.facts.holding_at(insn.address).filter(|f| f.fixed);
            if let Some(fact) = facts.find(|f| walk.resolve_home(f.home) == home) {
                walk.learn_fact(fact);
                if before.as_number().is_some() {
                    walk.state.set_register(src, walk.state.slot(slot));
                }
            }
        }
    }

    /// Returns a pointer to the aggregate of the frame that holds `at`.
    fn local_at(&self, walk: &CodeWalk<'_>, pc: u64, at: i64) -> Option<TypedPointer> {
        self.locals
            .iter()
            .filter(|l| (l.start..l.end).contains(&pc))
            .find_map(|local| {
                let Some(ValueHome::Slot(start)) = walk.resolve_home(local.home) else {
                    return None;
                };
                let offset = at.wrapping_sub(start);
                let size = walk.knowledge.size_of(local.ty)?;
                let inside = u64::try_from(offset).is_ok_and(|o| o < size);
                inside.then_some(TypedPointer {
                    target: local.ty,
                    offset,
                    stride: 0,
                    trust: EvidenceTrust::Stated,
                    via: None,
                })
            })
    }
}

/// Reach of an array without a length at the end of a type, in bytes.
const OPEN_ENDED_BYTES_MAX: u64 = 64 << 10;

/// Returns the evidence of an access through `pointer`. A pointer past a number points into an
/// array of such numbers. A pointer past an aggregate is no evidence, unless the aggregate has no
/// fixed end.
fn evidence_within_type(
    knowledge: &dyn TypeKnowledge,
    pointer: TypedPointer,
) -> Option<TypeEvidence> {
    let size = knowledge.size_of(pointer.target).filter(|&size| size > 0)?;
    let evidence = TypeEvidence {
        ty: pointer.target,
        offset: pointer.offset,
        trust: pointer.trust,
        via: pointer.via,
    };
    let offset = u64::try_from(pointer.offset);
    if offset.is_ok_and(|offset| offset < size) {
        return Some(evidence);
    }
    if !knowledge.is_aggregate(pointer.target) {
        return Some(TypeEvidence {
            offset: pointer.offset.rem_euclid(i64::try_from(size).ok()?),
            trust: EvidenceTrust::Guessed,
            ..evidence
        });
    }
    let reaches = offset.is_ok_and(|offset| offset < OPEN_ENDED_BYTES_MAX);
    (reaches && knowledge.is_open_ended(pointer.target)).then_some(evidence)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::evidence::knowledge::CallEffect;
    use crate::insn::x86::X86InsnSet;
    use crate::insn::{AddressSegment, DwarfRegister};
    use proptest::prelude::*;
    use relayout_layout::TypeId;

    const NODE: TypeId = TypeId(1);
    const OUTER: TypeId = TypeId(2);

    /// Knowledge for tests: `NODE` (16 bytes) holds a pointer to `NODE` at 8; `OUTER` (64 bytes)
    /// holds a `NODE` at 32.
    #[derive(Default)]
    struct Fixed {
        /// Times that a callee was looked up.
        calls: AtomicUsize,
    }

    impl TypeKnowledge for Fixed {
        fn size_of(&self, ty: TypeId) -> Option<u64> {
            [(NODE, 16), (OUTER, 64)]
                .iter()
                .find(|s| s.0 == ty)
                .map(|s| s.1)
        }
        fn is_open_ended(&self, _: TypeId) -> bool {
            false
        }

        fn is_in_open_tail(&self, _: TypeId, _: u32) -> bool {
            false
        }
        fn result_type(&self, _: TypeId) -> Option<TypeId> {
            None
        }
        fn pointee_at(&self, ty: TypeId, offset: i64) -> Option<TypeId> {
            [(NODE, 8), (OUTER, 40)]
                .contains(&(ty, offset))
                .then_some(NODE)
        }
        fn element_at(&self, ty: TypeId, offset: i64, _: u32) -> Option<(TypeId, i64)> {
            Some((ty, offset))
        }
        fn contains(&self, outer: TypeId, offset: i64, inner: TypeId) -> bool {
            (outer, offset, inner) == (OUTER, 32, NODE)
        }
        fn is_aggregate(&self, _: TypeId) -> bool {
            true
        }
        fn global_at(&self, address: u64) -> Option<(TypeId, i64)> {
            (0x5000..0x5040)
                .contains(&address)
                .then(|| (OUTER, (address - 0x5000) as i64))
        }
        fn local_at(&self, offset: u64) -> Option<(TypeId, i64)> {
            (0x100..0x110)
                .contains(&offset)
                .then(|| (NODE, (offset - 0x100) as i64))
        }
        fn is_local_base(&self, memory: &MemoryOperand) -> bool {
            memory.segment == AddressSegment::Local && memory.displacement == 0x40
        }
        fn call_effect(&self, _: u64) -> CallEffect {
            self.calls.fetch_add(1, Ordering::Relaxed);
            CallEffect::Returns(Some(NODE))
        }
        fn indirect_call_effect(&self, _: TypeId, _: i64) -> CallEffect {
            CallEffect::Returns(None)
        }
    }

    fn parameter(target: TypeId, end: u64) -> VariableFact {
        VariableFact {
            start: 0x1000,
            end,
            home: ValueHome::Register(DwarfRegister(5)),
            target,
            offset: 0,
            fixed: false,
        }
    }

    /// Compares the evidence of the last instruction with a memory operand.
    fn check(bytes: &[u8], facts: &[VariableFact], expect: Option<(TypeId, i64)>) {
        let code = FunctionCode::decode(&X86InsnSet, &[(0x1000, bytes)]);
        let last = *code
            .insns
            .iter()
            .rfind(|i| i.memory[0].is_some())
            .expect("an operand");
        let function = AnalysedFunction::analyse(
            &X86InsnSet,
            &Fixed::default(),
            code,
            facts.to_vec(),
            Vec::new(),
            0x1000,
        );
        let operand = last.memory[0].expect("just found");
        let found = function.evidence(&X86InsnSet, &Fixed::default(), &last, &operand);
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
        let inner = VariableFact {
            start: 0x1004,
            home: ValueHome::Register(DwarfRegister(0)),
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

    /// Compares the place in the frame of the last instruction with a memory operand.
    fn check_place(bytes: &[u8], expect: Option<(i64, u32)>) {
        let code = FunctionCode::decode(&X86InsnSet, &[(0x1000, bytes)]);
        let last = *{ code.insns.iter() }
            .rfind(|i| i.memory[0].is_some())
            .expect("an operand");
        let knowledge = Fixed::default();
        let (facts, locals) = (Vec::new(), Vec::new());
        let function =
            AnalysedFunction::analyse(&X86InsnSet, &knowledge, code, facts, locals, 0x1000);
        let query = OperandQuery {
            pc: last.address,
            operand: last.memory[0].expect("just found"),
            wants_type: false,
        };
        let found = function.evidence_of_all(&X86InsnSet, &knowledge, &[query]);
        let place = found[0].frame;
        assert_eq!(place.map(|p| (p.offset, p.step)), expect, "{bytes:02x?}");
    }

    #[test]
    fn places_in_the_frame_are_told() {
        // push %rbp; mov %rsp,%rbp; mov -0x30(%rbp),%rax
        check_place(
            &[0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x45, 0xd0],
            Some((-64, 0)),
        );
        // push %rbp; mov %rsp,%rbp; mov -0x30(%rbp,%rcx,8),%rax
        let indexed = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x44, 0xcd, 0xd0];
        check_place(&indexed, Some((-64, 8)));
        // mov (%rdi),%rax
        check_place(&[0x48, 0x8b, 0x07], None);
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

    fn queries_of(insns: &[DecodedInsn]) -> Vec<OperandQuery> {
        let of_insn = |insn: &DecodedInsn| {
            let pc = insn.address;
            let operands = insn.memory.into_iter().flatten();
            operands.map(move |operand| OperandQuery {
                pc,
                operand,
                wants_type: true,
            })
        };
        insns.iter().flat_map(of_insn).collect()
    }

    #[test]
    fn a_block_is_walked_once_for_all_its_operands() {
        // call .+5; mov (%rax),%ecx, many times
        const REPEATS: usize = 300;
        let bytes = [0xe8, 0, 0, 0, 0, 0x8b, 0x08].repeat(REPEATS);
        let code = FunctionCode::decode(&X86InsnSet, &[(0x1000, &bytes)]);
        assert_eq!(code.blocks.len(), 1);
        let queries = queries_of(&code.insns);
        let knowledge = Fixed::default();
        let (facts, locals) = (Vec::new(), Vec::new());
        let function =
            AnalysedFunction::analyse(&X86InsnSet, &knowledge, code, facts, locals, 0x1000);
        let before = knowledge.calls.load(Ordering::Relaxed);
        let found = function.evidence_of_all(&X86InsnSet, &knowledge, &queries);
        let answered = found.iter().filter(|operand| operand.accessed.is_some());
        assert_eq!(answered.count(), REPEATS);
        assert_eq!(knowledge.calls.load(Ordering::Relaxed) - before, REPEATS);
    }

    proptest! {
        #[test]
        fn any_code_comes_to_an_end(
            bytes in proptest::collection::vec(any::<u8>(), 1..600),
            facts in proptest::collection::vec(
                (0u64..600, 0u64..600, 0u8..20, 0u32..4, any::<i64>(), any::<bool>()), 0..20),
        ) {
            let facts = facts.into_iter().map(|(start, len, reg, ty, offset, slot)| VariableFact {
                start: 0x1000 + start,
                end: 0x1000 + start + len,
                home: if slot { ValueHome::Slot(offset) } else { ValueHome::Register(DwarfRegister(reg)) },
                target: TypeId(ty),
                offset, fixed: slot,
            });
            let code = FunctionCode::decode(&X86InsnSet, &[(0x1000, &bytes)]);
            let insns = code.insns.clone();
            let knowledge = Fixed::default();
            let function = AnalysedFunction::analyse(
                &X86InsnSet, &knowledge, code, facts.collect(), Vec::new(), 0x1000,
            );
            let queries: Vec<OperandQuery> = queries_of(&insns);
            let all = function.evidence_of_all(&X86InsnSet, &knowledge, &queries);
            for (query, together) in queries.iter().zip(all) {
                let alone = function.evidence_of_all(&X86InsnSet, &knowledge, &[*query]);
                prop_assert_eq!(alone, [together]);
            }
        }
    }
}
