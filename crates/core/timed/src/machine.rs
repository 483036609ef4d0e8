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

/// Rules of the model. None is measured on the machine; [`ModelRules::default`] has the expected values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelRules {
    /// Times to move a line, over those of the machine.
    pub transfer_factor: f64,
    /// Nanoseconds of an instruction.
    pub tick_ns: f64,
    /// Nanoseconds of an atomic instruction beyond that.
    pub locked_ns: f64,
    /// Nanoseconds from one operation to the next: a system call, and what the program does.
    pub between_ns: f64,
    /// Largest deviation of the code between two accesses, as a fraction. Without any, CPUs fall into step.
    pub jitter: f64,
    /// Time to get exclusive access to a line that the CPU has, over that to move it.
    pub upgrade: f64,
    /// Time to read a line that nobody modified, over that to move it.
    pub clean_read: f64,
    /// Nanoseconds for which such a read keeps the line from others.
    pub clean_hold_ns: f64,
    /// Time for which a CPU goes on using a line after its transfer to another began, over the time of that
    /// transfer.
    pub hold: f64,
    /// Nanoseconds of code that a processor executes while a load waits.
    pub overlap_ns: f64,
    /// A load that a store to its line follows closely fetches the line for both.
    pub merges_loads: bool,
    /// Nanoseconds from the moment at which a lock is given back until a context runs that slept for it.
    pub wake_ns: f64,
}

impl Default for ModelRules {
    fn default() -> Self {
        Self {
            transfer_factor: 1.0,
            tick_ns: 0.2,
            locked_ns: 6.0,
            between_ns: 50.0,
            jitter: 0.3,
            upgrade: 0.75,
            clean_read: 0.5,
            clean_hold_ns: 4.0,
            hold: 0.4,
            overlap_ns: 50.0,
            merges_loads: true,
            wake_ns: 3000.0,
        }
    }
}
