//! Instructions that the compiler has no portable name for.

use std::sync::atomic::AtomicU64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use std::sync::atomic::{Ordering, fence};

/// True if this architecture has a prefetch for stores that the probe knows.
pub const HAS_STORE_PREFETCH: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Fetches the line of a word for a store: `prefetchw`, or `prfm pstl1keep`.
pub fn prefetch_for_store(word: &AtomicU64) {
    let word = std::ptr::from_ref(word);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes neither memory nor registers.
    unsafe {
        std::arch::asm!(
            "prefetchw [{word}]",
            word = in(reg) word,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "prfm pstl1keep, [{word}]",
            word = in(reg) word,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = word;
}

/// Lets no later access begin before all earlier ones are done: `mfence`, or `dmb ish`.
pub fn order_accesses() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence changes neither memory nor registers.
    unsafe {
        std::arch::asm!("mfence", options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("dmb ish", options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fence(Ordering::SeqCst);
}

/// Waits until all earlier stores have their lines: `mfence`, or `dsb ish`.
pub fn complete_stores() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier changes neither memory nor registers.
    unsafe {
        std::arch::asm!("dsb ish", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "aarch64"))]
    order_accesses();
}

/// Reads the counter of time, after all earlier and before all later instructions. Its unit is the processor's.
pub fn read_ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let (low, high): (u64, u64);
        // SAFETY: the instructions change the two registers only.
        unsafe {
            std::arch::asm!(
                "lfence",
                "rdtsc",
                "lfence",
                out("rax") low,
                out("rdx") high,
                options(nostack, preserves_flags)
            );
        }
        high << 32 | low
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: the instructions change one register only.
        unsafe {
            std::arch::asm!(
                "dsb ish",
                "isb",
                "mrs {ticks}, cntvct_el0",
                "isb",
                ticks = out(reg) ticks,
                options(nostack, preserves_flags)
            );
        }
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static BEGUN: OnceLock<Instant> = OnceLock::new();
        BEGUN.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}
