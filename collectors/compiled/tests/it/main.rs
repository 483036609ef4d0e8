//! The runtime in programs that gcc and clang build with their own flags, run as the host runs
//! them, and the files that it wrote.

mod ends;
mod gaps;
mod privileges;
mod programs;
mod same;
mod sharing;
mod stand;
mod values;
mod visits;
