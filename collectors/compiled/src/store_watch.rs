//! The bytes of a thread's last store before it, to be compared with those after it.

use std::arch::global_asm;
use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

use relayout_shadow::StoreEffect;

use crate::gate::control;

/// The last store of one thread, until its effect is known.
#[derive(Clone, Copy)]
pub struct StoreWatch {
    addr: u64,
    /// Bytes, at most 16; 0 if there is no store.
    size: u8,
    /// The operation that made the store has told its effect.
    is_told: bool,
    /// The store is silent, if that was told.
    is_silent: bool,
    /// The thread lets another one run, but not before the store: that would part the two.
    pub pauses_after: bool,
    /// Interruptions of the recording when the store was announced.
    pauses: u32,
    /// Bytes before the store, if they could be read.
    before: Option<u128>,
}

impl StoreWatch {
    /// Returns true if the effect of a store is to be settled.
    #[inline(always)]
    pub fn is_set(&self) -> bool {
        self.size != 0
    }

    /// Begins to watch a store that the program is about to make.
    pub fn begin(&mut self, addr: u64, size: u8) {
        let before = load_bytes(addr, size);
        *self = Self {
            addr,
            size,
            is_told: false,
            is_silent: false,
            pauses_after: false,
            pauses: control().pauses.load(Relaxed),
            before,
        };
    }

    /// Notes the effect of the store, if it is that at `addr`.
    #[inline]
    pub fn tell(&mut self, addr: u64, is_silent: bool) {
        if self.is_set() && self.addr == addr {
            self.is_silent = is_silent;
            self.is_told = true;
        }
    }

    /// Ends the watch after the store. Returns its effect.
    pub fn end(&mut self) -> StoreEffect {
        let watch = core::mem::replace(self, NO_WATCH);
        if watch.is_told {
            let is_silent = watch.is_silent;
            return StoreEffect::Exact { is_silent };
        }
        // If the recording was interrupted meanwhile, stores were missed.
        let is_whole = watch.size != 0 && watch.pauses == control().pauses.load(Relaxed);
        let now = is_whole
            .then(|| load_bytes(watch.addr, watch.size))
            .flatten();
        match (watch.before, now) {
            (Some(before), Some(now)) => StoreEffect::Compared {
                is_silent: before == now,
            },
            _ => StoreEffect::Unknown,
        }
    }
}

/// Watch of no store.
pub const NO_WATCH: StoreWatch = StoreWatch {
    addr: 0,
    size: 0,
    is_told: false,
    is_silent: false,
    pauses_after: false,
    pauses: 0,
    before: None,
};

// Loads `rsi` bytes at `rdi` into the 16 bytes at `rdx`, and returns 1. Returns 0 for another size
// than 1, 2, 4, 8 and 16, and if the memory is gone: the handler of the fault then continues at the
// end.
global_asm!(
    ".pushsection .text.relayout_rt_load,\"ax\",@progbits",
    ".hidden relayout_rt_load",
    ".globl relayout_rt_load",
    ".type relayout_rt_load,@function",
    "relayout_rt_load:",
    ".cfi_startproc",
    "xor ecx, ecx",
    "cmp esi, 8",
    "je 28f",
    "cmp esi, 4",
    "je 24f",
    "cmp esi, 1",
    "je 21f",
    "cmp esi, 2",
    "je 22f",
    "cmp esi, 16",
    "jne relayout_rt_load_failed",
    "mov rcx, qword ptr [rdi + 8]",
    "28: mov rax, qword ptr [rdi]",
    "jmp 29f",
    "24: mov eax, dword ptr [rdi]",
    "jmp 29f",
    "22: movzx eax, word ptr [rdi]",
    "jmp 29f",
    "21: movzx eax, byte ptr [rdi]",
    "29: mov qword ptr [rdx], rax",
    "mov qword ptr [rdx + 8], rcx",
    "mov eax, 1",
    "ret",
    ".hidden relayout_rt_load_failed",
    ".globl relayout_rt_load_failed",
    "relayout_rt_load_failed:",
    "xor eax, eax",
    "ret",
    ".cfi_endproc",
    ".size relayout_rt_load, . - relayout_rt_load",
    ".popsection",
);

unsafe extern "C" {
    fn relayout_rt_load(addr: u64, size: u32, to: *mut u128) -> u32;
    safe fn relayout_rt_load_failed();
}

/// Returns the bytes at `addr`; `None` if there are none, since another thread may unmap them.
#[inline]
fn load_bytes(addr: u64, size: u8) -> Option<u128> {
    let mut bytes = 0;
    // SAFETY: the function survives a fault, see `continue_load`.
    (unsafe { relayout_rt_load(addr, size.into(), &mut bytes) } == 1).then_some(bytes)
}

/// Ends [`load_bytes`] if it caused the fault. Returns true if so.
///
/// # Safety
/// `context` is that of a signal handler.
pub unsafe fn continue_load(context: *mut c_void) -> bool {
    let load = relayout_rt_load as *const () as u64;
    let failed = relayout_rt_load_failed as *const () as u64;
    // SAFETY: as promised by the caller.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let pc = &mut registers[libc::REG_RIP as usize];
    let is_load = (load..failed).contains(&(*pc as u64));
    if is_load {
        *pc = failed as i64;
    }
    is_load
}
