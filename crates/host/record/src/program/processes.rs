//! Processes of a recording: the first one, and those that it forked or executed.
//!
//! Each further process has a folder of its own, with a control page. A process between whose
//! threads nothing moved leaves only its number: a shell that starts ten thousand programs fills
//! neither the disk nor the profile.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::Ordering::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memmap2::{MmapMut, MmapOptions};
use relayout_shadow::control::{CONTROL_BYTES, FOLLOWED_FOLDER, RecordingControl, RecordingStage};

use super::launch::{is_running, is_same_process, process_group, signal_process};
use super::window_cpu::{WindowCpu, is_window_open};
use crate::workspace::RecordingWorkspace;

/// Further process of a recording.
pub struct FollowedProcess {
    pub dir: PathBuf,
    page: MmapMut,
    cpu: WindowCpu,
    /// Its end, if it was this process's to wait for.
    pub status: Option<ExitStatus>,
    has_ended: bool,
    /// Its folder was removed: nothing moved between its threads.
    is_dropped: bool,
}

impl FollowedProcess {
    fn open(dir: PathBuf) -> Option<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .open(dir.join("control"))
            .ok()?;
        // It grows to its size at once, before the process maps it.
        if file.metadata().ok()?.len() < CONTROL_BYTES as u64 {
            return None;
        }
        // SAFETY: the file is private to this recording, and nobody truncates it.
        let page = unsafe { MmapOptions::new().len(CONTROL_BYTES).map_mut(&file) }.ok()?;
        let process = Self {
            dir,
            page,
            cpu: WindowCpu::default(),
            status: None,
            has_ended: false,
            is_dropped: false,
        };
        (process.control().process.load(Acquire) != 0).then_some(process)
    }

    pub fn control(&self) -> &RecordingControl {
        control_of(&self.page)
    }

    pub fn id(&self) -> u32 {
        self.control().process.load(Acquire)
    }

    /// Returns true if the process still runs. Waits for it if it has become this process's child,
    /// as daemons do. The end of `program` is left to its owner.
    fn is_running(&mut self, program: u32) -> bool {
        if self.has_ended {
            return false;
        }
        let (id, attached_ns) = (self.id(), self.control().attached_ns.load(Acquire));
        if id != program {
            let mut status = 0;
            // SAFETY: the kernel writes to `status` only. Another process's child is left alone.
            let ended = unsafe { libc::waitpid(id as libc::pid_t, &mut status, libc::WNOHANG) };
            if ended == id as libc::pid_t {
                self.status = Some(ExitStatus::from_raw(status));
            }
        }
        self.has_ended = self.status.is_some() || !is_same_process(id, attached_ns);
        !self.has_ended
    }

    /// Removes the folder. Returns the program that the process executed at its end.
    fn drop_folder(&mut self) -> Option<String> {
        self.is_dropped = true;
        let map = fs::read(self.dir.join("map")).unwrap_or_default();
        let _ = fs::remove_dir_all(&self.dir);
        let last = map.trim_ascii_end().rsplit(|&byte| byte == b'\n').next()?;
        Some(String::from_utf8_lossy(last.strip_prefix(b"exec ")?).into_owned())
    }

    fn is_without_transfers(&self) -> bool {
        let control = self.control();
        let stage = RecordingStage::from_u32(control.state.load(Acquire));
        stage == RecordingStage::Finished && control.transfers.load(Acquire) == 0
    }
}

fn control_of(page: &MmapMut) -> &RecordingControl {
    // SAFETY: the mapping begins at a page and has the bytes of the control, all of whose fields are
    // atomics.
    unsafe { &*page.as_ptr().cast::<RecordingControl>() }
}

/// Further process between whose threads nothing moved.
pub struct DroppedProcess {
    pub id: u32,
    /// Program that it executed at its end.
    pub exec: Option<String>,
}

/// CPU time and accesses of the recorded processes, in their windows.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceUse {
    pub cpu: Duration,
    pub accesses: u64,
}

impl ResourceUse {
    fn add(&mut self, control: &RecordingControl, cpu: &mut WindowCpu) {
        self.cpu += Duration::from_nanos(cpu.read_ns(control));
        self.accesses += control.accesses.load(Relaxed);
    }
}

/// Further processes of a recording that is over.
pub struct EndedProcesses {
    /// Processes with transfers, in the order in which they came.
    pub kept: Vec<FollowedProcess>,
    /// Processes without, as far as they are kept in mind.
    pub dropped: Vec<DroppedProcess>,
    /// Number of processes without.
    pub without_transfers: u32,
}

/// Longest wait for a process whose parent has ended, and which has not attached itself. It may never
/// do so.
const ORPHAN_WAIT: Duration = Duration::from_secs(2);
/// Longest wait for a process that has taken a number.
const NUMBER_WAIT: Duration = Duration::from_secs(10);

/// Dropped processes that are kept in mind, at most; of more, only the number is known.
const DROPPED_MAX: usize = 1 << 16;

/// Table of the further processes of a recording.
pub struct ProcessTable<'w> {
    workspace: &'w RecordingWorkspace,
    /// Process that this one started, which may execute further programs itself.
    program: u32,
    rows: Mutex<ProcessRows>,
}

#[derive(Default)]
struct ProcessRows {
    processes: Vec<FollowedProcess>,
    /// Numbers up to this one were looked at.
    seen: u32,
    /// Numbers whose control pages were not there yet.
    awaited: Vec<u32>,
    without_transfers: u32,
    dropped: Vec<DroppedProcess>,
    first_cpu: WindowCpu,
    /// Sum of the processes that were dropped.
    dropped_use: ResourceUse,
}

impl<'w> ProcessTable<'w> {
    /// Makes the table of a recording of `program`, before there are further processes.
    pub fn new(workspace: &'w RecordingWorkspace, program: u32) -> Self {
        Self {
            workspace,
            program,
            rows: Mutex::default(),
        }
    }

    fn rows(&self) -> MutexGuard<'_, ProcessRows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds processes that came, and drops those without transfers.
    pub fn update(&self) {
        let first = self.workspace.control();
        let mut rows = self.rows();
        let followed = first.followed.load(Acquire);
        let fresh = rows.seen + 1..=followed;
        rows.seen = followed;
        let awaited = std::mem::take(&mut rows.awaited);
        for number in awaited.into_iter().chain(fresh) {
            let name = format!("{FOLLOWED_FOLDER}{number}");
            match FollowedProcess::open(self.workspace.file_path(&name)) {
                Some(process) => rows.processes.push(process),
                None => rows.awaited.push(number),
            }
        }
        let rows = &mut *rows;
        for process in &mut rows.processes {
            if !process.is_dropped && process.is_without_transfers() {
                rows.dropped_use
                    .add(control_of(&process.page), &mut process.cpu);
                let exec = process.drop_folder();
                rows.without_transfers += 1;
                first.folders.fetch_sub(1, AcqRel);
                if rows.dropped.len() < DROPPED_MAX {
                    let id = process.id();
                    rows.dropped.push(DroppedProcess { id, exec });
                }
            }
        }
        // Who has ended and left nothing needs no row.
        rows.processes
            .retain_mut(|process| !process.is_dropped || process.is_running(self.program));
    }

    /// Returns true while one of them runs.
    pub fn is_any_running(&self) -> bool {
        self.update();
        let mut rows = self.rows();
        let mut processes = rows.processes.iter_mut();
        processes.any(|process| process.is_running(self.program))
    }

    /// Returns true if a process may still attach itself that was forked or started by one that has
    /// ended, since nothing has run for `quiet`.
    pub fn is_any_expected(&self, quiet: Duration) -> bool {
        if self.workspace.control().follows.load(Acquire) == 0 {
            return false;
        }
        match self.rows().awaited.is_empty() {
            true => quiet < ORPHAN_WAIT && has_orphans(self.program),
            // It has its number, and makes its folder.
            false => quiet < NUMBER_WAIT,
        }
    }

    /// Sends a signal to all that run; if the terminal has sent it to its foreground group already,
    /// only to those in other groups, where daemons are.
    pub fn send_signal(&self, signal: i32, is_from_terminal: bool) {
        let own_group = process_group(0);
        for process in &mut self.rows().processes {
            let reached = is_from_terminal && process_group(process.id()) == own_group;
            if !reached && process.is_running(self.program) {
                signal_process(process.id(), signal);
            }
        }
    }

    /// Tells whether a process has begun to be recorded.
    pub fn has_first(&self) -> bool {
        self.workspace.control().process.load(Acquire) != 0
    }

    /// Interrupts the recording of all, or lets it go on.
    pub fn set_paused(&self, paused: bool) {
        let set = |control: &RecordingControl| {
            control.paused.store(paused.into(), Release);
            control.pauses.fetch_add(paused.into(), Release);
        };
        set(self.workspace.control());
        self.rows()
            .processes
            .iter()
            .map(FollowedProcess::control)
            .for_each(set);
    }

    /// Returns true while a process has its window open.
    pub fn is_any_window_open(&self) -> bool {
        let rows = self.rows();
        let mut further = rows.processes.iter().filter(|process| !process.has_ended);
        is_window_open(self.workspace.control())
            || further.any(|process| is_window_open(process.control()))
    }

    /// Returns the CPU time and the accesses of all processes so far.
    pub fn resource_use(&self) -> ResourceUse {
        let mut rows = self.rows();
        let rows = &mut *rows;
        let mut sum = rows.dropped_use;
        sum.add(self.workspace.control(), &mut rows.first_cpu);
        for process in rows.processes.iter_mut().filter(|row| !row.is_dropped) {
            sum.add(control_of(&process.page), &mut process.cpu);
        }
        sum
    }

    /// Returns the sums of accesses and transfers of all processes so far.
    pub fn progress(&self) -> (u64, u64) {
        let read = |control: &RecordingControl| {
            (
                control.accesses.load(Relaxed),
                control.transfers.load(Relaxed),
            )
        };
        let rows = self.rows();
        let further = rows.processes.iter().map(|process| read(process.control()));
        further.fold(read(self.workspace.control()), |sum, each| {
            (sum.0 + each.0, sum.1 + each.1)
        })
    }

    /// Returns the processes, all of which must have ended.
    pub fn into_ended(self) -> EndedProcesses {
        self.is_any_running();
        let rows = self
            .rows
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let kept = rows
            .processes
            .into_iter()
            .filter(|process| !process.is_dropped);
        EndedProcesses {
            kept: kept.collect(),
            dropped: rows.dropped,
            without_transfers: rows.without_transfers,
        }
    }
}

/// Returns true if a process other than `program` runs that has become this one's child.
fn has_orphans(program: u32) -> bool {
    let tasks = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let is_orphan = |id: &str| {
        let id = id.parse();
        id.is_ok_and(|id| id != program && is_running(id))
    };
    children
        .into_iter()
        .any(|list| list.split_whitespace().any(is_orphan))
}

/// Has further processes of the recording followed, from before the program starts.
pub fn follow_processes(workspace: &RecordingWorkspace) {
    workspace.control().follows.store(1, Release);
    // Orphans become children of this process, so that it learns how they end.
    // SAFETY: a plain system call.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}
