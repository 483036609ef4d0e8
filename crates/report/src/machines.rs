//! The table of machines whose times to move a line were published.

use std::fmt::Write;

use relayout_timed::MACHINES;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::Document;

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

/// Returns the table as text.
pub fn machines_text() -> String {
    let mut text = format!(
        "{:18} {:26} {:>7} {:>6} {:>8}   nanoseconds to move a line within\n\
         {:18} {:26} {:>7} {:>6} {:>8}   a cluster   a socket   the machine\n",
        "", "", "", "cores/", "cores/", "name", "processor", "sockets", "socket", "cluster"
    );
    for machine in machines_document().machines {
        let other = machine
            .other_socket_ns
            .map_or_else(|| "-".to_owned(), |ns| format!("{ns:.0}"));
        let _ = writeln!(
            text,
            "{:18} {:26} {:>7} {:>6} {:>8}   {:9.0}   {:8.0}   {other:>11}",
            machine.name,
            machine.processor,
            machine.sockets,
            machine.cores,
            machine.cluster_cores,
            machine.cluster_ns,
            machine.socket_ns,
        );
    }
    text.push_str(
        "\nPublished by others, as half of a round trip of compare-and-exchange. --json has the source of each.\n",
    );
    text
}
