//! A machine with many CPUs, as far as the model knows it.

/// Times in nanoseconds to move a modified line from one CPU to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferTimes {
    /// Between CPUs of one cluster, which share a cache.
    pub cluster: f64,
    /// Between clusters of one socket.
    pub socket: f64,
    /// Between sockets.
    pub other_socket: f64,
}

/// CPUs of a machine and what they cost each other.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedMachine {
    /// Name, as the output has it.
    pub name: String,
    /// Sockets.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores: u32,
    /// Cores of a cluster.
    pub cluster_cores: u32,
    /// Times to move a line.
    pub transfer: TransferTimes,
}

impl TimedMachine {
    /// Returns the number of cores.
    pub fn cpus(&self) -> u32 {
        self.cores.max(1).saturating_mul(self.sockets.max(1))
    }

    /// Returns the time to move a line between two CPUs. CPUs are numbered by cluster and socket. Those beyond the
    /// number of cores share the cores of the first ones.
    pub fn transfer_ns(&self, from: u32, to: u32) -> f64 {
        let cores = self.cores.max(1);
        let all = self.cpus();
        let (from, to) = (from % all, to % all);
        let cluster = self.cluster_cores.max(1);
        let cluster_of = |cpu: u32| (cpu / cores, cpu % cores / cluster);
        if cluster_of(from) == cluster_of(to) {
            self.transfer.cluster
        } else if from / cores == to / cores {
            self.transfer.socket
        } else {
            self.transfer.other_socket
        }
    }
}
