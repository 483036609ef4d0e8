//! Costs of this machine's caches.
//!
//! Threads on two CPUs run short loops in windows of some milliseconds. [`measure_machine`] takes
//! the windows and returns a [`MachineFile`], which other commands read to weigh findings. The
//! method is in docs/probe.md. In the crate, `topology` chooses the CPUs, `loops` and `visits` have the loops,
//! `crew` runs them, and `estimate` turns windows into values.

mod crew;
mod error;
mod estimate;
mod file;
mod loops;
mod measure;
mod move_times;
mod schema;
mod simulated_machine;
mod topology;
mod visits;

pub use error::{Error, MachineFileProblem, SimulatedMachineProblem};
pub use estimate::ProbeEstimate;
pub use file::{
    AccessCost, MachineFile, PairTest, RatioInterval, RatioIntervals, TransferCost, UnknownValue,
    VisitCost, WindowSummary, load_machine_file,
};
pub use measure::{ProbeDepth, measure_machine};
pub use move_times::MoveTimes;
pub use schema::{SCHEMA, SIMULATED_MACHINE_SCHEMA};
pub use simulated_machine::SimulatedMachineFile;
pub use topology::{CoreCounts, CpuRelation, MachineIdentity, identify_machine};
