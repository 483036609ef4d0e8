//! Boots that stand still: QEMU executes nothing, and the guest has not said that it is up.
//!
//! Seen with QEMU 10.0 on a busy host, rarely: where the lost timer interrupt is that of the only CPU that is up, nobody is
//! left to complain.

use std::time::{Duration, Instant};

/// Time without CPU time after which a boot stands still. Disks of guests are files, and their kernels sleep for seconds at
/// most.
const STILL_LIMIT: Duration = Duration::from_secs(30);
/// CPU time that QEMU's own thread may take meanwhile.
const IDLE_CPU: Duration = Duration::from_millis(100);

/// CPU time of a QEMU whose guest boots.
#[derive(Debug, Default)]
pub struct BootProgress {
    /// Time of the last reading at which QEMU had done something, with its CPU time then.
    last: Option<(Instant, Duration)>,
}

impl BootProgress {
    /// Returns the event if QEMU, with this CPU time so far, has stood still for too long.
    pub fn standstill(&mut self, now: Instant, cpu_time: Duration) -> Option<String> {
        let (since, before) = *self.last.get_or_insert((now, cpu_time));
        if cpu_time.saturating_sub(before) > IDLE_CPU {
            self.last = Some((now, cpu_time));
            return None;
        }
        (now.duration_since(since) > STILL_LIMIT)
            .then(|| format!("its CPUs stood still for {} s", STILL_LIMIT.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_without_cpu_time_stands_still() {
        let start = Instant::now();
        let mut boot = BootProgress::default();
        let mut look = |second: u64, cpu_ms: u64| {
            let now = start + Duration::from_secs(second);
            boot.standstill(now, Duration::from_millis(cpu_ms))
                .is_some()
        };
        let looks = [(0, 500), (29, 590), (30, 590)];
        assert!(
            !looks
                .into_iter()
                .any(|(second, cpu_ms)| look(second, cpu_ms))
        );
        // It goes on, slowly.
        assert!(!look(31, 601));
        assert!(!look(61, 650));
        assert!(look(62, 650));
    }
}
