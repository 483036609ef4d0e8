//! CPUs that a process may use, and the scheduling of threads.

use std::io;
use std::ops::RangeInclusive;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Priority under SCHED_FIFO: above all ordinary programs, below all other real-time programs.
const FIFO_PRIORITY: i32 = 1;

/// Returns the numbers of the CPUs that this thread may use; empty where the system does not tell.
///
/// ```
/// assert!(!relayout_files::allowed_cpus().is_empty());
/// ```
pub fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect()
}

/// Returns the number of the CPU on which the calling thread runs, at this moment.
///
/// ```
/// assert!(relayout_files::allowed_cpus().contains(&relayout_files::present_cpu()));
/// ```
pub fn present_cpu() -> usize {
    sched_getcpu()
}

/// Restricts the calling thread to these CPUs, each of those that [`allowed_cpus`] can return.
/// Async-signal-safe.
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

/// Parses numbers and ranges of CPUs, as in `0-3,8`. A range is never empty.
///
/// # Errors
/// The defect of the text, in words.
///
/// ```
/// assert_eq!(relayout_files::parse_cpu_list("0-3,8"), Ok(vec![0..=3, 8..=8]));
/// assert!(relayout_files::parse_cpu_list("3-1").is_err());
/// ```
pub fn parse_cpu_list(text: &str) -> Result<Vec<RangeInclusive<u32>>, String> {
    let parse_range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        match (from.trim().parse(), to.trim().parse()) {
            (Ok(from), Ok(to)) if from > to => Err(format!("'{part}' ends before it begins")),
            (Ok(from), Ok(to)) => Ok(from..=to),
            _ => Err(format!("'{part}' is neither a CPU nor a range such as 0-3")),
        }
    };
    text.split(',').map(parse_range).collect()
}
