//! Translation of code by QEMU: what each block costs, and which instructions call back.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;

use relayout_machine::LineAccess;
use relayout_shadow::wire::STRING;

use super::callbacks::{on_access, on_block_due, on_instruction, on_operation, on_pause};
use super::operands::{MemoryOperand, OperandReader};
use super::{SimulatedGuest, SimulationPhase};
use crate::api::{self, TranslationBlock};
use crate::callbacks::KERNEL;
use crate::insn::TranslatedMachine;
use crate::markers::GuestMarker;

/// Place in the code that accesses memory.
pub struct AccessSite {
    /// Number, from 0 in the order of their first translation.
    pub number: u32,
    /// Address of the instruction.
    pub pc: u64,
    /// Its bytes.
    pub code: Box<[u8]>,
    /// Bytes that it accesses; 0 if that is not known.
    pub accessed_bytes: u8,
    /// It accessed lines that others fight over: its accesses are ordered before they execute.
    pub is_hot: AtomicBool,
}

/// An instruction with memory operands, in one block.
pub struct AccessInstruction {
    pub site: &'static AccessSite,
    pub operands: Box<[MemoryOperand]>,
    /// A string instruction with a prefix: only its first accesses are ordered before they execute.
    pub repeats: bool,
    /// What the block costs from this instruction on, in picoseconds.
    pub rest_ps: u64,
}

impl AccessInstruction {
    /// Returns whether QEMU calls back for a load and a store of the same bytes.
    fn is_update(&self) -> bool {
        let reads_and_writes = |operand: &MemoryOperand| {
            matches!(operand.access, LineAccess::Update | LineAccess::Atomic)
        };
        self.operands.iter().any(reads_and_writes)
    }
}

/// All sites so far.
#[derive(Default)]
pub struct SiteTable {
    sites: Vec<&'static AccessSite>,
    by_pc: HashMap<u64, &'static AccessSite>,
    reader: OperandReader,
}

impl SiteTable {
    fn site_at(&mut self, pc: u64, code: &[u8], operands: &[MemoryOperand]) -> &'static AccessSite {
        let sites = &mut self.sites;
        self.by_pc.entry(pc).or_insert_with(|| {
            // Kept as long as translated code, which QEMU never tells to be gone.
            let site = Box::leak(Box::new(AccessSite {
                number: sites.len() as u32,
                pc,
                code: code.into(),
                accessed_bytes: operands.first().map_or(0, |operand| operand.bytes),
                is_hot: AtomicBool::new(false),
            }));
            sites.push(site);
            site
        })
    }

    /// Returns the site with a number.
    pub fn site(&self, number: u32) -> Option<&'static AccessSite> {
        self.sites.get(number as usize).copied()
    }
}

/// An instruction of a block, as its bytes are.
struct BlockInstruction {
    insn: *mut api::QemuInsn,
    pc: u64,
    bytes: [u8; 16],
    len: usize,
    operands: Vec<MemoryOperand>,
    cost_ps: u64,
}

impl SimulatedGuest {
    /// Registers the callbacks of a block that QEMU is translating.
    pub fn translate(&self, tb: *mut TranslationBlock) {
        if self.phase() == SimulationPhase::Closed {
            return;
        }
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        let instructions = self.read_block(tb, &mut sites.reader);
        let cost_ps = instructions
            .iter()
            .map(|instruction| instruction.cost_ps)
            .sum();
        self.clocks.charge_block(tb, cost_ps, on_block_due);
        let mut rest_ps = cost_ps;
        for instruction in instructions {
            let cost_ps = instruction.cost_ps;
            self.register_callbacks(instruction, rest_ps, &mut sites);
            rest_ps -= cost_ps;
        }
    }

    fn read_block(
        &self,
        tb: *mut TranslationBlock,
        reader: &mut OperandReader,
    ) -> Vec<BlockInstruction> {
        // SAFETY: `tb` is the block being translated.
        let count = unsafe { api::qemu_plugin_tb_n_insns(tb) };
        let read = |n| {
            let mut bytes = [0; 16];
            // SAFETY: as above, `n` is below the count.
            let (insn, pc, len) = unsafe {
                let insn = api::qemu_plugin_tb_get_insn(tb, n);
                let pc = api::qemu_plugin_insn_vaddr(insn);
                (insn, pc, self.plugin.insn_data.read_bytes(insn, &mut bytes))
            };
            let operands = reader.read_operands(pc, &bytes[..len]);
            let is_atomic = |operand: &MemoryOperand| operand.access == LineAccess::Atomic;
            let is_locked = operands.iter().any(is_atomic);
            BlockInstruction {
                insn,
                pc,
                bytes,
                len,
                operands,
                cost_ps: self.options.costs.cost_ps(&bytes[..len], is_locked),
            }
        };
        (0..count).map(read).collect()
    }

    fn register_callbacks(
        &self,
        instruction: BlockInstruction,
        rest_ps: u64,
        sites: &mut SiteTable,
    ) {
        let BlockInstruction {
            insn,
            pc,
            bytes,
            len,
            operands,
            ..
        } = instruction;
        let bytes = &bytes[..len];
        if pc < KERNEL {
            if TranslatedMachine::X86.decode_marker(bytes) == Some(GuestMarker::Operation) {
                // SAFETY: `insn` belongs to the block being translated; no data.
                unsafe {
                    let none = std::ptr::null_mut();
                    api::qemu_plugin_register_vcpu_insn_exec_cb(
                        insn,
                        on_operation,
                        api::NO_REGS,
                        none,
                    );
                }
            }
            return;
        }
        if TranslatedMachine::X86.is_pause(bytes) {
            // SAFETY: as above; the data is a number.
            unsafe {
                let rest = rest_ps as usize as *mut c_void;
                api::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_pause, api::READS_REGS, rest);
            }
            return;
        }
        let access = Box::leak(Box::new(AccessInstruction {
            site: sites.site_at(pc, bytes, &operands),
            operands: operands.into_boxed_slice(),
            repeats: matches!(bytes[0], 0xf2 | 0xf3)
                && TranslatedMachine::X86.memory_use(bytes).instruction == STRING,
            rest_ps,
        }));
        let rw = if access.is_update() {
            api::MEM_W
        } else {
            api::MEM_RW
        };
        let has_operands = !access.operands.is_empty();
        let data = std::ptr::from_mut(access).cast::<c_void>();
        // SAFETY: as above; the data is never freed.
        unsafe {
            if has_operands {
                api::qemu_plugin_register_vcpu_insn_exec_cb(
                    insn,
                    on_instruction,
                    api::READS_REGS,
                    data,
                );
            }
            api::qemu_plugin_register_vcpu_mem_cb(insn, on_access, api::NO_REGS, rw, data);
        }
    }
}
