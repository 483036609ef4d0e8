//! Functions of the C library that ours stand before, since instrumented code cannot show what they
//! do: each records what it touches as its caller's access, and calls the real one.

pub mod alloc;
mod locks;
pub mod memory;
mod process;
mod strings;
