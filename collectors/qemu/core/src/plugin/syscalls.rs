//! System calls of a recorded program that load modules, start threads, or end the program.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use super::RecordingPlugin;
use crate::program::modules::ElfModule;
use crate::program::pending::PendingCall;
use crate::program::threads::{ThreadStart, own_tid};

/// Longest path that is read, in bytes.
const PATH_BYTES: usize = 4096;
/// `ARCH_SET_FS`
const SET_FS: u64 = 0x1002;

impl RecordingPlugin {
    /// Notes a system call that the program makes.
    pub fn system_call(&self, vcpu: usize, number: i64, arguments: [u64; 6]) {
        let Some(program) = &self.program else { return };
        let [a1, a2, a3, _, a5, a6] = arguments;
        let call = match number {
            libc::SYS_mmap if a3 & libc::PROT_EXEC as u64 != 0 => mapped_file(a5, a6),
            libc::SYS_clone if a1 & libc::CLONE_THREAD as u64 != 0 => {
                let tls = a1 & libc::CLONE_SETTLS as u64 != 0;
                Some(PendingCall::Thread(ThreadStart {
                    // The stack grows down from there.
                    stack: a2.saturating_sub(1),
                    pointer: if tls { a5 } else { 0 },
                }))
            }
            libc::SYS_arch_prctl if a1 == SET_FS => {
                self.update_thread_start(own_tid(), |start| start.pointer = a2);
                None
            }
            libc::SYS_execve => self.before_exec(libc::AT_FDCWD, a1, 0),
            libc::SYS_execveat => self.before_exec(a1 as i32, a2, a5 as i32),
            _ => None,
        };
        if let Some(call) = call {
            program.state().calls.insert(vcpu, call);
        }
    }

    /// Handles the return of a noted system call.
    pub fn system_call_returns(&self, vcpu: usize, number: i64, result: i64) {
        let Some(program) = &self.program else { return };
        if !matches!(number, libc::SYS_mmap | libc::SYS_clone) {
            return;
        }
        let Some(call) = program.state().calls.remove(&vcpu) else {
            return;
        };
        // Errors are small negative numbers.
        let Ok(result) = u64::try_from(result) else {
            return;
        };
        match call {
            PendingCall::Map { path, offset } => {
                if let Some(module) = ElfModule::read_mapped(&path, result, offset, true) {
                    program.add_module(&mut program.state(), module, &self.shadow.host);
                }
            }
            PendingCall::Thread(start) => {
                self.update_thread_start(result as u32, |known| *known = start)
            }
        }
    }

    /// Ends the recording before the program replaces itself, since QEMU does not run the new
    /// program. Calls that cannot succeed, such as those of a search along `$PATH`, are ignored.
    fn before_exec(&self, folder: i32, path: u64, flags: i32) -> Option<PendingCall> {
        let program = self.program.as_ref()?;
        let path = read_string(path)?;
        if is_program(folder, &path, flags) {
            let line = [b"exec ".as_slice(), path.to_bytes()].concat();
            program.append_map_line(line, &self.shadow.host);
            self.finish();
        }
        None
    }
}

/// Returns the call that maps the file of a descriptor. The program's descriptors are QEMU's.
fn mapped_file(descriptor: u64, offset: u64) -> Option<PendingCall> {
    let descriptor = descriptor as i32;
    if descriptor < 0 {
        return None;
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    path.as_os_str()
        .as_bytes()
        .starts_with(b"/")
        .then_some(PendingCall::Map { path, offset })
}

/// Reads a C string of the program. `None` if it is too long or not all readable.
fn read_string(at: u64) -> Option<CString> {
    let mut bytes = Vec::new();
    while bytes.len() < PATH_BYTES {
        // Page by page, since the page after the string may not be mapped.
        let from = at.checked_add(bytes.len() as u64)?;
        let mut part = vec![0; 4096 - from as usize % 4096];
        let got = read_memory(from, &mut part)?;
        if let Some(end) = part[..got].iter().position(|&b| b == 0) {
            bytes.extend_from_slice(&part[..end]);
            return CString::new(bytes).ok();
        }
        bytes.extend_from_slice(&part[..got]);
    }
    None
}

/// Reads memory of this process that may not be mapped. Returns the number of bytes read.
fn read_memory(at: u64, into: &mut [u8]) -> Option<usize> {
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let remote = libc::iovec {
        iov_base: at as usize as *mut _,
        iov_len: into.len(),
    };
    // SAFETY: the kernel checks both ranges.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    usize::try_from(read).ok().filter(|&n| n > 0)
}

/// Returns true if the path names a file that may be executed.
fn is_program(folder: i32, path: &CString, flags: i32) -> bool {
    let flags = flags & libc::AT_EMPTY_PATH;
    // SAFETY: the kernel reads the string and writes to `data`.
    unsafe {
        let mut data: libc::stat = std::mem::zeroed();
        libc::fstatat(folder, path.as_ptr(), &mut data, flags) == 0
            && data.st_mode & libc::S_IFMT == libc::S_IFREG
            && libc::faccessat(folder, path.as_ptr(), libc::X_OK, flags | libc::AT_EACCESS) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_strings_of_the_program() {
        let text = CString::new("a string").unwrap();
        assert_eq!(read_string(text.as_ptr() as u64), Some(text));
        let long = vec![b'x'; 3 * PATH_BYTES];
        assert_eq!(read_string(long.as_ptr() as u64), None);
        assert_eq!(read_string(0), None);
        assert_eq!(read_string(u64::MAX), None);
    }

    #[test]
    fn tells_what_can_be_executed() {
        let check = |path: &str, expect| {
            let path = CString::new(path).unwrap();
            assert_eq!(is_program(libc::AT_FDCWD, &path, 0), expect, "{path:?}");
        };
        check("/bin/sh", true);
        check("/bin", false);
        check("/nowhere", false);
        check("/etc/passwd", false);
        check("", false);
    }
}
