//! Generators of random numbers that are the same on every machine.
//!
//! Results depend on these streams: a generator never changes. A new use takes [`SplitMix64`].
//!
//! ```
//! use relayout_statistics::random::SplitMix64;
//!
//! let draw = |seed| SplitMix64::new(seed).below(1000);
//! assert_eq!(draw(7), draw(7));
//! assert_ne!(draw(7), draw(8));
//! ```

/// 2^64 divided by the golden ratio: spreads neighbouring seeds.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts a sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns an index below `count`, which is not 0. The bias is below `count` / 2^64.
    pub fn below(&mut self, count: usize) -> usize {
        high_product(self.bits(), count)
    }

    /// Returns a number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        unit_fraction(self.bits())
    }
}

/// Marsaglia's xorshift64 (*Xorshift RNGs*, 2003).
#[derive(Clone, Debug)]
pub struct XorShift64(u64);

impl XorShift64 {
    /// Starts a sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(GOLDEN) | 1)
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns an index below `count`; 0 if that is 0. The bias is below `count` / 2^64.
    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count.max(1) as u64) as usize
    }

    /// Returns a number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        unit_fraction(self.bits())
    }
}

/// xorshift64* (Vigna, *An experimental exploration of Marsaglia's xorshift generators, scrambled*,
/// 2016).
#[derive(Clone, Debug)]
pub struct XorShift64Star(u64);

impl XorShift64Star {
    /// Starts a sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        // A state of 0 stays 0.
        Self(match seed ^ GOLDEN {
            0 => 1,
            state => state,
        })
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns an index below `count`, which is not 0. The bias is below `count` / 2^64.
    pub fn below(&mut self, count: usize) -> usize {
        high_product(self.bits(), count)
    }

    /// Returns a number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        unit_fraction(self.bits())
    }
}

fn high_product(bits: u64, count: usize) -> usize {
    ((u128::from(bits) * count as u128) >> 64) as usize
}

fn unit_fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first is the reference implementation's for seed 1234567.
    #[test]
    fn streams_stay() {
        assert_eq!(SplitMix64::new(1_234_567).bits(), 6_457_827_717_110_365_317);
        let mut shift = XorShift64::new(1);
        assert_eq!([shift.below(1000), shift.below(1000)], [989, 574]);
        let mut star = XorShift64Star::new(1);
        assert_eq!([star.below(1000), star.below(1000)], [63, 143]);
    }

    #[test]
    fn units_are_even() {
        for seed in [0, 1, u64::MAX, GOLDEN] {
            let mut random = XorShift64Star::new(seed);
            let units: Vec<f64> = (0..10_000).map(|_| random.unit()).collect();
            assert!(units.iter().all(|unit| (0.0..1.0).contains(unit)));
            let mean = units.iter().sum::<f64>() / units.len() as f64;
            assert!((mean - 0.5).abs() < 0.02, "seed {seed}: {mean}");
        }
    }
}
