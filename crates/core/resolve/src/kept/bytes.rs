//! Numbers as bytes: LEB128, as in DWARF.

/// Reason for which kept bytes are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeptDamage {
    /// The bytes are of another format or version.
    #[error("the kept evidence has another format")]
    Format,
    /// The bytes are about other files, other debug information, or another version of the
    /// analysis.
    #[error("the kept evidence is about another build")]
    Identity,
    /// The bytes differ from those that were written.
    #[error("the checksum of the kept evidence is wrong, from byte {at} on")]
    Checksum {
        /// First byte that the checksum covers.
        at: usize,
    },
    /// The bytes end early, or hold a value that is out of range.
    #[error("the kept evidence is cut off or damaged at byte {at}")]
    Content {
        /// Offset of the damage in bytes.
        at: usize,
    },
}

/// Appends `value` in 7-bit groups, lowest first.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number that may be negative; small ones are short.
pub(super) fn put_signed_varint(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Reader that takes numbers off the front of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeptCursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> KeptCursor<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn damage(&self) -> KeptDamage {
        KeptDamage::Content { at: self.at }
    }

    /// Bytes read so far.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    pub(super) fn bytes_left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn take_bytes(&mut self, len: usize) -> Result<&'b [u8], KeptDamage> {
        let taken = self.bytes[self.at..].get(..len).ok_or(self.damage())?;
        self.at += len;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, KeptDamage> {
        Ok(self.take_bytes(1)?[0])
    }

    pub(super) fn u32_le(&mut self) -> Result<u32, KeptDamage> {
        let bytes = self.take_bytes(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(super) fn number(&mut self) -> Result<u64, KeptDamage> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                return Err(self.damage());
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damage())
    }

    pub(super) fn signed(&mut self) -> Result<i64, KeptDamage> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a number that must fit into `T`.
    pub(super) fn small_number<T: TryFrom<u64>>(&mut self) -> Result<T, KeptDamage> {
        let value = self.number()?;
        T::try_from(value).map_err(|_| self.damage())
    }

    /// Reads the number of items that follow, each of at least `bytes_min` bytes.
    pub(super) fn count(&mut self, bytes_min: usize) -> Result<usize, KeptDamage> {
        let count: usize = self.small_number()?;
        let fits = count
            .checked_mul(bytes_min)
            .is_some_and(|bytes| bytes <= self.bytes_left());
        if fits { Ok(count) } else { Err(self.damage()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, signed: i64) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            put_signed_varint(&mut bytes, signed);
            let mut cursor = KeptCursor::new(&bytes);
            prop_assert_eq!(cursor.number(), Ok(value));
            prop_assert_eq!(cursor.signed(), Ok(signed));
            prop_assert_eq!(cursor.bytes_left(), 0);
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_damage() {
        let mut cursor = KeptCursor::new(&[0xff; 12]);
        assert!(matches!(cursor.number(), Err(KeptDamage::Content { .. })));
        let top = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03];
        assert!(KeptCursor::new(&top).number().is_err());
    }
}
