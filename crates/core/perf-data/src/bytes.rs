//! Numbers and text out of bytes of either byte order; what is not there is `None`, never a panic.

/// Byte order of the machine that recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// A place in a slice of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteReader<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> ByteReader<'a> {
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { bytes, order }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn remaining(&self) -> &'a [u8] {
        self.bytes
    }

    pub fn take_bytes(&mut self, bytes: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(usize::try_from(bytes).ok()?)?;
        self.bytes = rest;
        Some(taken)
    }

    pub fn skip(&mut self, bytes: u64) -> Option<()> {
        self.take_bytes(bytes).map(drop)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*taken)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        let bytes = self.array()?;
        Some(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    pub fn u32(&mut self) -> Option<u32> {
        let bytes = self.array()?;
        Some(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    pub fn u64(&mut self) -> Option<u64> {
        let bytes = self.array()?;
        Some(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    /// Flags that C declares as bit fields of a u64, the first in bit 0. Big-endian compilers fill
    /// the bytes from their high bits on.
    pub fn flags(&mut self) -> Option<u64> {
        let bytes: [u8; 8] = self.array()?;
        Some(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_le_bytes(bytes.map(u8::reverse_bits)),
        })
    }

    /// `perf_header_string`: a length, and as many bytes with a zero somewhere.
    pub fn string(&mut self) -> Option<String> {
        let bytes = self.u32()?;
        self.take_bytes(bytes.into()).map(text_until_zero)
    }
}

/// Bytes up to the first zero.
pub(super) fn text_until_zero(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Bytes in lower-case hex.
pub(super) fn lower_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
