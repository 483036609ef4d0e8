//! The recorded window: the time between the program's start and stop markers, or the whole run.

use std::sync::atomic::{AtomicU64, Ordering::*};

use relayout_shadow::control::RecordingStage;

use crate::gate::control;
use crate::{recording, sys};

/// Wall and CPU time in nanoseconds at which the window was opened last; the first is 0 while it is
/// shut.
static OPENED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Returns true while the window is open.
pub fn is_window_open() -> bool {
    OPENED[0].load(Acquire) != 0
}

/// Shuts the window in a forked child, of which the parent's time is no part. Returns whether it was
/// open.
pub fn forget_window() -> bool {
    OPENED[0].swap(0, AcqRel) != 0
}

/// Opens the window.
pub fn open_window() {
    if !recording::is_recorded() || is_window_open() {
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

/// Shuts the window. The program can open it again.
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

/// Shuts the window at the program's request.
pub fn close_window() {
    shut_window();
    control()
        .state
        .store(RecordingStage::Closed as u32, Release);
}
