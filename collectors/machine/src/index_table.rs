//! Hash table from numbers to small values, with a cheap hash and open addressing.

use alloc::boxed::Box;
use alloc::vec;

/// Key of an empty slot. No line, page or site has this number.
const EMPTY: u64 = u64::MAX;
const FIRST_SLOTS: usize = 1 << 10;

/// Table from numbers below `u64::MAX` to values. It grows, and nothing is removed but all at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexTable<V> {
    slots: Box<[(u64, V)]>,
    len: usize,
}

impl<V: Copy + Default> Default for IndexTable<V> {
    fn default() -> Self {
        Self {
            slots: vec![(EMPTY, V::default()); FIRST_SLOTS].into_boxed_slice(),
            len: 0,
        }
    }
}

impl<V: Copy + Default> IndexTable<V> {
    /// Returns the value of `key`.
    #[inline]
    pub fn get(&self, key: u64) -> Option<V> {
        let (found, value) = self.slots[self.slot_of(key)];
        (found != EMPTY).then_some(value)
    }

    /// Returns the value of `key`, which is put there if the key is new.
    #[inline]
    pub fn get_or_insert(&mut self, key: u64, value: V) -> &mut V {
        let mut slot = self.slot_of(key);
        if self.slots[slot].0 == EMPTY {
            if self.len * 2 >= self.slots.len() {
                self.grow();
                slot = self.slot_of(key);
            }
            self.len += 1;
            self.slots[slot] = (key, value);
        }
        &mut self.slots[slot].1
    }

    /// Removes all keys. The time that it takes is bounded by what was inserted since the last time.
    pub fn clear(&mut self) {
        match self.slots.len() {
            FIRST_SLOTS if self.len == 0 => {}
            FIRST_SLOTS => {
                self.slots.fill((EMPTY, V::default()));
                self.len = 0;
            }
            _ => *self = Self::default(),
        }
    }

    /// Returns the slot that has `key`, or the empty one where it belongs.
    #[inline]
    fn slot_of(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (mixed >> 32) as usize & mask;
        while self.slots[slot].0 != key && self.slots[slot].0 != EMPTY {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let larger = vec![(EMPTY, V::default()); self.slots.len() * 2].into_boxed_slice();
        let old = core::mem::replace(&mut self.slots, larger);
        for &entry in old.iter().filter(|entry| entry.0 != EMPTY) {
            let slot = self.slot_of(entry.0);
            self.slots[slot] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::IndexTable;

    #[test]
    fn all_keys_stay() {
        let mut table = IndexTable::default();
        for key in 0..10_000_u64 {
            *table.get_or_insert(key * 64, 0) = key;
        }
        assert!((0..10_000).all(|key| table.get(key * 64) == Some(key)));
        assert_eq!(table.get(1), None);
        assert_eq!(*table.get_or_insert(640, 7), 10);
    }

    #[test]
    fn cleared_tables_are_empty() {
        let mut table = IndexTable::default();
        for count in [0, 1, 5000, 1] {
            (0..count).for_each(|key| *table.get_or_insert(key, 0) = key);
            table.clear();
            assert_eq!(table, IndexTable::default(), "{count} keys");
        }
    }
}
