//! Locks: accesses to the word that threads contend for, at glibc's offsets, as the caller's.
//!
//! The layouts are those of glibc on x86-64 since 2.25 (`struct __pthread_mutex_s` and so on).
//! Recorded is the word that each operation changes first, and again after a wait for it. The
//! lock's other words are on the same line unless the lock itself crosses one.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::access::{READ, READ_WRITE, touch, touch_locked};
use crate::entry::sited;
use crate::real::real;

type Lock = *mut c_void;
type Arg = *mut c_void;
type Clock = libc::clockid_t;

/// Bytes of a mutex's `__data.__lock` and of a spin lock's value, both at offset 0.
const WORD: u64 = 4;

/// Runs `operation` on the lock whose word is at `lock`. Records an access to the word before it,
/// and another one after it if the lock was taken, since a thread that waits fetches the line
/// twice.
#[inline(always)]
fn touch_and_acquire(lock: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes a lock.
    let taken = unsafe { (*lock.cast::<AtomicU32>()).load(Relaxed) } != 0;
    touch_locked(lock as u64, WORD as usize, pc);
    let result = operation();
    if taken {
        touch_locked(lock as u64, WORD as usize, pc);
    }
    result
}

/// Records an access to `bytes` bytes at `offset` of the lock.
#[inline(always)]
fn touch_word(lock: Lock, offset: u64, bytes: usize, kind: u8, pc: u64) {
    if kind == READ_WRITE {
        touch_locked(lock as u64 + offset, bytes, pc);
    } else {
        touch(lock as u64 + offset, bytes, kind, pc);
    }
}

/// Defines `name(register) => body(lock, arguments) touch;`, where `touch` gets the lock, the
/// return address and the call.
macro_rules! locks {
    ($($name:ident($register:literal) => $body:ident($($arg:ident: $ty:ty),*) $touch:ident;)*) => {
        sited! { $($name($register) => $body;)* }
        $(
            unsafe extern "C-unwind" fn $body(lock: Lock, $($arg: $ty,)* pc: u64) -> c_int {
                $touch(lock, pc, || {
                    let real = real!($name: fn(Lock $(, $ty)*) -> c_int);
                    // SAFETY: the caller's own arguments.
                    real.map_or(libc::ENOSYS, |real| unsafe { real(lock $(, $arg)*) })
                })
            }
        )*
    };
}

locks! {
    pthread_mutex_lock("rsi") => mutex_lock() touch_and_acquire;
    pthread_mutex_trylock("rsi") => mutex_trylock() touch_and_acquire;
    pthread_mutex_timedlock("rdx") => mutex_timedlock(until: Arg) touch_and_acquire;
    pthread_mutex_clocklock("rcx") => mutex_clocklock(clock: Clock, until: Arg) touch_and_acquire;
    pthread_mutex_unlock("rsi") => mutex_unlock() touch_release;
    pthread_spin_lock("rsi") => spin_lock() touch_and_acquire;
    pthread_spin_trylock("rsi") => spin_trylock() touch_and_acquire;
    pthread_spin_unlock("rsi") => spin_unlock() touch_release;
    pthread_rwlock_rdlock("rsi") => rwlock_rdlock() touch_shared;
    pthread_rwlock_tryrdlock("rsi") => rwlock_tryrdlock() touch_shared;
    pthread_rwlock_timedrdlock("rdx") => rwlock_timedrdlock(until: Arg) touch_shared;
    pthread_rwlock_clockrdlock("rcx") => rwlock_clockrdlock(clock: Clock, until: Arg) touch_shared;
    pthread_rwlock_wrlock("rsi") => rwlock_wrlock() touch_exclusive;
    pthread_rwlock_trywrlock("rsi") => rwlock_trywrlock() touch_exclusive;
    pthread_rwlock_timedwrlock("rdx") => rwlock_timedwrlock(until: Arg) touch_exclusive;
    pthread_rwlock_clockwrlock("rcx") => rwlock_clockwrlock(clock: Clock, until: Arg) touch_exclusive;
    pthread_rwlock_unlock("rsi") => rwlock_unlock() touch_release;
    pthread_cond_wait("rdx") => cond_wait(mutex: Lock) touch_cond_wait;
    pthread_cond_timedwait("rcx") => cond_timedwait(mutex: Lock, until: Arg) touch_cond_wait;
    pthread_cond_clockwait("r8") => cond_clockwait(mutex: Lock, clock: Clock, until: Arg) touch_cond_wait;
    pthread_cond_signal("rsi") => cond_signal() touch_cond_wake;
    pthread_cond_broadcast("rsi") => cond_broadcast() touch_cond_wake;
    pthread_barrier_wait("rsi") => barrier_wait() touch_barrier;
    sem_wait("rsi") => sem_wait_at() touch_semaphore;
    sem_trywait("rsi") => sem_trywait_at() touch_semaphore;
    sem_timedwait("rdx") => sem_timedwait_at(until: Arg) touch_semaphore;
    sem_clockwait("rcx") => sem_clockwait_at(clock: Clock, until: Arg) touch_semaphore;
    sem_post("rsi") => sem_post_at() touch_semaphore;
    pthread_once("rdx") => once(routine: Arg) touch_once;
}

/// Records the release of a mutex or spin lock, which writes its word.
#[inline(always)]
fn touch_release(lock: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_locked(lock as u64, WORD as usize, pc);
    operation()
}

/// Records a reader at a `pthread_rwlock_t`: `__readers`, at 0.
#[inline(always)]
fn touch_shared(lock: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(lock, 0, 4, READ_WRITE, pc);
    operation()
}

/// Records a writer at a `pthread_rwlock_t`: `__writers`, at 4, then `__readers`.
#[inline(always)]
fn touch_exclusive(lock: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(lock, 4, 4, READ_WRITE, pc);
    touch_word(lock, 0, 4, READ_WRITE, pc);
    operation()
}

/// Records a wait on a `pthread_cond_t`: `__wseq`, 8 bytes at 0, then `__wrefs` at 36, and after
/// the wake-up `__g_signals`, 8 bytes at 40. The C library releases and takes the mutex without a
/// call here.
#[inline(always)]
fn touch_cond_wait(cond: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(cond, 0, 8, READ_WRITE, pc);
    touch_word(cond, 36, 4, READ_WRITE, pc);
    let result = operation();
    touch_word(cond, 40, 8, READ_WRITE, pc);
    result
}

/// Records a wake-up, which first reads whether there are waiters (`__wrefs`, at 36).
#[inline(always)]
fn touch_cond_wake(cond: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(cond, 36, 4, READ, pc);
    // SAFETY: the program passes a condition variable, which has 48 bytes.
    let waiters = unsafe { (*cond.byte_add(36).cast::<AtomicU32>()).load(Relaxed) } >> 3;
    if waiters > 0 {
        touch_word(cond, 0, 8, READ_WRITE, pc);
        touch_word(cond, 40, 8, READ_WRITE, pc);
    }
    operation()
}

/// Records a `pthread_barrier_t`: `in` at 0, and `out` at 16 when leaving.
#[inline(always)]
fn touch_barrier(barrier: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(barrier, 0, 4, READ_WRITE, pc);
    let result = operation();
    touch_word(barrier, 16, 4, READ_WRITE, pc);
    result
}

/// Records a `sem_t`: value and number of waiters in 8 bytes at 0.
#[inline(always)]
fn touch_semaphore(semaphore: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(semaphore, 0, 8, READ_WRITE, pc);
    operation()
}

/// Records a `pthread_once_t` in the common case, when its routine has run.
#[inline(always)]
fn touch_once(once: Lock, pc: u64, operation: impl FnOnce() -> c_int) -> c_int {
    touch_word(once, 0, 4, READ, pc);
    operation()
}
