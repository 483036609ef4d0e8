//! Random numbers of a CPU.

/// Parts of a whole in fractions of rules.
pub(crate) const WHOLE: u64 = 1_000_000;
/// Longest time of which a fraction is taken: one second.
const LONGEST_PS: u64 = 1_000_000_000_000;
/// Longest time that is drawn: two milliseconds, so that its product with 32 bits fits 64.
const LONGEST_DRAWN_PS: u64 = 2_000_000_000;

/// Returns a fraction, in millionths, of a time in picoseconds.
#[inline]
pub(crate) fn fraction_of(ps: u64, millionths: u64) -> u64 {
    ps.min(LONGEST_PS) * millionths / WHOLE
}

/// Generator of one CPU (xorshift64*), so that no CPU's draws depend on another's progress.
#[derive(Clone, Debug)]
pub(crate) struct CpuRandom {
    state: u64,
}

impl CpuRandom {
    pub(crate) fn new(seed: u64, cpu: usize) -> Self {
        // SplitMix64 of the two numbers: neighbouring seeds give unrelated states.
        let mut mixed = seed ^ (cpu as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self {
            state: (mixed ^ (mixed >> 31)) | 1,
        }
    }

    /// Returns a number of 32 random bits.
    fn draw(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }

    /// Returns a time from 0 to `ps`.
    pub(crate) fn up_to(&mut self, ps: u64) -> u64 {
        (ps.min(LONGEST_DRAWN_PS) * self.draw()) >> 32
    }

    /// Returns a time that differs from `ps` by at most so many millionths of it.
    pub(crate) fn around(&mut self, ps: u64, millionths: u64) -> u64 {
        let spread = fraction_of(ps, millionths);
        ps - spread + self.up_to(2 * spread)
    }
}

#[cfg(test)]
mod tests {
    use super::CpuRandom;

    #[test]
    fn draws_stay_within_their_range_and_differ() {
        let mut random = CpuRandom::new(1, 0);
        let drawn: alloc::vec::Vec<u64> =
            (0..1000).map(|_| random.around(70_000, 100_000)).collect();
        assert!(drawn.iter().all(|ps| (63_000..=77_000).contains(ps)));
        let mean = drawn.iter().sum::<u64>() / 1000;
        assert!((69_500..70_500).contains(&mean), "{mean}");
        assert_ne!(CpuRandom::new(1, 1).draw(), CpuRandom::new(1, 0).draw());
        assert_ne!(CpuRandom::new(2, 0).draw(), CpuRandom::new(1, 0).draw());
        assert_eq!(random.around(70_000, 0), 70_000);
    }
}
