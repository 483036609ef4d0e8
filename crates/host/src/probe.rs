//! What this machine's caches cost: measured by threads on two CPUs, in short windows, and kept in a
//! file for the commands that weigh findings with it.
//!
//! `topology` says which CPUs, `estimate` what the windows say; docs/probe.md has the method.

pub mod estimate;
mod file;
pub mod topology;

pub use estimate::Estimate;
pub use file::{
    Interval, Intervals, Machine, MachineFile, PairTest, Problem, SCHEMA, Transfer, Unknown,
    Windows, load,
};
pub use topology::Relation;
