//! The runtime of programs built with `relayout cc`: it stands in for libtsan.
//!
//! The compiler calls `__tsan_read8` and its like before each access (`-fsanitize=thread`); locks,
//! the malloc family and `mem*`/`str*` of the C library are interposed. Under `relayout record run`
//! each access goes to the coherence shadow that all collectors share; else the runtime is inert: an
//! entry point is a compare and a return.
//!
//! What has to hold in here, since the program's own `malloc` and `memcpy` are ours:
//!
//! - Nothing allocates but by `mmap`: no `std` collection, no formatting, no locks of `std`.
//! - Code that may call an interposed function runs *inside* ([`thread::enter`]), where interposed
//!   functions go straight to the C library's. So does all that a signal handler must not re-enter.
//! - What the program sees stays as it is: `errno`, signal dispositions, file descriptors below 512.
//!
//! `README.md` beside this says what the compiler and the host have to do.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("the runtime is for Linux on x86-64");

mod access;
mod allocs;
mod entry;
mod finish;
mod gap;
mod gate;
mod interpose;
mod memory;
mod modules;
mod objects;
mod options;
mod output;
mod real;
mod recording;
mod signals;
mod stack;
mod start;
mod sys;
mod text;
mod thread;
mod tls;
mod window;
