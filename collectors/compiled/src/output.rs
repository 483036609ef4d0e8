//! Recording folder: segment files, the `map` file, and the control page.
//!
//! All files are opened at the start, since the program may drop its privileges later. Their
//! descriptors get high numbers. A program may close descriptors that it does not know and get the
//! same numbers for files of its own, so each descriptor is verified before a write.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::*};

use relayout_shadow::control::{CONTROL_BYTES, RecordingControl, RecordingStage};
use relayout_shadow::wire::{SegmentHeader, as_header_bytes};
use relayout_shadow::{CONTEXTS_MAX, CollectorHost};

use crate::gate::{PAGE, control};
use crate::sys::{self, SavedErrno};
use crate::text::FixedText;

/// Lowest number that descriptors are moved to, if possible.
const DESCRIPTOR_MIN: c_int = 512;

/// File of the folder.
struct OutputFile {
    descriptor: AtomicI32,
    inode: AtomicU64,
}

static SEGMENTS: [OutputFile; CONTEXTS_MAX] = [const {
    OutputFile {
        descriptor: AtomicI32::new(-1),
        inode: AtomicU64::new(0),
    }
}; CONTEXTS_MAX];
static MAP: OutputFile = OutputFile {
    descriptor: AtomicI32::new(-1),
    inode: AtomicU64::new(0),
};

/// Process whose recording the files belong to; 0 if none is recorded.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Makes the calling process the one that is recorded.
pub fn set_recorded_process() {
    PROCESS.store(sys::pid(), Release);
}

/// Returns true if the calling process is the recorded one. Asks the kernel, since a child made by
/// a raw system call has a copy of this memory.
pub fn is_recorded_process() -> bool {
    PROCESS.load(Relaxed) == sys::pid()
}

/// Path in the folder.
type Path = FixedText<4096>;

fn file_path(folder: &CStr, name: &[u8]) -> Option<Path> {
    let mut path = Path::new();
    path.push(folder.to_bytes());
    path.push(b"/");
    path.push(name);
    path.push(b"\0");
    (!path.is_cut()).then_some(path)
}

/// Reason for which a process is not recorded.
pub enum NotRecorded {
    /// Another process is recorded.
    Taken,
    /// A system call failed with this `errno`.
    Error(c_int),
}

/// Claims the recording for this process, and maps its control page over the runtime's own, with
/// the gate shut.
pub fn attach_control(folder: &CStr) -> Result<(), NotRecorded> {
    use NotRecorded::Error;
    let path = file_path(folder, b"control").ok_or(Error(libc::ENAMETOOLONG))?;
    // SAFETY: the path ends in NUL, and `stat` is ours.
    unsafe {
        let flags = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let file = libc::open(path.bytes().as_ptr().cast(), flags);
        if file < 0 {
            return Err(Error(sys::errno()));
        }
        let mut stat = std::mem::zeroed::<libc::stat>();
        let sound = libc::fstat(file, &mut stat) == 0 && stat.st_size >= CONTROL_BYTES as i64;
        let claimed = if sound {
            claim_control(file)
        } else {
            Err(Error(libc::EINVAL))
        };
        libc::close(file);
        claimed
    }
}

unsafe fn claim_control(file: c_int) -> Result<(), NotRecorded> {
    let map = |at: *const c_void, flags: c_int| {
        // SAFETY: MAP_FIXED is used only over the runtime's own page.
        unsafe { sys::map(at, CONTROL_BYTES, libc::MAP_SHARED | flags, file) }
            .map_err(NotRecorded::Error)
    };
    let elsewhere = map(std::ptr::null(), 0)?;
    // SAFETY: a mapping of the control file; all fields are atomics.
    let control = unsafe { &*elsewhere.cast::<RecordingControl>() };
    let is_ours = control
        .process
        .compare_exchange(0, sys::pid(), AcqRel, Relaxed)
        .is_ok();
    let claimed = if is_ours {
        control.stopped.store(1, SeqCst);
        map((&raw const PAGE).cast(), libc::MAP_FIXED).map(drop)
    } else {
        control.others.fetch_add(1, AcqRel);
        Err(NotRecorded::Taken)
    };
    // SAFETY: nothing refers to the mapping any more.
    unsafe { sys::unmap(elsewhere, CONTROL_BYTES) };
    claimed
}

/// Creates the files.
///
/// # Errors
/// The `errno` of the first file that cannot be created.
pub fn create_files(folder: &CStr) -> Result<(), c_int> {
    create_file(&MAP, folder, b"map")?;
    for (n, output) in SEGMENTS.iter().enumerate() {
        let mut name = FixedText::<32>::new();
        name.push(b"ctx-");
        name.push_decimal(n as u64);
        name.push(b".seg");
        create_file(output, folder, name.bytes())?;
    }
    Ok(())
}

fn create_file(output: &OutputFile, folder: &CStr, name: &[u8]) -> Result<(), c_int> {
    let path = file_path(folder, name).ok_or(libc::ENAMETOOLONG)?;
    // SAFETY: the path ends in NUL; descriptors are ours.
    unsafe {
        let flags =
            libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        let low = libc::open(path.bytes().as_ptr().cast(), flags, 0o600);
        if low < 0 {
            return Err(sys::errno());
        }
        let mut file = libc::fcntl(low, libc::F_DUPFD_CLOEXEC, DESCRIPTOR_MIN);
        if file < 0 {
            file = low;
        } else {
            libc::close(low);
        }
        let inode = inode(file).ok_or(libc::EBADF)?;
        output.inode.store(inode, Relaxed);
        output.descriptor.store(file, Release);
    }
    Ok(())
}

/// Returns a number for the file behind a descriptor, of its device and inode.
fn inode(file: c_int) -> Option<u64> {
    // SAFETY: `stat` is ours.
    unsafe {
        let mut stat = std::mem::zeroed::<libc::stat>();
        (libc::fstat(file, &mut stat) == 0).then(|| stat.st_ino ^ stat.st_dev.rotate_left(32))
    }
}

/// Appends a line to the `map` file, with a final newline.
pub fn append_line(line: &mut FixedText<4400>) {
    line.push(b"\n");
    if line.is_cut() {
        return;
    }
    let _errno = SavedErrno::save();
    append_to(&MAP, line.bytes(), &[]);
}

/// Appends both parts, or stops the recording.
fn append_to(output: &OutputFile, head: &[u8], payload: &[u8]) {
    if control().error.load(Relaxed) != 0 || !is_recorded_process() {
        return;
    }
    let file = output.descriptor.load(Acquire);
    if inode(file) != Some(output.inode.load(Relaxed)) {
        return fail_recording(libc::EBADF);
    }
    if let Err(error) = write_all(file, head, payload) {
        fail_recording(error);
    }
}

fn write_all(file: c_int, head: &[u8], payload: &[u8]) -> Result<(), c_int> {
    let total = head.len() + payload.len();
    let mut done = 0;
    while done < total {
        let (a, b) = match done.checked_sub(head.len()) {
            None => (&head[done..], payload),
            Some(done) => (&payload[done..], &[][..]),
        };
        let parts = [a, b].map(|part| libc::iovec {
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len(),
        });
        // SAFETY: the parts are ours, and only read.
        let written = unsafe { libc::syscall(libc::SYS_writev, file, parts.as_ptr(), 2) };
        match written {
            -1 if sys::errno() == libc::EINTR => {}
            -1 => return Err(sys::errno()),
            0 => return Err(libc::EIO),
            n => done += n as usize,
        }
    }
    Ok(())
}

/// Stops the recording because of an error of the system.
pub fn fail_recording(errno: c_int) {
    let control = control();
    let _ = control
        .error
        .compare_exchange(0, errno as u32, AcqRel, Relaxed);
    control.state.store(RecordingStage::Failed as u32, Release);
    control.stopped.store(1, Release);
}

/// Host interface of the shadow: memory and files of this process.
pub struct RtHost;

impl CollectorHost for RtHost {
    fn zeroed(&self, bytes: usize) -> Option<*mut u8> {
        let _errno = SavedErrno::save();
        crate::memory::zeroed(bytes)
    }

    fn append(&self, context: u8, header: &SegmentHeader, payload: &[u8]) {
        let _errno = SavedErrno::save();
        if let Some(output) = SEGMENTS.get(usize::from(context)) {
            append_to(output, as_header_bytes(header), payload);
        }
    }

    fn relax(&self) {
        sys::relax();
    }
}
