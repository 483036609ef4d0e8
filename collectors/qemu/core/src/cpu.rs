//! State that the thread of one vCPU uses alone, and the table of all such states.

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use std::time::Instant;

use relayout_shadow::{AccessKind, CONTEXTS_MAX, CollectorHost, ShadowContext, ShadowMemory};

use crate::exchange::FoundValue;
use crate::options::Options;
use crate::output::SegmentOutput;
use crate::pause::{self, PauseSchedule};

/// Accesses of a CPU between readings of the clock and the control page.
pub const FLUSH_CHECK_EVERY: u64 = pause::EACH_MAX as u64;

/// vCPUs in the table, at most. A machine has at most as many as contexts, but a program's vCPUs
/// are numbered past those of its longer-lived threads.
pub const VCPUS_MAX: usize = 4096;

/// State that one vCPU thread uses alone.
#[repr(align(128))]
pub struct VcpuState {
    /// Its number of accesses lacks those since the last stop.
    pub context: ShadowContext,
    /// Accesses until the next stop, for a pause or a sample of a pair of lines.
    pub countdown: u32,
    /// Value of `countdown` after the last stop.
    portion: u32,
    /// Accesses from the last stop to the next pause.
    pub pause_in: u32,
    /// Value of the context's `accesses` at which the thread reads the clock and the control page
    /// next.
    pub flush_check_at: u64,
    pub pauses: PauseSchedule,
    pub flushed: Instant,
    pub reported: (u64, u64),
    /// What the last compare-and-exchange found in memory.
    pub found: Option<FoundValue>,
    /// The thread is within a callback. Used for programs only.
    pub inside: AtomicBool,
}

/// States by context, made at the first access and never freed.
static CPUS: [AtomicPtr<VcpuState>; CONTEXTS_MAX] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; CONTEXTS_MAX];

/// States by vCPU: one of the above, null, or [`WITHOUT`].
static VCPUS: [AtomicPtr<VcpuState>; VCPUS_MAX] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; VCPUS_MAX];

/// Value of a vCPU without a context.
const WITHOUT: *mut VcpuState = std::ptr::without_provenance_mut(1);

/// Result of looking up a vCPU.
pub enum VcpuLookup {
    /// The vCPU has a context.
    Cpu(&'static mut VcpuState),
    /// The vCPU was not seen yet.
    Fresh,
    /// The vCPU gets no context.
    Without,
}

impl VcpuState {
    /// Begins a portion of accesses, up to the next stop.
    pub fn begin_portion(&mut self) {
        self.portion = self.pause_in.min(self.context.accesses_to_sample());
        self.countdown = self.portion;
    }

    /// Adds the accesses since they were last added to the context's, and returns their number.
    pub fn settle_portion(&mut self) -> u32 {
        let made = self.portion - self.countdown;
        self.portion = self.countdown;
        self.context.accesses = self.context.accesses.wrapping_add(made.into());
        made
    }

    /// Returns true if all of an access is done: it changed nothing for other CPUs.
    #[inline(always)]
    pub fn try_common_hit(&mut self, size: u8, vaddr: u64, kind: AccessKind, site: u32) -> bool {
        ShadowMemory::<SegmentOutput>::try_common_hit(&mut self.context, vaddr, size, kind, site)
    }
}

/// Returns the state of vCPU `n`.
///
/// # Safety
/// Only the thread that runs vCPU `n` may call it.
#[inline]
pub unsafe fn cpu_of_vcpu(n: usize) -> VcpuLookup {
    let at = VCPUS.get(n).map_or(WITHOUT, |slot| slot.load(Relaxed));
    if at > WITHOUT {
        // SAFETY: as promised by the caller; made once and never freed.
        return VcpuLookup::Cpu(unsafe { &mut *at });
    }
    if at.is_null() {
        VcpuLookup::Fresh
    } else {
        VcpuLookup::Without
    }
}

/// Returns the state of context `n`, if it was made.
///
/// # Safety
/// Only the thread that runs the context may call it, or any thread once none is in a callback.
pub unsafe fn cpu_of_context(n: usize) -> Option<&'static mut VcpuState> {
    // SAFETY: as promised by the caller; made once and never freed.
    unsafe { CPUS.get(n)?.load(Acquire).as_mut() }
}

/// Returns true if the thread of context `n` is within a callback.
pub fn is_inside(n: usize) -> bool {
    let at = CPUS
        .get(n)
        .map_or(std::ptr::null_mut(), |c| c.load(Acquire));
    // SAFETY: never freed; only the flag is accessed.
    !at.is_null() && unsafe { &*std::ptr::addr_of!((*at).inside) }.load(Acquire)
}

/// Makes the state of a context in memory of its own: it is larger than the stacks that a program's
/// threads may have.
pub fn make_cpu(
    context: u16,
    options: &Options,
    host: &SegmentOutput,
) -> Option<&'static mut VcpuState> {
    let at = (host.zeroed(size_of::<VcpuState>())?).cast::<VcpuState>();
    let mut pauses = PauseSchedule::new(options.yield_every, options.seed, context);
    // SAFETY: fresh zeroed memory, aligned as pages are, of the right size and not shared yet. Zero is
    // valid for all fields but those that are written here.
    let cpu = unsafe {
        ShadowContext::make_at(&raw mut (*at).context, context, host)?;
        (&raw mut (*at).pause_in).write(pauses.next_pause());
        (&raw mut (*at).pauses).write(pauses);
        (&raw mut (*at).flush_check_at).write(FLUSH_CHECK_EVERY);
        (&raw mut (*at).flushed).write(Instant::now());
        (&raw mut (*at).found).write(None);
        &mut *at
    };
    cpu.begin_portion();
    CPUS.get(usize::from(context))?.store(cpu, Release);
    Some(cpu)
}

/// Makes vCPU `n` use `cpu`, which it returns, or no state if it is `None`. Called by the thread of
/// that vCPU.
pub fn attach_vcpu(
    n: usize,
    cpu: Option<&'static mut VcpuState>,
) -> Option<&'static mut VcpuState> {
    let at = cpu.map_or(WITHOUT, std::ptr::from_mut);
    if let Some(slot) = VCPUS.get(n) {
        slot.store(at, Release);
    }
    // SAFETY: a state, never freed, which only the calling thread uses.
    (at != WITHOUT).then(|| unsafe { &mut *at })
}

/// Forgets vCPU `n`, which has ended.
pub fn detach_vcpu(n: usize) {
    if let Some(slot) = VCPUS.get(n) {
        slot.store(std::ptr::null_mut(), Release);
    }
}
