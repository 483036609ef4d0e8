//! Machine code of a function as basic blocks.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::insn::{DecodedInsn, InsnFlow, InstructionSet};

/// Instructions of one function that are analysed, at most; the largest of a kernel has about
/// 20,000.
const MAX_INSNS: usize = 100_000;

/// Instructions of a function, and the flow of control between them.
#[derive(Clone, Debug, Default)]
pub struct FunctionCode {
    /// Instructions in the order of their addresses.
    pub insns: Vec<DecodedInsn>,
    /// Basic blocks in the order of their addresses; they cover `insns`.
    pub blocks: Vec<BasicBlock>,
}

/// Instructions that run one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    /// Index of the first instruction.
    pub first: usize,
    /// Index past the last.
    pub end: usize,
    /// Indices of the blocks that may follow.
    pub successors: Vec<usize>,
}

impl FunctionCode {
    /// Decodes `pieces`, each an address and the bytes there. Bytes that do not decode are skipped
    /// one by one.
    pub fn decode(machine: &dyn InstructionSet, pieces: &[(u64, &[u8])]) -> Self {
        let mut insns = Vec::new();
        let mut gaps = FxHashSet::default();
        for &(start, bytes) in pieces {
            gaps.insert(start);
            let mut at = 0;
            while at < bytes.len() && insns.len() < MAX_INSNS {
                let address = start.wrapping_add(at as u64);
                match machine.decode(address, &bytes[at..]) {
                    Some(insn) => {
                        at += usize::from(insn.len.max(1));
                        insns.push(insn);
                    }
                    None => {
                        at += 1;
                        gaps.insert(start.wrapping_add(at as u64));
                    }
                }
            }
        }
        insns.sort_by_key(|i| i.address);
        insns.dedup_by_key(|i| i.address);
        let blocks = split_blocks(&insns, gaps);
        Self { insns, blocks }
    }

    /// Returns the index of the instruction at `pc`, or of the last one before it in its block.
    pub fn index_at(&self, pc: u64) -> Option<usize> {
        let at = self
            .insns
            .partition_point(|i| i.address <= pc)
            .checked_sub(1)?;
        (pc < self.insns[at]
            .next_address()
            .max(self.insns[at].address + 1))
        .then_some(at)
    }

    /// Returns the index of the block that holds instruction `insn`.
    pub fn block_of(&self, insn: usize) -> Option<usize> {
        let at = self
            .blocks
            .partition_point(|b| b.first <= insn)
            .checked_sub(1)?;
        (insn < self.blocks[at].end).then_some(at)
    }
}

/// Splits the code at `leaders`, at jump targets, and after instructions that do not continue with
/// the next one.
fn split_blocks(insns: &[DecodedInsn], mut leaders: FxHashSet<u64>) -> Vec<BasicBlock> {
    for insn in insns {
        match insn.flow {
            InsnFlow::Jump(target) | InsnFlow::Branch(target) => {
                leaders.insert(target);
                leaders.insert(insn.next_address());
            }
            InsnFlow::Stop => {
                leaders.insert(insn.next_address());
            }
            InsnFlow::Next | InsnFlow::Call(_) => {}
        }
    }
    let mut blocks = Vec::new();
    let mut first = 0;
    for at in 1..=insns.len() {
        let split = insns.get(at).is_none_or(|i| {
            leaders.contains(&i.address) || insns[at - 1].next_address() != i.address
        });
        if split {
            blocks.push(BasicBlock {
                first,
                end: at,
                successors: Vec::new(),
            });
            first = at;
        }
    }
    let by_address: FxHashMap<u64, usize> = blocks
        .iter()
        .enumerate()
        .map(|(n, b)| (insns[b.first].address, n))
        .collect();
    for block in &mut blocks {
        let last = &insns[block.end - 1];
        let (next, target) = match last.flow {
            InsnFlow::Next | InsnFlow::Call(_) => (Some(last.next_address()), None),
            InsnFlow::Jump(target) => (None, Some(target)),
            InsnFlow::Branch(target) => (Some(last.next_address()), Some(target)),
            InsnFlow::Stop => (None, None),
        };
        let known = next
            .into_iter()
            .chain(target)
            .filter_map(|a| by_address.get(&a).copied());
        block.successors = known.collect();
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::x86::X86InsnSet;
    use proptest::prelude::*;

    #[test]
    fn a_loop_has_three_blocks() {
        // xor %eax,%eax; 1: inc %rax; jne 1b; ret
        let bytes = [0x31, 0xc0, 0x48, 0xff, 0xc0, 0x75, 0xfb, 0xc3];
        let code = FunctionCode::decode(&X86InsnSet, &[(0x1000, &bytes)]);
        let successors: Vec<_> = code.blocks.iter().map(|b| b.successors.clone()).collect();
        assert_eq!(successors, [vec![1], vec![2, 1], vec![]]);
        assert_eq!(code.index_at(0x1003), Some(1));
        assert_eq!(code.index_at(0x1008), None);
    }

    proptest! {
        #[test]
        fn blocks_cover_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400), pc: u64) {
            let code = FunctionCode::decode(&X86InsnSet, &[(pc, &bytes)]);
            let covered: usize = code.blocks.iter().map(|b| b.end - b.first).sum();
            prop_assert_eq!(covered, code.insns.len());
            for block in &code.blocks {
                prop_assert!(block.successors.iter().all(|&s| s < code.blocks.len()));
            }
        }
    }
}
