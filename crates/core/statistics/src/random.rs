//! Generators of random numbers that are the same on every machine.
//!
//! Results depend on these sequences: a generator never changes. A new use takes [`SplitMix64`].
//!
//! ```
//! use relayout_statistics::random::{RandomSequence, SplitMix64};
//!
//! let draw = |seed| SplitMix64::new(seed).below(1000);
//! assert_eq!(draw(7), draw(7));
//! assert_ne!(draw(7), draw(8));
//! ```

/// 2^64 divided by the golden ratio: spreads neighbouring seeds.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of random numbers.
pub trait RandomSequence {
    /// Returns the next 64 bits.
    fn bits(&mut self) -> u64;

    /// Returns an index below `count`, which is not 0. The bias is below `count` / 2^64.
    fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }

    /// Returns a number from 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts the items into a random order; each order is equally likely.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts a sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl RandomSequence for SplitMix64 {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Marsaglia's xorshift64 (*Xorshift RNGs*, 2003).
///
/// Its sequence decides the candidates that annealing finds, and the ends of the intervals of their
/// changes and throughput. These are shown, and cached, so the generator stays.
#[derive(Clone, Debug)]
pub struct XorShift64(u64);

impl XorShift64 {
    /// Starts a sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(GOLDEN) | 1)
    }
}

impl RandomSequence for XorShift64 {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns an index below `count`; 0 if that is 0. The remainder, because shown numbers depend
    /// on it.
    fn below(&mut self, count: usize) -> usize {
        (self.bits() % count.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first is the reference implementation's for seed 1234567.
    #[test]
    fn sequences_stay() {
        assert_eq!(SplitMix64::new(1_234_567).bits(), 6_457_827_717_110_365_317);
        let mut shift = XorShift64::new(1);
        assert_eq!([shift.below(1000), shift.below(1000)], [989, 574]);
    }

    #[test]
    fn units_are_even() {
        for seed in [0, 1, u64::MAX, GOLDEN] {
            let mut random = SplitMix64::new(seed);
            let units: Vec<f64> = (0..10_000).map(|_| random.unit()).collect();
            assert!(units.iter().all(|unit| (0.0..1.0).contains(unit)));
            let mean = units.iter().sum::<f64>() / units.len() as f64;
            assert!((mean - 0.5).abs() < 0.02, "seed {seed}: {mean}");
        }
    }

    #[test]
    fn a_shuffle_keeps_the_items() {
        let mut items: Vec<u32> = (0..100).collect();
        SplitMix64::new(1).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<u32>>());
    }
}
