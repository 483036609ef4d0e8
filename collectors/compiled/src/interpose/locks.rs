//! Locks: the word that contenders fight for, where glibc has it, as the caller's read-write.
//!
//! The layouts are those of glibc on x86-64 since 2.25 (`struct __pthread_mutex_s` and so on). What is
//! recorded is the word that each operation changes first, and again after a wait for it. The lock's
//! other words are on the same line unless the lock itself crosses one.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::access::{READ, READ_WRITE, touch};
use crate::entry::sited;
use crate::real::real;

type Lock = *mut c_void;
type Arg = *mut c_void;
type Clock = libc::clockid_t;

/// `__data.__lock` of a mutex and the value of a spin lock: 4 bytes at 0.
const WORD: u64 = 4;

/// Runs `operation` on the lock whose word is at `lock`; tells of the word before, and again after it
/// if it was taken before: who waits takes the line twice.
#[inline(always)]
fn acquire(lock: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program says that a lock is there.
    let taken = unsafe { (*lock.cast::<AtomicU32>()).load(Relaxed) } != 0;
    touch(lock as u64, WORD as usize, READ_WRITE, pc);
    let result = operation();
    if taken {
        touch(lock as u64, WORD as usize, READ_WRITE, pc);
    }
    result
}

/// Tells of an access to `bytes` bytes at `offset` of the lock.
#[inline(always)]
fn touch_word(lock: Lock, offset: u64, bytes: usize, kind: u8, pc: u64) {
    touch(lock as u64 + offset, bytes, kind, pc);
}

/// `name(register) => body(lock, arguments) tell;`: what `tell` makes of the return address, the lock
/// and the call.
macro_rules! locks {
    ($($name:ident($register:literal) => $body:ident($($arg:ident: $ty:ty),*) $tell:ident;)*) => {
        sited! { $($name($register) => $body;)* }
        $(
            unsafe extern "C-unwind" fn $body(lock: Lock, $($arg: $ty,)* pc: u64) -> c_int {
                $tell(lock, pc, || {
                    let real = real!($name: fn(Lock $(, $ty)*) -> c_int);
                    // SAFETY: with the caller's arguments.
                    real.map_or(libc::ENOSYS, |real| unsafe { real(lock $(, $arg)*) })
                })
            }
        )*
    };
}

locks! {
    pthread_mutex_lock("rsi") => mutex_lock() acquire;
    pthread_mutex_trylock("rsi") => mutex_trylock() acquire;
    pthread_mutex_timedlock("rdx") => mutex_timedlock(until: Arg) acquire;
    pthread_mutex_clocklock("rcx") => mutex_clocklock(clock: Clock, until: Arg) acquire;
    pthread_mutex_unlock("rsi") => mutex_unlock() release;
    pthread_spin_lock("rsi") => spin_lock() acquire;
    pthread_spin_trylock("rsi") => spin_trylock() acquire;
    pthread_spin_unlock("rsi") => spin_unlock() release;
    pthread_rwlock_rdlock("rsi") => rwlock_rdlock() share;
    pthread_rwlock_tryrdlock("rsi") => rwlock_tryrdlock() share;
    pthread_rwlock_timedrdlock("rdx") => rwlock_timedrdlock(until: Arg) share;
    pthread_rwlock_clockrdlock("rcx") => rwlock_clockrdlock(clock: Clock, until: Arg) share;
    pthread_rwlock_wrlock("rsi") => rwlock_wrlock() own;
    pthread_rwlock_trywrlock("rsi") => rwlock_trywrlock() own;
    pthread_rwlock_timedwrlock("rdx") => rwlock_timedwrlock(until: Arg) own;
    pthread_rwlock_clockwrlock("rcx") => rwlock_clockwrlock(clock: Clock, until: Arg) own;
    pthread_rwlock_unlock("rsi") => rwlock_unlock() release;
    pthread_cond_wait("rdx") => cond_wait(mutex: Lock) cond_waits;
    pthread_cond_timedwait("rcx") => cond_timedwait(mutex: Lock, until: Arg) cond_waits;
    pthread_cond_clockwait("r8") => cond_clockwait(mutex: Lock, clock: Clock, until: Arg) cond_waits;
    pthread_cond_signal("rsi") => cond_signal() cond_wakes;
    pthread_cond_broadcast("rsi") => cond_broadcast() cond_wakes;
    pthread_barrier_wait("rsi") => barrier_wait() barrier;
    sem_wait("rsi") => sem_wait_at() semaphore;
    sem_trywait("rsi") => sem_trywait_at() semaphore;
    sem_timedwait("rdx") => sem_timedwait_at(until: Arg) semaphore;
    sem_clockwait("rcx") => sem_clockwait_at(clock: Clock, until: Arg) semaphore;
    sem_post("rsi") => sem_post_at() semaphore;
    pthread_once("rdx") => once(routine: Arg) reads;
}

/// A mutex or spin lock given back: the word is written.
#[inline(always)]
fn release(lock: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch(lock as u64, WORD as usize, READ_WRITE, pc);
    operation()
}

/// A reader comes to a `pthread_rwlock_t`: `__readers`, at 0.
#[inline(always)]
fn share(lock: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(lock, 0, 4, READ_WRITE, pc);
    operation()
}

/// A writer comes: `__writers`, at 4, then `__readers`.
#[inline(always)]
fn own(lock: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(lock, 4, 4, READ_WRITE, pc);
    touch_word(lock, 0, 4, READ_WRITE, pc);
    operation()
}

/// A `pthread_cond_t`: `__wseq`, 8 bytes at 0, then `__wrefs` at 36; once woken, `__g_signals`, 8
/// bytes at 40. The mutex is given back and taken by the C library: its word is told at the
/// condition variable's call.
#[inline(always)]
fn cond_waits(cond: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(cond, 0, 8, READ_WRITE, pc);
    touch_word(cond, 36, 4, READ_WRITE, pc);
    let result = operation();
    touch_word(cond, 40, 8, READ_WRITE, pc);
    result
}

/// Who wakes others looks first whether there are any (`__wrefs`, at 36).
#[inline(always)]
fn cond_wakes(cond: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(cond, 36, 4, READ, pc);
    // SAFETY: the program says that a condition variable is there, which is 48 bytes.
    let waiters = unsafe { (*cond.byte_add(36).cast::<AtomicU32>()).load(Relaxed) } >> 3;
    if waiters > 0 {
        touch_word(cond, 0, 8, READ_WRITE, pc);
        touch_word(cond, 40, 8, READ_WRITE, pc);
    }
    operation()
}

/// A `pthread_barrier_t`: `in` at 0, and `out` at 16 when leaving.
#[inline(always)]
fn barrier(barrier: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(barrier, 0, 4, READ_WRITE, pc);
    let result = operation();
    touch_word(barrier, 16, 4, READ_WRITE, pc);
    result
}

/// A `sem_t`: value and number of waiters in 8 bytes at 0.
#[inline(always)]
fn semaphore(semaphore: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(semaphore, 0, 8, READ_WRITE, pc);
    operation()
}

/// A `pthread_once_t`, in the common case: done.
#[inline(always)]
fn reads(once: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(once, 0, 4, READ, pc);
    operation()
}
