//! Words that change when a file does.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Returns the path, place, time of change and length of a file as a line; `None` if it cannot be looked at. What was
/// computed from the file holds as long as the line stays the same.
pub fn file_identity(file: &Path) -> Option<String> {
    let metadata = fs::metadata(file).ok()?;
    Some(format!(
        "{} {} {} {}.{:09} {}\n",
        file.display(),
        metadata.dev(),
        metadata.ino(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.len(),
    ))
}

/// FNV-1a, 64 bits (draft-eastlake-fnv), which is the same in every process and version.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
