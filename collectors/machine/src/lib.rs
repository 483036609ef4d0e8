//! Rules of a machine with many CPUs, in simulated time.
//!
//! The caller executes the CPUs of a guest one at a time, and asks [`SimulatedMachine`] whose turn it is, until when
//! that CPU may run, and when it gets a line that others use. Values in memory are the caller's: an instruction that
//! waits for a line executes when its CPU has its next turn, so it sees what the others did before.
//!
//! A line is a server with a queue. The time of a transfer follows from where the line is ([`MachineTopology`]), from
//! the states of its copies ([`CoherenceProtocol`]), and from the rules ([`MachineRule`]), each of which has a range
//! and a source.
//!
//! `no_std`, no I/O, no clock. All times are whole picoseconds; the same setup, seed and calls give the same results.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

extern crate alloc;

mod amounts;
mod byte_map;
mod core_map;
mod counts;
mod cpu;
mod cpu_set;
mod description;
mod index_table;
mod line_table;
mod machine;
mod machines;
mod own_lines;
mod placement;
mod poll_ring;
mod protocol;
mod random;
mod request;
mod rules;
mod shared_line;
mod sites;
mod store_buffer;
mod time;
mod topology;
mod transfer;
mod turn_order;
mod wait_queue;

pub use byte_map::{ByteMap, ByteMapError, MovedLayout, MovedObjects, OwnRow};
pub use counts::{
    CpuActivity, CpuCounts, MachineCounts, RequestSiteCounts, RequestedAccessCounts,
    SharedLineCounts, TransferKind,
};
pub use cpu_set::CpuSet;
pub use description::{DescriptionProblem, MachineDescription};
pub use index_table::IndexTable;
pub use machine::{MachineSetup, SimulatedMachine};
pub use machines::{KnownMachine, KnownTime, KnownTimes, MACHINES, TimeOrigin, find_machine};
pub use placement::{CpuPlacement, PlacementError};
pub use protocol::{CleanSupplier, CoherenceProtocol, CopyState, ReadEffect};
pub use request::{CpuTurn, LineAccess, LineAnswer, LineNumber, LineRequest, LineUse};
pub use rules::{MachineRule, MachineRules, RULES, RuleFacts, RuleUnit};
pub use time::SimulatedTime;
pub use topology::{CpuDistance, CpuPlace, DistanceTimes, MachineTopology};

/// Most CPUs of a guest.
pub const CPUS_MAX: usize = 512;
