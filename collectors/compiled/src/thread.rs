//! One thread of the program: its context of the shadow, from its first access to its end.

mod inside;
mod stop;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

use relayout_shadow::{CONTEXTS_MAX, ShadowContext};

use crate::gate::control;
use crate::output::append_line;
use crate::runtime::{options, shadow};
use crate::signals::DeferredSignal;
use crate::stack::{CallerFrame, StackBounds};
use crate::sys::{self, SavedErrno};
use crate::text::FixedText;
use crate::{gap, modules, runtime, signals, tls};

pub use inside::{InsideRuntime, enter, enter_known, restore_word};
pub use stop::stop;

/// Rounds in which the C library calls the destructors of thread-specific data.
const DESTRUCTOR_ROUNDS: u32 = 4;

/// Bytes of a thread's name in the kernel, with its end.
const NAME_BYTES: usize = 16;

/// Values of [`Thread::state`].
const LIVE: u32 = 1;
const ENDED: u32 = 2;

/// Used by its own thread, but for the atomics.
#[repr(C, align(128))]
pub struct RecordedThread {
    pub context: *mut ShadowContext,
    /// Accesses until the next stop: a pause, or one whose pair of lines is looked at. Below 0 where
    /// a signal's handler came between the last of them and the stop.
    pub countdown: i32,
    /// Every access is counted by granule and site.
    pub count_all: bool,
    /// The thread may be changing what [`runtime::finish`] reads.
    pub inside: AtomicU32,
    /// Value of `countdown` after the last stop.
    portion: i32,
    /// Accesses from the last stop to the next pause.
    pause_in: u32,
    state: AtomicU32,
    tid: AtomicU32,
    random: u64,
    /// `accesses` at which to look at the clock.
    flush_check_at: u64,
    flushed_ns: u64,
    /// Accesses and transfers that the control page knows of.
    reported: (u64, u64),
    rounds: u32,
    /// The name that was appended last.
    name: [u8; NAME_BYTES],
    pub gaps: gap::GapTimer,
    pub stack: Option<StackBounds>,
    pub signal_stack: *mut u8,
    pub deferred: DeferredSignal,
    /// The caller of `operator new`, which is the one to name for the `malloc` in it.
    pub allocates_for: Option<CallerFrame>,
}

static THREADS: [AtomicPtr<RecordedThread>; CONTEXTS_MAX] =
    [const { AtomicPtr::new(null_mut()) }; CONTEXTS_MAX];
/// Contexts given out; can pass the number of contexts.
static USED: AtomicU32 = AtomicU32::new(0);
/// The key whose destructor tells that a thread ends.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Prepares for threads to come.
pub fn start() -> Option<()> {
    let mut key = 0;
    // SAFETY: `key` is ours.
    if unsafe { libc::pthread_key_create(&mut key, Some(on_end)) } != 0 {
        return None;
    }
    KEY.store(key, Release);
    Some(())
}

/// Gives the calling thread a context, or ends the gap that is timed; false if it has no context (yet).
#[cold]
#[inline(never)]
fn attach_thread() -> bool {
    let now = gap::ticks();
    if !runtime::is_recorded() {
        if runtime::is_over() {
            tls::set_word(tls::INSIDE);
        }
        return false;
    }
    let known = tls::thread();
    if known != 0 {
        // SAFETY: the calling thread's, and outside.
        let inside = unsafe { enter_known(known as *mut RecordedThread) };
        gap::end_gap(inside.0, now);
        return true;
    }
    tls::set_word(tls::INSIDE);
    let _errno = SavedErrno::save();
    let Some(thread) = take_thread() else {
        control().threads_lost.fetch_add(1, Relaxed);
        return false;
    };
    // SAFETY: just taken for this thread; contexts are never freed.
    let (thread, id) = unsafe { (&mut *thread, (*(*thread).context).id) };
    thread.begin_recording();
    announce(thread, id);
    thread.signal_stack = signals::install_signal_stack();
    // SAFETY: the key exists; the value is for this thread only.
    unsafe { libc::pthread_setspecific(KEY.load(Acquire), (&raw const *thread).cast()) };
    tls::set_thread(&raw mut *thread as usize);
    tls::set_word(&raw mut *thread as usize);
    true
}

fn announce(thread: &mut RecordedThread, id: u8) {
    append_name_line(thread, id);
    if let Some(stack) = thread.stack {
        let mut line = FixedText::new();
        line.push(b"stack ");
        line.push_decimal(id.into());
        for n in [stack.low, stack.high - stack.low] {
            line.push(b" ");
            line.push_hex(n);
        }
        append_line(&mut line);
    }
    modules::list_tls(id);
}

/// Appends the line with the thread's name as it is now, if it is another than before.
fn append_name_line(thread: &mut RecordedThread, id: u8) {
    let tid = thread.tid.load(Relaxed);
    let mut path = FixedText::<64>::new();
    path.push(b"/proc/self/task/");
    path.push_decimal(tid.into());
    path.push(b"/comm\0");
    let mut name = [0u8; NAME_BYTES];
    // SAFETY: the path ends in NUL; the buffer is ours.
    let len = unsafe {
        let file = libc::open(
            path.bytes().as_ptr().cast(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
        if file < 0 {
            return;
        }
        let len = libc::syscall(libc::SYS_read, file, name.as_mut_ptr(), name.len());
        libc::close(file);
        len
    };
    // The kernel's end of the line, and what a shorter name leaves.
    let end = usize::try_from(len).unwrap_or(0).saturating_sub(1);
    name[end..].fill(0);
    if name == thread.name {
        return;
    }
    thread.name = name;
    let name = &name[..end];
    let mut line = FixedText::new();
    line.push(b"thread ");
    line.push_decimal(id.into());
    line.push(b" ");
    line.push_decimal(tid.into());
    line.push(b" ");
    for &byte in name {
        line.push(&[if byte == b'\n' { b' ' } else { byte }]);
    }
    append_line(&mut line);
}

/// A context that no thread has: a new one, or when all were used, one whose thread has ended.
fn take_thread() -> Option<*mut RecordedThread> {
    if USED.load(Relaxed) < CONTEXTS_MAX as u32 {
        let n = USED.fetch_add(1, AcqRel) as usize;
        if n < CONTEXTS_MAX {
            return make_thread(n);
        }
    }
    THREADS.iter().find_map(|slot| {
        let thread = slot.load(Acquire);
        // SAFETY: null, or a thread, never freed.
        let state = unsafe { &thread.as_ref()?.state };
        let taken = state.compare_exchange(ENDED, LIVE, AcqRel, Relaxed);
        taken.is_ok().then_some(thread)
    })
}

fn make_thread(n: usize) -> Option<*mut RecordedThread> {
    let context = ShadowContext::allocate(n as u8, &shadow().host)?;
    let thread = sys::zeroed(size_of::<RecordedThread>())?.cast::<RecordedThread>();
    // SAFETY: fresh zeroed memory. Zero is a value of all other fields; of which bytes `None` is, is not said.
    unsafe {
        (&raw mut (*thread).context).write(context);
        (&raw mut (*thread).stack).write(None);
        (&raw mut (*thread).allocates_for).write(None);
        (*thread).state.store(LIVE, Relaxed);
    }
    THREADS[n].store(thread, Release);
    Some(thread)
}

impl RecordedThread {
    fn cx(&mut self) -> &mut ShadowContext {
        // SAFETY: contexts are never freed; only this thread uses it.
        unsafe { &mut *self.context }
    }

    fn begin_recording(&mut self) {
        let id = self.cx().id;
        self.tid.store(sys::tid(), Relaxed);
        self.count_all = options().all_counts;
        self.stack = StackBounds::of_this_thread();
        self.rounds = 0;
        self.name = [0; NAME_BYTES];
        self.random =
            (options().seed ^ u64::from(id) << 56 | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        self.flushed_ns = sys::now_ns();
        self.settle_portion();
        self.next_portion();
    }
}

/// The thread ends.
unsafe extern "C" fn on_end(value: *mut c_void) {
    let thread = value.cast::<RecordedThread>();
    if tls::thread() != thread as usize {
        return;
    }
    // SAFETY: the calling thread's own.
    let rounds = unsafe {
        (*thread).rounds += 1;
        (*thread).rounds
    };
    if rounds < DESTRUCTOR_ROUNDS {
        // The program's own destructors come first.
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(KEY.load(Acquire), value) };
        return;
    }
    if let Some(inside) = enter() {
        let thread = &mut *inside.0;
        if runtime::is_recorded() {
            thread.settle_portion();
            let id = thread.cx().id;
            append_name_line(thread, id);
            thread.report_progress();
            thread.append_gaps();
            thread.cx().flush(&shadow().host);
        }
        signals::remove_signal_stack(core::mem::replace(&mut thread.signal_stack, null_mut()));
        tls::set_thread(0);
        thread.inside.store(0, Release);
        thread.state.store(ENDED, Release);
        // For the rest of its life it stays inside.
        std::mem::forget(inside);
    }
}

/// Waits until no other thread is inside, or `until_ns` has come.
pub fn wait_for_others(until_ns: u64) {
    let own = tls::thread();
    for thread in threads_made() {
        // SAFETY: threads are never freed.
        let inside = unsafe { &(*thread).inside };
        while thread as usize != own && inside.load(Acquire) != 0 && sys::now_ns() < until_ns {
            sys::relax();
        }
    }
}

/// Ends all contexts, the first one last; that one is made if no thread was seen. No thread may be
/// inside.
pub fn end_all(mut end: impl FnMut(&mut ShadowContext)) {
    if USED.load(Acquire) == 0 {
        USED.store(1, Release);
        make_thread(0);
    }
    let own = tls::thread();
    let mut threads = [null_mut(); CONTEXTS_MAX];
    for (slot, thread) in threads.iter_mut().zip(threads_made()) {
        *slot = thread;
    }
    for &thread in threads.iter().rev() {
        // SAFETY: null, or a thread; its own thread is not inside and stays out.
        let Some(thread) = (unsafe { thread.as_mut() }) else {
            continue;
        };
        if thread.inside.load(Acquire) != 0 && &raw const *thread as usize != own {
            continue;
        }
        thread.settle_portion();
        let id = thread.cx().id;
        if thread.state.load(Acquire) == LIVE && thread.tid.load(Relaxed) != 0 {
            append_name_line(thread, id);
        }
        thread.append_gaps();
        end(thread.cx());
    }
}

fn threads_made() -> impl Iterator<Item = *mut RecordedThread> {
    THREADS
        .iter()
        .map(|slot| slot.load(Acquire))
        .filter(|thread| !thread.is_null())
}
