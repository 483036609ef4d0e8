//! The life of a recording in the process: attached, open, closed, written out.

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use relayout_shadow::control::{CONTROL_MAGIC, RecordingStage};
use relayout_shadow::wire::SummaryRecord;
use relayout_shadow::{CONTEXTS_MAX, ShadowConfig, ShadowContext, ShadowMemory};

use crate::gate::control;
use crate::options::Options;
use crate::output::{self, NotRecorded, RtHost};
use crate::sys::{self, SavedErrno};
use crate::{allocs, gap, modules, signals, thread, tls};

/// Pages of the program's memory that can be followed, as a binary logarithm: 14 GB of it.
const PAGE_TABLE_BITS: u32 = 22;
/// How long the end waits for a thread that is inside.
const WAIT_MAX_NS: u64 = 2_000_000_000;

/// Values of [`STATE`].
const UNKNOWN: u32 = 0;
const STARTING: u32 = 1;
const RECORDED: u32 = 2;
const FINISHING: u32 = 3;
const OVER: u32 = 4;

static STATE: AtomicU32 = AtomicU32::new(UNKNOWN);
/// The process that is recorded; 0 if none is.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// When the window was opened last, wall and CPU time; 0: it is shut.
static OPENED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

struct RuntimeParts(UnsafeCell<MaybeUninit<(ShadowMemory<RtHost>, Options)>>);

// SAFETY: written once, before STATE becomes RECORDED; the shadow is shared as it promises.
unsafe impl Sync for RuntimeParts {}

static PARTS: RuntimeParts = RuntimeParts(UnsafeCell::new(MaybeUninit::uninit()));

/// The shadow. Only for threads that have a [`thread::Thread`], or while the process is recorded.
#[inline(always)]
pub fn shadow() -> &'static ShadowMemory<RtHost> {
    // SAFETY: threads and the recorded state come after it was written.
    unsafe { &(*PARTS.0.get()).assume_init_ref().0 }
}

/// What the host asked for; as [`shadow`].
pub fn options() -> &'static Options {
    // SAFETY: as above.
    unsafe { &(*PARTS.0.get()).assume_init_ref().1 }
}

/// Whether this process is recorded and not finished.
#[inline]
pub fn is_recorded() -> bool {
    STATE.load(Acquire) == RECORDED
}

/// Whether it is known that this process will not be recorded, or no more.
pub fn is_over() -> bool {
    STATE.load(Acquire) >= FINISHING
}

/// Whether the calling process is the one that the recording belongs to, by asking the kernel: a
/// child that nobody told us of has our memory, too.
pub fn is_recorded_process() -> bool {
    PROCESS.load(Relaxed) == sys::pid()
}

/// Attaches to a recording if there is one. Called by constructors.
pub fn start() {
    if STATE
        .compare_exchange(UNKNOWN, STARTING, AcqRel, Relaxed)
        .is_err()
    {
        return;
    }
    let _errno = SavedErrno::save();
    let word = tls::word();
    tls::set_word(tls::INSIDE);
    let state = match sys::env(c"RELAYOUT_DIR") {
        Some(folder) if attach_recording(folder) => RECORDED,
        _ => OVER,
    };
    tls::set_word(word);
    STATE.store(state, Release);
    if state == RECORDED {
        signals::watch_fatal();
        // A program that says when to start is not to be watched before.
        if modules::is_referred_to(c"relayout_rt_start") {
            control()
                .state
                .store(RecordingStage::Waiting as u32, Release);
        } else {
            open_window();
        }
    }
}

fn attach_recording(folder: &CStr) -> bool {
    match output::attach_control(folder) {
        Ok(()) => {}
        Err(NotRecorded::Taken) => return false,
        Err(NotRecorded::Error(errno)) => {
            let mut number = crate::text::FixedText::<20>::new();
            number.push_decimal(errno as u64);
            let folder = folder.to_bytes();
            sys::complain(&[b"cannot record into ", folder, b": errno ", number.bytes()]);
            return false;
        }
    }
    PROCESS.store(sys::pid(), Release);
    let made = output::create_files(folder).and_then(|()| make_parts().ok_or(libc::ENOMEM));
    if let Err(errno) = made {
        output::fail_recording(errno);
        return false;
    }
    sys::membarrier(sys::MEMBARRIER_REGISTER_PRIVATE_EXPEDITED);
    modules::list_new();
    control().magic.store(CONTROL_MAGIC, Release);
    true
}

fn make_parts() -> Option<()> {
    let options = Options::parse(sys::env(c"RELAYOUT_OPTIONS"));
    let mut config = ShadowConfig::new(CONTEXTS_MAX);
    config.page_table_bits = PAGE_TABLE_BITS;
    config.burst_total_max = options.bursts.unwrap_or(config.burst_total_max);
    if options.all_counts {
        // They are counted one by one, not by the shadow.
        config.count_from = u32::MAX;
    }
    let shadow = ShadowMemory::new(config, RtHost)?;
    // SAFETY: nobody looks before STATE says so.
    unsafe { (*PARTS.0.get()).write((shadow, options)) };
    allocs::start()?;
    gap::start();
    thread::start()
}

/// Opens the window.
pub fn open_window() {
    if !is_recorded() || OPENED[0].load(Acquire) != 0 {
        return;
    }
    OPENED[1].store(sys::cpu_ns(), Release);
    OPENED[0].store(sys::now_ns(), Release);
    let control = control();
    if control.error.load(Acquire) == 0 {
        control
            .state
            .store(RecordingStage::Recording as u32, Release);
        control.stopped.store(0, Release);
    }
}

/// Shuts the window; it can be opened again.
pub fn shut_window() {
    let control = control();
    control.stopped.store(1, SeqCst);
    control.pauses.fetch_add(1, SeqCst);
    let since = OPENED[0].swap(0, AcqRel);
    if since != 0 {
        let wall = sys::now_ns().saturating_sub(since);
        let cpu = sys::cpu_ns().saturating_sub(OPENED[1].load(Acquire));
        control.window_wall_ns.fetch_add(wall, AcqRel);
        control.window_cpu_ns.fetch_add(cpu, AcqRel);
    }
}

/// Shuts the window because the program said so.
pub fn close_window() {
    shut_window();
    control()
        .state
        .store(RecordingStage::Closed as u32, Release);
}

/// The process is a child of the recorded one: it has its memory, and nothing to do with it.
pub fn forget_recording() {
    control().others.fetch_add(1, AcqRel);
    STATE.store(OVER, Release);
    tls::set_thread(0);
    tls::set_word(tls::INSIDE);
}

/// Appends everything and ends the recording. The calling thread is not watched any more.
pub fn finish() {
    if !is_recorded_process() {
        return;
    }
    let first = STATE.compare_exchange(RECORDED, FINISHING, AcqRel, Acquire);
    if first != Ok(RECORDED) {
        // The process must not end before another thread is done with this.
        let until = sys::now_ns() + 5 * WAIT_MAX_NS;
        while STATE.load(Acquire) == FINISHING && sys::now_ns() < until {
            sys::relax();
        }
        return;
    }
    let _errno = SavedErrno::save();
    let closed_by_program = OPENED[0].load(Acquire) == 0;
    tls::set_word(tls::INSIDE);
    shut_window();
    sys::membarrier(sys::MEMBARRIER_PRIVATE_EXPEDITED);
    thread::wait_for_others(sys::now_ns() + WAIT_MAX_NS);
    modules::list_new();
    append_all(closed_by_program);
    if control().error.load(Acquire) == 0 {
        control()
            .state
            .store(RecordingStage::Finished as u32, Release);
    }
    STATE.store(OVER, Release);
}

fn append_all(closed_by_program: bool) {
    let (shadow, control) = (shadow(), control());
    let mut summary = SummaryRecord {
        window_wall_ns: control.window_wall_ns.load(Acquire),
        window_cpu_ns: control.window_cpu_ns.load(Acquire),
        accesses: 0,
        operations: shadow.operations(),
        bursts_dropped: 0,
        entries_lost: 0,
        values_seen: 0,
        window_closed: u32::from(closed_by_program),
    };
    let mut transfers = 0;
    thread::end_all(|cx: &mut ShadowContext| {
        if cx.id == 0 {
            allocs::append_all(cx);
        }
        shadow.finish(cx);
        summary.accesses += cx.accesses;
        summary.bursts_dropped += cx.bursts_dropped;
        summary.entries_lost += cx.lost;
        transfers += cx.transfers;
        if cx.id == 0 && control.error.load(Acquire) == 0 {
            cx.append(&[summary], &shadow.host);
        }
    });
    control.accesses.store(summary.accesses, Release);
    control.transfers.store(transfers, Release);
    control.operations.store(summary.operations, Release);
}

type Constructor = extern "C" fn();

#[used]
#[unsafe(link_section = ".init_array")]
static START: Constructor = {
    extern "C" fn on_load() {
        start();
    }
    on_load
};

#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: Constructor = {
    extern "C" fn on_unload() {
        finish();
    }
    on_unload
};

/// Modules may have been loaded.
pub fn module_loaded() {
    if is_recorded() {
        let word = tls::word();
        tls::set_word(tls::INSIDE);
        let _errno = SavedErrno::save();
        modules::list_new();
        thread::restore_word(word);
    }
}
