//! Sets of CPUs, or of cores.

use crate::CPUS_MAX;

const WORDS: usize = CPUS_MAX / 64;

/// Numbers below [`CPUS_MAX`], one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CpuSet {
    words: [u64; WORDS],
}

impl CpuSet {
    /// Returns the set of one number.
    pub fn single(number: usize) -> Self {
        let mut set = Self::default();
        set.insert(number);
        set
    }

    /// Returns whether `number` is in the set.
    pub fn contains(&self, number: usize) -> bool {
        self.words[number / 64] >> (number % 64) & 1 == 1
    }

    /// Adds a number.
    pub fn insert(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
    }

    /// Removes a number.
    pub fn remove(&mut self, number: usize) {
        self.words[number / 64] &= !(1 << (number % 64));
    }

    /// Returns whether the set has no number.
    pub fn is_empty(&self) -> bool {
        self.words == [0; WORDS]
    }

    /// Returns the count of numbers.
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Returns whether both sets have a number.
    pub fn meets(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Returns whether all numbers are in `other`.
    pub fn is_within(&self, other: &Self) -> bool {
        self.words
            .iter()
            .zip(&other.words)
            .all(|(a, b)| a & !b == 0)
    }

    /// Returns the set without a number.
    #[must_use]
    pub fn without(mut self, number: usize) -> Self {
        self.remove(number);
        self
    }

    /// Iterates over the numbers, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.into_iter().enumerate().flat_map(|(at, word)| {
            let next = |left: &u64| Some(left & (left - 1)).filter(|&rest| rest != 0);
            core::iter::successors(Some(word).filter(|&word| word != 0), next)
                .map(move |left| at * 64 + left.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::CpuSet;

    #[test]
    fn numbers_of_all_words() {
        let mut set = CpuSet::single(511);
        set.insert(0);
        set.insert(64);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 64, 511]);
        assert_eq!(set.len(), 3);
        assert!(set.contains(64) && !set.contains(65));
        assert!(set.without(0).is_within(&set) && !set.is_within(&set.without(0)));
        assert!(!set.meets(&CpuSet::single(1)) && set.meets(&CpuSet::single(511)));
        assert!(CpuSet::default().is_empty());
    }
}
