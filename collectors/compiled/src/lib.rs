//! Runtime of programs built with `relayout cc`, in the place of libtsan.
//!
//! The compiler calls `__tsan_read8` and the like before each access (`-fsanitize=thread`). Locks,
//! the malloc family and `mem*`/`str*` of the C library are interposed. Under `relayout record run`
//! each access goes to the coherence shadow that all collectors share. Otherwise the runtime is
//! inert: an entry point is a compare and a return.
//!
//! The program's own `malloc` and `memcpy` are the runtime's, so these rules hold here:
//!
//! - Memory comes from `mmap` only: no `std` collection, no formatting, no locks of `std`.
//! - Code that may call an interposed function runs *inside* (`thread::enter`), where interposed
//!   functions go straight to the C library's. The same holds for code that a signal handler must
//!   not re-enter.
//! - The program's `errno`, signal dispositions and file descriptors below 512 stay as they are.
//!
//! `README.md` describes the flags of the compiler and the protocol with the host.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("the runtime is for Linux on x86-64");

mod access;
mod allocs;
mod announced;
mod entry;
mod finish;
mod fork;
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
mod store_watch;
mod sys;
mod text;
mod thread;
mod tls;
mod values;
mod window;
