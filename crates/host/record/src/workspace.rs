//! The private folder of one recording (control file, segments, console), and the guest's memory.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Acquire;

use memmap2::{Mmap, MmapOptions};
use relayout_files::{TemporaryFolder, cannot, private_dir};
use relayout_shadow::control::{CONTROL_BYTES, RecordingControl};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};

use crate::Error;

/// Removed with all that is in it when dropped.
pub struct RecordingWorkspace {
    dir: TemporaryFolder,
    control: &'static RecordingControl,
}

impl RecordingWorkspace {
    /// Makes the folder in that for temporary files, and a control file in it.
    pub fn create() -> Result<Self, Error> {
        Self::create_in(&std::env::temp_dir())
    }

    /// Makes the folder in `parent`, and a control file in it.
    pub fn create_in(parent: &Path) -> Result<Self, Error> {
        let dir = private_dir(parent)?;
        let control = map_control(&dir.path().join("control"))?;
        Ok(Self { dir, control })
    }

    pub fn file_path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Error number with which the collector stopped, 0 if it has none.
    pub fn collector_errno(&self) -> i32 {
        self.control.error.load(Acquire) as i32
    }

    /// The collector's error, as that of writing to this folder.
    pub fn write_error(&self) -> Error {
        let source = io::Error::from_raw_os_error(self.collector_errno());
        cannot("write the recording to", self.dir())(source).into()
    }

    pub fn control(&self) -> &'static RecordingControl {
        self.control
    }
}

/// Options that all collectors take, as `NAME=VALUE` with commas between.
pub fn collector_options(yield_every: u32, seed: u64, bursts: Option<u64>) -> String {
    let bursts = bursts.map(|bursts| format!(",bursts={bursts}"));
    format!(
        "yield={yield_every},seed={seed}{}",
        bursts.unwrap_or_default()
    )
}

/// A guest's memory: a file without a name. It is gone when the last process that has it open is,
/// however that ends.
pub struct GuestMemory {
    file: File,
    bytes: u64,
}

impl GuestMemory {
    /// Makes the file, in memory if so much is free, else on the disk of the workspace.
    pub fn create(bytes: u64, workspace: &RecordingWorkspace) -> Result<Self, Error> {
        let in_memory = available_memory_bytes().is_some_and(|available| available >= bytes);
        let file = match in_memory.then(|| create_in_memory(bytes)) {
            Some(Ok(file)) => file,
            Some(Err(_)) | None => {
                let path = workspace.file_path("ram");
                create_on_disk(&path, bytes).map_err(cannot("make the guest's memory:", &path))?
            }
        };
        Ok(Self { file, bytes })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Maps the memory as QEMU left it, or as it was in a snapshot.
    pub fn map(&self) -> io::Result<Mmap> {
        // SAFETY: QEMU has ended or has not begun, and nobody else has the file.
        unsafe { Mmap::map(&self.file) }
    }
}

fn create_in_memory(bytes: u64) -> io::Result<File> {
    let file = File::from(memfd_create("relayout-guest", MemfdFlags::CLOEXEC)?);
    file.set_len(bytes)?;
    Ok(file)
}

fn create_on_disk(path: &Path, bytes: u64) -> io::Result<File> {
    let file = create_private_file(path)?;
    fs::remove_file(path)?;
    file.set_len(bytes)?;
    // With a hole, a full disk would end QEMU by SIGBUS in the middle of the recording.
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(file),
        Err(error) => Err(error.into()),
    }
}

/// Returns the bytes of memory that processes can still use; `None` where the system does not tell.
fn available_memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}

/// Creates a file that only this user can read.
pub fn create_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn map_control(path: &Path) -> Result<&'static RecordingControl, Error> {
    let create_file = || -> io::Result<File> {
        let file = create_private_file(path)?;
        // Allocates the blocks: with a hole, a full disk would end a writer to the mapping by
        // SIGBUS. SAFETY: the call takes an open file and two numbers.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, CONTROL_BYTES as libc::off_t) } {
            0 => Ok(file),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    };
    let file = create_file().map_err(cannot("create", path))?;
    // SAFETY: the file is private to this recording, and nobody truncates it.
    let map = unsafe { MmapOptions::new().len(CONTROL_BYTES).map_mut(&file) };
    let map = Box::leak(Box::new(map.map_err(cannot("map", path))?));
    // SAFETY: the mapping begins at a page, has the bytes of the control, and is never unmapped;
    // all fields are atomics.
    Ok(unsafe { &*map.as_mut_ptr().cast::<RecordingControl>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_no_name() {
        let workspace = RecordingWorkspace::create().unwrap();
        let before = fs::read_dir(workspace.dir()).unwrap().count();
        let memory = GuestMemory::create(1 << 20, &workspace).unwrap();
        let on_disk = create_on_disk(&workspace.file_path("ram"), 1 << 20).unwrap();
        assert_eq!(memory.map().unwrap().len(), 1 << 20);
        assert_eq!(on_disk.metadata().unwrap().len(), 1 << 20);
        assert_eq!(fs::read_dir(workspace.dir()).unwrap().count(), before);
    }
}
