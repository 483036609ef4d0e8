//! The page through which a collector and its host watch each other while recording.
//!
//! The host makes the file, zeroed, and maps it; so does the collector. All fields are written by
//! the collector, but for those that say otherwise.

use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Release},
};

/// Value of [`RecordingControl::magic`] once a collector is attached.
pub const CONTROL_MAGIC: u64 = 0x524c_4354_524c_0001;
/// Bytes of the file.
pub const CONTROL_BYTES: usize = 4096;

/// Stage of a recording; the value of [`RecordingControl::state`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RecordingStage {
    /// No marker yet.
    Waiting = 0,
    /// The start marker ran; code is being translated anew.
    Starting = 1,
    /// The window is open.
    Recording = 2,
    /// The window is closed.
    Closed = 3,
    /// The collector had to stop: see [`RecordingControl::error`].
    Failed = 4,
    /// All is appended.
    Finished = 5,
    /// The start marker ran, and the guest waits there until [`RecordingControl::released`].
    Held = 6,
}

impl RecordingStage {
    /// The stage with this number; unknown numbers count as failed.
    pub fn from_u32(n: u32) -> Self {
        match n {
            0 => Self::Waiting,
            1 => Self::Starting,
            2 => Self::Recording,
            3 => Self::Closed,
            5 => Self::Finished,
            6 => Self::Held,
            _ => Self::Failed,
        }
    }
}

/// Layout of the file. All-zero is a fresh one.
#[repr(C)]
pub struct RecordingControl {
    /// [`CONTROL_MAGIC`]
    pub magic: AtomicU64,
    /// A [`RecordingStage`].
    pub state: AtomicU32,
    /// `errno` of what failed, 0 if nothing did.
    pub error: AtomicU32,
    /// Accesses seen, brought up to date now and then.
    pub accesses: AtomicU64,
    /// Transfers seen, likewise.
    pub transfers: AtomicU64,
    /// Operations marked by the workload.
    pub operations: AtomicU64,
    /// Wall time of the window; set when it closes.
    pub window_wall_ns: AtomicU64,
    /// CPU time of the process in the window; set when it closes.
    pub window_cpu_ns: AtomicU64,
    /// Process that is recorded; 0 until one is. Whoever changes it from 0 is. Programs only.
    pub process: AtomicU32,
    /// Processes that found it taken, forked children among them. Programs only.
    pub others: AtomicU32,
    /// Written by the host: 1 while accesses are not to be watched (between slices). Programs only.
    pub paused: AtomicU32,
    /// Written by the collector: 1 while it does not watch for a reason of its own (the program
    /// said when to start, or the recording is being closed). Beside `paused`, so that one load
    /// tells both. Programs only.
    pub stopped: AtomicU32,
    /// Threads that there was no context for. Programs only.
    pub threads_lost: AtomicU32,
    /// Number of interruptions, counted by the process that sets `paused` or `stopped`. Programs
    /// only.
    pub pauses: AtomicU32,
    /// Written by the host: 1 if the processes that come after the first are recorded, too. Each of
    /// them has a folder with a page of its own. First page only.
    pub follows: AtomicU32,
    /// Number of the last further process; they count from 1, which is the number of the folder
    /// (see [`FOLLOWED_FOLDER`]). First page only.
    pub followed: AtomicU32,
    /// Further processes whose folders are there, at most [`FOLLOWED_MAX`]. The host subtracts those
    /// that it has removed. First page only.
    pub folders: AtomicU32,
    /// Process that forked this one, or ran its program. Programs only.
    pub parent: AtomicU32,
    /// Signal that ended the process; 0 if it ended otherwise, or before its collector could tell.
    pub signal: AtomicU32,
    /// Writable mappings that the process can share with others (`MAP_SHARED`). Programs only.
    pub shared_mappings: AtomicU32,
    /// Time on the clock since boot at which the process attached itself, so that a later process
    /// with its number is not taken for it. Programs only.
    pub attached_ns: AtomicU64,
    /// Limit of the process's memory in bytes, if it has one of [`MemoryLimitKind`]. Programs only.
    pub memory_limit: AtomicU64,
    /// A [`MemoryLimitKind`]; 0 without a limit. Programs only.
    pub memory_limit_kind: AtomicU32,
    /// 1 if the collector's own memory counts in the limit. Programs only.
    pub memory_limit_shared: AtomicU32,
    /// A [`TakeOverStage`]. Guests in simulated time only.
    pub take_over: AtomicU32,
    /// Written by the host: 1 when the guest may leave its start marker. Machines only.
    pub released: AtomicU32,
}

/// Way of a restored guest into simulated time; the value of [`RecordingControl::take_over`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TakeOverStage {
    /// QEMU still loads the guest.
    Loading = 0,
    /// Written by the host: the guest is loaded and stopped.
    Requested = 1,
    /// Written by the collector: the guest's clocks are the machine's, and it may start.
    Done = 2,
}

impl RecordingControl {
    /// Returns how far the guest is on its way into simulated time.
    pub fn take_over(&self) -> TakeOverStage {
        match self.take_over.load(Acquire) {
            0 => TakeOverStage::Loading,
            1 => TakeOverStage::Requested,
            _ => TakeOverStage::Done,
        }
    }

    /// Sets it.
    pub fn set_take_over(&self, stage: TakeOverStage) {
        self.take_over.store(stage as u32, Release);
    }
}

/// Limit of a process's memory; the value of [`RecordingControl::memory_limit_kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MemoryLimitKind {
    /// `RLIMIT_AS`.
    AddressSpace = 1,
    /// `RLIMIT_DATA`.
    Data = 2,
}

impl MemoryLimitKind {
    /// The limit with this number, if there is one.
    pub fn from_u32(n: u32) -> Option<Self> {
        match n {
            1 => Some(Self::AddressSpace),
            2 => Some(Self::Data),
            _ => None,
        }
    }
}

/// Folders of further processes that are there at the same time, at most.
pub const FOLLOWED_MAX: u32 = 512;
/// Folder of a further process, within that of the recording, before its number.
pub const FOLLOWED_FOLDER: &str = "process-";
const _: () = assert!(size_of::<RecordingControl>() <= CONTROL_BYTES);
const _: () = {
    let paused = core::mem::offset_of!(RecordingControl, paused);
    assert!(paused % 8 == 0 && core::mem::offset_of!(RecordingControl, stopped) == paused + 4);
};
