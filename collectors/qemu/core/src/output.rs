//! Segment files, the control file, and memory for the shadow.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::*;

use relayout_shadow::control::{CONTROL_BYTES, CONTROL_MAGIC, Control, Stage};
use relayout_shadow::wire::{SegmentHeader, as_header_bytes};
use relayout_shadow::{CONTEXTS_MAX, Host};

/// Number under which sites are appended: not a CPU, so that no CPU's file is written by others.
pub const SITES_CONTEXT: u8 = CONTEXTS_MAX as u8;

/// The recording folder as the plugin uses it.
pub struct Output {
    files: Vec<File>,
    sites: File,
    control: &'static Control,
}

impl Output {
    /// Opens the control file that the host made in `dir`, and a new segment file per CPU.
    pub fn open(dir: &Path, contexts: usize) -> io::Result<Self> {
        let create = |name: String| {
            OpenOptions::new()
                .append(true)
                .create_new(true)
                .mode(0o600)
                .open(dir.join(name))
        };
        let files = (0..contexts)
            .map(|n| create(format!("ctx-{n}.seg")))
            .collect::<Result<_, _>>()?;
        let sites = create("sites.seg".into())?;
        let control = map_control(&dir.join("control"))?;
        control.magic.store(CONTROL_MAGIC, Release);
        Ok(Self {
            files,
            sites,
            control,
        })
    }

    pub fn control(&self) -> &'static Control {
        self.control
    }

    /// Stops the recording for an error of the system.
    fn fail(&self, error: &io::Error) {
        let errno = error.raw_os_error().unwrap_or(libc::EIO) as u32;
        let _ = self
            .control
            .error
            .compare_exchange(0, errno, AcqRel, Relaxed);
        self.control.state.store(Stage::Failed as u32, Release);
    }
}

impl Host for Output {
    fn zeroed(&self, bytes: usize) -> Option<*mut u8> {
        // SAFETY: a fresh private mapping.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        (at != libc::MAP_FAILED).then_some(at.cast())
    }

    fn append(&self, context: u8, header: &SegmentHeader, payload: &[u8]) {
        let mut file = self.files.get(usize::from(context)).unwrap_or(&self.sites);
        if self.control.error.load(Relaxed) != 0 {
            return;
        }
        let head = as_header_bytes(header);
        let written = file.write_vectored(&[IoSlice::new(head), IoSlice::new(payload)]);
        let rest = written.and_then(|n| match n.checked_sub(head.len()) {
            Some(done) => file.write_all(&payload[done..]),
            None => file
                .write_all(&head[n..])
                .and_then(|()| file.write_all(payload)),
        });
        if let Err(error) = rest {
            self.fail(&error);
        }
    }

    fn relax(&self) {
        std::thread::yield_now();
    }
}

fn map_control(path: &Path) -> io::Result<&'static Control> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    if file.metadata()?.len() < CONTROL_BYTES as u64 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the control file is too short",
        ));
    }
    // SAFETY: a shared mapping of a file that is long enough; all fields are atomics.
    unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            CONTROL_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(&*at.cast::<Control>())
    }
}
