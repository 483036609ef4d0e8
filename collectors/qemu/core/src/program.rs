//! A program that QEMU runs by itself, without a machine around it: its threads, modules, forks and
//! end.
//!
//! The plugin appends a line about each to the file `map` of the recording folder, by one
//! `write(2)` per line; `docs/profile-format.md` describes the lines.

pub mod modules;
pub mod pending;
pub mod threads;

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use relayout_shadow::CONTEXTS_MAX;
use relayout_shadow::control::RecordingControl;

use self::modules::{ElfModule, ProcessMappings};
use self::pending::PendingCall;
use self::threads::ThreadTable;
use crate::append::AppendFile;
use crate::output::SegmentOutput;
use crate::{api, cpu};

/// Longest wait for threads that are within a callback.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

/// Recorded program, with its threads and modules so far.
pub struct RecordedProgram {
    map: AppendFile,
    pub control: &'static RecordingControl,
    /// Mappings of QEMU itself, from before it loaded the program.
    before: ProcessMappings,
    begun: AtomicBool,
    state: Mutex<ProgramState>,
}

#[derive(Default)]
pub struct ProgramState {
    pub threads: ThreadTable,
    /// System calls that have not returned yet, by vCPU.
    pub calls: HashMap<usize, PendingCall>,
    pub modules: Vec<ElfModule>,
}

impl RecordedProgram {
    /// Claims the recording for this process.
    pub fn claim(dir: &Path, control: &'static RecordingControl) -> Result<Self, String> {
        let own = std::process::id();
        if let Err(other) = control.process.compare_exchange(0, own, AcqRel, Acquire) {
            control.others.fetch_add(1, Relaxed);
            return Err(format!("process {other} is recorded already"));
        }
        register_barrier();
        Ok(Self {
            map: AppendFile::guarded(dir.join("map")),
            control,
            before: ProcessMappings::read(),
            begun: AtomicBool::new(false),
            state: Mutex::default(),
        })
    }

    /// Lists the modules of the program before its first block, which holds `pc`, runs. Later calls
    /// do nothing.
    pub fn list_first_modules(&self, pc: u64, host: &SegmentOutput) {
        if self.begun.load(Relaxed) || self.begun.swap(true, AcqRel) {
            return;
        }
        name_thread();
        let now = ProcessMappings::read();
        // If QEMU had to move the program to other addresses, the interface does not say by how
        // much.
        if !now.has_file_at(pc) {
            host.fail(&std::io::Error::from_raw_os_error(libc::EADDRNOTAVAIL));
            return;
        }
        let mut state = self.state();
        for mapping in now.files_not_in(&self.before) {
            if let Some(module) =
                ElfModule::read_mapped(&mapping.path, mapping.start, mapping.offset, false)
            {
                self.add_module(&mut state, module, host);
            }
        }
    }

    /// Adds a module and appends its line, unless it was added before.
    pub fn add_module(&self, state: &mut ProgramState, module: ElfModule, host: &SegmentOutput) {
        if !state.modules.contains(&module) {
            self.append_map_line(module.map_line(), host);
            state.modules.push(module);
        }
    }

    /// Appends a line to the map.
    pub fn append_map_line(&self, mut line: Vec<u8>, host: &SegmentOutput) {
        line.push(b'\n');
        if let Err(error) = self.map.append(&line, &[]) {
            host.fail(&error);
        }
    }

    pub fn state(&self) -> MutexGuard<'_, ProgramState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a child of the program, which is not recorded.
    pub fn count_child(&self) {
        self.control.others.fetch_add(1, Relaxed);
    }

    /// Appends the lines of the threads that have not ended.
    pub fn finish(&self, host: &SegmentOutput) {
        let lines = self.state().threads.end_all();
        for line in lines {
            self.append_map_line(line, host);
        }
    }

    /// Waits until no other thread is within a callback. The window must be closed, so that none
    /// enters another.
    ///
    /// A thread raises its flag and then reads whether the window is open. A memory barrier in
    /// between would cost more than the rest of the callback, so this thread has the system run one
    /// in all threads.
    pub fn wait_for_others(&self) {
        barrier();
        let own = self.state().threads.own_context();
        let deadline = Instant::now() + LEAVE_LIMIT;
        for n in (0..CONTEXTS_MAX).filter(|&n| Some(n) != own) {
            while cpu::is_inside(n) && Instant::now() < deadline {
                std::thread::yield_now();
            }
        }
    }
}

/// Gives QEMU's main thread, and so the threads that it starts, the program's name instead of
/// QEMU's.
fn name_thread() {
    type PathToBinary = unsafe extern "C" fn() -> *const c_char;
    let Some(found) = api::find_symbol(c"qemu_plugin_path_to_binary") else {
        return;
    };
    // SAFETY: the documented signature; it returns null or a string that is ours. The kernel cuts
    // long names.
    unsafe {
        let path = std::mem::transmute::<*mut libc::c_void, PathToBinary>(found)();
        if path.is_null() {
            return;
        }
        let bytes = CStr::from_ptr(path).to_bytes();
        let name = Path::new(std::ffi::OsStr::from_bytes(bytes)).file_name();
        if let Some(name) = name.and_then(|n| std::ffi::CString::new(n.as_bytes()).ok()) {
            libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        }
    }
}

const BARRIER_REGISTER: libc::c_int = 1 << 4;
const BARRIER: libc::c_int = 1 << 3;

fn register_barrier() {
    // SAFETY: a plain system call.
    unsafe { libc::syscall(libc::SYS_membarrier, BARRIER_REGISTER, 0, 0) };
}

/// Runs a memory barrier in all threads of this process. Sleeps for a moment where the system has
/// no such call.
fn barrier() {
    // SAFETY: a plain system call.
    if unsafe { libc::syscall(libc::SYS_membarrier, BARRIER, 0, 0) } != 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
}
