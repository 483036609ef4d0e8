//! What one vCPU's thread uses alone, and where to find it.

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use std::time::Instant;

use relayout_shadow::{CONTEXTS_MAX, ShadowContext};

use crate::api::InfoBits;
use crate::options::Options;
use crate::output::SegmentOutput;
use crate::pause::{self, PauseSchedule};

/// Accesses of a CPU between looks at the clock and the control page.
pub const FLUSH_CHECK_EVERY: u64 = pause::EACH_MAX as u64;

/// vCPUs that can be told apart: of a machine at most as many as contexts, but a program's are
/// numbered past those of its threads that live longer.
const VCPUS_MAX: usize = 4096;

/// What one vCPU thread uses alone.
#[repr(align(128))]
pub struct VcpuState {
    pub context: ShadowContext,
    pub info_bits: InfoBits,
    /// Accesses until the next stop: a pause, or one whose pair of lines is looked at.
    pub countdown: u32,
    /// What `countdown` was after the last stop.
    pub portion: u32,
    /// Accesses from the last stop to the next pause.
    pub pause_in: u32,
    /// Accesses at which to look at the clock and the control page.
    pub flush_check_at: u64,
    pub pauses: PauseSchedule,
    pub flushed: Instant,
    pub reported: (u64, u64),
    /// Its thread is within a callback. Programs only.
    pub inside: AtomicBool,
}

/// By context: made at the first access, never freed.
static CPUS: [AtomicPtr<VcpuState>; CONTEXTS_MAX] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; CONTEXTS_MAX];

/// By vCPU: one of the above, null, or [`WITHOUT`].
static VCPUS: [AtomicPtr<VcpuState>; VCPUS_MAX] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; VCPUS_MAX];

/// For a vCPU that there is no context for.
const WITHOUT: *mut VcpuState = std::ptr::without_provenance_mut(1);

/// What is known of a vCPU.
pub enum VcpuLookup {
    /// It has a context.
    Cpu(&'static mut VcpuState),
    /// It was not seen yet.
    Fresh,
    /// It gets none.
    Without,
}

impl VcpuState {
    pub fn new(
        context: u8,
        options: &Options,
        info_bits: InfoBits,
        host: &SegmentOutput,
    ) -> Option<Self> {
        let mut pauses = PauseSchedule::new(options.yield_every, options.seed, context);
        let mut cpu = Self {
            context: ShadowContext::new(context, host)?,
            info_bits,
            countdown: 0,
            portion: 0,
            pause_in: pauses.next_pause(),
            pauses,
            flush_check_at: FLUSH_CHECK_EVERY,
            flushed: Instant::now(),
            reported: (0, 0),
            inside: AtomicBool::new(false),
        };
        cpu.begin_portion();
        Some(cpu)
    }

    /// Counts down to the next stop from here.
    pub fn begin_portion(&mut self) {
        self.portion = self.pause_in.min(self.context.accesses_to_sample());
        self.countdown = self.portion;
    }
}

/// What vCPU `n` uses.
///
/// # Safety
/// Only the thread that runs vCPU `n` may call it.
#[inline]
pub unsafe fn cpu_of_vcpu(n: usize) -> VcpuLookup {
    let at = VCPUS.get(n).map_or(WITHOUT, |slot| slot.load(Relaxed));
    if at > WITHOUT {
        // SAFETY: as promised; made once and never freed.
        return VcpuLookup::Cpu(unsafe { &mut *at });
    }
    if at.is_null() {
        VcpuLookup::Fresh
    } else {
        VcpuLookup::Without
    }
}

/// What the context `n` uses, if it was made.
///
/// # Safety
/// Only the thread that runs it may call it, or anyone once none is in a callback.
pub unsafe fn cpu_of_context(n: usize) -> Option<&'static mut VcpuState> {
    // SAFETY: as promised; made once and never freed.
    unsafe { CPUS.get(n)?.load(Acquire).as_mut() }
}

/// Whether the thread of context `n` is within a callback.
pub fn is_inside(n: usize) -> bool {
    let at = CPUS
        .get(n)
        .map_or(std::ptr::null_mut(), |c| c.load(Acquire));
    // SAFETY: never freed; the flag alone is looked at.
    !at.is_null() && unsafe { &*std::ptr::addr_of!((*at).inside) }.load(Acquire)
}

/// Keeps what context `n` uses.
pub fn keep_cpu(n: usize, cpu: VcpuState) -> Option<&'static mut VcpuState> {
    let cpu = Box::leak(Box::new(cpu));
    CPUS.get(n)?.store(cpu, Release);
    Some(cpu)
}

/// From now on vCPU `n` uses `cpu`; `None`: nothing.
pub fn attach_vcpu(n: usize, cpu: Option<&'static mut VcpuState>) {
    if let Some(slot) = VCPUS.get(n) {
        slot.store(cpu.map_or(WITHOUT, std::ptr::from_mut), Release);
    }
}

/// vCPU `n` is no more.
pub fn detach_vcpu(n: usize) {
    if let Some(slot) = VCPUS.get(n) {
        slot.store(std::ptr::null_mut(), Release);
    }
}
