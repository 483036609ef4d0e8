//! Functions that stand in front of the C library's, whose code is not instrumented. Each records
//! the accesses as its caller's and calls the function of the C library.

pub mod alloc;
pub mod limits;
mod locks;
pub mod memory;
mod process;
mod strings;
mod threads;
