//! CPUs that a process may use, and the scheduling of threads.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Priority under SCHED_FIFO: above all ordinary programs, below all other real-time programs.
const FIFO_PRIORITY: i32 = 1;

/// Number of CPUs that affinity masks can name.
pub const CPUS_MAX: usize = CpuSet::MAX_CPU;

/// Returns the numbers of the CPUs that this thread may use; empty where the system does not tell.
///
/// ```
/// assert!(!relayout_files::allowed_cpus().is_empty());
/// ```
pub fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CPUS_MAX).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Restricts the calling thread to these CPUs, each below [`CPUS_MAX`]. Async-signal-safe.
///
/// # Errors
/// The thread may not use any of them.
pub fn run_on_cpus(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Gives the calling thread real-time priority (SCHED_FIFO). Async-signal-safe.
///
/// # Errors
/// The user lacks the permission.
pub fn request_fifo() -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: FIFO_PRIORITY,
    };
    // SAFETY: the call reads `parameters`; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
