//! Translation of code by QEMU: decides which instructions call back when they run.

use std::ffi::{c_int, c_void};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::*;

use relayout_shadow::control::RecordingStage;

use super::RecordingPlugin;
use crate::api::{self, MemCallback, QemuInsn, TranslationBlock};
use crate::callbacks::{
    KERNEL, on_boot_pause, on_counted_mem, on_exchange, on_guest_program_exchange,
    on_guest_program_mem, on_marker, on_mem, on_pause, on_program_mem,
};
use crate::facts::CallbackData;
use crate::options::{WindowMode, WindowOpening};

/// Callbacks of an instruction.
struct MemCallbacks {
    on_access: MemCallback,
    /// For an instruction that reads and writes the same memory.
    on_update: MemCallback,
    /// For a compare-and-exchange whose expected value can be read.
    on_exchange: Option<MemCallback>,
    /// Registers that those of plain accesses and updates read.
    registers: c_int,
}

const KERNEL_CALLBACKS: MemCallbacks = MemCallbacks {
    on_access: on_mem::<false>,
    on_update: on_mem::<true>,
    on_exchange: Some(on_exchange),
    registers: api::NO_REGS,
};
const COUNTING_CALLBACKS: MemCallbacks = MemCallbacks {
    on_access: on_counted_mem,
    on_update: on_counted_mem,
    on_exchange: None,
    registers: api::NO_REGS,
};
const PROGRAM_CALLBACKS: MemCallbacks = MemCallbacks {
    on_access: on_program_mem::<false>,
    on_update: on_program_mem::<true>,
    on_exchange: None,
    registers: api::NO_REGS,
};
/// They ask which program it is that executes.
const GUEST_PROGRAM_CALLBACKS: MemCallbacks = MemCallbacks {
    on_access: on_guest_program_mem::<false>,
    on_update: on_guest_program_mem::<true>,
    on_exchange: Some(on_guest_program_exchange),
    registers: api::READS_REGS,
};

impl RecordingPlugin {
    /// Registers the callbacks of a block that QEMU is translating.
    pub fn translate(&self, tb: *mut TranslationBlock) {
        if self.options.window == WindowOpening::Now {
            self.begin_window();
        }
        let instrument = self.instrument.load(Acquire);
        let boots = self.options.simulation.is_none() && self.stage() == RecordingStage::Waiting;
        // SAFETY: `tb` is the block being translated.
        let count = unsafe { api::qemu_plugin_tb_n_insns(tb) };
        if instrument {
            self.clock.count_block(tb, count);
        }
        for n in 0..count {
            let left = count - n;
            // SAFETY: as above, `n` is below the count.
            let (insn, pc) = unsafe {
                let insn = api::qemu_plugin_tb_get_insn(tb, n);
                (insn, api::qemu_plugin_insn_vaddr(insn))
            };
            if pc < KERNEL {
                self.translate_user(insn, pc, instrument, left);
            } else if instrument && !self.options.records_guest_program() && !self.is_skipped(pc) {
                self.translate_kernel(insn, pc, left);
            } else if boots {
                self.yield_at_pause(insn);
            }
        }
        if instrument {
            self.sites
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .flush(&self.shadow.host);
        }
    }

    /// Lets other CPUs run where a CPU of a guest that boots waits for them: all together, they share few of the host.
    fn yield_at_pause(&self, insn: *mut QemuInsn) {
        let mut bytes = [0; 16];
        // SAFETY: `insn` belongs to the block being translated; no data.
        unsafe {
            let len = self.insn_data.read_bytes(insn, &mut bytes);
            if self.machine.is_pause(&bytes[..len]) {
                let none = std::ptr::null_mut();
                api::qemu_plugin_register_vcpu_insn_exec_cb(
                    insn,
                    on_boot_pause,
                    api::NO_REGS,
                    none,
                );
            }
        }
    }

    fn is_skipped(&self, pc: u64) -> bool {
        self.options
            .skip
            .iter()
            .any(|&(lo, hi)| lo <= pc && pc < hi)
    }

    fn translate_user(&self, insn: *mut QemuInsn, pc: u64, instrument: bool, left: usize) {
        let mut bytes = [0; 16];
        // SAFETY: `insn` belongs to the block being translated.
        let len = unsafe { self.insn_data.read_bytes(insn, &mut bytes) };
        if let Some(program) = &self.program {
            program.list_first_modules(pc, &self.shadow.host);
        }
        if let Some(marker) = self.machine.decode_marker(&bytes[..len]) {
            // SAFETY: as above; the data is a small number, not a pointer.
            unsafe {
                let data = marker as usize as *mut c_void;
                api::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker, api::NO_REGS, data);
            }
        } else if instrument && self.program.is_some() && !self.is_skipped(pc) {
            self.watch(insn, pc, &bytes[..len], left, &PROGRAM_CALLBACKS);
        } else if instrument && self.options.records_guest_program() {
            self.watch(insn, pc, &bytes[..len], left, &GUEST_PROGRAM_CALLBACKS);
        }
    }

    fn translate_kernel(&self, insn: *mut QemuInsn, pc: u64, left: usize) {
        let mut bytes = [0; 16];
        // SAFETY: `insn` belongs to the block being translated.
        let len = unsafe { self.insn_data.read_bytes(insn, &mut bytes) };
        let calls = match self.options.mode {
            WindowMode::Count => &COUNTING_CALLBACKS,
            WindowMode::Record | WindowMode::Follow | WindowMode::Idle => &KERNEL_CALLBACKS,
        };
        self.watch(insn, pc, &bytes[..len], left, calls);
    }

    /// Makes each access of the instruction call back; `left` instructions of the block come from it
    /// on.
    fn watch(&self, insn: *mut QemuInsn, pc: u64, bytes: &[u8], left: usize, calls: &MemCallbacks) {
        let counts = self.options.mode == WindowMode::Count;
        if self.machine.is_pause(bytes) && self.options.yield_every > 0 && !counts {
            // SAFETY: `insn` belongs to the block being translated; no data.
            unsafe {
                let none = std::ptr::null_mut();
                api::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_pause, api::NO_REGS, none);
            }
        }
        let used = self.machine.memory_use(bytes);
        let site = {
            let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
            sites.number(pc, bytes)
        };
        let data = CallbackData::new(site, used, left);
        let exchange = (used.expected.and(calls.on_exchange)).filter(|_| self.get_value.is_some());
        let (rw, registers, callback) = match exchange {
            Some(on_exchange) => (api::MEM_RW, api::READS_REGS, on_exchange),
            None if used.read_write => (api::MEM_W, calls.registers, calls.on_update),
            None => (api::MEM_RW, calls.registers, calls.on_access),
        };
        // SAFETY: as above; the data is a number, not a pointer.
        unsafe {
            let data = data.to_pointer();
            api::qemu_plugin_register_vcpu_mem_cb(insn, callback, registers, rw, data);
        }
    }
}
