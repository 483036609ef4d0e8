//! The time of each CPU in translated code.
//!
//! A cell of each CPU is its time, less the time at which it has to ask again, plus a constant. Each
//! block adds what it costs, and calls back where the sum passes the constant. So a block that ends
//! in time calls nothing.

use std::ffi::{c_int, c_uint, c_void};

use crate::api::{self, ExecCallback, TranslationBlock};
use crate::clock::{AddInline, FindElement, INLINE_ADD_U64, NewScoreboard, VcpuNumber};

/// QEMU's `QEMU_PLUGIN_COND_GE`.
const GREATER_OR_EQUAL: c_int = 7;
/// Value of a cell whose CPU has to ask. Far from both ends: a CPU that is never asked adds for days.
const DUE: u64 = 1 << 62;

type CallIf = unsafe extern "C" fn(
    tb: *mut TranslationBlock,
    callback: ExecCallback,
    flags: c_int,
    condition: c_int,
    entry: VcpuNumber,
    value: u64,
    data: *mut c_void,
);

/// The clocks of all CPUs.
pub struct CpuClocks {
    number: VcpuNumber,
    find: FindElement,
    add: AddInline,
    call_if: CallIf,
}

impl CpuClocks {
    /// Makes the cells; `None` for a QEMU before interface 4.
    pub fn new() -> Option<Self> {
        let new = api::find_symbol(c"qemu_plugin_scoreboard_new")?;
        let find = api::find_symbol(c"qemu_plugin_scoreboard_find")?;
        let add = api::find_symbol(c"qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu")?;
        let call_if = api::find_symbol(c"qemu_plugin_register_vcpu_tb_exec_cond_cb")?;
        // SAFETY: the documented signatures of the functions; the scoreboard is never freed.
        unsafe {
            let new = std::mem::transmute::<*mut c_void, NewScoreboard>(new);
            Some(Self {
                number: VcpuNumber::first_of(new(size_of::<u64>())),
                find: std::mem::transmute::<*mut c_void, FindElement>(find),
                add: std::mem::transmute::<*mut c_void, AddInline>(add),
                call_if: std::mem::transmute::<*mut c_void, CallIf>(call_if),
            })
        }
    }

    /// Makes a block cost `cost_ps`, and call `on_due` where its CPU has to ask.
    pub fn charge_block(&self, tb: *mut TranslationBlock, cost_ps: u64, on_due: ExecCallback) {
        // SAFETY: `tb` is the block being translated; the callback's data is a number.
        unsafe {
            (self.add)(tb, INLINE_ADD_U64, self.number, cost_ps);
            let data = cost_ps as usize as *mut c_void;
            (self.call_if)(
                tb,
                on_due,
                api::NO_REGS,
                GREATER_OR_EQUAL,
                self.number,
                DUE,
                data,
            );
        }
    }

    /// Returns the cell of a CPU, which stays where it is once the guest runs.
    pub fn cell(&self, cpu: usize) -> CpuCell {
        // SAFETY: the scoreboard has an element for each CPU.
        CpuCell(unsafe { (self.find)(self.number.score(), cpu as c_uint) }.cast())
    }
}

/// The cell of one CPU.
#[derive(Clone, Copy)]
pub struct CpuCell(*mut u64);

impl CpuCell {
    /// The cell at an address that [`address`](Self::address) gave.
    pub fn at(address: *mut u64) -> Self {
        Self(address)
    }

    /// Address of the cell.
    pub fn address(self) -> *mut u64 {
        self.0
    }

    /// Returns the time of the CPU, which has to ask at `ask_at`.
    pub fn time_ps(self, ask_at: u64) -> u64 {
        // SAFETY: an element of the scoreboard; its CPU is stopped, or the caller is on its thread.
        unsafe { self.0.read_volatile() }
            .wrapping_sub(DUE)
            .wrapping_add(ask_at)
    }

    /// Sets the time of the CPU, and when it has to ask.
    pub fn set(self, time_ps: u64, ask_at: u64) {
        let value = time_ps.wrapping_add(DUE).wrapping_sub(ask_at);
        // SAFETY: as above.
        unsafe { self.0.write_volatile(value) }
    }

    /// Lets time pass for the CPU. The caller is on its thread.
    pub fn advance(self, time_ps: u64) {
        // SAFETY: as above.
        unsafe {
            self.0
                .write_volatile(self.0.read_volatile().saturating_add(time_ps))
        }
    }

    /// Makes the CPU ask never again.
    pub fn release(self) {
        // SAFETY: as above.
        unsafe { self.0.write_volatile(0) }
    }
}
