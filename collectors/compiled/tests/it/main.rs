//! The runtime as programs meet it: built by gcc and clang with their own flags, run as the host runs
//! them, and what the runtime wrote read back.

mod ends;
mod gaps;
mod programs;
mod sharing;
mod stand;
