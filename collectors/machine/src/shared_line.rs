//! State of a line that more than one CPU uses, or that was requested.

use crate::cpu_set::CpuSet;
use crate::protocol::CopyState;
use crate::request::LineNumber;
use crate::time::SimulatedTime;
use crate::wait_queue::LineQueue;

/// Copies of a line, by core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineCopies {
    /// Cores that have a copy.
    pub cores: CpuSet,
    /// Core whose copy answers requests, which is one of these. All others have it [`CopyState::Shared`].
    pub holder: Option<u16>,
    /// State of the holder's copy; without a holder [`CopyState::Shared`].
    pub state: CopyState,
}

impl LineCopies {
    pub(crate) fn alone(core: usize, state: CopyState) -> Self {
        Self {
            cores: CpuSet::single(core),
            holder: Some(core as u16),
            state,
        }
    }

    /// Returns the core that has the only copy.
    pub(crate) fn owner(&self) -> Option<usize> {
        self.holder
            .filter(|_| self.state.is_alone())
            .map(usize::from)
    }

    /// Returns whether a core may access the line as it is.
    #[inline]
    pub(crate) fn allows(&self, core: usize, stores: bool) -> bool {
        match stores {
            true => self.owner() == Some(core),
            false => self.cores.contains(core),
        }
    }
}

/// Right of cores to go on using a line that they have lost.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LostCopies {
    /// Core that had the line alone, and until when it uses it.
    pub owner: Option<u16>,
    pub owner_until: SimulatedTime,
    /// Cores that read the line, and until when they do.
    pub readers: CpuSet,
    pub readers_until: SimulatedTime,
}

impl LostCopies {
    #[inline]
    pub(crate) fn allows(&self, core: usize, stores: bool, at: SimulatedTime) -> bool {
        (at < self.owner_until && self.owner == Some(core as u16))
            || (!stores && at < self.readers_until && self.readers.contains(core))
    }

    /// Returns until when a core loads from a line that it has lost.
    pub(crate) fn until(&self, core: usize) -> SimulatedTime {
        if self.owner == Some(core as u16) {
            self.owner_until
        } else if self.readers.contains(core) {
            self.readers_until
        } else {
            SimulatedTime::default()
        }
    }
}

/// Last transfer of a line, which may be on its way.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LineArrival {
    pub cpu: u16,
    pub core: u16,
    pub at: SimulatedTime,
}

/// Last two CPUs that used a line in some way, with the times of their last uses.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LastUses {
    last: Option<(u16, SimulatedTime)>,
    before: Option<(u16, SimulatedTime)>,
}

impl LastUses {
    #[inline]
    pub(crate) fn note(&mut self, cpu: usize, at: SimulatedTime) {
        let cpu = cpu as u16;
        match &mut self.last {
            Some((last, time)) if *last == cpu => *time = (*time).max(at),
            _ => self.before = self.last.replace((cpu, at)),
        }
    }

    /// Returns the last time at which another CPU than `cpu` used the line.
    #[inline]
    pub(crate) fn by_others(&self, cpu: usize) -> Option<SimulatedTime> {
        let is_other = |entry: &(u16, SimulatedTime)| usize::from(entry.0) != cpu;
        let use_by_other = self.last.filter(is_other).or(self.before.filter(is_other));
        use_by_other.map(|(_, at)| at)
    }
}

/// A line, as a server with a queue.
#[derive(Clone, Debug)]
pub(crate) struct SharedLine {
    pub number: LineNumber,
    pub copies: LineCopies,
    pub lost: LostCopies,
    pub arrival: LineArrival,
    /// Time at which the next transfer can begin.
    pub free_at: SimulatedTime,
    pub queue: LineQueue,
    /// CPUs that sleep until another CPU stores to it.
    pub watchers: CpuSet,
    /// A store has executed that waits for the line, while a watcher still has a copy.
    pub has_waiting_change: bool,
    /// Count of stores.
    pub version: u32,
    pub is_stored: bool,
    pub uses: LastUses,
    pub stores: LastUses,
}

impl SharedLine {
    pub(crate) fn new(number: LineNumber, copies: LineCopies, is_stored: bool) -> Self {
        Self {
            number,
            copies,
            lost: LostCopies::default(),
            arrival: LineArrival::default(),
            free_at: SimulatedTime::default(),
            queue: LineQueue::default(),
            watchers: CpuSet::default(),
            has_waiting_change: false,
            version: 0,
            is_stored,
            uses: LastUses::default(),
            stores: LastUses::default(),
        }
    }

    /// Notes an access by a CPU.
    pub(crate) fn note_use(&mut self, cpu: usize, stores: bool, at: SimulatedTime) {
        self.uses.note(cpu, at);
        if stores {
            self.is_stored = true;
            self.stores.note(cpu, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LastUses;
    use crate::time::SimulatedTime;

    #[test]
    fn last_use_by_others() {
        let mut uses = LastUses::default();
        assert_eq!(uses.by_others(0), None);
        uses.note(0, SimulatedTime(5));
        uses.note(1, SimulatedTime(7));
        uses.note(1, SimulatedTime(9));
        assert_eq!(uses.by_others(0), Some(SimulatedTime(9)));
        assert_eq!(uses.by_others(1), Some(SimulatedTime(5)));
        assert_eq!(uses.by_others(2), Some(SimulatedTime(9)));
    }
}
