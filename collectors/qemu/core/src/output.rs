//! Segment files, the control file, and memory for the shadow.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::Ordering::*;

use relayout_shadow::control::{CONTROL_BYTES, CONTROL_MAGIC, RecordingControl, RecordingStage};
use relayout_shadow::wire::{SegmentHeader, as_header_bytes};
use relayout_shadow::{CONTEXTS_MAX, CollectorHost};

use crate::append::AppendFile;
use crate::memory::MemoryPieces;

/// Context number of the sites' segments: no CPU's, so that only one thread writes each file.
pub const SITES_CONTEXT: u16 = CONTEXTS_MAX as u16;

/// Recording folder of the plugin.
pub struct SegmentOutput {
    files: Vec<AppendFile>,
    sites: AppendFile,
    control: &'static RecordingControl,
    memory: MemoryPieces,
}

impl SegmentOutput {
    /// Opens the control file that the host made in `dir`, and creates a segment file for each CPU.
    pub fn open(dir: &Path, contexts: usize) -> io::Result<Self> {
        let create = |name: String| AppendFile::create(dir.join(name));
        Ok(Self {
            files: (0..contexts)
                .map(|n| create(format!("ctx-{n}.seg")))
                .collect::<Result<_, _>>()?,
            sites: create("sites.seg".into())?,
            control: attach_control(dir)?,
            memory: MemoryPieces::huge(),
        })
    }

    /// Does the same as [`open`](Self::open) in a process that QEMU shares with a program: files
    /// are created when needed.
    pub fn open_guarded(dir: &Path) -> io::Result<Self> {
        let file = |name: String| AppendFile::guarded(dir.join(name));
        Ok(Self {
            files: (0..CONTEXTS_MAX)
                .map(|n| file(format!("ctx-{n}.seg")))
                .collect(),
            sites: file("sites.seg".into()),
            control: attach_control(dir)?,
            // Many processes may be recorded at the same time.
            memory: MemoryPieces::small(),
        })
    }

    pub fn control(&self) -> &'static RecordingControl {
        self.control
    }

    /// Creates the file of a context that has begun, so that it exists even if nothing is appended.
    pub fn begin_context(&self, context: u16) {
        if let Some(Err(error)) = self
            .files
            .get(usize::from(context))
            .map(AppendFile::create_now)
        {
            self.fail(&error);
        }
    }

    /// Stops the recording because of an error of the system.
    pub fn fail(&self, error: &io::Error) {
        let errno = error.raw_os_error().unwrap_or(libc::EIO) as u32;
        let _ = self
            .control
            .error
            .compare_exchange(0, errno, AcqRel, Relaxed);
        self.control
            .state
            .store(RecordingStage::Failed as u32, Release);
    }
}

impl CollectorHost for SegmentOutput {
    fn zeroed(&self, bytes: usize) -> Option<*mut u8> {
        self.memory.zeroed(bytes)
    }

    fn append(&self, context: u16, header: &SegmentHeader, payload: &[u8]) {
        let file = self.files.get(usize::from(context)).unwrap_or(&self.sites);
        if self.control.error.load(Relaxed) != 0 {
            return;
        }
        if let Err(error) = file.append(as_header_bytes(header), payload) {
            self.fail(&error);
        }
    }

    fn relax(&self) {
        std::thread::yield_now();
    }
}

fn attach_control(dir: &Path) -> io::Result<&'static RecordingControl> {
    let control = map_control(&dir.join("control"))?;
    control.magic.store(CONTROL_MAGIC, Release);
    Ok(control)
}

fn map_control(path: &Path) -> io::Result<&'static RecordingControl> {
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
        Ok(&*at.cast::<RecordingControl>())
    }
}

#[cfg(test)]
pub mod tests {
    use std::fs::File;

    use relayout_shadow::ShadowContext;
    use relayout_shadow::wire::{self, RegionRecord};

    use super::*;

    /// Makes a folder as the host does.
    pub fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("control"), [0; CONTROL_BYTES]).unwrap();
        dir
    }

    /// Verifies the segment in `bytes` and returns its payload.
    pub fn check_segment(bytes: &[u8], kind: wire::RecordKind) -> &[u8] {
        let (head, payload) = bytes.split_at(size_of::<SegmentHeader>());
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        assert_eq!(head[..4], wire::MAGIC);
        assert_eq!(head[6..8], (kind as u16).to_le_bytes());
        assert_eq!(payload.len(), word(12) as usize * kind.record_bytes());
        assert_eq!(wire::crc32(payload), word(20));
        payload
    }

    fn region(start: u64) -> RegionRecord {
        RegionRecord {
            start,
            first_ticket: 0,
            end_ticket: 0,
            first_op: 0,
            end_op: 0,
            visits_end_ticket: 0,
            bytes: 512,
            reserved: 0,
        }
    }

    #[test]
    fn segments_go_to_their_contexts_files() {
        let dir = folder();
        let output = SegmentOutput::open(dir.path(), 2).unwrap();
        let mut context = ShadowContext::new(1, &output).unwrap();
        context.append(&[region(0x1000), region(0x2000)], &output);
        let bytes = std::fs::read(dir.path().join("ctx-1.seg")).unwrap();
        let payload = check_segment(&bytes, wire::RecordKind::Region);
        assert_eq!(
            wire::read_record::<RegionRecord>(payload),
            Some(region(0x1000))
        );
        for empty in ["ctx-0.seg", "sites.seg"] {
            assert!(
                std::fs::read(dir.path().join(empty)).unwrap().is_empty(),
                "{empty}"
            );
        }
        let control = std::fs::read(dir.path().join("control")).unwrap();
        assert_eq!(control[..8], CONTROL_MAGIC.to_le_bytes());
    }

    #[test]
    fn a_folder_that_is_not_as_it_should_be() {
        let check = |dir: &Path, kind| {
            let error = SegmentOutput::open(dir, 1).err().map(|error| error.kind());
            assert_eq!(error, Some(kind));
        };
        let dir = tempfile::tempdir().unwrap();
        check(&dir.path().join("none"), io::ErrorKind::NotFound);
        check(dir.path(), io::ErrorKind::NotFound);
        // The first attempt left files, and segments of two recordings must not mix.
        check(dir.path(), io::ErrorKind::AlreadyExists);
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("control"), [0; 8]).unwrap();
        check(dir.path(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_full_disk_stops_the_recording() {
        let dir = folder();
        let mut output = SegmentOutput::open(dir.path(), 2).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        output.files[0] = AppendFile::from_file(full);
        let mut contexts = [0, 1].map(|n| ShadowContext::new(n, &output).unwrap());
        contexts[0].append(&[region(0x1000)], &output);
        let control = output.control();
        assert_eq!(control.error.load(Relaxed), libc::ENOSPC as u32);
        assert_eq!(
            RecordingStage::from_u32(control.state.load(Relaxed)),
            RecordingStage::Failed
        );
        contexts[1].append(&[region(0x1000)], &output);
        let bytes = std::fs::read(dir.path().join("ctx-1.seg")).unwrap();
        assert!(bytes.is_empty(), "nothing is appended after an error");
    }

    #[test]
    fn memory_is_zeroed_and_aligned() {
        let dir = folder();
        let output = SegmentOutput::open(dir.path(), 1).unwrap();
        let at = output.zeroed(10_000).unwrap();
        assert_eq!(at as usize % 4096, 0);
        // SAFETY: `zeroed` returned this many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(at, 10_000) };
        assert!(bytes.iter().all(|&b| b == 0));
        assert_eq!(output.zeroed(usize::MAX / 2), None);
    }
}
