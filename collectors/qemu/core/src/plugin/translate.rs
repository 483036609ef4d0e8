//! Translation of code by QEMU: decides which instructions call back when they run.

use std::ffi::c_void;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::*;

use super::{RecordingPlugin, UNCERTAIN};
use crate::api::{self, MemCallback, QemuInsn, TranslationBlock};
use crate::callbacks::{KERNEL, on_marker, on_mem, on_pause, on_program_mem};
use crate::insn::memory_use;
use crate::markers::GuestMarker;

/// The instruction `pause`, of a CPU that waits in a loop. It often waits for a CPU that the host
/// is not running, so the thread yields.
const PAUSE: [u8; 2] = [0xf3, 0x90];

/// Callbacks of an instruction.
struct MemCallbacks {
    on_access: MemCallback,
    /// For an instruction that reads and writes the same memory.
    on_update: MemCallback,
}

const KERNEL_CALLBACKS: MemCallbacks = MemCallbacks {
    on_access: on_mem::<false>,
    on_update: on_mem::<true>,
};
const PROGRAM_CALLBACKS: MemCallbacks = MemCallbacks {
    on_access: on_program_mem::<false>,
    on_update: on_program_mem::<true>,
};

impl RecordingPlugin {
    /// Registers the callbacks of a block that QEMU is translating.
    pub fn translate(&self, tb: *mut TranslationBlock) {
        let instrument = self.instrument.load(Acquire);
        // SAFETY: `tb` is the block being translated.
        let count = unsafe { api::qemu_plugin_tb_n_insns(tb) };
        for n in 0..count {
            // SAFETY: as above, `n` is below the count.
            let (insn, pc) = unsafe {
                let insn = api::qemu_plugin_tb_get_insn(tb, n);
                (insn, api::qemu_plugin_insn_vaddr(insn))
            };
            if pc < KERNEL {
                self.translate_user(insn, pc, instrument);
            } else if instrument && !self.is_skipped(pc) {
                self.translate_kernel(insn, pc);
            }
        }
        if instrument {
            self.sites
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .flush(&self.shadow.host);
        }
    }

    fn is_skipped(&self, pc: u64) -> bool {
        self.options
            .skip
            .iter()
            .any(|&(lo, hi)| lo <= pc && pc < hi)
    }

    fn translate_user(&self, insn: *mut QemuInsn, pc: u64, instrument: bool) {
        let mut bytes = [0; 16];
        // SAFETY: `insn` belongs to the block being translated.
        let len = unsafe { self.insn_data.read_bytes(insn, &mut bytes) };
        if let Some(program) = &self.program {
            program.list_first_modules(pc, &self.shadow.host);
        }
        if let Some(marker) = GuestMarker::decode(&bytes[..len]) {
            // SAFETY: as above; the data is a small number, not a pointer.
            unsafe {
                let data = marker as usize as *mut c_void;
                api::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker, api::NO_REGS, data);
            }
        } else if instrument && self.program.is_some() && !self.is_skipped(pc) {
            self.watch(insn, pc, bytes, len, &PROGRAM_CALLBACKS);
        }
    }

    fn translate_kernel(&self, insn: *mut QemuInsn, pc: u64) {
        let mut bytes = [0; 16];
        // SAFETY: `insn` belongs to the block being translated.
        let len = unsafe { self.insn_data.read_bytes(insn, &mut bytes) };
        self.watch(insn, pc, bytes, len, &KERNEL_CALLBACKS);
    }

    /// Makes each access of the instruction call back.
    fn watch(
        &self,
        insn: *mut QemuInsn,
        pc: u64,
        bytes: [u8; 16],
        len: usize,
        calls: &MemCallbacks,
    ) {
        if bytes[..len] == PAUSE && self.options.yield_every > 0 {
            // SAFETY: `insn` belongs to the block being translated; no data.
            unsafe {
                let none = std::ptr::null_mut();
                api::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_pause, api::NO_REGS, none);
            }
        }
        let used = memory_use(&bytes[..len]);
        let site = {
            let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
            sites.number(pc, bytes, len)
        };
        let data = u64::from(site) | if used.uncertain { UNCERTAIN } else { 0 };
        let (rw, callback) = if used.read_write {
            (api::MEM_W, calls.on_update)
        } else {
            (api::MEM_RW, calls.on_access)
        };
        // SAFETY: as above; the data is a number, not a pointer.
        unsafe {
            let data = data as usize as *mut c_void;
            api::qemu_plugin_register_vcpu_mem_cb(insn, callback, api::NO_REGS, rw, data);
        }
    }
}
