//! What a recording in simulated time says of its machine and of its window.

use serde::{Deserialize, Serialize};

/// Machine in whose simulated time a kernel was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
pub struct SimulatedMachineName {
    /// Its name.
    pub key: String,
    /// Processor.
    pub processor: String,
    /// Where the guest's CPUs were on it: `pack`, `spread`, or a list of threads.
    pub placement: String,
    /// Digest of the file that described it; `None` for a machine of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Rules with another value than the expected one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<SimulatedRule>,
    /// Members that were said to lie elsewhere: `dentry.d_lockref=own-line`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<String>,
}

/// A rule of a simulated machine with its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
pub struct SimulatedRule {
    /// Key of the rule.
    pub key: String,
    /// Value in the rule's unit.
    pub value: f64,
}

impl SimulatedMachineName {
    /// Returns the rules with another value than the expected one: `upgrade=0.5, quantum=500`.
    pub fn rules_text(&self) -> String {
        let rules = self
            .rules
            .iter()
            .map(|rule| format!("{}={}", rule.key, rule.value));
        rules.collect::<Vec<_>>().join(", ")
    }
}

/// Writes everything in which two machines may differ: profiles do not mix if these words differ.
impl std::fmt::Display for SimulatedMachineName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digest = { self.digest.as_ref() }.map_or(String::new(), |digest| format!("#{digest}"));
        let rules = match self.rules.is_empty() {
            true => String::new(),
            false => format!("; {}", self.rules_text()),
        };
        write!(f, "{}{digest} ({}{rules})", self.key, self.placement)?;
        match self.moves.as_slice() {
            [] => Ok(()),
            moves => write!(f, ", with {}", moves.join(" ")),
        }
    }
}

/// Window of a simulated recording as the host saw it, which the recording does not depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
pub struct HostWindow {
    /// Wall time in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of QEMU in nanoseconds.
    pub cpu_ns: u64,
    /// As [`RecordedRun::lost_share`](crate::RecordedRun::lost_share).
    pub lost_share: Option<f64>,
}

/// Order of a recording in simulated time: how long it was, and how well the order was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct SimulatedOrder {
    /// Length of the window in nanoseconds of simulated time.
    pub window_ns: u64,
    /// How well the order was kept.
    #[serde(flatten)]
    pub counts: OrderCounts,
    /// Time of all CPUs together.
    #[serde(default)]
    pub cpu_times: CpuTimes,
}

/// Accesses of a window in simulated time, by how their order was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct OrderCounts {
    /// Events of the host that came in between: the window cannot be repeated if there are any.
    pub order_breaks: u64,
    /// Accesses that were put in order before they executed.
    pub ordered: u64,
    /// Accesses that were ordered at another address than they then had.
    pub misplaced: u64,
    /// Accesses to contended lines that executed before they were ordered.
    pub unordered: u64,
}

impl OrderCounts {
    /// Returns the accesses to contended lines.
    pub fn accesses(&self) -> u64 {
        self.ordered.saturating_add(self.unordered)
    }

    /// Returns the share of accesses to contended lines that were not ordered at the address that they had; 0 if there
    /// were none.
    pub fn out_of_order_share(&self) -> f64 {
        let out_of_order = self.unordered.saturating_add(self.misplaced);
        out_of_order as f64 / self.accesses().max(1) as f64
    }
}

/// Simulated time of CPUs by what they did, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CpuTimes {
    /// They executed.
    pub running_ps: u64,
    /// They waited for the lines of loads.
    pub load_ps: u64,
    /// They waited for the lines of atomic instructions.
    pub atomic_ps: u64,
    /// They waited for their own stores, before an atomic instruction or with a full store buffer.
    pub stores_ps: u64,
    /// They paused in spin loops.
    pub pause_ps: u64,
    /// They had nothing to do.
    pub idle_ps: u64,
}

impl CpuTimes {
    /// Returns the sum of all times.
    pub fn total_ps(&self) -> u64 {
        let Self {
            running_ps,
            load_ps,
            atomic_ps,
            stores_ps,
            pause_ps,
            idle_ps,
        } = *self;
        let parts = [running_ps, load_ps, atomic_ps, stores_ps, pause_ps, idle_ps];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl std::iter::Sum for CpuTimes {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::default(), |sum, times| Self {
            running_ps: sum.running_ps.saturating_add(times.running_ps),
            load_ps: sum.load_ps.saturating_add(times.load_ps),
            atomic_ps: sum.atomic_ps.saturating_add(times.atomic_ps),
            stores_ps: sum.stores_ps.saturating_add(times.stores_ps),
            pause_ps: sum.pause_ps.saturating_add(times.pause_ps),
            idle_ps: sum.idle_ps.saturating_add(times.idle_ps),
        })
    }
}
