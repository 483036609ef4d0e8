//! The private folder of one recording: control file, segments, console, sockets, guest memory.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Acquire;

use memmap2::MmapOptions;
use relayout_files::{cannot, free_bytes, private_dir};
use relayout_shadow::control::{CONTROL_BYTES, RecordingControl};
use tempfile::TempDir;

use crate::Error;

/// Removed with all that is in it when dropped.
pub struct RecordingWorkspace {
    dir: TempDir,
    /// Apart, because it wants memory behind it rather than a disk; only for guests.
    memory: Option<TempDir>,
    control: &'static RecordingControl,
}

impl RecordingWorkspace {
    /// Makes the folder, and a control file in it.
    pub fn create() -> Result<Self, Error> {
        let dir = private_dir(&std::env::temp_dir())?;
        let control = map_control(&dir.path().join("control"))?;
        Ok(Self {
            dir,
            memory: None,
            control,
        })
    }

    /// Creates a workspace with space for that much memory of a guest.
    pub fn for_guest(memory_bytes: u64) -> Result<Self, Error> {
        let workspace = Self::create()?;
        let shared = Path::new("/dev/shm");
        let memory = if free_bytes(shared).is_some_and(|free| free >= memory_bytes) {
            private_dir(shared)?
        } else {
            private_dir(&std::env::temp_dir())?
        };
        Ok(Self {
            memory: Some(memory),
            ..workspace
        })
    }

    pub fn file_path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The file that is the guest's memory.
    pub fn memory_file(&self) -> PathBuf {
        self.memory.as_ref().unwrap_or(&self.dir).path().join("ram")
    }

    /// Error number with which the collector stopped, 0 if it has none.
    pub fn collector_errno(&self) -> i32 {
        self.control.error.load(Acquire) as i32
    }

    /// The collector's error, as that of writing to this folder.
    pub fn write_error(&self) -> Error {
        let source = std::io::Error::from_raw_os_error(self.collector_errno());
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

fn map_control(path: &Path) -> Result<&'static RecordingControl, Error> {
    let create_file = || -> std::io::Result<File> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        // Allocates the blocks: with a hole, a full disk would end a writer to the mapping by
        // SIGBUS. SAFETY: the call takes an open file and two numbers.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, CONTROL_BYTES as libc::off_t) } {
            0 => Ok(file),
            error => Err(std::io::Error::from_raw_os_error(error)),
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
