//! Sockets, clusters, cores and threads of a machine, and what it costs to move a line between them.

use crate::protocol::CoherenceProtocol;

/// Distance of two CPUs of the machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CpuDistance {
    /// Threads of one core, which share its cache.
    SameCore,
    /// Cores of one cluster, which share a last-level cache.
    SameCluster,
    /// Clusters of one socket.
    SameSocket,
    /// Sockets.
    OtherSocket,
}

impl CpuDistance {
    /// All distances, nearest first.
    pub const ALL: [Self; 4] = [
        Self::SameCore,
        Self::SameCluster,
        Self::SameSocket,
        Self::OtherSocket,
    ];

    /// Returns the name as machine files have it: `core`, `cluster`, `socket` or `other_socket`.
    pub fn name(self) -> &'static str {
        match self {
            Self::SameCore => "core",
            Self::SameCluster => "cluster",
            Self::SameSocket => "socket",
            Self::OtherSocket => "other_socket",
        }
    }
}

/// Times in nanoseconds to move a modified line between two cores.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DistanceTimes {
    /// Between cores of one cluster.
    pub cluster: f64,
    /// Between clusters of one socket.
    pub socket: f64,
    /// Between sockets.
    pub other_socket: f64,
}

impl DistanceTimes {
    /// Returns the time for a distance. Threads of one core move nothing.
    pub fn at(&self, distance: CpuDistance) -> f64 {
        match distance {
            CpuDistance::SameCore => 0.0,
            CpuDistance::SameCluster => self.cluster,
            CpuDistance::SameSocket => self.socket,
            CpuDistance::OtherSocket => self.other_socket,
        }
    }
}

/// Cores of a machine, the distances between them, and its coherence protocol.
///
/// ```
/// use relayout_machine::{CpuDistance, CpuPlace, find_machine};
///
/// let rome = &find_machine("rome-2s").expect("it is in the table").topology;
/// let core = |core| CpuPlace { core, thread: 0 };
/// assert_eq!(rome.distance(core(0), core(3)), CpuDistance::SameCluster);
/// assert_eq!(rome.distance(core(0), core(4)), CpuDistance::SameSocket);
/// assert_eq!(rome.distance(core(0), core(64)), CpuDistance::OtherSocket);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MachineTopology {
    /// Sockets.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores: u32,
    /// Cores of a cluster: all that share a last-level cache.
    pub cluster_cores: u32,
    /// Threads of a core.
    pub threads: u32,
    /// Times to move a line.
    pub times: DistanceTimes,
    /// States of a line's copies and their changes.
    pub protocol: CoherenceProtocol,
}

impl MachineTopology {
    /// Returns the number of cores of all sockets.
    pub fn all_cores(&self) -> u32 {
        self.sockets.max(1).saturating_mul(self.cores.max(1))
    }

    /// Returns the number of threads of all cores.
    pub fn all_threads(&self) -> u32 {
        self.all_cores().saturating_mul(self.threads.max(1))
    }

    /// Returns the socket of a core. Cores are numbered by cluster and socket.
    pub fn socket_of(&self, core: u32) -> u32 {
        core / self.cores.max(1)
    }

    /// Returns the number of a core's cluster, counted over all sockets.
    pub fn cluster_of(&self, core: u32) -> u32 {
        let cores = self.cores.max(1);
        let cluster_cores = self.cluster_cores.clamp(1, cores);
        let clusters = cores.div_ceil(cluster_cores);
        self.socket_of(core) * clusters + core % cores / cluster_cores
    }

    /// Returns the distance of two places.
    pub fn distance(&self, from: CpuPlace, to: CpuPlace) -> CpuDistance {
        if from.core == to.core {
            CpuDistance::SameCore
        } else if self.cluster_of(from.core) == self.cluster_of(to.core) {
            CpuDistance::SameCluster
        } else if self.socket_of(from.core) == self.socket_of(to.core) {
            CpuDistance::SameSocket
        } else {
            CpuDistance::OtherSocket
        }
    }
}

/// Place of a guest's CPU on the machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CpuPlace {
    /// Core, counted over all sockets.
    pub core: u32,
    /// Thread of the core.
    pub thread: u32,
}
