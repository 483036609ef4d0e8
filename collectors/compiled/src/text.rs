//! Lines of text in a fixed buffer, cut off at its end.

pub struct FixedText<const N: usize> {
    bytes: [u8; N],
    len: usize,
    cut: bool,
}

impl<const N: usize> FixedText<N> {
    pub fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
            cut: false,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.len == N {
                self.cut = true;
                return;
            }
            self.bytes[self.len] = byte;
            self.len += 1;
        }
    }

    /// Adds `n` in hexadecimal, without a prefix.
    pub fn push_hex(&mut self, n: u64) {
        let digits = (64 - n.leading_zeros()).div_ceil(4).max(1);
        for digit in (0..digits).rev() {
            self.push(&[b"0123456789abcdef"[(n >> (4 * digit)) as usize & 15]]);
        }
    }

    pub fn push_decimal(&mut self, n: u64) {
        let mut digits = [0; 20];
        let (mut at, mut rest) = (20, n);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.push(&digits[at..]);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Returns true if some text did not fit.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}
