//! A past access, in as few bytes as naming it takes.

use crate::host::AccessKind;

/// An access as the shadow remembers it: enough to name it as the other side of a conflict.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct PastAccess {
    pub site: u32,
    pub context: u16,
    pub bytes: AccessedBytes,
}

/// Bytes of a line that an access touches, and its kind, in 15 bits: the size from bit 9, the
/// offset from bit 3, the kind from bit 1; bit 0 is zero. All-zero is none, since no access has no
/// bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct AccessedBytes(u16);

impl AccessedBytes {
    /// `size` bytes, at most 64, at `offset` of a line; `access` as in
    /// [`CountRecord::access`](crate::wire::CountRecord::access).
    #[inline]
    pub fn new(offset: u8, size: u8, access: u8) -> Self {
        Self(u16::from(size) << 9 | u16::from(offset) << 3 | u16::from(access) << 1)
    }

    /// Offset of the first byte in the line.
    #[inline]
    pub fn offset(self) -> u8 {
        (self.0 >> 3) as u8 & 63
    }

    /// Number of bytes.
    #[inline]
    pub fn size(self) -> u8 {
        (self.0 >> 9) as u8
    }

    /// Kind of the access, as in [`CountRecord::access`](crate::wire::CountRecord::access).
    #[inline]
    pub fn access(self) -> u8 {
        (self.0 >> 1) as u8 & 3
    }

    /// [`AccessedBytes::access`] as a kind.
    #[inline]
    pub fn kind(self) -> AccessKind {
        match self.access() {
            0 => AccessKind::Read,
            1 => AccessKind::Write,
            _ => AccessKind::ReadWrite,
        }
    }

    /// Returns whether the access changes memory.
    #[inline]
    pub fn is_store(self) -> bool {
        self.access() != 0
    }

    /// The bytes as a mask of their line; 0 for none.
    #[inline]
    pub fn mask(self) -> u64 {
        match self.size() {
            0 => 0,
            size => byte_mask(self.offset(), size),
        }
    }

    /// The aligned words of the line that the bytes, of which there is at least one, lie in.
    #[inline]
    pub fn words(self) -> core::ops::RangeInclusive<usize> {
        let first = usize::from(self.offset()) / WORD_BYTES;
        let last = usize::from(self.offset() + self.size() - 1) / WORD_BYTES;
        first..=last
    }

    /// The number that is this value.
    #[inline]
    pub fn to_u16(self) -> u16 {
        self.0
    }
}

/// Two stores to one word cannot be told apart: which of them an access needed is then not known
/// for sure, only that it needed one.
pub const WORD_BYTES: usize = 4;

/// Byte mask of `size` bytes, not 0, at `offset` of a line.
#[inline]
pub fn byte_mask(offset: u8, size: u8) -> u64 {
    (u64::MAX >> (64 - u32::from(size))) << offset
}

impl PastAccess {
    #[inline]
    pub fn to_u64(self) -> u64 {
        u64::from(self.site) | u64::from(self.context) << 32 | u64::from(self.bytes.0) << 48
    }

    pub fn from_u64(n: u64) -> Self {
        Self {
            site: n as u32,
            context: (n >> 32) as u16,
            bytes: AccessedBytes((n >> 48) as u16),
        }
    }

    #[inline]
    pub fn offset(self) -> u8 {
        self.bytes.offset()
    }

    #[inline]
    pub fn size(self) -> u8 {
        self.bytes.size()
    }

    #[inline]
    pub fn access(self) -> u8 {
        self.bytes.access()
    }
}
