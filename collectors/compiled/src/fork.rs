//! Forks of the recorded process: the child is recorded, too, in a folder of its own.
//!
//! The C library calls the functions of `pthread_atfork` in whatever forks by it (`fork`, `daemon`,
//! `forkpty`). A child that shares the memory (`vfork`, `posix_spawn`) is a part of this process
//! until it executes a program. What a child inherits stays known: modules, names and allocations.
//! Lines, counts and contexts begin anew, since no thread but the one that forked exists in it.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

use crate::output::is_recorded_process;
use crate::sys::{self, SavedErrno};
use crate::thread::inside::restore_word;
use crate::{allocs, objects, recording, start, tls};

/// Thread that is forking and keeps the tables as they are; 0 if none is.
static FORKER: AtomicU32 = AtomicU32::new(0);
/// Its word before the fork.
static WORD: AtomicUsize = AtomicUsize::new(0);

/// Has the C library call this module at each fork.
pub fn watch_forks() {
    // SAFETY: functions of the right type, which stay loaded.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
}

unsafe extern "C" fn before_fork() {
    if !recording::is_recorded() || !is_recorded_process() {
        return;
    }
    let _errno = SavedErrno::save();
    let (word, own) = (tls::word(), sys::tid());
    tls::set_word(tls::INSIDE);
    while FORKER.compare_exchange(0, own, AcqRel, Relaxed).is_err() {
        sys::relax();
    }
    WORD.store(word, Relaxed);
    objects::lock_names();
    allocs::begin_fork();
}

/// Releases the tables; returns the word before the fork.
fn end_fork(is_child: bool) -> usize {
    allocs::end_fork(is_child);
    objects::unlock_names();
    let word = WORD.load(Relaxed);
    FORKER.store(0, Release);
    word
}

unsafe extern "C" fn in_parent() {
    if FORKER.load(Acquire) == sys::tid() {
        let _errno = SavedErrno::save();
        restore_word(end_fork(false));
    }
}

unsafe extern "C" fn in_child() {
    if FORKER.load(Acquire) == 0 || !recording::is_recorded() {
        return;
    }
    let _errno = SavedErrno::save();
    let word = end_fork(true);
    let is_recorded = start::start_child();
    // A thread that was inside, or never to be recorded, stays so.
    let stays = word == tls::INSIDE || !is_recorded;
    tls::set_word(if stays { tls::INSIDE } else { tls::NEW });
}
