//! When a CPU's thread stops between accesses: to yield, so that other CPUs run in between, and to
//! look at the clock and the control page.

/// Accesses between pauses, at most.
pub const EACH_MAX: u32 = 1 << 16;

/// A random series of distances between pauses.
pub struct Pauses {
    every: u32,
    random: u64,
}

impl Pauses {
    /// For CPU `cpu`: `every` accesses on average, between half and one and a half of it, but at
    /// most [`EACH_MAX`]; 0 is always that many.
    pub fn new(every: u32, seed: u64, cpu: u8) -> Self {
        let random = (seed ^ (u64::from(cpu) << 56)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self { every, random }
    }

    /// Accesses until the next pause, not 0.
    pub fn next(&mut self) -> u32 {
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
        let mut pauses = Pauses::new(every, seed, 1);
        let all: Vec<u32> = (0..10_000).map(|_| pauses.next()).collect();
        assert!(all.iter().all(|n| within.contains(n)), "{every}, {seed}");
        let sum: u64 = all.iter().map(|&n| u64::from(n)).sum();
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
            let mut pauses = Pauses::new(1000, seed, cpu);
            [(); 8].map(|()| pauses.next())
        };
        assert_eq!(series(7, 0), series(7, 0));
        assert_ne!(series(7, 0), series(7, 1));
        assert_ne!(series(7, 0), series(8, 0));
    }
}
