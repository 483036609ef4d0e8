//! Request of a snapshot: all that influences the guest up to its start marker.

use std::io;
use std::path::Path;

use relayout_files::{CachedRequest, file_identity, fnv1a, map_file};
use serde::Serialize;

use crate::QemuCollector;

/// Version of the form of snapshots. A snapshot of another version counts as absent.
const FORMAT: u32 = 1;

/// Request that a snapshot answers. Its fields are the key.
#[derive(Serialize)]
pub struct SnapshotRequest {
    format: u32,
    /// Program and version.
    qemu: [String; 2],
    /// Arguments of the machine, the kernel's command line among them, and the user's.
    arguments: Vec<String>,
    guest: GuestIdentity,
}

/// Identity of a guest's kernel and files.
#[derive(Serialize)]
pub struct GuestIdentity {
    pub build_id: String,
    /// Content of the boot image.
    pub image: String,
    /// Content of the archive with the guest's program, the user's program and modules.
    pub initrd: String,
    /// Markers of the user's program count, not those around it.
    pub has_marker: bool,
}

impl SnapshotRequest {
    /// Returns the request for a machine with these arguments; `None` if QEMU cannot be looked at.
    pub fn new(
        collector: &QemuCollector,
        arguments: Vec<String>,
        guest: GuestIdentity,
    ) -> Option<Self> {
        let program = file_identity(&collector.qemu)?;
        Some(Self {
            format: FORMAT,
            qemu: [program, collector.version.clone()],
            arguments,
            guest,
        })
    }
}

impl CachedRequest for SnapshotRequest {
    const KIND: &'static str = "guest";
}

/// Returns words that differ for files of different content.
///
/// # Errors
/// The file cannot be read.
pub fn file_content(path: &Path) -> io::Result<String> {
    let bytes = map_file(path)?;
    let (hash, checksum) = (fnv1a(&bytes), crc32fast::hash(&bytes));
    Ok(format!("{} {hash:016x} {checksum:08x}", bytes.len()))
}
