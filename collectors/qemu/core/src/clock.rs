//! The clock of each vCPU: the instructions that it has executed.
//!
//! Each block of translated code adds its length as it begins. From interface 2 on, QEMU's own code
//! does so; before, a callback does. An access knows how many instructions of its block are left, so
//! that its own time is exact, but for blocks that an exception left before their end.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::api::{self, TranslationBlock};
use crate::cpu::VCPUS_MAX;

/// QEMU's `QEMU_PLUGIN_INLINE_ADD_U64`.
pub const INLINE_ADD_U64: c_int = 0;

/// QEMU's `qemu_plugin_u64`: a number of each vCPU.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct VcpuNumber {
    score: *mut c_void,
    offset: usize,
}

impl VcpuNumber {
    /// The only number of a scoreboard's elements.
    pub fn first_of(score: *mut c_void) -> Self {
        Self { score, offset: 0 }
    }

    /// The scoreboard.
    pub fn score(self) -> *mut c_void {
        self.score
    }
}

// SAFETY: QEMU's own object, which all threads may use.
unsafe impl Send for VcpuNumber {}
// SAFETY: as above.
unsafe impl Sync for VcpuNumber {}

pub type NewScoreboard = unsafe extern "C" fn(element_bytes: usize) -> *mut c_void;
pub type FindElement = unsafe extern "C" fn(score: *mut c_void, vcpu: c_uint) -> *mut c_void;
pub type AddInline =
    unsafe extern "C" fn(tb: *mut TranslationBlock, op: c_int, entry: VcpuNumber, add: u64);

/// A callback's counter, on a line of its own.
#[repr(align(64))]
struct BlockCounter(AtomicU64);

/// Counters of the callback, by vCPU.
static COUNTERS: [BlockCounter; VCPUS_MAX] = [const { BlockCounter(AtomicU64::new(0)) }; VCPUS_MAX];

/// Counts the instructions of all vCPUs.
pub enum InstructionClock {
    /// QEMU's code counts.
    Inline {
        number: VcpuNumber,
        find: FindElement,
        add: AddInline,
    },
    /// A callback counts.
    Callback,
}

impl InstructionClock {
    /// The clock for plugin interface `interface`.
    pub fn new(interface: c_int) -> Self {
        match interface {
            ..2 => Self::Callback,
            _ => Self::inline().unwrap_or(Self::Callback),
        }
    }

    fn inline() -> Option<Self> {
        let new = api::find_symbol(c"qemu_plugin_scoreboard_new")?;
        let find = api::find_symbol(c"qemu_plugin_scoreboard_find")?;
        let add = api::find_symbol(c"qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu")?;
        // SAFETY: the documented signatures of the functions.
        let (new, find, add) = unsafe {
            (
                std::mem::transmute::<*mut c_void, NewScoreboard>(new),
                std::mem::transmute::<*mut c_void, FindElement>(find),
                std::mem::transmute::<*mut c_void, AddInline>(add),
            )
        };
        // SAFETY: as documented; never freed.
        let score = unsafe { new(size_of::<u64>()) };
        let number = VcpuNumber::first_of(score);
        Some(Self::Inline { number, find, add })
    }

    /// Makes a block of `instructions` count.
    pub fn count_block(&self, tb: *mut TranslationBlock, instructions: usize) {
        // SAFETY: `tb` is the block being translated; the callback's data is a number.
        unsafe {
            match self {
                Self::Inline { number, add, .. } => {
                    add(tb, INLINE_ADD_U64, *number, instructions as u64);
                }
                Self::Callback => {
                    let data = instructions as *mut c_void;
                    api::qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, api::NO_REGS, data);
                }
            }
        }
    }

    /// Returns the instructions that vCPU `n` has executed in counted blocks, the rest of the
    /// present block included. Only the thread that runs the vCPU may ask.
    pub fn instructions(&self, n: usize) -> u64 {
        match self {
            // SAFETY: the scoreboard has an element for each vCPU, which QEMU makes larger only
            // while no vCPU runs.
            Self::Inline { number, find, .. } => unsafe {
                *find(number.score, n as c_uint).cast::<u64>()
            },
            Self::Callback => COUNTERS.get(n).map_or(0, |counter| counter.0.load(Relaxed)),
        }
    }
}

extern "C" fn on_block(vcpu: c_uint, instructions: *mut c_void) {
    if let Some(counter) = COUNTERS.get(vcpu as usize) {
        let sum = counter.0.load(Relaxed).wrapping_add(instructions as u64);
        counter.0.store(sum, Relaxed);
    }
}
