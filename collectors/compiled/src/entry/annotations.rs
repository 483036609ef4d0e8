//! Entry points that announce no access: starts of modules, function frames, and annotations for
//! race detectors.
//!
//! Most of them do nothing, but must exist because programs link against them.

use std::ffi::{c_char, c_int, c_long, c_void};

/// Called by every instrumented module when it is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_init() {
    crate::start::start();
    crate::start::module_loaded();
}

/// Defines entry points that ignore their arguments and do nothing.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {}
    )*};
}

nothing! {
    __tsan_func_entry
    __tsan_func_exit
    __tsan_ignore_thread_begin
    __tsan_ignore_thread_end
    __tsan_acquire
    __tsan_release
    __tsan_mutex_create
    __tsan_mutex_destroy
    __tsan_mutex_pre_lock
    __tsan_mutex_post_lock
    __tsan_mutex_post_unlock
    __tsan_mutex_pre_signal
    __tsan_mutex_post_signal
    __tsan_mutex_pre_divert
    __tsan_mutex_post_divert
    __tsan_destroy_fiber
    __tsan_switch_to_fiber
    __tsan_set_fiber_name
    __tsan_flush_memory
    __tsan_external_register_header
    __tsan_external_assign_tag
    __tsan_testonly_barrier_init
    __tsan_testonly_barrier_wait
    AnnotateHappensBefore
    AnnotateHappensAfter
    AnnotateCondVarSignal
    AnnotateCondVarSignalAll
    AnnotateCondVarWait
    AnnotateMutexIsNotPHB
    AnnotateMutexIsUsedAsCondVar
    AnnotateRWLockCreate
    AnnotateRWLockCreateStatic
    AnnotateRWLockDestroy
    AnnotateRWLockAcquired
    AnnotateRWLockReleased
    AnnotateTraceMemory
    AnnotateFlushState
    AnnotateNewMemory
    AnnotateNoOp
    AnnotateFlushExpectedRaces
    AnnotateEnableRaceDetection
    AnnotatePCQCreate
    AnnotatePCQDestroy
    AnnotatePCQPut
    AnnotatePCQGet
    AnnotateExpectRace
    AnnotateBenignRace
    AnnotateBenignRaceSized
    AnnotateIgnoreReadsBegin
    AnnotateIgnoreReadsEnd
    AnnotateIgnoreWritesBegin
    AnnotateIgnoreWritesEnd
    AnnotateIgnoreSyncBegin
    AnnotateIgnoreSyncEnd
    AnnotatePublishMemoryRange
    AnnotateUnpublishMemoryRange
    AnnotateThreadName
    AnnotateMemoryIsInitialized
    AnnotateMemoryIsUninitialized
    WTFAnnotateHappensBefore
    WTFAnnotateHappensAfter
    WTFAnnotateBenignRaceSized
    __sanitizer_print_stack_trace
    __sanitizer_set_death_callback
    __sanitizer_set_report_path
    __sanitizer_set_report_fd
}

/// Returns the recursion count of the lock, which is unknown here and only passed back to the other
/// annotation.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_mutex_pre_unlock(_addr: *mut c_void, _flags: u32) -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn RunningOnValgrind() -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn ValgrindSlowdown() -> f64 {
    1.0
}

/// Fibers run on threads, and only the thread matters. A handle only has to differ from null.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_current_fiber() -> *mut c_void {
    FIBER.as_ptr().cast_mut().cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_create_fiber(_flags: u32) -> *mut c_void {
    FIBER.as_ptr().cast_mut().cast()
}

static FIBER: [u8; 8] = [0; 8];

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_external_register_tag(_kind: *const c_char) -> *mut c_void {
    FIBER.as_ptr().cast_mut().cast()
}

/// Called for reports of races, which the runtime does not make.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_current_report() -> *mut c_void {
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_testonly_shadow_stack_current_size() -> c_long {
    0
}
