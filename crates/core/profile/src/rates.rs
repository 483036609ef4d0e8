//! Results that the plugin writes at the end of a simulated window.

mod parse;
mod rows;

use crate::ids::Addr;
use crate::model::AccessKind;
use crate::simulated_run::{CpuTimes, OrderCounts};

/// Results of a window in simulated time. Times are in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedRates {
    /// All of it.
    pub window: WindowRates,
    /// By CPU of the guest.
    pub cpus: Vec<CpuRates>,
    /// Lines for which CPUs stood still, most first.
    pub lines: Vec<LineRates>,
    /// Accesses that were put in order, most waiting first: some thousands.
    pub accesses: Vec<AccessRates>,
    /// Instructions at which CPUs stood still, most first, and those of `accesses`.
    pub sites: Vec<SiteRates>,
}

/// Bytes of a cache line.
const LINE_BYTES: u64 = 64;

impl SimulatedRates {
    /// Returns these results with the accesses of the kernel's code to the kernel's memory alone. Lines and
    /// instructions stay, so that their indexes do.
    pub fn of_kernel(&self) -> Self {
        self.with_accesses(|access, pc| access.address.is_kernel() && pc.is_kernel())
    }

    /// Returns these results with the accesses of a recorded program's code to its memory alone, as
    /// [`of_kernel`](Self::of_kernel) does.
    pub fn of_program(&self) -> Self {
        self.with_accesses(|access, pc| !access.address.is_kernel() && !pc.is_kernel())
    }

    /// Returns the address at which the recorded program has a line; `None` if it did not access the line.
    pub fn program_line(&self, line: Addr) -> Option<Addr> {
        let is_program = |access: &&AccessRates| !access.address.is_kernel();
        let mut accesses = self.accesses.iter().filter(|access| access.line == line);
        let access = accesses.find(is_program)?;
        Some(access.address.align_down(LINE_BYTES))
    }

    fn with_accesses(&self, is_kept: impl Fn(&AccessRates, Addr) -> bool) -> Self {
        let is_kept = |access: &&AccessRates| {
            let site = self.sites.get(access.site);
            site.is_some_and(|site| is_kept(access, Addr(site.pc)))
        };
        Self {
            accesses: self.accesses.iter().filter(is_kept).cloned().collect(),
            ..self.clone()
        }
    }
}

/// Counts of a whole window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowRates {
    /// Its length.
    pub length_ps: u64,
    /// Operations that the guest finished.
    pub operations: u64,
    /// How well the order was kept.
    pub order: OrderCounts,
    /// Why the window ended before its time.
    pub problem: Option<String>,
}

impl WindowRates {
    /// Operations of all CPUs in a second; `None` for an empty window.
    pub fn operations_per_second(&self) -> Option<f64> {
        (self.length_ps > 0).then(|| self.operations as f64 / (self.length_ps as f64 / 1e12))
    }
}

/// Operations of a CPU, and its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuRates {
    /// Operations that it finished.
    pub operations: u64,
    /// Its time by what it did.
    pub times: CpuTimes,
}

/// Waiting for one cache line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineRates {
    /// Address of its first byte.
    pub address: Addr,
    /// Time for which CPUs stood still for it.
    pub wait_ps: u64,
    /// Time for which requests waited until their transfer began.
    pub queue_ps: u64,
    /// Transfers: by stores, upgrades, loads of modified data, and loads of other data.
    pub transfers: [u64; 4],
    /// Transfers from another socket.
    pub far: u64,
}

/// Waiting of one instruction at one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRates {
    /// Address of the first byte.
    pub address: Addr,
    /// Address of its line.
    pub line: Addr,
    /// Index of the instruction in [`SimulatedRates::sites`].
    pub site: usize,
    /// Kind of access.
    pub kind: AccessKind,
    /// Time for which CPUs stood still for it.
    pub wait_ps: u64,
    /// Requests of the line.
    pub requests: u64,
    /// Those that needed a transfer.
    pub misses: u64,
}

/// Waiting at one instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteRates {
    /// Address of the instruction.
    pub pc: u64,
    /// Its bytes.
    pub code: Vec<u8>,
    /// Bytes of memory that it accesses; 0 if that is not known.
    pub bytes: u8,
    /// Time for which CPUs stood still there.
    pub wait_ps: u64,
    /// Ordered accesses.
    pub requests: u64,
    /// Those that needed a transfer.
    pub misses: u64,
}
