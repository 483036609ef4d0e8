//! Costs of this machine's caches.
//!
//! Threads on two CPUs run short loops in windows of some milliseconds. [`measure_machine`] takes
//! the windows and returns a [`MachineFile`], which other commands read to weigh findings. [`measure_contention`] also
//! measures what happens to a line that several CPUs want at once. The method is in docs/probe.md. In the crate,
//! `topology` chooses the CPUs, `loops` and `visits` have the loops, `crew` runs them, `estimate` turns windows into
//! values, and `contention` has the work of more than two CPUs.

mod contention;
mod cpu_position;
mod crew;
mod crew_lines;
mod error;
mod estimate;
mod file;
mod instructions;
mod loops;
mod measure;
mod move_times;
mod pair_windows;
mod schema;
mod simulated_machine;
mod tally;
mod topology;
mod visits;

pub use contention::{
    AdjacentTest, ContentionTests, CoreThreadTest, HoldPoint, HoldTest, KnownPositive,
    LoadStoreCost, MeasuredRule, OwnerOrder, OwnerRuns, ReaderPoint, ReaderTest, SampledPairs,
    UpgradePoint, UpgradeTest,
};
pub use error::{Error, MachineFileProblem, SimulatedMachineProblem};
pub use estimate::ProbeEstimate;
pub use file::{
    AccessCost, MachineFile, PairTest, RatioInterval, RatioIntervals, TransferCost, UnknownValue,
    VisitCost, WindowSummary, load_machine_file,
};
pub use measure::{ProbeDepth, measure_contention, measure_machine};
pub use move_times::MoveTimes;
pub use schema::{SCHEMA, SIMULATED_MACHINE_SCHEMA};
pub use simulated_machine::SimulatedMachineFile;
pub use topology::{CoreCounts, CpuRelation, MachineIdentity, identify_machine};
