//! Machines by name, with published times to move a line.
//!
//! All times are half of a round trip between two CPUs that exchange a word in turn with compare-and-exchange, so one
//! move of a modified line. Times of one source are medians over the pairs of physical cores, computed from its
//! matrix. The line lies in memory of the socket that both CPUs are on.

use crate::machine::{TimedMachine, TransferTimes};

/// A machine whose times were published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedMachine {
    /// Name by which users ask for it.
    pub key: &'static str,
    /// Processor.
    pub processor: &'static str,
    /// Sockets.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores: u32,
    /// Cores of a cluster: all that share a last-level cache.
    pub cluster_cores: u32,
    /// Times to move a line.
    pub transfer: TransferTimes,
    /// Publication of the times, and the assumptions about the rest.
    pub source: &'static str,
}

const fn machine(
    key: &'static str,
    processor: &'static str,
    [sockets, cores, cluster_cores]: [u32; 3],
    [cluster, socket, other_socket]: [f64; 3],
    source: &'static str,
) -> PublishedMachine {
    PublishedMachine {
        key,
        processor,
        sockets,
        cores,
        cluster_cores,
        transfer: TransferTimes {
            cluster,
            socket,
            other_socket,
        },
        source,
    }
}

const NVIENNOT: &str = "github.com/nviennot/core-to-core-latency, 96a943ac, 2023-01-17";
const KCORES: &str = "github.com/KCORES/core-to-core-latency-plus, 264ea0a1, 2024-10-07";

/// All machines of the table. A socket that is one cluster has one time for both, and a machine of one socket has no
/// other to wait for.
pub const MACHINES: [PublishedMachine; 15] = [
    machine(
        "cascade-lake-2s",
        "Intel Xeon Platinum 8275CL",
        [2, 24, 24],
        [46.6, 46.6, 134.0],
        NVIENNOT,
    ),
    machine(
        "ice-lake-2s",
        "Intel Xeon Platinum 8375C",
        [2, 32, 32],
        [51.3, 51.3, 107.8],
        NVIENNOT,
    ),
    machine(
        "ice-lake-8360y-2s",
        "Intel Xeon Platinum 8360Y",
        [2, 36, 36],
        [49.8, 49.8, 113.1],
        KCORES,
    ),
    machine(
        "sapphire-rapids-2s",
        "Intel Sapphire Rapids",
        [2, 56, 56],
        [59.0, 59.0, 138.0],
        "chipsandcheese.com, 2023-11-07, averages; the number of cores is not stated, 56 is assumed",
    ),
    machine(
        "sapphire-rapids-1s",
        "Intel Xeon W9-3475X",
        [1, 36, 36],
        [55.3, 55.3, 55.3],
        KCORES,
    ),
    machine(
        "rome-2s",
        "AMD EPYC 7742",
        [2, 64, 4],
        [25.4, 131.9, 265.6],
        NVIENNOT,
    ),
    machine(
        "milan-2s",
        "AMD EPYC 7R13",
        [2, 48, 8],
        [22.7, 107.6, 197.1],
        NVIENNOT,
    ),
    machine(
        "milan-7763-2s",
        "AMD EPYC 7763",
        [2, 64, 8],
        [25.5, 114.6, 301.2],
        KCORES,
    ),
    machine(
        "milan-x-1s",
        "AMD EPYC 7773X",
        [1, 64, 8],
        [26.2, 116.5, 116.5],
        NVIENNOT,
    ),
    machine(
        "genoa-2s",
        "AMD EPYC 9654",
        [2, 96, 8],
        [27.1, 99.3, 191.6],
        KCORES,
    ),
    machine(
        "bergamo-2s",
        "AMD EPYC 9754",
        [2, 128, 8],
        [32.6, 109.7, 203.6],
        KCORES,
    ),
    machine(
        "turin-2s",
        "AMD EPYC 9575F",
        [2, 64, 8],
        [45.0, 150.0, 260.0],
        "chipsandcheese.com, 2024-10-11, about",
    ),
    machine(
        "graviton3-1s",
        "AWS Graviton 3",
        [1, 64, 64],
        [46.4, 46.4, 46.4],
        NVIENNOT,
    ),
    machine(
        "graviton4-2s",
        "AWS Graviton 4",
        [2, 96, 96],
        [45.0, 45.0, 138.6],
        "chipsandcheese.com, 2024-07-22; the middle of 30 to 60 within a socket",
    ),
    machine(
        "kunpeng-920-1s",
        "HiSilicon Kunpeng 920-6426",
        [1, 64, 32],
        [35.7, 80.5, 80.5],
        NVIENNOT,
    ),
];

/// Returns the machine of the table with this name.
///
/// ```
/// let machine = relayout_timed::find_machine("genoa-2s").expect("it is in the table");
/// assert_eq!(machine.cpus(), 192);
/// ```
pub fn find_machine(key: &str) -> Option<TimedMachine> {
    let found = MACHINES.iter().find(|machine| machine.key == key)?;
    Some(TimedMachine {
        name: format!(
            "{} ({} x {} cores)",
            found.processor, found.sockets, found.cores
        ),
        sockets: found.sockets,
        cores: found.cores,
        cluster_cores: found.cluster_cores,
        transfer: found.transfer,
    })
}

#[cfg(test)]
mod tests {
    use super::MACHINES;

    #[test]
    fn nearer_cpus_take_no_longer() {
        for machine in &MACHINES {
            let times = machine.transfer;
            assert!(times.cluster <= times.socket, "{}", machine.key);
            assert!(times.socket <= times.other_socket, "{}", machine.key);
            assert_eq!(machine.cores % machine.cluster_cores, 0, "{}", machine.key);
            assert!(!machine.source.is_empty());
        }
    }

    #[test]
    fn names_are_unique() {
        let keys: std::collections::BTreeSet<&str> =
            MACHINES.iter().map(|machine| machine.key).collect();
        assert_eq!(keys.len(), MACHINES.len());
    }

    #[test]
    fn the_simulated_machine_has_the_same_machines() {
        let simulated = relayout_machine::MACHINES.iter();
        assert_eq!(simulated.len(), MACHINES.len());
        for (simulated, machine) in simulated.zip(&MACHINES) {
            let (topology, times) = (&simulated.topology, machine.transfer);
            assert_eq!(simulated.key, machine.key);
            assert_eq!(
                [topology.sockets, topology.cores, topology.cluster_cores],
                [machine.sockets, machine.cores, machine.cluster_cores]
            );
            assert_eq!(
                [
                    topology.times.cluster,
                    topology.times.socket,
                    topology.times.other_socket
                ],
                [times.cluster, times.socket, times.other_socket]
            );
        }
    }
}
