//! ELF files around given sections, whatever those say.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use object::elf::{
    ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD, ET_EXEC, ET_REL, SHF_COMPRESSED, SHT_PROGBITS, SHT_STRTAB,
};

/// A file to be.
#[derive(Clone, Default)]
pub struct ElfBuilder {
    /// Class 32 instead of 64.
    pub narrow: bool,
    /// The most significant byte first.
    pub big_endian: bool,
    /// `.o` instead of a program.
    pub relocatable: bool,
    /// Content.
    pub sections: Vec<ElfSection>,
}

/// A section to be.
#[derive(Clone, Default)]
pub struct ElfSection {
    /// Its name.
    pub name: String,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_addr`.
    pub address: u64,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Offset and size in the header, if not those of `bytes`.
    pub claims: Option<(u64, u64)>,
}

impl ElfSection {
    /// Plain contents.
    pub fn new(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            bytes,
            ..Self::default()
        }
    }

    /// Compressed contents behind a header that claims `size` bytes.
    pub fn compressed(name: &str, method: u32, size: u64, stream: &[u8]) -> Self {
        let mut bytes = method.to_le_bytes().to_vec();
        bytes.extend([0; 4]);
        bytes.extend(size.to_le_bytes());
        bytes.extend(1u64.to_le_bytes());
        bytes.extend(stream);
        Self {
            flags: SHF_COMPRESSED.0,
            ..Self::new(name, bytes)
        }
    }

    /// The same with zlib.
    pub fn zlib(name: &str, size: u64, stream: &[u8]) -> Self {
        Self::compressed(name, ELFCOMPRESS_ZLIB.0, size, stream)
    }

    /// The same with zstd.
    pub fn zstd(name: &str, size: u64, stream: &[u8]) -> Self {
        Self::compressed(name, ELFCOMPRESS_ZSTD.0, size, stream)
    }
}

/// `bytes` as zlib writes them.
pub fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

/// A zstd stream of `blocks` times 128 KiB of the same byte, four bytes a block.
pub fn repeated(byte: u8, blocks: usize) -> Vec<u8> {
    const BLOCK_BYTES: u32 = 128 << 10;
    // Magic; no checksum, no size; a window of 128 KiB.
    let mut stream = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    for block in 1..=blocks {
        let last = u32::from(block == blocks);
        let header = BLOCK_BYTES << 3 | 1 << 1 | last;
        stream.extend(&header.to_le_bytes()[..3]);
        stream.push(byte);
    }
    stream
}

impl ElfBuilder {
    /// A program with these sections.
    pub fn from_sections(sections: impl Into<Vec<ElfSection>>) -> Self {
        Self {
            sections: sections.into(),
            ..Self::default()
        }
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let header_bytes = if self.narrow { 52 } else { 64 };
        let mut names = vec![0];
        let mut contents: Vec<u8> = Vec::new();
        let mut headers = vec![self.section_header(0, 0, [0; 4])];
        for section in &self.sections {
            let name = names.len();
            names.extend(section.name.as_bytes());
            names.push(0);
            let here = (header_bytes + contents.len()) as u64;
            let (offset, size) = section.claims.unwrap_or((here, section.bytes.len() as u64));
            contents.extend(&section.bytes);
            let kind = SHT_PROGBITS.0;
            let words = [section.flags, section.address, offset, size];
            headers.push(self.section_header(name, kind, words));
        }
        let name = names.len();
        names.extend(b".shstrtab\0");
        let offset = (header_bytes + contents.len()) as u64;
        let size = names.len() as u64;
        headers.push(self.section_header(name, SHT_STRTAB.0, [0, 0, offset, size]));
        contents.extend(names);
        contents.resize(contents.len().next_multiple_of(8), 0);
        let mut file = self.file_header(header_bytes + contents.len(), headers.len());
        file.extend(contents);
        file.extend(headers.concat());
        file
    }

    fn file_header(&self, table_offset: usize, count: usize) -> Vec<u8> {
        let kind = if self.relocatable { ET_REL } else { ET_EXEC };
        let (machine, header_bytes, entry_bytes) = match (self.narrow, self.big_endian) {
            (true, _) => (40, 52, 40),
            (false, true) => (21, 64, 64),
            (false, false) => (62, 64, 64),
        };
        let class = if self.narrow { 1 } else { 2 };
        let order = if self.big_endian { 2 } else { 1 };
        let mut bytes = vec![0x7f, b'E', b'L', b'F', class, order, 1];
        bytes.resize(16, 0);
        self.put(&mut bytes, u64::from(kind.0), 2);
        self.put(&mut bytes, machine, 2);
        self.put(&mut bytes, 1, 4);
        self.put_word(&mut bytes, 0);
        self.put_word(&mut bytes, 0);
        self.put_word(&mut bytes, table_offset as u64);
        self.put(&mut bytes, 0, 4);
        for number in [header_bytes, 0, 0, entry_bytes, count, count - 1] {
            self.put(&mut bytes, number as u64, 2);
        }
        bytes
    }

    /// `words`: flags, address, offset and size.
    fn section_header(&self, name: usize, kind: u32, words: [u64; 4]) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.put(&mut bytes, name as u64, 4);
        self.put(&mut bytes, u64::from(kind), 4);
        for word in words {
            self.put_word(&mut bytes, word);
        }
        self.put(&mut bytes, 0, 4);
        self.put(&mut bytes, 0, 4);
        self.put_word(&mut bytes, 1);
        self.put_word(&mut bytes, 0);
        bytes
    }

    fn put_word(&self, bytes: &mut Vec<u8>, number: u64) {
        self.put(bytes, number, if self.narrow { 4 } else { 8 });
    }

    fn put(&self, bytes: &mut Vec<u8>, number: u64, width: usize) {
        if self.big_endian {
            bytes.extend(&number.to_be_bytes()[8 - width..]);
        } else {
            bytes.extend(&number.to_le_bytes()[..width]);
        }
    }
}
