//! Machines by name, with published times to move a line.
//!
//! All times are half of a round trip between two CPUs that exchange a word in turn with compare-and-exchange, so one
//! move of a modified line. Times of one source are medians over the pairs of physical cores, computed from its
//! matrix. The line lies in memory of the socket that both CPUs are on.

use crate::protocol::CoherenceProtocol;
use crate::topology::{DistanceTimes, MachineTopology};

/// A machine whose times were published.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KnownMachine {
    /// Name by which users ask for it.
    pub key: &'static str,
    /// Processor.
    pub processor: &'static str,
    /// Cores, times to move a line, and protocol.
    pub topology: MachineTopology,
    /// Publication of the times, and the assumptions about the rest.
    pub source: &'static str,
    /// Origin of the protocol.
    pub protocol_source: &'static str,
}

/// Protocol and its origin.
type KnownProtocol = (CoherenceProtocol, &'static str);

const INTEL: KnownProtocol = (
    CoherenceProtocol::MESIF,
    "Intel 64 and IA-32 Architectures Optimization Reference Manual: MESIF",
);
const AMD: KnownProtocol = (
    CoherenceProtocol::MOESI,
    "AMD64 Architecture Programmer's Manual, volume 2, 7.3: MOESI",
);
const ARM: KnownProtocol = (
    CoherenceProtocol::MOESI,
    "AMBA CHI has states for modified lines that are shared (SD); that this processor uses them is assumed",
);

const fn machine(
    key: &'static str,
    processor: &'static str,
    [sockets, cores, cluster_cores, threads]: [u32; 4],
    [cluster, socket, other_socket]: [f64; 3],
    (protocol, protocol_source): KnownProtocol,
    source: &'static str,
) -> KnownMachine {
    KnownMachine {
        key,
        processor,
        topology: MachineTopology {
            sockets,
            cores,
            cluster_cores,
            threads,
            times: DistanceTimes {
                cluster,
                socket,
                other_socket,
            },
            protocol,
        },
        source,
        protocol_source,
    }
}

const NVIENNOT: &str = "github.com/nviennot/core-to-core-latency, 96a943ac, 2023-01-17";
const KCORES: &str = "github.com/KCORES/core-to-core-latency-plus, 264ea0a1, 2024-10-07";

/// All machines of the table. A socket that is one cluster has one time for both, and a machine of one socket has no
/// other to wait for.
pub static MACHINES: [KnownMachine; 15] = [
    machine(
        "cascade-lake-2s",
        "Intel Xeon Platinum 8275CL",
        [2, 24, 24, 2],
        [46.6, 46.6, 134.0],
        INTEL,
        NVIENNOT,
    ),
    machine(
        "ice-lake-2s",
        "Intel Xeon Platinum 8375C",
        [2, 32, 32, 2],
        [51.3, 51.3, 107.8],
        INTEL,
        NVIENNOT,
    ),
    machine(
        "ice-lake-8360y-2s",
        "Intel Xeon Platinum 8360Y",
        [2, 36, 36, 2],
        [49.8, 49.8, 113.1],
        INTEL,
        KCORES,
    ),
    machine(
        "sapphire-rapids-2s",
        "Intel Sapphire Rapids",
        [2, 56, 56, 2],
        [59.0, 59.0, 138.0],
        INTEL,
        "chipsandcheese.com, 2023-11-07, averages; the number of cores is not stated, 56 is assumed",
    ),
    machine(
        "sapphire-rapids-1s",
        "Intel Xeon W9-3475X",
        [1, 36, 36, 2],
        [55.3, 55.3, 55.3],
        INTEL,
        KCORES,
    ),
    machine(
        "rome-2s",
        "AMD EPYC 7742",
        [2, 64, 4, 2],
        [25.4, 131.9, 265.6],
        AMD,
        NVIENNOT,
    ),
    machine(
        "milan-2s",
        "AMD EPYC 7R13",
        [2, 48, 8, 2],
        [22.7, 107.6, 197.1],
        AMD,
        NVIENNOT,
    ),
    machine(
        "milan-7763-2s",
        "AMD EPYC 7763",
        [2, 64, 8, 2],
        [25.5, 114.6, 301.2],
        AMD,
        KCORES,
    ),
    machine(
        "milan-x-1s",
        "AMD EPYC 7773X",
        [1, 64, 8, 2],
        [26.2, 116.5, 116.5],
        AMD,
        NVIENNOT,
    ),
    machine(
        "genoa-2s",
        "AMD EPYC 9654",
        [2, 96, 8, 2],
        [27.1, 99.3, 191.6],
        AMD,
        KCORES,
    ),
    machine(
        "bergamo-2s",
        "AMD EPYC 9754",
        [2, 128, 8, 2],
        [32.6, 109.7, 203.6],
        AMD,
        KCORES,
    ),
    machine(
        "turin-2s",
        "AMD EPYC 9575F",
        [2, 64, 8, 2],
        [45.0, 150.0, 260.0],
        AMD,
        "chipsandcheese.com, 2024-10-11, about",
    ),
    machine(
        "graviton3-1s",
        "AWS Graviton 3",
        [1, 64, 64, 1],
        [46.4, 46.4, 46.4],
        ARM,
        NVIENNOT,
    ),
    machine(
        "graviton4-2s",
        "AWS Graviton 4",
        [2, 96, 96, 1],
        [45.0, 45.0, 138.6],
        ARM,
        "chipsandcheese.com, 2024-07-22; the middle of 30 to 60 within a socket",
    ),
    machine(
        "kunpeng-920-1s",
        "HiSilicon Kunpeng 920-6426",
        [1, 64, 32, 1],
        [35.7, 80.5, 80.5],
        ARM,
        NVIENNOT,
    ),
];

/// Returns the machine of the table with this name.
///
/// ```
/// let machine = relayout_machine::find_machine("genoa-2s").expect("it is in the table");
/// assert_eq!(machine.topology.all_threads(), 384);
/// ```
pub fn find_machine(key: &str) -> Option<&'static KnownMachine> {
    MACHINES.iter().find(|machine| machine.key == key)
}

#[cfg(test)]
mod tests {
    use super::MACHINES;

    #[test]
    fn nearer_cpus_take_no_longer() {
        for machine in &MACHINES {
            let topology = &machine.topology;
            let times = topology.times;
            assert!(times.cluster <= times.socket, "{}", machine.key);
            assert!(times.socket <= times.other_socket, "{}", machine.key);
            assert_eq!(
                topology.cores % topology.cluster_cores,
                0,
                "{}",
                machine.key
            );
            assert!(!machine.source.is_empty() && !machine.protocol_source.is_empty());
        }
    }

    #[test]
    fn names_are_unique() {
        for (at, machine) in MACHINES.iter().enumerate() {
            assert!(MACHINES[..at].iter().all(|other| other.key != machine.key));
        }
    }
}
