//! A guest's memory in a file with holes: pages that the guest never wrote, and pages of zeros, take
//! no space.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::workspace::GuestMemory;

/// Bytes of a block: one of zeros is a hole.
const BLOCK_BYTES: u64 = 1 << 16;
/// Bytes that are copied at once.
const BUFFER_BYTES: u64 = 1 << 20;
const STAT_BLOCK_BYTES: u64 = 512;

/// Description of a copy, by which it is read again and validated.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCopy {
    /// Size of the memory.
    bytes: u64,
    /// CRC-32 of the stored runs, one after the other.
    checksum: u32,
    /// Start and length of each stored run.
    runs: Vec<(u64, u64)>,
}

/// Returns the bytes that the memory takes.
pub fn stored_bytes(memory: &GuestMemory) -> io::Result<u64> {
    Ok(memory.file().metadata()?.blocks() * STAT_BLOCK_BYTES)
}

/// Copies the memory to an empty file.
///
/// # Errors
/// A file cannot be read or written, or the user aborts.
pub fn write_memory(
    memory: &GuestMemory,
    copy: &File,
    is_aborted: &dyn Fn() -> bool,
) -> io::Result<MemoryCopy> {
    let mut checksum = crc32fast::Hasher::new();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES as usize];
    let mut at = 0;
    while let Some((start, end)) = next_data(memory, at)? {
        stop_if_aborted(is_aborted)?;
        // Blocks have their places in the memory, so that each is looked at once.
        let start = start - start % BLOCK_BYTES;
        let length = (end - start).min(BUFFER_BYTES);
        let length = length
            .next_multiple_of(BLOCK_BYTES)
            .min(memory.bytes() - start);
        let bytes = &mut buffer[..length as usize];
        memory.file().read_exact_at(bytes, start)?;
        for (number, block) in bytes.chunks(BLOCK_BYTES as usize).enumerate() {
            if is_zero(block) {
                continue;
            }
            let (place, size) = (start + number as u64 * BLOCK_BYTES, block.len() as u64);
            copy.write_all_at(block, place)?;
            checksum.update(block);
            match runs.last_mut() {
                Some((first, run)) if *first + *run == place => *run += size,
                _ => runs.push((place, size)),
            }
        }
        at = start + length;
    }
    copy.set_len(memory.bytes())?;
    Ok(MemoryCopy {
        bytes: memory.bytes(),
        checksum: checksum.finalize(),
        runs,
    })
}

/// Copies a file that [`write_memory`] made into the fresh `memory`. Returns false if it is not as it
/// was written.
///
/// # Errors
/// A file cannot be read or written, or the user aborts.
pub fn read_memory(
    copy: &File,
    described: &MemoryCopy,
    memory: &GuestMemory,
    is_aborted: &dyn Fn() -> bool,
) -> io::Result<bool> {
    if copy.metadata()?.len() != described.bytes || memory.bytes() != described.bytes {
        return Ok(false);
    }
    let mut checksum = crc32fast::Hasher::new();
    let mut buffer = vec![0; BUFFER_BYTES as usize];
    for &(start, length) in &described.runs {
        let end = start.saturating_add(length);
        if end > described.bytes {
            return Ok(false);
        }
        let mut at = start;
        while at < end {
            stop_if_aborted(is_aborted)?;
            let bytes = &mut buffer[..(end - at).min(BUFFER_BYTES) as usize];
            copy.read_exact_at(bytes, at)?;
            checksum.update(bytes);
            memory.file().write_all_at(bytes, at)?;
            at += bytes.len() as u64;
        }
    }
    Ok(checksum.finalize() == described.checksum)
}

/// Returns start and end of the next data of the memory from `at` on; `None` if the rest is a hole.
fn next_data(memory: &GuestMemory, at: u64) -> io::Result<Option<(u64, u64)>> {
    if at >= memory.bytes() {
        return Ok(None);
    }
    let start = match seek(memory.file(), SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        // A file system that knows no holes.
        Err(Errno::INVAL) => return Ok(Some((at, memory.bytes()))),
        Err(error) => return Err(error.into()),
    };
    Ok(Some((start, seek(memory.file(), SeekFrom::Hole(start))?)))
}

fn is_zero(block: &[u8]) -> bool {
    let mut words = block.chunks_exact(size_of::<u128>());
    let is_whole_zero = words.all(|word| word == 0u128.to_ne_bytes());
    is_whole_zero && words.remainder().iter().all(|&byte| byte == 0)
}

fn stop_if_aborted(is_aborted: &dyn Fn() -> bool) -> io::Result<()> {
    match is_aborted() {
        true => Err(io::ErrorKind::Interrupted.into()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::RecordingWorkspace;

    const MEMORY_BYTES: u64 = 64 << 20;

    fn memory() -> (RecordingWorkspace, GuestMemory) {
        let workspace = RecordingWorkspace::create().unwrap();
        let memory = GuestMemory::create(MEMORY_BYTES, &workspace).unwrap();
        (workspace, memory)
    }

    fn copied() -> (GuestMemory, File, MemoryCopy) {
        let (_workspace, memory) = memory();
        let write = |at: u64, bytes: &[u8]| memory.file().write_all_at(bytes, at).unwrap();
        write(5, b"first");
        write(BLOCK_BYTES, &[7; 3 << 20]);
        write(40 << 20, &[0; 8192]);
        write(MEMORY_BYTES - 1, b"x");
        let copy = tempfile::tempfile().unwrap();
        let described = write_memory(&memory, &copy, &|| false).unwrap();
        (memory, copy, described)
    }

    #[test]
    fn memory_comes_back_without_its_holes() {
        let (memory, copy, described) = copied();
        let expect = [
            (0, BLOCK_BYTES + (3 << 20)),
            (MEMORY_BYTES - BLOCK_BYTES, BLOCK_BYTES),
        ];
        assert_eq!(described.runs, expect);
        let stored = copy.metadata().unwrap().blocks() * STAT_BLOCK_BYTES;
        assert!(stored < 4 << 20, "{stored}");
        let (_workspace, restored) = self::memory();
        assert!(read_memory(&copy, &described, &restored, &|| false).unwrap());
        // Before the comparison, which fills holes.
        assert!(stored_bytes(&restored).unwrap() < 4 << 20);
        assert!(memory.map().unwrap()[..] == restored.map().unwrap()[..]);
    }

    #[test]
    fn damaged_copies_are_refused() {
        let (_memory, copy, mut described) = copied();
        let is_whole = |copy: &File, described: &MemoryCopy| {
            let (_workspace, restored) = memory();
            read_memory(copy, described, &restored, &|| false).unwrap()
        };
        copy.write_all_at(b"F", 5).unwrap();
        assert!(!is_whole(&copy, &described));
        copy.write_all_at(b"f", 5).unwrap();
        assert!(is_whole(&copy, &described));
        copy.set_len(MEMORY_BYTES - 1).unwrap();
        assert!(!is_whole(&copy, &described));
        copy.set_len(MEMORY_BYTES).unwrap();
        described.runs.push((MEMORY_BYTES, u64::MAX));
        assert!(!is_whole(&copy, &described));
    }

    #[test]
    fn copies_can_be_aborted() {
        let (memory, _, _) = copied();
        let copy = tempfile::tempfile().unwrap();
        let error = write_memory(&memory, &copy, &|| true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
}
