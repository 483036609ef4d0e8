//! The CPUs and the priority of measured programs.

use std::collections::BTreeSet;
use std::io;
use std::thread;

use relayout_files::{allowed_cpus, parse_cpu_list, request_fifo, run_on_cpus};

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
                let ranges = parse_cpu_list(text).map_err(invalid)?;
                let listed = || ranges.iter().cloned().flatten().map(|cpu| cpu as usize);
                if let Some(cpu) = listed().find(|cpu| !allowed.contains(cpu)) {
                    let allowed = format_cpus(&allowed);
                    return Err(invalid(format!("relayout may use {allowed}, not {cpu}")));
                }
                // Ascending, and each once.
                listed().collect::<BTreeSet<usize>>().into_iter().collect()
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
    thread::spawn(request_fifo)
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the attempt failed")))
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
        let cpu = allowed_cpus()[0];
        let schedule = |text: &str| CpuSchedule::new(Some(text), false);
        let repeated = schedule(&format!("{cpu},{cpu}-{cpu}")).unwrap();
        assert_eq!(repeated.cpus, [cpu]);
        for text in ["", "x", "1-", "3-1", "1,,2", "-1", "99999", "0-99999999999"] {
            assert!(schedule(text).is_err(), "{text}");
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
