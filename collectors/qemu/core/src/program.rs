//! A program that QEMU runs by itself, without a machine around it: its threads, which come and go;
//! its modules; fork, exec and exit.
//!
//! What the plugin learns of it goes to the file `map` of the recording folder, a line each by one
//! `write(2)`: see `docs/profile-format.md` for what becomes of it.

mod fatal;
mod modules;
mod syscalls;
mod threads;

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
use self::syscalls::PendingCall;
use self::threads::ThreadTable;
use crate::append::AppendFile;
use crate::callbacks::forget_plugin;
use crate::output::SegmentOutput;
use crate::{api, cpu};

/// How long a thread may take to leave a callback before it is given up.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

/// The program and what is known of it.
pub struct RecordedProgram {
    map: AppendFile,
    control: &'static RecordingControl,
    /// QEMU's own mappings, from before it loaded the program.
    before: ProcessMappings,
    begun: AtomicBool,
    state: Mutex<ProgramState>,
}

#[derive(Default)]
struct ProgramState {
    threads: ThreadTable,
    /// System calls under way that matter, by vCPU.
    calls: HashMap<usize, PendingCall>,
    modules: Vec<ElfModule>,
}

impl RecordedProgram {
    /// Takes this process for the one that is recorded.
    pub fn claim(dir: &Path, control: &'static RecordingControl) -> Result<Self, String> {
        let own = std::process::id();
        if let Err(other) = control.process.compare_exchange(0, own, AcqRel, Acquire) {
            control.others.fetch_add(1, Relaxed);
            return Err(format!("process {other} is recorded already"));
        }
        register_barrier();
        fatal::intercept_kill();
        // SAFETY: a function of the right type that is safe in a forked child.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        Ok(Self {
            map: AppendFile::guarded(dir.join("map")),
            control,
            before: ProcessMappings::read(),
            begun: AtomicBool::new(false),
            state: Mutex::default(),
        })
    }

    /// The program is about to run: `pc` is in the first block that is translated.
    pub fn list_first_modules(&self, pc: u64, host: &SegmentOutput) {
        if self.begun.load(Relaxed) || self.begun.swap(true, AcqRel) {
            return;
        }
        name_thread();
        let now = ProcessMappings::read();
        // QEMU puts the program elsewhere than it believes to be only where it has to. Nothing in
        // the interface says by how much.
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

    /// Another module, unless it is known.
    fn add_module(&self, state: &mut ProgramState, module: ElfModule, host: &SegmentOutput) {
        if !state.modules.contains(&module) {
            self.append_map_line(module.map_line(), host);
            state.modules.push(module);
        }
    }

    /// Appends a line to the map.
    fn append_map_line(&self, mut line: Vec<u8>, host: &SegmentOutput) {
        line.push(b'\n');
        if let Err(error) = self.map.append(&line, &[]) {
            host.fail(&error);
        }
    }

    fn state(&self) -> MutexGuard<'_, ProgramState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down the threads that still run.
    pub fn finish(&self, host: &SegmentOutput) {
        let lines = self.state().threads.end_all();
        for line in lines {
            self.append_map_line(line, host);
        }
    }

    /// Returns when no other thread is within a callback. The window must be closed, so that none
    /// enters another.
    ///
    /// Threads raise a flag, then look whether the window is open; a barrier in between would cost
    /// more than the rest of the callback. So the one that waits has the system put one into all.
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

/// The main thread of QEMU has QEMU's name: gives it the program's, as it would have, and as the
/// threads that it starts will have.
fn name_thread() {
    type PathToBinary = unsafe extern "C" fn() -> *const c_char;
    let Some(found) = api::find_symbol(c"qemu_plugin_path_to_binary") else {
        return;
    };
    // SAFETY: the documented signature; it returns null or a string that is ours. The kernel cuts
    // names to what it takes.
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

/// The child of a fork has all that its parent had, files too, but is not recorded.
unsafe extern "C" fn in_child() {
    if let Some(program) = crate::callbacks::plugin().and_then(|p| p.program.as_ref()) {
        program.control.others.fetch_add(1, Relaxed);
    }
    forget_plugin();
}

const BARRIER_REGISTER: libc::c_int = 1 << 4;
const BARRIER: libc::c_int = 1 << 3;

fn register_barrier() {
    // SAFETY: a plain system call.
    unsafe { libc::syscall(libc::SYS_membarrier, BARRIER_REGISTER, 0, 0) };
}

/// A memory barrier in all threads of this process. Where the system has none, all are given a
/// moment.
fn barrier() {
    // SAFETY: a plain system call.
    if unsafe { libc::syscall(libc::SYS_membarrier, BARRIER, 0, 0) } != 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
}
