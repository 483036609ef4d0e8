//! Costs of this machine's caches.
//!
//! `topology` says which CPUs, `kernels` what they do, `crew` runs them, `estimate` says what the
//! windows say; docs/probe.md has the method.

mod crew;
mod error;
mod estimate;
mod file;
mod loops;
mod measure;
mod topology;

pub use error::Error;
pub use estimate::ProbeEstimate;
pub use file::{
    AccessCost, MachineFile, MachineFileProblem, MachineIdentity, PairTest, RatioInterval,
    RatioIntervals, SCHEMA, TransferCost, UnknownValue, WindowSummary, load_machine_file,
};
pub use measure::measure_machine;
pub use topology::{CpuRelation, identify_machine};
