//! Translation of code by QEMU: what each block costs, and which instructions call back.

use std::ffi::c_void;
use std::sync::PoisonError;

use relayout_machine::LineAccess;

use super::callbacks::{
    on_access, on_block_due, on_event, on_instruction, on_operation, on_pause, on_wait_for_event,
};
use super::decoded_instruction::{
    DecodedInstruction, InstructionDecoder, PageChange, ProcessorEffect, RepeatedString,
};
use super::line_numbers::{on_changed_pages, on_pages_changed_for_all};
use super::operands::MemoryOperand;
use super::recorded_program::on_space_end;
use super::sites::{AccessSite, SiteTable};
use super::{SimulatedGuest, SimulationPhase};
use crate::api::{self, TranslationBlock};
use crate::callbacks::KERNEL;
use crate::markers::GuestMarker;

/// An instruction with memory operands, in one block.
pub struct AccessInstruction {
    pub site: &'static AccessSite,
    pub operands: Box<[MemoryOperand]>,
    /// String of which it accesses further elements than its operands say.
    pub string: Option<RepeatedString>,
    /// QEMU does not call back for its access.
    pub is_unseen: bool,
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
            match self.plugin.machine.decode_marker(bytes) {
                Some(GuestMarker::Operation) => return call_without_data(on_operation),
                Some(_) => return,
                None => {}
            }
        } else {
            match decoded.page_change {
                PageChange::None => {}
                PageChange::OwnCpu => return call_without_data(on_changed_pages),
                PageChange::AllCpus => return call_without_data(on_pages_changed_for_all),
            }
            if self
                .options
                .program
                .is_some_and(|program| program.ends_at(pc))
            {
                register_space_end(insn);
            }
        }
        if decoded.effect == ProcessorEffect::SetEvent {
            return call_without_data(on_event);
        }
        if decoded.effect.is_pause() {
            return register_pause(insn, decoded.effect, rest_ps);
        }
        let site = sites.site_at(pc, bytes, &decoded.operands);
        if site.is_quiet() {
            return;
        }
        let access = Box::leak(Box::new(AccessInstruction {
            site,
            is_unseen: { decoded.operands.iter() }.any(|operand| operand.is_unseen),
            operands: decoded.operands.into_boxed_slice(),
            string: decoded.string,
            rest_ps,
        }));
        self.register_accesses(insn, access);
    }

    /// Makes an instruction call back before it accesses memory, and after each access.
    fn register_accesses(&self, insn: *mut api::QemuInsn, access: &'static mut AccessInstruction) {
        let rw = match access.is_update() {
            true => api::MEM_W,
            false => api::MEM_RW,
        };
        // Which program executes, a register says.
        let registers = match self.has_moved_program() {
            true => api::READS_REGS,
            false => api::NO_REGS,
        };
        let has_operands = !access.operands.is_empty();
        let data = std::ptr::from_mut(access).cast::<c_void>();
        // SAFETY: `insn` belongs to the block being translated; the data is never freed.
        unsafe {
            if has_operands {
                api::qemu_plugin_register_vcpu_insn_exec_cb(
                    insn,
                    on_instruction,
                    api::READS_REGS,
                    data,
                );
            }
            api::qemu_plugin_register_vcpu_mem_cb(insn, on_access, registers, rw, data);
        }
    }
}

/// Makes an instruction call back with which a kernel's function begins that ends address spaces.
fn register_space_end(insn: *mut api::QemuInsn) {
    // SAFETY: `insn` belongs to the block being translated; no data.
    unsafe {
        let none = std::ptr::null_mut();
        api::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_space_end, api::READS_REGS, none);
    }
}

/// Makes a pause instruction call back, of a block that costs `rest_ps` from it on.
fn register_pause(insn: *mut api::QemuInsn, effect: ProcessorEffect, rest_ps: u64) {
    let callback = match effect {
        ProcessorEffect::WaitForEvent => on_wait_for_event,
        _ => on_pause,
    };
    // SAFETY: `insn` belongs to the block being translated; the data is a number.
    unsafe {
        let rest = rest_ps as usize as *mut c_void;
        api::qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, api::READS_REGS, rest);
    }
}
