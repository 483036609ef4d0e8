//! Recorded threads: a thread gets a context of the shadow at its first access and keeps it to its
//! end.

pub mod inside;
pub mod portion;
pub mod state;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering::*};

use relayout_shadow::{CONTEXTS_MAX, FRESH_CONTEXTS, ShadowContext};

use self::inside::{InsideRuntime, enter_known};
use self::state::{ENDED, LIVE, NAME_BYTES, RecordedThread, THREADS, USED, threads_made};
use crate::gate::control;
use crate::output::{append_line, begin_context};
use crate::recording::{self, options, shadow};
use crate::signals::alt_stack;
use crate::stack::StackBounds;
use crate::store_watch::NO_WATCH;
use crate::sys::{self, SavedErrno};
use crate::text::FixedText;
use crate::values::settle_store;
use crate::{gap, modules, tls};

/// Rounds in which the C library calls the destructors of thread-specific data.
const DESTRUCTOR_ROUNDS: u32 = 4;

/// Key of thread-specific data whose destructor is called when a thread ends.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Creates the key whose destructor ends a thread.
pub fn start() -> Option<()> {
    let mut key = 0;
    // SAFETY: `key` is ours.
    if unsafe { libc::pthread_key_create(&mut key, Some(on_end)) } != 0 {
        return None;
    }
    KEY.store(key, Release);
    Some(())
}

/// Enters the runtime. `None` if the thread is inside already, or is not recorded.
#[inline]
pub fn enter() -> Option<InsideRuntime> {
    let word = tls::word();
    if word == tls::INSIDE {
        return None;
    }
    if word == tls::NEW && !attach_thread() {
        return None;
    }
    // The word may be NEW again, after a signal that was deferred until then.
    let thread = tls::thread() as *mut RecordedThread;
    // SAFETY: the calling thread's own, which is never freed, and the thread is outside.
    Some(unsafe { enter_known(thread) })
}

/// Notes that the calling thread has finished an operation.
pub fn note_operation() {
    let thread = tls::thread() as *mut RecordedThread;
    if !thread.is_null() {
        // SAFETY: the calling thread's own; only it uses the number.
        unsafe {
            let operations = &raw mut (*(*thread).context).operations;
            *operations = (*operations).wrapping_add(1);
        }
    }
}

/// Returns the calling thread's state; `None` if the thread is inside already, or is not recorded.
/// A thread whose word is NEW enters the runtime once.
#[inline]
pub fn recorded_thread() -> Option<*mut RecordedThread> {
    let word = tls::word();
    if word == tls::NEW {
        drop(enter()?);
        return Some(tls::thread() as *mut RecordedThread);
    }
    (word != tls::INSIDE).then_some(word as *mut RecordedThread)
}

/// Gives the calling thread a context, or ends the gap that is being timed. False if it has no
/// context (yet).
#[cold]
#[inline(never)]
fn attach_thread() -> bool {
    let now = gap::ticks();
    if !recording::is_recorded() {
        if recording::is_over() {
            tls::set_word(tls::INSIDE);
        }
        return false;
    }
    let known = tls::thread();
    if known != 0 {
        // SAFETY: the calling thread's own, and the thread is outside the runtime.
        let inside = unsafe { enter_known(known as *mut RecordedThread) };
        let is_within = inside.0.gaps.end_gap(now);
        if !is_within && inside.0.store.is_set() {
            settle_store(inside);
        }
        return true;
    }
    tls::set_word(tls::INSIDE);
    // No signal can be deferred before the thread has its state.
    let mask = sys::set_signal_mask(u64::MAX);
    let is_attached = attach_new_thread();
    sys::set_signal_mask(mask);
    is_attached
}

/// Gives the calling thread, which has no state, a context. False if all are in use.
fn attach_new_thread() -> bool {
    let _errno = SavedErrno::save();
    let Some(thread) = take_thread() else {
        control().threads_lost.fetch_add(1, Relaxed);
        return false;
    };
    // SAFETY: taken for this thread alone; contexts are never freed.
    let (thread, id) = unsafe { (&mut *thread, (*(*thread).context).id) };
    thread.begin_recording();
    announce(thread, id);
    thread.signal_stack = alt_stack::install_signal_stack();
    // SAFETY: the key exists; the value is for this thread only.
    unsafe { libc::pthread_setspecific(KEY.load(Acquire), (&raw const *thread).cast()) };
    tls::set_thread(&raw mut *thread as usize);
    tls::set_word(&raw mut *thread as usize);
    true
}

fn announce(thread: &mut RecordedThread, id: u16) {
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

/// Appends a line with the thread's name if the name has changed.
fn append_name_line(thread: &mut RecordedThread, id: u16) {
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
    // Drop the final newline, and clear the bytes after a shorter name.
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

/// Takes a context that no thread has: a new one as long as there are few, then one whose thread
/// has ended, then a new one.
fn take_thread() -> Option<*mut RecordedThread> {
    take_fresh_thread(FRESH_CONTEXTS)
        .or_else(take_ended_thread)
        .or_else(|| take_fresh_thread(CONTEXTS_MAX))
}

/// Takes a context below `end` that no thread has had.
fn take_fresh_thread(end: usize) -> Option<*mut RecordedThread> {
    if USED.load(Relaxed) >= end as u32 {
        return None;
    }
    let n = USED.fetch_add(1, AcqRel) as usize;
    if n >= CONTEXTS_MAX {
        return None;
    }
    make_thread(n)
}

fn take_ended_thread() -> Option<*mut RecordedThread> {
    THREADS.iter().find_map(|slot| {
        let thread = slot.load(Acquire);
        // SAFETY: null, or a thread, never freed.
        let state = unsafe { &thread.as_ref()?.state };
        let taken = state.compare_exchange(ENDED, LIVE, AcqRel, Relaxed);
        taken.is_ok().then_some(thread)
    })
}

fn make_thread(n: usize) -> Option<*mut RecordedThread> {
    if !begin_context(n as u16) {
        return None;
    }
    let context = ShadowContext::allocate(n as u16, &shadow().host)?;
    let thread = sys::zeroed(size_of::<RecordedThread>())?.cast::<RecordedThread>();
    // SAFETY: fresh zeroed memory. Zero is valid for all other fields; the bytes of `None` are
    // unspecified.
    unsafe {
        (&raw mut (*thread).context).write(context);
        (&raw mut (*thread).stack).write(None);
        (&raw mut (*thread).allocates_for).write(None);
        (&raw mut (*thread).store).write(NO_WATCH);
        (*thread).state.store(LIVE, Relaxed);
    }
    THREADS[n].store(thread, Release);
    Some(thread)
}

impl RecordedThread {
    fn begin_recording(&mut self) {
        let id = self.cx().id;
        self.tid.store(sys::tid(), Relaxed);
        self.count_all = options().all_counts;
        self.stack = StackBounds::of_this_thread();
        self.rounds = 0;
        self.name = [0; NAME_BYTES];
        self.allocates_for = None;
        self.store = NO_WATCH;
        self.random =
            (options().seed ^ u64::from(id) << 56 | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        self.flushed_ns = sys::now_ns();
        self.settle_portion();
        self.next_portion();
    }
}

/// Ends the thread's recording, in the last round of destructors.
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
        if recording::is_recorded() {
            thread.settle_portion();
            let id = thread.cx().id;
            append_name_line(thread, id);
            thread.report_progress();
            thread.append_gaps();
            thread.cx().flush(&shadow().host);
        }
        alt_stack::remove_signal_stack(core::mem::replace(&mut thread.signal_stack, null_mut()));
        tls::set_thread(0);
        thread.inside.store(0, Release);
        if thread.deferred.is_set() {
            thread.deferred.deliver();
        }
        thread.state.store(ENDED, Release);
        // The thread stays inside until it is gone.
        std::mem::forget(inside);
    }
}

/// Forgets all threads in a forked child: only the calling one runs in it, and gets a new context
/// at its next access.
pub fn forget_all() {
    let own = tls::thread() as *mut RecordedThread;
    // From here on, no signal is deferred.
    tls::set_thread(0);
    // SAFETY: null, or the calling thread's own.
    if let Some(own) = unsafe { own.as_mut() } {
        own.deferred.discard();
    }
    for slot in &THREADS {
        let thread = slot.swap(null_mut(), AcqRel);
        if !thread.is_null() {
            // SAFETY: nothing in this process refers to the parent's threads any more.
            unsafe { sys::unmap(thread.cast(), size_of::<RecordedThread>()) };
        }
    }
    USED.store(0, Release);
}

/// Waits until no other thread is inside, at most until `until_ns` on the monotonic clock.
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

/// Ends all contexts, the first one last, and makes the first one if no thread was recorded. No
/// thread may be inside.
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
        // SAFETY: null, or a thread; the thread itself is not inside, and the gate is shut.
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
