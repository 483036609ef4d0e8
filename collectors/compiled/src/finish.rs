//! End of a recording: waits for the other threads and appends everything that was gathered.

use std::ffi::c_int;
use std::sync::atomic::Ordering::*;

use relayout_shadow::ShadowContext;
use relayout_shadow::control::RecordingStage;
use relayout_shadow::wire::{STORED_VALUES_SEEN, SummaryRecord};

use crate::gate::control;
use crate::output::is_recorded_process;
use crate::recording::{self, options, shadow};
use crate::sys::{self, SavedErrno};
use crate::{allocs, modules, thread, tls, window};

/// Longest wait for threads that are inside the runtime.
const WAIT_MAX_NS: u64 = 2_000_000_000;

/// Notes the signal that ends the process, and does the same as [`finish`].
pub fn finish_by_signal(signal: c_int) {
    if is_recorded_process() && recording::is_recorded() {
        control().signal.store(signal as u32, Release);
    }
    finish();
}

/// Appends everything and ends the recording. The calling thread is not recorded any more.
pub fn finish() {
    if !is_recorded_process() {
        return;
    }
    if !recording::begin_finish() {
        // The process must not end before the thread that finishes has appended everything.
        let until = sys::now_ns() + 5 * WAIT_MAX_NS;
        while recording::is_finishing() && sys::now_ns() < until {
            sys::relax();
        }
        return;
    }
    let _errno = SavedErrno::save();
    let closed_by_program = !window::is_window_open();
    tls::set_word(tls::INSIDE);
    window::shut_window();
    sys::membarrier(sys::MEMBARRIER_PRIVATE_EXPEDITED);
    thread::wait_for_others(sys::now_ns() + WAIT_MAX_NS);
    modules::list_new();
    append_all(closed_by_program);
    if control().error.load(Acquire) == 0 {
        control()
            .state
            .store(RecordingStage::Finished as u32, Release);
    }
    recording::set_over();
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
        values_seen: if options().values {
            STORED_VALUES_SEEN
        } else {
            0
        },
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
