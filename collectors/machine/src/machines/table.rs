//! The table of machines. Each number is from the source that stands beside it.

use super::TimeOrigin::{Assumed, Published, Relative};
use super::{KnownMachine, KnownProtocol, KnownTime, machine, time};
use crate::protocol::CoherenceProtocol;

const INTEL: KnownProtocol = (
    CoherenceProtocol::MESIF,
    "Intel 64 and IA-32 Architectures Optimization Reference Manual: MESIF",
);
const AMD: KnownProtocol = (
    CoherenceProtocol::MOESI,
    "AMD64 Architecture Programmer's Manual, volume 2, 7.3: MOESI",
);
/// Zen 3 and later.
const AMD_ZEN_3: KnownProtocol = (
    CoherenceProtocol::MIGRATORY,
    "measured with relayout probe --contend on a Zen 3 (family 25, model 1), where a load takes a modified \
     line away: with a fence or 128 instructions behind it, a compare-and-exchange needs no transfer of its \
     own; later generations are assumed to do the same",
);
const ARM: KnownProtocol = (
    CoherenceProtocol::MOESI,
    "AMBA CHI has states for modified lines that are shared (SD); that this processor uses them is \
     assumed",
);

const NVIENNOT: &str = "github.com/nviennot/core-to-core-latency, 96a943ac, 2023-01-17";
const KCORES: &str = "github.com/KCORES/core-to-core-latency-plus, 264ea0a1, 2024-10-07";
/// Relatives of Cascade Lake processors with other numbers of cores.
const CASCADE_LAKE_RELATIVES: &str = concat!(
    "relatives: Xeon Platinum 8275CL and Gold 6242 in ",
    "github.com/nviennot/core-to-core-latency, 96a943ac, 2023-01-17",
);

/// Times of a socket that is one cluster.
const fn mesh(socket: KnownTime, other_socket: KnownTime) -> [KnownTime; 3] {
    [socket, socket, other_socket]
}

/// Times of a machine of one socket.
const fn one_socket(cluster: KnownTime, socket: KnownTime) -> [KnownTime; 3] {
    [cluster, socket, socket]
}

/// All machines of the table, by maker and age.
pub static MACHINES: [KnownMachine; 24] = [
    machine(
        "haswell-4s",
        "Intel Xeon E7-8890 v3",
        [4, 18, 18, 2],
        mesh(
            time(Relative, [32.9, 57.3, 80.3]),
            time(Assumed, [110.0, 150.0, 260.0]),
        ),
        INTEL,
        "relatives within a socket: Xeon E5-2698 v3 in \
         github.com/KCORES/core-to-core-latency-plus, 264ea0a1, and at least the 36.6 ns of a \
         Haswell in github.com/gjbex/Code-optimization, d917fb88, info/haswell_mlc.txt; between \
         four sockets not published: two E5-2698 v3 have 125 to 167 ns, two E5-4650 v2 (Ivy \
         Bridge) 159 to 173",
    ),
    machine(
        "skylake-2s",
        "Intel Skylake-SP",
        [2, 28, 28, 2],
        mesh(
            time(Relative, [36.0, 47.4, 57.4]),
            time(Relative, [99.7, 137.8, 195.9]),
        ),
        INTEL,
        "relatives: Cascade Lake, which has the same mesh (Xeon Platinum 8275CL and Gold 6242 in \
         github.com/nviennot/core-to-core-latency, 96a943ac), and Xeon W-2150B (40 ns, issue 95 \
         there); on Skylake-SP Intel's mlc reads a modified line in 50 ns, of another socket in \
         111 to 178 by where its memory is (github.com/gjbex/Code-optimization, d917fb88, \
         info/skylake*_mlc*.txt); 28 cores are assumed",
    ),
    machine(
        "cascade-lake-2s",
        "Intel Xeon Platinum 8275CL",
        [2, 24, 24, 2],
        mesh(
            time(Published, [43.0, 46.6, 51.1]),
            time(Published, [130.5, 134.0, 138.5]),
        ),
        INTEL,
        NVIENNOT,
    ),
    machine(
        "cascade-lake-6248-2s",
        "Intel Xeon Gold 6248",
        [2, 20, 20, 2],
        mesh(
            time(Relative, [38.7, 47.4, 57.4]),
            time(Relative, [117.5, 137.8, 159.9]),
        ),
        INTEL,
        CASCADE_LAKE_RELATIVES,
    ),
    machine(
        "cascade-lake-6238m-2s",
        "Intel Xeon Gold 6238M",
        [2, 22, 22, 2],
        mesh(
            time(Relative, [38.7, 47.4, 57.4]),
            time(Relative, [117.5, 137.8, 159.9]),
        ),
        INTEL,
        CASCADE_LAKE_RELATIVES,
    ),
    machine(
        "ice-lake-2s",
        "Intel Xeon Platinum 8375C",
        [2, 32, 32, 2],
        mesh(
            time(Published, [44.6, 51.3, 57.8]),
            time(Published, [102.2, 107.8, 113.1]),
        ),
        INTEL,
        NVIENNOT,
    ),
    machine(
        "ice-lake-6336y-2s",
        "Intel Xeon Gold 6336Y",
        [2, 24, 24, 2],
        mesh(
            time(Published, [43.4, 47.7, 50.8]),
            time(Published, [102.7, 105.8, 108.8]),
        ),
        INTEL,
        KCORES,
    ),
    machine(
        "ice-lake-8360y-2s",
        "Intel Xeon Platinum 8360Y",
        [2, 36, 36, 2],
        mesh(
            time(Published, [44.5, 49.8, 54.9]),
            time(Published, [107.7, 113.1, 117.3]),
        ),
        INTEL,
        KCORES,
    ),
    machine(
        "sapphire-rapids-2s",
        "Intel Sapphire Rapids",
        [2, 56, 56, 2],
        mesh(
            time(Published, [46.2, 59.0, 71.6]),
            time(Published, [124.2, 138.0, 151.8]),
        ),
        INTEL,
        "chipsandcheese.com, 2023-11-07, averages; the spread within a socket is that of the Xeon \
         W9-3475X, between sockets a tenth; the number of cores is not stated, 56 is assumed",
    ),
    machine(
        "sapphire-rapids-1s",
        "Intel Xeon W9-3475X",
        [1, 36, 36, 2],
        {
            let socket = time(Published, [43.3, 55.3, 67.1]);
            one_socket(socket, socket)
        },
        INTEL,
        KCORES,
    ),
    machine(
        "rome-2s",
        "AMD EPYC 7742",
        [2, 64, 4, 2],
        [
            time(Published, [24.6, 25.4, 26.4]),
            time(Published, [103.0, 131.9, 140.8]),
            time(Published, [249.2, 265.6, 275.6]),
        ],
        AMD,
        NVIENNOT,
    ),
    machine(
        "milan-2s",
        "AMD EPYC 7R13",
        [2, 48, 8, 2],
        [
            time(Published, [20.3, 22.7, 25.9]),
            time(Published, [89.5, 107.6, 112.2]),
            time(Published, [186.1, 197.1, 205.1]),
        ],
        AMD_ZEN_3,
        NVIENNOT,
    ),
    machine(
        "milan-7763-2s",
        "AMD EPYC 7763",
        [2, 64, 8, 2],
        [
            time(Published, [21.2, 25.5, 29.8]),
            time(Published, [104.2, 114.6, 134.9]),
            time(Published, [288.7, 301.2, 322.7]),
        ],
        AMD_ZEN_3,
        KCORES,
    ),
    machine(
        "milan-x-1s",
        "AMD EPYC 7773X",
        [1, 64, 8, 2],
        one_socket(
            time(Published, [22.1, 26.2, 29.2]),
            time(Published, [97.4, 116.5, 130.1]),
        ),
        AMD_ZEN_3,
        NVIENNOT,
    ),
    machine(
        "ryzen-7950x-1s",
        "AMD Ryzen 9 7950X",
        [1, 16, 8, 2],
        one_socket(
            time(Published, [15.3, 15.7, 21.0]),
            time(Published, [67.7, 72.7, 73.0]),
        ),
        AMD_ZEN_3,
        NVIENNOT,
    ),
    machine(
        "genoa-2s",
        "AMD EPYC 9654",
        [2, 96, 8, 2],
        [
            time(Published, [25.3, 27.1, 30.8]),
            time(Published, [89.1, 99.3, 103.6]),
            time(Published, [186.8, 191.6, 196.4]),
        ],
        AMD_ZEN_3,
        KCORES,
    ),
    machine(
        "genoa-88-2s",
        "AMD EPYC 9V33X",
        [2, 88, 8, 1],
        [
            time(Relative, [22.3, 27.1, 34.3]),
            time(Relative, [80.2, 99.3, 118.7]),
            time(Relative, [168.1, 191.6, 222.9]),
        ],
        AMD_ZEN_3,
        "relatives: EPYC 9654 and 9454 in github.com/KCORES/core-to-core-latency-plus, 264ea0a1, \
         2024-10-07; Azure HBv4 guests have 2 sockets with 176 of their cores, without threads \
         (learn.microsoft.com, HBv4-series); that the 88 of a socket are in clusters of eight is \
         assumed",
    ),
    machine(
        "bergamo-2s",
        "AMD EPYC 9754",
        [2, 128, 8, 2],
        [
            time(Published, [30.1, 32.6, 36.6]),
            time(Published, [101.0, 109.7, 115.3]),
            time(Published, [197.9, 203.6, 209.6]),
        ],
        AMD_ZEN_3,
        KCORES,
    ),
    machine(
        "turin-2s",
        "AMD EPYC 9575F",
        [2, 64, 8, 2],
        [
            time(Published, [36.0, 45.0, 54.0]),
            time(Published, [120.0, 150.0, 180.0]),
            time(Published, [208.0, 260.0, 312.0]),
        ],
        AMD_ZEN_3,
        "chipsandcheese.com, 2024-10-11, about; the ranges are a fifth to both sides",
    ),
    machine(
        "turin-96-1s",
        "AMD EPYC 9V45",
        [1, 96, 8, 2],
        one_socket(
            time(Relative, [15.9, 45.0, 59.4]),
            time(Relative, [69.5, 150.0, 198.0]),
        ),
        AMD_ZEN_3,
        "relatives: EPYC 9575F (chipsandcheese.com, 2024-10-11, about), and at least the 17.7 and \
         77.2 ns of Ryzen 9 9950X in github.com/KCORES/core-to-core-latency-plus, 264ea0a1; \
         clusters of eight are assumed",
    ),
    machine(
        "graviton3-1s",
        "AWS Graviton 3",
        [1, 64, 64, 1],
        {
            let socket = time(Published, [36.4, 46.4, 53.6]);
            one_socket(socket, socket)
        },
        ARM,
        NVIENNOT,
    ),
    machine(
        "graviton4-2s",
        "AWS Graviton 4",
        [2, 96, 96, 1],
        mesh(
            time(Published, [30.0, 45.0, 60.0]),
            time(Published, [124.7, 138.6, 152.5]),
        ),
        ARM,
        "chipsandcheese.com, 2024-07-22; the middle of 30 to 60 within a socket, and a tenth to \
         both sides of the average between sockets",
    ),
    machine(
        "cobalt-100-1s",
        "Microsoft Azure Cobalt 100",
        [1, 128, 128, 1],
        {
            let socket = time(Assumed, [30.0, 46.8, 138.6]);
            one_socket(socket, socket)
        },
        ARM,
        "not published, nor for another Neoverse N2: the expected time is that of Graviton 2 and 3 \
         (Neoverse N1 and V1, 47.2 and 46.4 ns in github.com/nviennot/core-to-core-latency, \
         96a943ac), the range that of Graviton 4 within a socket and between two \
         (chipsandcheese.com, 2024-07-22), since the chip may have two dies",
    ),
    machine(
        "kunpeng-920-1s",
        "HiSilicon Kunpeng 920-6426",
        [1, 64, 32, 1],
        one_socket(
            time(Published, [32.6, 35.7, 38.0]),
            time(Published, [71.9, 80.5, 86.6]),
        ),
        ARM,
        NVIENNOT,
    ),
];
