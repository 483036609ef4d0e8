//! What this machine's caches cost: measured by threads on two CPUs, in short windows, and kept in a
//! file for the commands that weigh findings with it.
//!
//! `topology` says which CPUs, `kernels` what they do, `crew` runs them, `estimate` says what the
//! windows say; docs/probe.md has the method.

mod crew;
mod estimate;
mod file;
mod kernels;
mod measure;
mod topology;

pub use estimate::Estimate;
pub use file::{
    AccessCost, Interval, Intervals, Machine, MachineFile, PairTest, Problem, SCHEMA, Transfer,
    Unknown, Windows, load,
};
pub use measure::measure;
pub use topology::{Relation, machine};
