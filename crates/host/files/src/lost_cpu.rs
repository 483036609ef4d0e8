//! Time in which the machine ran others while a program wanted to run.
//!
//! A program loses two times: the time that the hypervisor took (steal), and the time that other
//! programs ran while a task waited for a CPU. The second is at most the CPU time of others on the
//! program's CPUs, and at most the time in which any task waited (pressure stall information,
//! Documentation/accounting/psi.rst). The lesser of these two bounds counts. So other programs on
//! idle CPUs do not count, and neither does a program that starts more threads than there are CPUs.

use std::fs;

/// The machine's counters at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuCounters {
    /// CPU seconds that anything ran on the CPUs asked about.
    busy_s: f64,
    /// Seconds that the hypervisor took from them.
    steal_s: f64,
    /// Possible error of the CPU seconds, which each CPU counts in ticks.
    error_s: f64,
    /// Seconds in which some task of the machine waited for a CPU; `None` without PSI.
    waited_s: Option<f64>,
}

impl CpuCounters {
    /// Reads them for these CPUs; `None` where the system does not tell.
    pub fn read(cpus: &[usize]) -> Option<Self> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let pressure = fs::read_to_string("/proc/pressure/cpu").ok();
        let ticks = rustix::param::clock_ticks_per_second();
        Self::parse(&stat, pressure.as_deref(), cpus, ticks as f64)
    }

    fn parse(stat: &str, pressure: Option<&str>, cpus: &[usize], ticks_per_s: f64) -> Option<Self> {
        let mut counters = Self::default();
        for line in stat.lines() {
            let mut fields = line.split_ascii_whitespace();
            let cpu = fields.next().and_then(|name| name.strip_prefix("cpu"));
            let Some(cpu) = cpu.and_then(|number| number.parse::<usize>().ok()) else {
                continue;
            };
            if !cpus.contains(&cpu) {
                continue;
            }
            let ticks: Vec<f64> = fields.filter_map(|field| field.parse().ok()).collect();
            // user nice system idle iowait irq softirq steal; guests are in user.
            let seconds = |index: usize| ticks.get(index).copied().unwrap_or(0.0) / ticks_per_s;
            counters.busy_s += seconds(0) + seconds(1) + seconds(2) + seconds(5) + seconds(6);
            counters.steal_s += seconds(7);
        }
        counters.error_s = (cpus.len() as f64).sqrt() / ticks_per_s;
        counters.waited_s = pressure.and_then(parse_waited_s);
        (counters.busy_s > 0.0).then_some(counters)
    }

    /// Fraction of the CPU time that a program wanted, from `self` to `end`, that it certainly did
    /// not get. `own_s` is the CPU time that it got.
    pub fn lost_share(&self, end: &Self, own_s: f64) -> f64 {
        let foreign_s = (end.busy_s - self.busy_s - own_s - self.error_s).max(0.0);
        let waited_s = end
            .waited_s
            .zip(self.waited_s)
            .map(|(end, start)| end - start);
        let steal_s = (end.steal_s - self.steal_s).max(0.0);
        let lost_s = steal_s + foreign_s.min(waited_s.unwrap_or(f64::INFINITY).max(0.0));
        match lost_s > 0.0 {
            true => lost_s / (own_s + lost_s),
            false => 0.0,
        }
    }
}

/// The total of the line `some` in microseconds, as seconds.
fn parse_waited_s(pressure: &str) -> Option<f64> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    let total = line.rsplit_once("total=")?.1;
    Some(total.trim().parse::<f64>().ok()? / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  9 9 9 9 9 9 9 9 9 9\n\
                        cpu0 100 50 25 1000 7 5 20 10 0 0\n\
                        cpu1 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
    const PRESSURE: &str = "some avg10=0.00 avg60=1.57 avg300=2.84 total=2500000\n\
                            full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn counters() {
        let found = CpuCounters::parse(STAT, Some(PRESSURE), &[0], 100.0).unwrap();
        assert!(close(found.busy_s, 2.0), "{found:?}");
        assert!(close(found.steal_s, 0.1), "{found:?}");
        assert!(close(found.error_s, 0.01), "{found:?}");
        assert_eq!(found.waited_s, Some(2.5));
        let both = CpuCounters::parse(STAT, None, &[0, 1], 100.0).unwrap();
        assert!(close(both.busy_s, 2.05), "{both:?}");
        assert_eq!(both.waited_s, None);
        assert_eq!(CpuCounters::parse("no such\nfile", None, &[0], 100.0), None);
    }

    #[track_caller]
    fn check(busy_s: f64, steal_s: f64, waited_s: Option<f64>, own_s: f64, expect: f64) {
        let start = CpuCounters {
            busy_s: 5.0,
            steal_s: 1.0,
            error_s: 0.0,
            waited_s: waited_s.map(|_| 7.0),
        };
        let end = CpuCounters {
            busy_s: 5.0 + busy_s,
            steal_s: 1.0 + steal_s,
            error_s: 0.0,
            waited_s: waited_s.map(|waited| 7.0 + waited),
        };
        let found = start.lost_share(&end, own_s);
        assert!(close(found, expect), "{found}");
    }

    #[test]
    fn losses() {
        // Alone on the machine.
        check(2.0, 0.0, Some(0.0), 2.0, 0.0);
        // Ticks are coarse: less in all than its own.
        check(1.99, 0.0, Some(0.5), 2.0, 0.0);
        // Others ran, but nobody waited.
        check(9.0, 0.0, Some(0.0), 2.0, 0.0);
        // It waited, but for its own threads.
        check(2.0, 0.0, Some(5.0), 2.0, 0.0);
        check(4.0, 0.0, Some(0.5), 1.5, 0.25);
        check(2.5, 0.0, None, 2.0, 0.2);
        check(1.0, 1.0, Some(0.0), 1.0, 0.5);
    }
}
