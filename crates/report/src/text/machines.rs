//! Text of the table of machines with the times to move a line on them.

use std::fmt::Write;

use relayout_machine::TimeOrigin;

use crate::documents::machines::{MachineDocument, MoveTimeDocument, machines_document};

/// Returns the table as text.
pub fn machines_text() -> String {
    let mut text = format!(
        "{:22} {:26} {:>7} {:>6} {:>8}   nanoseconds to move a line within\n\
         {:22} {:26} {:>7} {:>6} {:>8}   a cluster   a socket   the machine\n",
        "", "", "", "cores/", "cores/", "name", "processor", "sockets", "socket", "cluster"
    );
    for machine in machines_document().machines {
        let [cluster, socket, other_socket] = time_cells(&machine);
        let _ = writeln!(
            text,
            "{:22} {:26} {:>7} {:>6} {:>8}   {cluster:>9}   {socket:>8}   {other_socket:>11}",
            machine.name, machine.processor, machine.sockets, machine.cores, machine.cluster_cores,
        );
    }
    text.push_str(
        "\nPublished by others, as half of a round trip of compare-and-exchange.\n\
         ~47: published for processors of the same design. 110-260: not published, within this range.\n\
         --json has the range and the source of each.\n",
    );
    text
}

/// Returns the cells for clusters, sockets and the machine. A socket that is one cluster has the cluster's time.
fn time_cells(machine: &MachineDocument) -> [String; 3] {
    let cell = |distance| {
        let mut times = machine.times.iter();
        times.find(|time| time.distance == distance).map(time_cell)
    };
    let none = || "-".to_owned();
    let cluster = cell("cluster").unwrap_or_else(none);
    let socket = cell("socket").unwrap_or_else(|| cluster.clone());
    [cluster, socket, cell("other_socket").unwrap_or_else(none)]
}

fn time_cell(time: &MoveTimeDocument) -> String {
    if time.origin == TimeOrigin::Assumed.name() {
        format!("{:.0}-{:.0}", time.ns_low, time.ns_high)
    } else if time.origin == TimeOrigin::Relative.name() {
        format!("~{:.0}", time.ns)
    } else {
        format!("{:.0}", time.ns)
    }
}
