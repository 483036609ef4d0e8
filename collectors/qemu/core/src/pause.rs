//! Pauses of a CPU's thread between accesses: to yield, so that other CPUs run, and to read the
//! clock and the control page.

/// Accesses between pauses, at most.
pub const EACH_MAX: u32 = 1 << 16;

/// Random series of distances between pauses.
pub struct PauseSchedule {
    every: u32,
    random: u64,
}

impl PauseSchedule {
    /// Makes the series of CPU `cpu`: `every` accesses on average, between half and one and a half
    /// of it, and at most [`EACH_MAX`]. With `every` 0, all distances are [`EACH_MAX`].
    pub fn new(every: u32, seed: u64, cpu: u16) -> Self {
        let random = (seed ^ (u64::from(cpu) << 56)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self { every, random }
    }

    /// Returns the accesses until the next pause, at least 1.
    pub fn next_pause(&mut self) -> u32 {
        if self.every == 0 {
            return EACH_MAX;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let pause = u64::from(self.every / 2) + (self.random >> 33) % u64::from(self.every);
        pause.clamp(1, EACH_MAX.into()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(every: u32, seed: u64, within: std::ops::RangeInclusive<u32>, mean: u32) {
        let mut pauses = PauseSchedule::new(every, seed, 1);
        let pause_lengths: Vec<u32> = (0..10_000).map(|_| pauses.next_pause()).collect();
        assert!(
            pause_lengths.iter().all(|n| within.contains(n)),
            "{every}, {seed}"
        );
        let sum: u64 = pause_lengths.iter().map(|&n| u64::from(n)).sum();
        let found = sum as f64 / 10_000.0;
        assert!(
            (found / f64::from(mean) - 1.0).abs() < 0.05,
            "{every}, {seed}: {found}"
        );
    }

    #[test]
    fn lie_around_what_was_asked() {
        for seed in [0, 1, u64::MAX] {
            check(1000, seed, 500..=1499, 1000);
            check(1, seed, 1..=1, 1);
            check(0, seed, EACH_MAX..=EACH_MAX, EACH_MAX);
            check(u32::MAX, seed, EACH_MAX..=EACH_MAX, EACH_MAX);
        }
    }

    #[test]
    fn differ_by_cpu_and_seed_only() {
        let series = |seed, cpu| {
            let mut pauses = PauseSchedule::new(1000, seed, cpu);
            [(); 8].map(|()| pauses.next_pause())
        };
        assert_eq!(series(7, 0), series(7, 0));
        assert_ne!(series(7, 0), series(7, 1));
        assert_ne!(series(7, 0), series(8, 0));
    }
}
