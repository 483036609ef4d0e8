//! Functions that run another program, or end the process without its destructors.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "a block without a comment rests on the promise of the C library function's caller, whose arguments it passes on"
)]

use std::ffi::{CStr, c_char, c_int};

use crate::finish::finish;
use crate::output::{append_line, is_recorded_process};
use crate::real::real;
use crate::{recording, signals, sys};

type Str = *const c_char;
type List = *const *const c_char;

/// Replaces `daemon`, whose parent ends by a call within the C library that nobody sees.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn daemon(stays_in_folder: c_int, keeps_streams: c_int) -> c_int {
    // SAFETY: the C library's functions, with arguments of their types.
    unsafe {
        match libc::fork() {
            -1 => return -1,
            0 => {}
            _ => _exit(0),
        }
        if libc::setsid() == -1 {
            return -1;
        }
        if stays_in_folder == 0 {
            libc::chdir(c"/".as_ptr());
        }
        if keeps_streams == 0 {
            let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            if null < 0 {
                return -1;
            }
            for stream in 0..3 {
                libc::dup2(null, stream);
            }
            if null > 2 {
                libc::close(null);
            }
        }
        0
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _exit(code: c_int) -> ! {
    finish();
    loop {
        // SAFETY: ends all threads of the process.
        unsafe { libc::syscall(libc::SYS_exit_group, code) };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Exit(code: c_int) -> ! {
    unsafe { _exit(code) }
}

/// Functions that `at_quick_exit` registered run unrecorded.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn quick_exit(code: c_int) -> ! {
    finish();
    if let Some(real) = real!(quick_exit: fn(c_int)) {
        unsafe { real(code) };
    }
    unsafe { _exit(code) }
}

/// Ends the recording if the file at `path` can probably be run. If the call fails, the program
/// continues unrecorded.
unsafe fn before_exec(path: Str) {
    // A child that shares this memory (vfork) runs programs, too.
    if !recording::is_recorded() || !is_recorded_process() {
        return;
    }
    let errno = sys::SavedErrno::save();
    // SAFETY: the caller's own string.
    let can_run = unsafe { !path.is_null() && libc::access(path, libc::X_OK) == 0 };
    drop(errno);
    if can_run {
        // SAFETY: the caller's own string, and not null.
        finish_for(unsafe { CStr::from_ptr(path) }.to_bytes());
    }
}

/// Ends the recording of this process for the program that replaces it.
fn finish_for(program: &[u8]) {
    let mut line = crate::text::FixedText::new();
    line.push(b"exec ");
    for &byte in program {
        line.push(&[if byte == b'\n' { b' ' } else { byte }]);
    }
    append_line(&mut line);
    finish();
}

/// Does the same as [`before_exec`] for a name that is searched in `PATH`.
unsafe fn before_exec_name(name: Str) {
    if name.is_null() || !recording::is_recorded() || !is_recorded_process() {
        return;
    }
    // SAFETY: the caller's own string.
    let text = unsafe { CStr::from_ptr(name) }.to_bytes();
    if text.contains(&b'/') {
        return unsafe { before_exec(name) };
    }
    let paths = sys::env(c"PATH").map_or(&b"/bin:/usr/bin"[..], CStr::to_bytes);
    for folder in paths.split(|&b| b == b':') {
        let mut path = crate::text::FixedText::<4096>::new();
        path.push(if folder.is_empty() { b"." } else { folder });
        path.push(b"/");
        path.push(text);
        path.push(b"\0");
        if !path.is_cut() {
            unsafe { before_exec(path.bytes().as_ptr().cast()) };
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn execve(path: Str, args: List, env: List) -> c_int {
    unsafe {
        before_exec(path);
        real!(execve: fn(Str, List, List) -> c_int).map_or(-1, |real| real(path, args, env))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn execv(path: Str, args: List) -> c_int {
    unsafe {
        before_exec(path);
        real!(execv: fn(Str, List) -> c_int).map_or(-1, |real| real(path, args))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn execvp(name: Str, args: List) -> c_int {
    unsafe {
        before_exec_name(name);
        real!(execvp: fn(Str, List) -> c_int).map_or(-1, |real| real(name, args))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn execvpe(name: Str, args: List, env: List) -> c_int {
    unsafe {
        before_exec_name(name);
        real!(execvpe: fn(Str, List, List) -> c_int).map_or(-1, |real| real(name, args, env))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fexecve(file: c_int, args: List, env: List) -> c_int {
    if recording::is_recorded() && is_recorded_process() {
        finish_for(b"a file that it had open");
    }
    unsafe {
        real!(fexecve: fn(c_int, List, List) -> c_int).map_or(-1, |real| real(file, args, env))
    }
}

/// Defines functions with variadic arguments, such as `execl`: they use the path and leave the rest
/// in place.
macro_rules! variadic {
    ($($name:ident => $before:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                ".cfi_adjust_cfa_offset 56",
                "call {before}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                ".cfi_adjust_cfa_offset -56",
                "jmp r11",
                ".cfi_endproc",
                before = sym variadic::$name,
            )
        }
    )*
    mod variadic {
        use super::*;
        $(
            pub unsafe extern "C-unwind" fn $name(path: Str) -> usize {
                unsafe { $before(path) };
                real!($name: fn(Str)).map_or(0, |real| real as usize)
            }
        )*
    }};
}

variadic! {
    execl => before_exec;
    execle => before_exec;
    execlp => before_exec_name;
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    unsafe { signals::sigaction(signal, action, old) }
}

/// Installs a handler as in BSD and glibc: the handler stays, and interrupted calls continue.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: plain data.
    let mut old = unsafe { std::mem::zeroed::<libc::sigaction>() };
    let mut new = old;
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_RESTART;
    // SAFETY: our own data. `sigaddset` fails for an invalid signal, as `sigaction` does.
    unsafe {
        libc::sigaddset(&mut new.sa_mask, signal);
        if signals::sigaction(signal, &new, &mut old) == 0 {
            old.sa_sigaction
        } else {
            libc::SIG_ERR
        }
    }
}
