//! State of a CPU of the guest.

use crate::counts::CpuActivity;
use crate::own_lines::OwnLines;
use crate::poll_ring::PollRing;
use crate::random::CpuRandom;
use crate::request::{LineAccess, LineRequest};
use crate::sites::OpenLoad;
use crate::store_buffer::StoreBuffer;
use crate::time::SimulatedTime;

/// Reason for which a CPU does not execute, or that it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CpuPhase {
    /// Nothing to execute, or an interrupt is on its way.
    Idle,
    /// Wants to go on.
    Ready,
    /// Has the turn.
    Running,
    /// Wants to request a line when its time comes.
    Requesting(LineRequest),
    /// Waits for stores before a request.
    Storing(LineRequest),
    /// Waits for a line, or for the time at which it arrives.
    Waiting(HeldRequest),
    /// Sleeps in a pause instruction.
    Pausing,
}

/// Request whose instruction executes at the CPU's next turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeldRequest {
    pub request: LineRequest,
    /// Index of the line.
    pub line: u32,
    /// Index of the site.
    pub site: u32,
    /// Index of the counts by site and address.
    pub counted_access: u32,
    /// A transfer was necessary.
    pub missed: bool,
}

impl CpuPhase {
    /// Returns the activity that the time in this phase counts as.
    pub(crate) fn activity(&self) -> CpuActivity {
        match self {
            Self::Idle => CpuActivity::Idle,
            Self::Ready | Self::Running | Self::Requesting(_) => CpuActivity::Running,
            Self::Storing(request) if request.access == LineAccess::Atomic => CpuActivity::Drain,
            Self::Storing(_) => CpuActivity::StoreBufferFull,
            Self::Waiting(held) if held.request.access == LineAccess::Atomic => {
                CpuActivity::AtomicWait
            }
            Self::Waiting(_) => CpuActivity::LoadWait,
            Self::Pausing => CpuActivity::Pausing,
        }
    }

    /// Returns whether the CPU has instructions to execute, for which it needs its core.
    pub(crate) fn executes(&self) -> bool {
        matches!(self, Self::Ready | Self::Running | Self::Requesting(_))
    }
}

/// A CPU.
#[derive(Clone, Debug)]
pub(crate) struct MachineCpu {
    pub phase: CpuPhase,
    pub random: CpuRandom,
    pub stores: StoreBuffer,
    pub loaded: PollRing,
    pub own_lines: OwnLines,
    pub open_load: Option<OpenLoad>,
    /// Time of the last ordered access, or of the last wake-up.
    pub last_ordered: SimulatedTime,
    pub last_pause: Option<SimulatedTime>,
}

impl MachineCpu {
    pub(crate) fn new(seed: u64, cpu: usize) -> Self {
        Self {
            phase: CpuPhase::Idle,
            random: CpuRandom::new(seed, cpu),
            stores: StoreBuffer::default(),
            loaded: PollRing::default(),
            own_lines: OwnLines::new(),
            open_load: None,
            last_ordered: SimulatedTime::default(),
            last_pause: None,
        }
    }
}
