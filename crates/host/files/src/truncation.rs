//! Files that another process cuts short while they are mapped here.
//!
//! An access behind the new end raises SIGBUS. Bytes that were read before may be of either
//! content, so there is nothing to go on with: the process says which file it was, and ends.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

const MAPPINGS: &CStr = c"/proc/self/maps";
/// Bytes of a line of [`MAPPINGS`]: a path, and five numbers before it.
const LINE_BYTES_MAX: usize = 4096 + 128;
const READ_BYTES: usize = 4096;

static EXIT_CODE: AtomicI32 = AtomicI32::new(2);
/// A thread is printing the message.
static IS_SAID: AtomicBool = AtomicBool::new(false);

/// From now on, an access to a mapped file behind its end prints a message with the name of the
/// file, and ends the process with `exit_code`. Temporary files stay then, and the next run removes
/// them.
pub fn catch_truncation(exit_code: u8) {
    EXIT_CODE.store(exit_code.into(), Relaxed);
    // SAFETY: the handler makes only async-signal-safe calls; all-zero bytes are a valid
    // `sigaction`.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as usize;
        // On the thread's own stack: the alternative one is too small for the buffers.
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
}

extern "C" fn on_bus_error(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the system passes a valid structure; for SIGBUS it has an address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as u64) };
    let mut line = [0; LINE_BYTES_MAX];
    if code == libc::BUS_ADRERR
        && let Some(path) = mapped_path(address, &mut line)
    {
        if IS_SAID.swap(true, Relaxed) {
            // Several threads read the file.
            wait_for_end();
        }
        write_error(b"relayout: ");
        write_error(path);
        write_error(b" was cut short while it was read; try again when it is complete\n");
        // SAFETY: ends the process.
        unsafe { libc::_exit(EXIT_CODE.load(Relaxed)) }
    }
    // Of another cause: the default action follows when the access is repeated.
    // SAFETY: the default action needs no handler.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}

/// Waits until another thread ends the process.
fn wait_for_end() -> ! {
    loop {
        // SAFETY: no arguments.
        unsafe { libc::pause() };
    }
}

fn write_error(text: &[u8]) {
    // SAFETY: the call reads the bytes of the slice.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// Returns the path of the file that is mapped at `address`. Allocates nothing.
fn mapped_path(address: u64, line: &mut [u8; LINE_BYTES_MAX]) -> Option<&[u8]> {
    // SAFETY: the path ends in a NUL.
    let file = unsafe { libc::open(MAPPINGS.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let mut buffer = [0u8; READ_BYTES];
    let mut length = 0;
    loop {
        // SAFETY: the call writes at most as many bytes as the buffer has.
        let read = unsafe { libc::read(file, buffer.as_mut_ptr().cast(), READ_BYTES) };
        let read = usize::try_from(read).ok().filter(|&bytes| bytes > 0)?;
        for &byte in &buffer[..read] {
            if byte == b'\n' {
                if let Some(start) = path_start(&line[..length], address) {
                    return line.get(start..length);
                }
                length = 0;
            } else if length < LINE_BYTES_MAX {
                line[length] = byte;
                length += 1;
            }
        }
    }
}

/// Returns the offset of the path in a line `START-END MODE OFFSET DEVICE INODE PATH`, if the
/// mapping has a file and the address.
fn path_start(line: &[u8], address: u64) -> Option<usize> {
    let path = line.iter().position(|&byte| byte == b'/')?;
    let range = std::str::from_utf8(line.split(|&byte| byte == b' ').next()?).ok()?;
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    (number(start)?..number(end)?)
        .contains(&address)
        .then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapped_file_is_found() {
        let file = std::env::current_exe().unwrap();
        let map = crate::map_file(&file).unwrap();
        let mut line = [0; LINE_BYTES_MAX];
        let path = mapped_path(map.as_ptr() as u64, &mut line);
        assert_eq!(path, Some(file.as_os_str().as_encoded_bytes()));
        let on_stack = 0u8;
        assert_eq!(
            mapped_path(&raw const on_stack as u64, &mut [0; LINE_BYTES_MAX]),
            None
        );
    }
}
