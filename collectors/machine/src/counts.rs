//! Counts of a simulated window.

use alloc::vec::Vec;

use crate::cpu_set::CpuSet;
use crate::request::{LineAccess, LineNumber, LineRequest};
use crate::time::SimulatedTime;
use crate::topology::CpuDistance;

/// Counts since the window opened, or since they were reset.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct MachineCounts {
    /// By CPU of the guest.
    pub cpus: Vec<CpuCounts>,
    /// By line that more than one CPU used, in the order in which that happened first.
    pub lines: Vec<SharedLineCounts>,
    /// By site, in the order of first requests.
    pub sites: Vec<RequestSiteCounts>,
    /// By site and address, in the order of first requests.
    pub accesses: Vec<RequestedAccessCounts>,
}

/// Activity of a CPU at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CpuActivity {
    /// Executes.
    Running,
    /// Waits for the line of a load.
    LoadWait,
    /// Waits for the line of an atomic instruction.
    AtomicWait,
    /// Waits for its stores before an atomic instruction.
    Drain,
    /// Waits for a place for a store.
    StoreBufferFull,
    /// Sleeps in a pause instruction.
    Pausing,
    /// Has nothing to execute, or is being woken up.
    Idle,
}

/// Counts of a CPU. Its times add up to the time from `from` to `to`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CpuCounts {
    /// Beginning.
    pub from: SimulatedTime,
    /// Time up to which the CPU is accounted for: its clock, or the time of the last call of
    /// [`crate::SimulatedMachine::bring_counts_to`] while it waits.
    pub to: SimulatedTime,
    /// Picoseconds, by [`CpuActivity`].
    pub times_ps: [u64; 7],
    /// Requests.
    pub requests: u64,
    /// Requests that had to wait for a line, and stores that had to get theirs.
    pub misses: u64,
    /// Accesses that changed who has a line without a request.
    pub unordered: u64,
    /// Pause instructions.
    pub pauses: u64,
    /// Pause instructions that slept.
    pub sleeps: u64,
}

impl CpuCounts {
    /// Returns the picoseconds of an activity.
    pub fn time_ps(&self, activity: CpuActivity) -> u64 {
        self.times_ps[activity as usize]
    }

    /// Accounts the time up to `at`.
    pub(crate) fn spend(&mut self, activity: CpuActivity, at: SimulatedTime) {
        self.times_ps[activity as usize] += at.since(self.to);
        self.to = self.to.max(at);
    }

    pub(crate) fn reset(&mut self) {
        *self = Self {
            from: self.to,
            to: self.to,
            ..Self::default()
        };
    }
}

/// Way in which a line reaches a core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TransferKind {
    /// A store, or a load before a store, takes it from another core or from all that read it.
    Take,
    /// A store of a core that reads it invalidates the copies of the others.
    Upgrade,
    /// A load gets it from the core that modified it.
    DirtyRead,
    /// A load gets it as memory has it, or from an owner that others read from already.
    SharedRead,
}

/// Counts of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedLineCounts {
    /// Line.
    pub line: LineNumber,
    /// Time for which CPUs stood still for it, in picoseconds.
    pub wait_ps: u64,
    /// Time for which requests waited until their transfer began, in picoseconds.
    pub queue_ps: u64,
    /// Transfers, by [`TransferKind`] and [`CpuDistance`].
    pub transfers: [[u64; 4]; 4],
    /// Requests that needed no transfer.
    pub hits: u64,
    /// Cores that requested it, in the machine's own numbers.
    pub cores: CpuSet,
}

impl SharedLineCounts {
    pub(crate) fn new(line: LineNumber) -> Self {
        Self {
            line,
            wait_ps: 0,
            queue_ps: 0,
            transfers: [[0; 4]; 4],
            hits: 0,
            cores: CpuSet::default(),
        }
    }

    /// Returns the transfers of a kind over all distances.
    pub fn transfers_of(&self, kind: TransferKind) -> u64 {
        self.transfers[kind as usize].iter().sum()
    }

    /// Returns the transfers over a distance.
    pub fn transfers_over(&self, distance: CpuDistance) -> u64 {
        self.transfers
            .iter()
            .map(|counts| counts[distance as usize])
            .sum()
    }
}

/// Counts of a site.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RequestSiteCounts {
    /// Site, as the caller numbers it.
    pub site: u32,
    /// Time for which CPUs stood still there, in picoseconds.
    pub wait_ps: u64,
    /// Requests.
    pub requests: u64,
    /// Requests that needed a transfer.
    pub misses: u64,
}

/// Counts of the requests of a site at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestedAccessCounts {
    /// Address.
    pub address: u64,
    /// Line.
    pub line: LineNumber,
    /// Site, as the caller numbers it.
    pub site: u32,
    /// Kind of the access.
    pub access: LineAccess,
    /// Time for which CPUs stood still for the line, in picoseconds.
    pub wait_ps: u64,
    /// Requests.
    pub requests: u64,
    /// Requests that needed a transfer.
    pub misses: u64,
}

impl RequestedAccessCounts {
    pub(crate) fn new(request: &LineRequest) -> Self {
        Self {
            address: request.address,
            line: request.line,
            site: request.site,
            access: request.access,
            wait_ps: 0,
            requests: 0,
            misses: 0,
        }
    }
}

impl MachineCounts {
    pub(crate) fn reset(&mut self) {
        self.cpus.iter_mut().for_each(CpuCounts::reset);
        for line in &mut self.lines {
            *line = SharedLineCounts::new(line.line);
        }
        for counts in &mut self.sites {
            *counts = RequestSiteCounts {
                site: counts.site,
                ..RequestSiteCounts::default()
            };
        }
        for access in &mut self.accesses {
            (access.wait_ps, access.requests, access.misses) = (0, 0, 0);
        }
    }
}
