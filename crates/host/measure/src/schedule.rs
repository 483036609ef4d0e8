//! The CPUs and the priority of measured programs.

use std::io;
use std::thread;

use relayout_files::{CPUS_MAX, allowed_cpus, request_fifo, run_on_cpus};

use crate::Error;

/// CPUs and priority of a measured program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSchedule {
    /// CPUs that it may use.
    pub cpus: Vec<usize>,
    /// True to run under SCHED_FIFO, so that ordinary programs do not interrupt.
    pub fifo: bool,
}

impl CpuSchedule {
    /// Takes the CPUs of the list, or all that this process may use.
    ///
    /// # Errors
    /// The list names CPUs that this process may not use, or SCHED_FIFO is not permitted.
    pub fn new(list: Option<&str>, fifo: bool) -> Result<Self, Error> {
        let allowed = allowed_cpus();
        let cpus = match list {
            None => allowed,
            Some(text) => {
                let invalid = |why: String| Error::Cpus {
                    text: text.to_owned(),
                    why,
                };
                let cpus = parse_cpu_list(text).map_err(invalid)?;
                if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
                    let allowed = format_cpus(&allowed);
                    return Err(invalid(format!("relayout may use {allowed}, not {cpu}")));
                }
                cpus
            }
        };
        if fifo {
            fifo_is_permitted().map_err(|source| Error::Fifo { source })?;
        }
        Ok(Self { cpus, fifo })
    }

    /// Schedules the calling process. Async-signal-safe.
    pub(super) fn apply(&self) -> io::Result<()> {
        run_on_cpus(&self.cpus)?;
        if self.fifo { request_fifo() } else { Ok(()) }
    }
}

/// Tries SCHED_FIFO in a thread that ends at once.
fn fifo_is_permitted() -> io::Result<()> {
    let tried = thread::spawn(request_fifo).join();
    tried.unwrap_or_else(|_| Err(io::Error::other("the attempt failed")))
}

/// Numbers and ranges, as in `0-3,8`, ascending.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_cpu_list(text: &str) -> Result<Vec<usize>, String> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            text.trim()
                .parse()
                .ok()
                .filter(|&cpu: &usize| cpu < CPUS_MAX)
        };
        let (Some(from), Some(to)) = (number(from), number(to)) else {
            return Err(format!("'{part}' is neither a CPU nor a range such as 0-3"));
        };
        if from > to {
            return Err(format!("'{part}' ends before it begins"));
        }
        cpus.extend(from..=to);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

fn format_cpus(cpus: &[usize]) -> String {
    let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    cpus.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert_eq!(parse_cpu_list("0-3,8"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_cpu_list("5,1-1,5"), Ok(vec![1, 5]));
        for text in ["", "x", "1-", "3-1", "1,,2", "-1", "99999", "0-99999999999"] {
            assert!(parse_cpu_list(text).is_err(), "{text}");
        }
    }

    #[test]
    fn here() {
        let schedule = CpuSchedule::new(None, false).unwrap();
        assert!(!schedule.cpus.is_empty());
        let error = CpuSchedule::new(Some("1023"), false)
            .unwrap_err()
            .to_string();
        assert!(error.contains("not 1023"), "{error}");
    }
}
