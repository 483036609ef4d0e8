//! Files that are mapped into the program.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const PAGE_BYTES: u64 = 4096;
const LOAD: u32 = 1;
const THREAD_LOCAL: u32 = 7;
const EXECUTABLE: u8 = 1;
/// Sizes of an ELF header and of a program header.
const HEADER_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 56;

/// Line of `/proc/self/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMapping {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    /// Path of the file; empty for memory without a file.
    pub path: PathBuf,
}

/// Mappings of the process.
#[derive(Debug, Default)]
pub struct ProcessMappings(Vec<FileMapping>);

impl ProcessMappings {
    /// Reads the present mappings.
    pub fn read() -> Self {
        Self::parse(&std::fs::read("/proc/self/maps").unwrap_or_default())
    }

    fn parse(text: &[u8]) -> Self {
        Self(
            text.split(|&b| b == b'\n')
                .filter_map(parse_mapping)
                .collect(),
        )
    }

    /// Returns the mapping that holds `at`.
    pub fn mapping_at(&self, at: u64) -> Option<&FileMapping> {
        self.0.iter().find(|m| m.start <= at && at < m.end)
    }

    /// Returns true if a file is mapped at `at`.
    pub fn has_file_at(&self, at: u64) -> bool {
        self.mapping_at(at).is_some_and(|m| m.path.is_absolute())
    }

    /// Returns the mapped files that are not in `before`.
    pub fn files_not_in<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a FileMapping> {
        let known = |m: &FileMapping| {
            before
                .mapping_at(m.start)
                .is_some_and(|old| old.path == m.path)
        };
        self.0
            .iter()
            .filter(move |m| m.path.is_absolute() && !known(m))
    }
}

/// Parses `START-END PERMISSIONS OFFSET DEVICE INODE PATH`.
fn parse_mapping(line: &[u8]) -> Option<FileMapping> {
    let mut rest = line;
    let mut field = || {
        let end = rest.iter().position(|&b| b == b' ').unwrap_or(rest.len());
        let (field, tail) = rest.split_at(end);
        rest = tail.strip_prefix(b" ").unwrap_or_default();
        std::str::from_utf8(field).ok()
    };
    let (start, end) = field()?.split_once('-')?;
    field()?;
    let offset = field()?;
    field()?;
    field()?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let path = std::ffi::OsStr::from_bytes(rest.trim_ascii_start());
    Some(FileMapping {
        start: hex(start)?,
        end: hex(end)?,
        offset: hex(offset)?,
        path: path.into(),
    })
}

/// Mapped ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfModule {
    path: PathBuf,
    start: u64,
    end: u64,
    bias: u64,
    /// Size of its thread-local storage, and distance to the thread pointer if the file is the
    /// program itself.
    tls: Option<(u64, u64)>,
}

impl ElfModule {
    /// Reads the file at `path`, whose `offset` is mapped at `address`: a segment of code if
    /// `code`, else the start of the first segment. `None` if it is no such part of an ELF file for
    /// this machine.
    pub fn read_mapped(path: &Path, address: u64, offset: u64, code: bool) -> Option<Self> {
        let segments = read_segments(&File::open(path).ok()?).ok()??;
        let loads = || segments.iter().filter(|s| s.kind == LOAD);
        // Two segments may share a page of the file, but two segments of code never do, nor does the
        // first page hold another.
        let mapped = if code {
            loads().find(|s| s.executable && s.is_at(offset))?
        } else {
            loads().next().filter(|s| s.first_page() == offset)?
        };
        let link_time = mapped
            .address
            .wrapping_sub(mapped.offset)
            .wrapping_add(offset);
        let bias = address.wrapping_sub(link_time);
        let start = loads().map(|s| s.address & !(PAGE_BYTES - 1)).min()?;
        let end = loads().map(|s| s.address.saturating_add(s.bytes)).max()?;
        let tls = segments.iter().find(|s| s.kind == THREAD_LOCAL);
        Some(Self {
            path: path.to_owned(),
            start: start.wrapping_add(bias),
            end: end.next_multiple_of(PAGE_BYTES).wrapping_add(bias),
            bias,
            tls: tls.map(|s| (s.bytes, s.before_thread_pointer())),
        })
    }

    pub fn map_line(&self) -> Vec<u8> {
        let Self {
            start, end, bias, ..
        } = self;
        let mut line = format!("module {start:x} {end:x} {bias:x} ").into_bytes();
        line.extend_from_slice(self.path.as_os_str().as_bytes());
        line
    }

    /// Returns address and size of the program's own thread-local storage in a thread with this
    /// thread pointer, and the program's bias.
    pub fn program_tls(&self, thread_pointer: u64) -> Option<(u64, u64, u64)> {
        let (bytes, before) = self.tls?;
        Some((thread_pointer.checked_sub(before)?, bytes, self.bias))
    }
}

/// Used fields of a program header.
struct ElfSegment {
    kind: u32,
    executable: bool,
    offset: u64,
    address: u64,
    file_bytes: u64,
    bytes: u64,
    align: u64,
}

impl ElfSegment {
    /// Returns true if a part of the segment is in the page of the file at `offset`.
    fn is_at(&self, offset: u64) -> bool {
        self.first_page() <= offset && offset < self.offset.saturating_add(self.file_bytes)
    }

    /// Returns the offset of the page of the file in which the segment begins.
    fn first_page(&self) -> u64 {
        self.offset & !(PAGE_BYTES - 1)
    }

    /// Returns the bytes from the start of the program's thread-local storage to the thread
    /// pointer: variant II of "ELF Handling For Thread-Local Storage", 3.4.6.
    fn before_thread_pointer(&self) -> u64 {
        let align = self.align.max(1);
        let first = self.address.wrapping_neg() % align;
        let bytes = self.bytes.saturating_sub(first);
        bytes.checked_next_multiple_of(align).unwrap_or(bytes) + first
    }
}

/// Reads the program headers; `None` if the file is no 64-bit little-endian ELF file.
fn read_segments(file: &File) -> io::Result<Option<Vec<ElfSegment>>> {
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0)?;
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Ok(None);
    }
    let at = u64_at(&header, 32);
    let (each, count) = (u16_at(&header, 54), u16_at(&header, 56));
    if usize::from(each) != SEGMENT_BYTES {
        return Ok(None);
    }
    let mut table = vec![0; usize::from(count) * SEGMENT_BYTES];
    file.read_exact_at(&mut table, at)?;
    let segment = |s: &[u8]| ElfSegment {
        kind: u32::from_le_bytes([s[0], s[1], s[2], s[3]]),
        executable: s[4] & EXECUTABLE != 0,
        offset: u64_at(s, 8),
        address: u64_at(s, 16),
        file_bytes: u64_at(s, 32),
        bytes: u64_at(s, 40),
        align: u64_at(s, 48),
    };
    Ok(Some(
        table.chunks_exact(SEGMENT_BYTES).map(segment).collect(),
    ))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &[u8] = b"\
4000000000-4000001000 r--p 00000000 fe:00 247766                         /usr/bin/sleep
4000001000-4000003000 rw-p 00001000 fe:00 247766                         /tmp/a b
400000b000-400002c000 rw-p 00000000 00:00 0 
7ffd0000-7ffe0000 rw-p 00000000 00:00 0                          [stack]
nonsense
";

    #[test]
    fn reads_mappings() {
        let maps = ProcessMappings::parse(MAPS);
        assert_eq!(maps.0.len(), 4);
        let second = maps.mapping_at(0x40_0000_2fff).unwrap();
        assert_eq!((second.start, second.end), (0x40_0000_1000, 0x40_0000_3000));
        assert_eq!(second.offset, 0x1000);
        assert_eq!(second.path, Path::new("/tmp/a b"), "a space in the name");
        assert!(!maps.has_file_at(0x40_0000_b000), "memory without a file");
        assert!(!maps.has_file_at(0x7ffd_0000), "a stack is no file");
        assert!(maps.mapping_at(0x40_0000_3000).is_none());
    }

    #[test]
    fn tells_what_is_new() {
        let first_line = MAPS.split(|&b| b == b'\n').next().unwrap();
        let (before, now) = (
            ProcessMappings::parse(first_line),
            ProcessMappings::parse(MAPS),
        );
        let new: Vec<_> = now.files_not_in(&before).map(|m| &m.path).collect();
        assert_eq!(new, [Path::new("/tmp/a b")]);
    }

    /// Uses this test's own C library: the addresses of its functions tell its bias.
    #[test]
    fn knows_this_process() {
        let maps = ProcessMappings::read();
        let mapping = maps.mapping_at(libc::getpid as *const () as u64).unwrap();
        let module =
            ElfModule::read_mapped(&mapping.path, mapping.start, mapping.offset, true).unwrap();
        assert!(module.start <= mapping.start && mapping.end <= module.end);
        assert_eq!(module.bias % PAGE_BYTES, 0);
        let first = maps.mapping_at(module.start).unwrap();
        assert_eq!((first.offset, &first.path), (0, &mapping.path));
        assert_eq!(
            ElfModule::read_mapped(&first.path, first.start, 0, false),
            Some(module)
        );
    }

    /// Writes an ELF file with segments: executable, offset, address, and bytes.
    fn elf_file(segments: &[(bool, u64, u64, u64)]) -> tempfile::NamedTempFile {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = HEADER_BYTES as u8;
        bytes[54] = SEGMENT_BYTES as u8;
        bytes[56] = segments.len() as u8;
        for (executable, offset, address, size) in segments {
            bytes.extend(LOAD.to_le_bytes());
            bytes.extend(u32::from(*executable).to_le_bytes());
            for field in [*offset, *address, *address, *size, *size, PAGE_BYTES] {
                bytes.extend(field.to_le_bytes());
            }
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    /// LLD, which links Rust programs, lets segments share a page of the file, and leaves a page of memory between
    /// them: the first segment ends in the page in which the code begins.
    #[test]
    fn segments_that_share_a_page_are_told_apart() {
        let file = elf_file(&[
            (false, 0, 0, 0x1_3774),
            (true, 0x1_3780, 0x1_4780, 0x3_e580),
        ]);
        let read = |address, offset, code| {
            ElfModule::read_mapped(file.path(), address, offset, code).map(|module| module.bias)
        };
        let base = 0x40_0000_0000;
        assert_eq!(read(base, 0, false), Some(base));
        assert_eq!(read(base + 0x1_4000, 0x1_3000, false), None);
        assert_eq!(read(base + 0x1_4000, 0x1_3000, true), Some(base));
    }

    #[test]
    fn what_is_no_program_is_no_module() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let check = |bytes: &[u8]| {
            std::fs::write(file.path(), bytes).unwrap();
            assert_eq!(
                ElfModule::read_mapped(file.path(), 0, 0, true),
                None,
                "{bytes:x?}"
            );
        };
        check(b"");
        check(b"#!/bin/sh\n");
        check(&[0; 64]);
        let mut header = [0; 64];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        check(&header);
        header[54] = 56;
        header[56] = 255;
        header[57] = 255;
        check(&header);
    }

    #[test]
    fn thread_local_storage_ends_at_the_thread_pointer() {
        let check = |address, bytes, align, expect| {
            let segment = ElfSegment {
                kind: THREAD_LOCAL,
                executable: false,
                offset: 0,
                address,
                file_bytes: 0,
                bytes,
                align,
            };
            assert_eq!(segment.before_thread_pointer(), expect);
        };
        check(0x1000, 4, 4, 4);
        check(0x1000, 20, 16, 32);
        check(0x1000, 64, 64, 64);
        check(0x1010, 8, 64, 48);
        check(0, 0, 0, 0);
    }
}
