//! Throughput on a machine with many CPUs, by simulation of the lines that they fight for.
//!
//! A recording has few CPUs. On a machine with many, a contended line is lost between any two visits that are more
//! than some tens of nanoseconds apart, and each visit waits for it. The simulation lets many CPUs execute the
//! recorded operations: code takes the time of its instructions, and a line moves to one CPU at a time.
//!
//! - [`OperationLog`] reads the operations of a profile, with the clock of each access.
//! - [`PlacedOperations`] places them on the lines of a layout, and keeps the lines that contexts fight for.
//! - [`ThroughputSimulation`] executes them on a [`TimedMachine`].
//! - [`CurveInputs`] compares two layouts over the number of CPUs, with what is not known drawn at random.
//!
//! Everything is a prediction. docs/prediction.md says what it was held against.

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

mod curve;
mod interrupts;
mod lines;
mod lock_order;
mod locking;
mod locks;
mod machine;
mod machines;
mod operations;
mod placed;
mod roles;
mod rules;
mod simulate;
mod stretch;

pub use curve::{ContextGain, CurveInputs, CurvePoint, PredictedCurve, RuleEffect, ThinkEffect};
pub use lines::LineUse;
pub use locks::{AccessStep, RecordedLock};
pub use machine::{TimedMachine, TransferTimes};
pub use machines::find_machine;
pub use operations::{
    MissingOperations, OperationAccess, OperationDivision, OperationLog, RecordedOperation,
};
pub use placed::{
    BytePlace, ContendedLine, LineLayout, LineName, LineSharing, OperationPart, PlacedAccess,
    PlacedKind, PlacedLock, PlacedOperation, PlacedOperations,
};
pub use roles::{LockKind, LockMode, SiteRole, SiteRoles};
pub use rules::{MachineRules, ModelRule, ModelRules, RuleRange};
pub use simulate::{SimulatedThroughput, ThroughputSimulation};

/// CPUs up to which the model was held against a published gain: `struct dentry` in Linux 6.11, commit
/// 18a5daf0e497.
pub const PUBLISHED_CPUS: u32 = 20;
