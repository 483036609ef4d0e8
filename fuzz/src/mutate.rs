//! Random changes of known inputs.

/// xorshift64*: enough to pick places and bytes.
pub struct FuzzRandom(u64);

impl FuzzRandom {
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

/// One of `inputs` with one to eight changes. In half of them everything else stays where it is,
/// since a file whose header leads nowhere is refused at once.
pub fn mutate(random: &mut FuzzRandom, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = inputs[random.below(inputs.len())].clone();
    let in_place = random.below(2) == 0;
    for _ in 0..=random.below(8) {
        if in_place {
            overwrite(random, &mut bytes, inputs);
        } else {
            change(random, &mut bytes, inputs);
        }
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

fn overwrite(random: &mut FuzzRandom, bytes: &mut [u8], inputs: &[Vec<u8>]) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.below(256) as u8,
        2 => {
            let edge = EDGES[random.below(EDGES.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)].min(bytes.len() - at);
            bytes[at..at + width].copy_from_slice(&edge[..width]);
        }
        _ => {
            let other = &inputs[random.below(inputs.len())];
            let from = random.below(other.len());
            let len = (1 + random.below(64)).min(other.len() - from);
            let len = len.min(bytes.len() - at);
            bytes[at..at + len].copy_from_slice(&other[from..from + len]);
        }
    }
}

fn change(random: &mut FuzzRandom, bytes: &mut Vec<u8>, inputs: &[Vec<u8>]) {
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

/// `input` cut off in many places, and its ELF sections too, in a file that is whole.
pub fn cut_variants(input: &[u8]) -> Vec<Vec<u8>> {
    const CUTS: usize = 48;
    let places = |len: usize| (0..CUTS).map(move |cut| len * cut / CUTS);
    let mut cut: Vec<Vec<u8>> = places(input.len()).map(|at| input[..at].to_vec()).collect();
    for (header, len) in section_sizes(input) {
        for size in places(len).chain([len.saturating_sub(1)]) {
            let mut bytes = input.to_vec();
            bytes[header..header + 8].copy_from_slice(&(size as u64).to_le_bytes());
            cut.push(bytes);
        }
    }
    cut
}

/// Returns the places of section sizes in a 64-bit little-endian ELF file, and the sizes.
fn section_sizes(elf: &[u8]) -> Vec<(usize, usize)> {
    use object::elf::{FileHeader64, SectionHeader64};
    use object::read::elf::FileHeader;
    use object::{LittleEndian, Object, ObjectSection};
    const SIZE_FIELD: usize = 32;
    let Ok(header) = FileHeader64::<LittleEndian>::parse(elf) else {
        return Vec::new();
    };
    let Ok(file) = object::read::elf::ElfFile64::<LittleEndian>::parse(elf) else {
        return Vec::new();
    };
    let table = header.e_shoff(LittleEndian) as usize;
    let width = size_of::<SectionHeader64<LittleEndian>>();
    file.sections()
        .filter(|section| section.file_range().is_some())
        .map(|section| {
            let at = table + section.index().0 * width + SIZE_FIELD;
            (at, section.size() as usize)
        })
        .collect()
}
