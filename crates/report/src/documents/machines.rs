//! The table of machines with the times to move a line on them.

use relayout_machine::{CpuDistance, KnownMachine, KnownTime, MACHINES};
use schemars::JsonSchema;
use serde::Serialize;

use crate::documents::Document;

/// Document of the table.
#[derive(Serialize, JsonSchema)]
pub struct MachinesDocument {
    /// [`Document::SCHEMA`].
    pub schema: &'static str,
    /// Machines.
    pub machines: Vec<MachineDocument>,
}

impl Document for MachinesDocument {
    const SCHEMA: &'static str = "relayout/machines/1";
}

/// A machine.
#[derive(Serialize, JsonSchema)]
pub struct MachineDocument {
    /// Name, as `--machine` takes it.
    pub name: &'static str,
    /// Processor.
    pub processor: &'static str,
    /// Sockets.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores: u32,
    /// Cores of a cluster, which share a last-level cache.
    pub cluster_cores: u32,
    /// Threads of a core.
    pub threads: u32,
    /// Nanoseconds to move a modified line within a cluster.
    pub cluster_ns: f64,
    /// The same between clusters of a socket.
    pub socket_ns: f64,
    /// The same between sockets; null for a machine with one.
    pub other_socket_ns: Option<f64>,
    /// Range and origin of each time, nearest first. Distances that the machine does not have are left out.
    pub times: Vec<MoveTimeDocument>,
    /// Where the times were published.
    pub source: &'static str,
    /// Coherence protocol.
    pub protocol: &'static str,
    /// Where the protocol is from.
    pub protocol_source: &'static str,
}

/// A time to move a modified line.
#[derive(Serialize, JsonSchema)]
pub struct MoveTimeDocument {
    /// `cluster`, `socket` or `other_socket`.
    pub distance: &'static str,
    /// Expected nanoseconds.
    pub ns: f64,
    /// Fewest nanoseconds.
    pub ns_low: f64,
    /// Most nanoseconds.
    pub ns_high: f64,
    /// `published`, `relative` (published for processors of the same design) or `assumed` (not published).
    pub origin: &'static str,
}

/// Returns the document of the table.
pub fn machines_document() -> MachinesDocument {
    MachinesDocument {
        schema: MachinesDocument::SCHEMA,
        machines: MACHINES.iter().map(machine_document).collect(),
    }
}

fn machine_document(machine: &KnownMachine) -> MachineDocument {
    let topology = &machine.topology;
    let times = topology.times;
    MachineDocument {
        name: machine.key,
        processor: machine.processor,
        sockets: topology.sockets,
        cores: topology.cores,
        cluster_cores: topology.cluster_cores,
        threads: topology.threads,
        cluster_ns: times.cluster,
        socket_ns: times.socket,
        other_socket_ns: (topology.sockets > 1).then_some(times.other_socket),
        times: machine.distances().map(move_time_document).collect(),
        source: machine.source,
        protocol: topology.protocol.name,
        protocol_source: machine.protocol_source,
    }
}

fn move_time_document((distance, time): (CpuDistance, &KnownTime)) -> MoveTimeDocument {
    MoveTimeDocument {
        distance: distance.name(),
        ns: time.expected_ns,
        ns_low: time.low_ns,
        ns_high: time.high_ns,
        origin: time.origin.name(),
    }
}
