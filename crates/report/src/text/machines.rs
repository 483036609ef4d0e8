//! Text of the table of machines whose times to move a line were published.

use std::fmt::Write;

use crate::documents::machines::machines_document;

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
