//! The table of machines whose times to move a line were published.

use relayout_timed::MACHINES;
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
    /// Nanoseconds to move a modified line within a cluster.
    pub cluster_ns: f64,
    /// The same between clusters of a socket.
    pub socket_ns: f64,
    /// The same between sockets; null for a machine with one.
    pub other_socket_ns: Option<f64>,
    /// Where the times were published.
    pub source: &'static str,
}

/// Returns the document of the table.
pub fn machines_document() -> MachinesDocument {
    let machines = MACHINES.iter().map(|machine| MachineDocument {
        name: machine.key,
        processor: machine.processor,
        sockets: machine.sockets,
        cores: machine.cores,
        cluster_cores: machine.cluster_cores,
        cluster_ns: machine.transfer.cluster,
        socket_ns: machine.transfer.socket,
        other_socket_ns: (machine.sockets > 1).then_some(machine.transfer.other_socket),
        source: machine.source,
    });
    MachinesDocument {
        schema: MachinesDocument::SCHEMA,
        machines: machines.collect(),
    }
}
