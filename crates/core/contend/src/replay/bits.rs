//! Fixed-size bit sets: contexts of a line, bytes of a line.

use std::ops::{BitAnd, BitOr, Not};

/// `64 * W` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BitSet<const W: usize>([u64; W]);

impl<const W: usize> BitSet<W> {
    pub(super) const EMPTY: Self = Self([0; W]);

    /// Set of a single bit, which must be below `64 * W`.
    pub(super) fn single(bit: usize) -> Self {
        let mut set = Self::EMPTY;
        set.insert(bit);
        set
    }

    pub(super) fn insert(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    pub(super) fn remove(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    pub(super) fn contains(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(super) fn words(self) -> [u64; W] {
        self.0
    }

    /// Returns the bits that are set, ascending.
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        self.0
            .into_iter()
            .enumerate()
            .flat_map(|(index, mut word)| {
                std::iter::from_fn(move || {
                    let bit = word.trailing_zeros() as usize;
                    (bit < 64).then(|| {
                        word &= word - 1;
                        index * 64 + bit
                    })
                })
            })
    }
}

impl<const W: usize> BitAnd for BitSet<W> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }
}

impl<const W: usize> BitOr for BitSet<W> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }
}

impl<const W: usize> Not for BitSet<W> {
    type Output = Self;

    fn not(self) -> Self {
        Self(std::array::from_fn(|i| !self.0[i]))
    }
}
