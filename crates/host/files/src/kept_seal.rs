//! Checksum behind the bytes of a kept file, so that a file that was damaged counts as absent.
//!
//! A kept file is its content, and a seal of [`SEAL_BYTES`] behind it: a magic number, and the
//! CRC-32 of the content. The seal comes last, so a kept program is still an ELF file.

use std::io::{self, Read, Write};
use std::ops::Deref;

use memmap2::Mmap;

/// Bytes of the seal: the magic number, and four of the checksum.
pub(crate) const SEAL_BYTES: usize = MAGIC.len() + 4;
/// First bytes of the seal, with the version of its form.
const MAGIC: [u8; 8] = *b"rlkept1\n";
/// Bytes that are copied at once.
const BUFFER_BYTES: usize = 1 << 16;

/// Kept file that is mapped, and whole.
pub struct KeptMap {
    map: Mmap,
}

impl KeptMap {
    /// Takes a mapped file; `None` if it is not as it was written.
    pub(crate) fn new(map: Mmap) -> Option<Self> {
        unsealed(&map)?;
        Some(Self { map })
    }

    /// Returns the mapped file with its seal, which an ELF file does not refer to.
    pub fn into_sealed_map(self) -> Mmap {
        self.map
    }
}

impl Deref for KeptMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map[..self.map.len() - SEAL_BYTES]
    }
}

/// Returns the content of a kept file; `None` if a byte of it, or of its seal, was changed.
pub(crate) fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let (content, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_BYTES)?)?;
    (seal == seal_of(crc32fast::hash(content))).then_some(content)
}

fn seal_of(checksum: u32) -> [u8; SEAL_BYTES] {
    let mut seal = [0; SEAL_BYTES];
    let (magic, rest) = seal.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    rest.copy_from_slice(&checksum.to_le_bytes());
    seal
}

/// Copies all of `content`, and writes the seal behind it.
pub(crate) fn write_sealed(mut content: impl Read, mut file: impl Write) -> io::Result<()> {
    let mut checksum = crc32fast::Hasher::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = match content.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        checksum.update(&buffer[..count]);
        file.write_all(&buffer[..count])?;
    }
    file.write_all(&seal_of(checksum.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_every_length_counts() {
        for content in [&b""[..], b"5999 transfers"] {
            let mut file = Vec::new();
            write_sealed(content, &mut file).expect("written");
            assert_eq!(unsealed(&file), Some(content));
            for at in 0..file.len() {
                for bit in 0..8 {
                    let mut damaged = file.clone();
                    damaged[at] ^= 1 << bit;
                    assert_eq!(unsealed(&damaged), None, "byte {at}, bit {bit}");
                }
                assert_eq!(unsealed(&file[..at]), None, "cut to {at}");
            }
        }
    }
}
