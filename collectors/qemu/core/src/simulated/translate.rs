//! Translation of code by QEMU: what each block costs, and which instructions call back.

use std::ffi::c_void;
use std::sync::PoisonError;

use relayout_machine::LineAccess;

use super::callbacks::{on_access, on_block_due, on_instruction, on_operation, on_pause};
use super::decoded_instruction::{
    DecodedInstruction, InstructionDecoder, ProcessorEffect, RepeatedString,
};
use super::line_numbers::on_changed_pages;
use super::operands::MemoryOperand;
use super::recorded_program::on_space_end;
use super::sites::{AccessSite, SiteTable};
use super::{SimulatedGuest, SimulationPhase};
use crate::api::{self, TranslationBlock};
use crate::callbacks::KERNEL;
use crate::insn::TranslatedMachine;
use crate::markers::GuestMarker;

/// An instruction with memory operands, in one block.
pub struct AccessInstruction {
    pub site: &'static AccessSite,
    pub operands: Box<[MemoryOperand]>,
    /// String of which it accesses further elements than its operands say.
    pub string: Option<RepeatedString>,
    /// What the block costs from this instruction on, in picoseconds.
    pub rest_ps: u64,
}

impl AccessInstruction {
    /// Returns whether it accesses as many elements of a string as a register says.
    pub fn is_counted_string(&self) -> bool {
        self.string == Some(RepeatedString::Counted)
    }

    /// Returns whether QEMU calls back for a load and a store of the same bytes.
    fn is_update(&self) -> bool {
        let reads_and_writes = |operand: &MemoryOperand| {
            matches!(operand.access, LineAccess::Update | LineAccess::Atomic)
        };
        self.operands.iter().any(reads_and_writes)
    }
}

/// An instruction of a block, as its bytes are.
struct BlockInstruction {
    insn: *mut api::QemuInsn,
    pc: u64,
    bytes: [u8; 16],
    len: usize,
    decoded: DecodedInstruction,
    cost_ps: u64,
}

impl SimulatedGuest {
    /// Registers the callbacks of a block that QEMU is translating.
    pub fn translate(&self, tb: *mut TranslationBlock) {
        if self.phase() == SimulationPhase::Closed {
            return;
        }
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        let instructions = self.read_block(tb, &mut sites.decoder);
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
        decoder: &mut InstructionDecoder,
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
            let decoded = decoder.decode(pc, &bytes[..len]);
            BlockInstruction {
                insn,
                pc,
                bytes,
                len,
                cost_ps: self.options.costs.cost_ps(&decoded),
                decoded,
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
            decoded,
            ..
        } = instruction;
        let bytes = &bytes[..len];
        let call_without_data = |callback: api::ExecCallback| {
            // SAFETY: `insn` belongs to the block being translated; no data.
            unsafe {
                let none = std::ptr::null_mut();
                api::qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, api::NO_REGS, none);
            }
        };
        if pc < KERNEL {
            match TranslatedMachine::X86.decode_marker(bytes) {
                Some(GuestMarker::Operation) => return call_without_data(on_operation),
                Some(_) => return,
                None => {}
            }
        } else if decoded.changes_pages {
            return call_without_data(on_changed_pages);
        } else if self
            .options
            .program
            .is_some_and(|program| program.ends_at(pc))
        {
            // SAFETY: as above; no data.
            unsafe {
                let none = std::ptr::null_mut();
                api::qemu_plugin_register_vcpu_insn_exec_cb(
                    insn,
                    on_space_end,
                    api::READS_REGS,
                    none,
                );
            }
        }
        if decoded.effect == ProcessorEffect::Pause {
            // SAFETY: as above; the data is a number.
            unsafe {
                let rest = rest_ps as usize as *mut c_void;
                api::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_pause, api::READS_REGS, rest);
            }
            return;
        }
        let site = sites.site_at(pc, bytes, &decoded.operands);
        if site.is_quiet() {
            return;
        }
        let access = Box::leak(Box::new(AccessInstruction {
            site,
            operands: decoded.operands.into_boxed_slice(),
            string: decoded.string,
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
