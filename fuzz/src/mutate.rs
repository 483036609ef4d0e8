//! Random changes of known inputs.

/// xorshift64*: enough to pick places and bytes.
pub struct Random(u64);

impl Random {
    /// The same changes for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16;
        if end == 0 {
            0
        } else {
            (number % end as u64) as usize
        }
    }
}

/// Bytes that are often at the edge of something.
const EDGES: [u64; 10] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff_ffff,
    0x8000_0000,
    u32::MAX as u64,
    u64::MAX,
];
const BYTES_MAX: usize = 1 << 20;

/// One of `inputs` with one to eight changes.
pub fn mutate(random: &mut Random, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = inputs[random.below(inputs.len())].clone();
    for _ in 0..=random.below(8) {
        change(random, &mut bytes, inputs);
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

fn change(random: &mut Random, bytes: &mut Vec<u8>, inputs: &[Vec<u8>]) {
    let at = random.below(bytes.len());
    let len = 1 + random.below(16.min(bytes.len() - at));
    match random.below(8) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        1 if !bytes.is_empty() => bytes[at] = random.below(256) as u8,
        2 => {
            let edge = EDGES[random.below(EDGES.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)].min(bytes.len() - at);
            bytes[at..at + width].copy_from_slice(&edge[..width]);
        }
        3 => bytes.truncate(at),
        4 => drop(bytes.drain(at..(at + len).min(bytes.len()))),
        5 => {
            let again = bytes[at..(at + len).min(bytes.len())].to_vec();
            bytes.splice(at..at, again);
        }
        6 => {
            let other = &inputs[random.below(inputs.len())];
            let from = random.below(other.len());
            let to = (from + 1 + random.below(256)).min(other.len());
            bytes.splice(at..at, other[from..to].iter().copied());
        }
        _ => bytes.insert(at, random.below(256) as u8),
    }
}
