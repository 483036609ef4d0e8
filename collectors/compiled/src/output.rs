//! Recording folder: segment files, the `map` file, and the control page.
//!
//! The first process opens all files at the start, since the program may drop its privileges later.
//! A further process (a forked child, or a program that was executed) has a folder of its own within
//! the recording folder, and makes most of its files as it needs them. Descriptors get high numbers. A
//! program may close descriptors that it does not know, as daemons do, and get the same numbers for
//! files of its own. So each descriptor is verified before a write, and opened again if it is gone.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use relayout_shadow::control::{
    CONTROL_BYTES, FOLLOWED_FOLDER, FOLLOWED_MAX, RecordingControl, RecordingStage,
};
use relayout_shadow::wire::{SegmentHeader, as_header_bytes};
use relayout_shadow::{CONTEXTS_MAX, CollectorHost, FRESH_CONTEXTS};

use crate::gate::{PAGE, control};
use crate::sys::{self, SavedErrno};
use crate::text::FixedText;

/// Lowest number that descriptors are moved to, if possible.
const DESCRIPTOR_MIN: c_int = 512;

/// Milliseconds between two attempts of a further process to take a folder.
const FOLDER_WAIT_MS: u32 = 20;
/// Number of these attempts.
const FOLDER_WAITS_MAX: u32 = 50;

/// File of the folder.
struct OutputFile {
    /// -1 while the file is not open.
    descriptor: AtomicI32,
    /// Number of the file, once it was made; see [`inode`].
    inode: AtomicU64,
}

impl OutputFile {
    const fn closed() -> Self {
        Self {
            descriptor: AtomicI32::new(-1),
            inode: AtomicU64::new(0),
        }
    }
}

static SEGMENTS: [OutputFile; CONTEXTS_MAX] = [const { OutputFile::closed() }; CONTEXTS_MAX];
static MAP: OutputFile = OutputFile::closed();

/// Process whose recording the files belong to; 0 if none is recorded.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Number of this process's folder among the further processes; 0: the first process, whose files
/// are in the recording folder itself.
static FOLDER_NUMBER: AtomicU32 = AtomicU32::new(0);
/// Control page of the first process, by which further ones get their numbers.
static FIRST_CONTROL: AtomicPtr<RecordingControl> = AtomicPtr::new(null_mut());

/// Returns true if the calling process is the recorded one. Asks the kernel, since a child made by
/// a raw system call has a copy of this memory.
pub fn is_recorded_process() -> bool {
    PROCESS.load(Relaxed) == sys::pid()
}

/// Path in the folder.
type Path = FixedText<4096>;

/// A path in memory of its own: a thread that begins may have a stack of a few pages.
struct MappedPath(*mut Path);

impl MappedPath {
    /// An empty path; `None` if there is no memory.
    fn new() -> Option<Self> {
        // Zeroed memory is an empty text.
        Some(Self(sys::zeroed(size_of::<Path>())?.cast()))
    }
}

impl std::ops::Deref for MappedPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        // SAFETY: mapped, of that size, and this value's own.
        unsafe { &*self.0 }
    }
}

impl std::ops::DerefMut for MappedPath {
    fn deref_mut(&mut self) -> &mut Path {
        // SAFETY: as above.
        unsafe { &mut *self.0 }
    }
}

impl Drop for MappedPath {
    fn drop(&mut self) {
        // SAFETY: this value's own, which nothing uses any more.
        unsafe { sys::unmap(self.0.cast(), size_of::<Path>()) };
    }
}

struct FolderPath(UnsafeCell<Option<Path>>);

// SAFETY: written by the thread that starts the recording, before there is another one.
unsafe impl Sync for FolderPath {}

/// The recording folder, which the environment names; the program may change that.
static FOLDER: FolderPath = FolderPath(UnsafeCell::new(None));

/// Returns the path of a file of this process.
///
/// # Errors
/// The path is too long, or there is no memory.
fn file_path(name: &[u8]) -> Result<MappedPath, c_int> {
    let mut path = folder_path()?;
    path.push(b"/");
    path.push(name);
    path.push(b"\0");
    match path.is_cut() {
        true => Err(libc::ENAMETOOLONG),
        false => Ok(path),
    }
}

/// Returns the folder of this process.
fn folder_path() -> Result<MappedPath, c_int> {
    let mut path = MappedPath::new().ok_or(libc::ENOMEM)?;
    // SAFETY: written before any other use.
    let folder = unsafe { (*FOLDER.0.get()).as_ref() };
    path.push(folder.ok_or(libc::ENOENT)?.bytes());
    let number = FOLDER_NUMBER.load(Relaxed);
    if number != 0 {
        path.push(b"/");
        path.push(FOLLOWED_FOLDER.as_bytes());
        path.push_decimal(number.into());
    }
    Ok(path)
}

/// Reason for which a process is not recorded.
pub enum NotRecorded {
    /// Another process is recorded, and no further ones are.
    Taken,
    /// A system call failed with this `errno`.
    Error(c_int),
}

/// Claims a recording for this process, the first or a further one, and maps its control page over
/// the runtime's own, with the gate shut.
pub fn attach_control(folder: &CStr) -> Result<(), NotRecorded> {
    let mut path = Path::new();
    path.push(folder.to_bytes());
    // SAFETY: called once, before any other use.
    unsafe { *FOLDER.0.get() = Some(path) };
    let first = map_first_control()?;
    FIRST_CONTROL.store(std::ptr::from_ref(first).cast_mut(), Release);
    let is_first = first
        .process
        .compare_exchange(0, sys::pid(), AcqRel, Relaxed)
        .is_ok();
    if is_first {
        open_page(c"control", libc::O_RDWR).map_err(NotRecorded::Error)?;
    } else {
        claim_folder()?;
    }
    set_process(is_first);
    Ok(())
}

fn map_first_control() -> Result<&'static RecordingControl, NotRecorded> {
    let file = open_in_folder(c"control", libc::O_RDWR).map_err(NotRecorded::Error)?;
    // SAFETY: `stat` is ours; a new mapping; the descriptor is ours.
    let mapped = unsafe {
        let mut stat = std::mem::zeroed::<libc::stat>();
        let sound = libc::fstat(file, &mut stat) == 0 && stat.st_size >= CONTROL_BYTES as i64;
        let mapped = if sound {
            sys::map(null(), CONTROL_BYTES, libc::MAP_SHARED, file)
        } else {
            Err(libc::EINVAL)
        };
        libc::close(file);
        mapped
    };
    // SAFETY: a mapping of the control file, never unmapped; all fields are atomics.
    mapped
        .map(|at| unsafe { &*at.cast::<RecordingControl>() })
        .map_err(NotRecorded::Error)
}

/// Gives this process a folder of its own, with a control page in it, if further processes are
/// recorded. Otherwise counts it.
fn claim_folder() -> Result<(), NotRecorded> {
    // SAFETY: null, or a mapping that stays.
    let Some(first) = (unsafe { FIRST_CONTROL.load(Acquire).as_ref() }) else {
        return Err(NotRecorded::Taken);
    };
    if first.follows.load(Acquire) == 0 {
        first.others.fetch_add(1, AcqRel);
        return Err(NotRecorded::Taken);
    }
    if take_folder(first) {
        let number = first.followed.fetch_add(1, AcqRel) + 1;
        FOLDER_NUMBER.store(number, Relaxed);
        match make_folder() {
            Ok(()) => return Ok(()),
            Err(errno) => {
                first.folders.fetch_sub(1, AcqRel);
                first.others.fetch_add(1, AcqRel);
                return Err(NotRecorded::Error(errno));
            }
        }
    }
    first.others.fetch_add(1, AcqRel);
    Err(NotRecorded::Taken)
}

/// Takes one of the folders that may be there at a time. On a busy machine, the host needs a moment to
/// remove those of ended processes.
fn take_folder(first: &RecordingControl) -> bool {
    let more = |folders: u32| (folders < FOLLOWED_MAX).then_some(folders + 1);
    (0..FOLDER_WAITS_MAX).any(|wait| {
        if wait > 0 {
            sys::sleep_ms(FOLDER_WAIT_MS);
        }
        first.folders.fetch_update(AcqRel, Acquire, more).is_ok()
    })
}

fn make_folder() -> Result<(), c_int> {
    let mut path = folder_path()?;
    path.push(b"\0");
    if path.is_cut() {
        return Err(libc::ENAMETOOLONG);
    }
    // SAFETY: the path ends in NUL.
    if unsafe { libc::mkdir(path.bytes().as_ptr().cast(), 0o700) } != 0 {
        return Err(sys::errno());
    }
    open_page(c"control", libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)
}

/// Maps the control page of this process over the runtime's own, with the gate shut.
fn open_page(name: &CStr, flags: c_int) -> Result<(), c_int> {
    let paused = control_of_parent().map_or(0, |control| control.paused.load(Relaxed));
    let file = open_in_folder(name, flags)?;
    // SAFETY: the descriptor is ours. The pages are allocated, so that a full disk is an error here
    // and not a signal later. MAP_FIXED is used only over the runtime's own page.
    unsafe {
        let allocated = match flags & libc::O_CREAT {
            0 => 0,
            _ => libc::posix_fallocate(file, 0, CONTROL_BYTES as i64),
        };
        let mapped = match allocated {
            0 => map_page(file, paused),
            errno => Err(errno),
        };
        libc::close(file);
        mapped
    }
}

unsafe fn map_page(file: c_int, paused: u32) -> Result<(), c_int> {
    // SAFETY: a new mapping.
    let elsewhere = unsafe { sys::map(null(), CONTROL_BYTES, libc::MAP_SHARED, file) }?;
    // SAFETY: a mapping of the control file; all fields are atomics.
    let page = unsafe { &*elsewhere.cast::<RecordingControl>() };
    page.stopped.store(1, SeqCst);
    if FOLDER_NUMBER.load(Relaxed) != 0 {
        page.paused.store(paused, SeqCst);
    }
    // SAFETY: the runtime's own page is replaced; then nothing refers to the other mapping.
    unsafe {
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let mapped = sys::map(
            (&raw const PAGE).cast::<c_void>(),
            CONTROL_BYTES,
            flags,
            file,
        );
        libc::syscall(libc::SYS_munmap, elsewhere, CONTROL_BYTES);
        mapped.map(drop)
    }
}

/// The page whose `paused` holds for all processes.
fn control_of_parent() -> Option<&'static RecordingControl> {
    // SAFETY: null, or a mapping that stays.
    unsafe { FIRST_CONTROL.load(Acquire).as_ref() }
}

/// Makes the calling process the one that the page, the folder and the descriptors belong to.
fn set_process(is_first: bool) {
    let control = control();
    control.attached_ns.store(sys::boot_ns(), Release);
    // The parent of a forked child may have ended. Its number is still here.
    let parent = match PROCESS.load(Relaxed) {
        0 => sys::parent_pid(),
        forked => forked,
    };
    control.parent.store(parent, Release);
    PROCESS.store(sys::pid(), Release);
    if !is_first {
        control.process.store(sys::pid(), Release);
    }
}

/// Gives a forked child, in which one thread runs, a folder of its own. The parent's files stay the
/// parent's.
pub fn attach_child() -> Result<(), NotRecorded> {
    for output in SEGMENTS.iter().chain([&MAP]) {
        let file = output.descriptor.swap(-1, AcqRel);
        if file >= 0 && inode(file) == Some(output.inode.load(Relaxed)) {
            // SAFETY: the descriptor is ours.
            unsafe { libc::close(file) };
        }
        output.inode.store(0, Relaxed);
    }
    claim_folder()?;
    set_process(false);
    create_files().map_err(NotRecorded::Error)
}

/// Returns true if the program makes so many processes that each has to do with little memory.
pub fn is_crowded() -> bool {
    /// Processes whose shadows have huge pages.
    const ROOMY_MAX: u32 = 16;
    FOLDER_NUMBER.load(Relaxed) > ROOMY_MAX
}

fn open_in_folder(name: &CStr, flags: c_int) -> Result<c_int, c_int> {
    let path = file_path(name.to_bytes())?;
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the path ends in NUL.
    match unsafe { libc::open(path.bytes().as_ptr().cast(), flags, 0o600) } {
        -1 => Err(sys::errno()),
        file => Ok(file),
    }
}

/// Creates the files of the first process, and the first ones of any that may drop its privileges
/// later. Other processes, of which there may be many, make files as they need them.
///
/// # Errors
/// The `errno` of the first file that cannot be created.
pub fn create_files() -> Result<(), c_int> {
    /// Contexts of a further process that runs as the superuser.
    const PRIVILEGED: usize = 8;
    // SAFETY: no arguments.
    let contexts = match (FOLDER_NUMBER.load(Relaxed), unsafe { libc::geteuid() }) {
        (0, _) => FRESH_CONTEXTS,
        (_, 0) => PRIVILEGED,
        _ => return Ok(()),
    };
    open_file(&MAP, None)?;
    for (n, output) in SEGMENTS.iter().enumerate().take(contexts) {
        open_file(output, Some(n as u16))?;
    }
    Ok(())
}

/// Creates the segments of a context that begins, so that they exist even if nothing is appended.
/// False if they cannot be made: the process may have dropped its privileges.
pub fn begin_context(context: u16) -> bool {
    let output = &SEGMENTS[usize::from(context)];
    output.descriptor.load(Acquire) >= 0 || open_file(output, Some(context)).is_ok()
}

/// Opens the segments of a context, or the map, and creates the file if this is the first time.
/// Returns its descriptor.
fn open_file(output: &OutputFile, context: Option<u16>) -> Result<c_int, c_int> {
    let mut name = FixedText::<32>::new();
    match context {
        Some(context) => {
            name.push(b"ctx-");
            name.push_decimal(context.into());
            name.push(b".seg");
        }
        None => name.push(b"map"),
    }
    name.push(b"\0");
    let name = CStr::from_bytes_until_nul(name.bytes()).map_err(|_| libc::EINVAL)?;
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT;
    let low = open_in_folder(name, flags)?;
    // SAFETY: descriptors are ours.
    let file = unsafe {
        match libc::fcntl(low, libc::F_DUPFD_CLOEXEC, DESCRIPTOR_MIN) {
            -1 => low,
            high => {
                libc::close(low);
                high
            }
        }
    };
    let found = inode(file).ok_or(libc::EBADF)?;
    let known = output.inode.swap(found, Relaxed);
    if known != 0 && known != found {
        return Err(libc::ESTALE);
    }
    output.descriptor.store(file, Release);
    Ok(file)
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
    append_to(&MAP, None, line.bytes(), &[]);
}

/// Appends both parts to the segments of a context, or to the map, or stops the recording.
fn append_to(output: &OutputFile, context: Option<u16>, head: &[u8], payload: &[u8]) {
    if control().error.load(Relaxed) != 0 || !is_recorded_process() {
        return;
    }
    let file = output.descriptor.load(Acquire);
    let is_ours = file >= 0 && inode(file) == Some(output.inode.load(Relaxed));
    let opened = match is_ours {
        true => Ok(file),
        false => open_file(output, context),
    };
    if let Err(errno) = opened.and_then(|file| write_all(file, head, payload)) {
        fail_recording(errno);
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

    fn append(&self, context: u16, header: &SegmentHeader, payload: &[u8]) {
        let _errno = SavedErrno::save();
        if let Some(output) = SEGMENTS.get(usize::from(context)) {
            append_to(output, Some(context), as_header_bytes(header), payload);
        }
    }

    fn relax(&self) {
        sys::relax();
    }
}
