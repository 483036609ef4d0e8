//! State of contended lines: who has each, and until when it is on its way.
//!
//! A line is a server. It moves to one CPU at a time, and those that want it meanwhile wait in the order in which
//! they came.

use crate::machine::{ModelRules, TimedMachine};
use crate::placed::{ContendedLine, LineSharing};

/// Picoseconds in a nanosecond. Times of the simulation are whole numbers, so that sums do not depend on their order.
pub(crate) const PS: f64 = 1000.0;
/// No CPU.
const NOBODY: u32 = u32::MAX;

/// State of one line, as the last request leaves it. A request that waits changes it at once; what a CPU may still do
/// until its line is gone, [`KeptUntil`] tells.
#[derive(Clone, Copy, Debug)]
struct LineState {
    /// CPU that modifies it and has it alone.
    owner: u32,
    /// CPU that had it alone last; the distance of those that share it counts from there.
    last_owner: u32,
    /// When it can begin to move again.
    free_at: u64,
}

const UNTOUCHED: LineState = LineState {
    owner: NOBODY,
    last_owner: NOBODY,
    free_at: 0,
};

/// When a CPU has lost a line that others asked for.
#[derive(Clone, Copy, Debug, Default)]
struct KeptUntil {
    /// For loads.
    shared: u64,
    /// For stores.
    alone: u64,
}

/// All lines of a simulation.
pub(crate) struct SimulatedLines<'m> {
    machine: &'m TimedMachine,
    rules: &'m ModelRules,
    states: Vec<LineState>,
    /// CPUs that have a copy to read, one bit each.
    readers: Vec<u64>,
    words_per_line: usize,
    /// By copy of a line and CPU.
    kept: Vec<KeptUntil>,
    cpus: usize,
    /// By line: index of the first of its copies, and who shares one.
    copies: Vec<(usize, LineSharing)>,
}

impl<'m> SimulatedLines<'m> {
    pub(crate) fn new(
        lines: &[ContendedLine],
        cpus: u32,
        machine: &'m TimedMachine,
        rules: &'m ModelRules,
    ) -> Self {
        let mut copies = Vec::with_capacity(lines.len());
        let mut count = 0;
        for line in lines {
            copies.push((count, line.sharing));
            count += copy_count(line.sharing, cpus);
        }
        let words_per_line = (cpus as usize).div_ceil(64);
        Self {
            machine,
            rules,
            states: vec![UNTOUCHED; count],
            readers: vec![0; count * words_per_line],
            words_per_line,
            kept: vec![KeptUntil::default(); count * cpus as usize],
            cpus: cpus as usize,
            copies,
        }
    }

    /// Returns which copy of the line a CPU uses, counted from the line's first.
    pub(crate) fn copy_of(&self, line: u32, cpu: u32) -> usize {
        match self.copies[line as usize].1 {
            LineSharing::All => 0,
            LineSharing::Group(size) => (cpu / u32::from(size.max(1))) as usize,
        }
    }

    /// Accesses a line at a time, and returns when the access is done: at once, if the CPU has the line.
    pub(crate) fn access(&mut self, line: u32, cpu: u32, at: u64, needs_alone: bool) -> u64 {
        let index = self.copies[line as usize].0 + self.copy_of(line, cpu);
        let state = self.states[index];
        let kept = self.kept[index * self.cpus + cpu as usize];
        let has_alone = state.owner == cpu || at < kept.alone;
        let reads = self.is_reader(index, cpu);
        if has_alone || (!needs_alone && (reads || at < kept.shared)) {
            return at;
        }
        let begin = at.max(state.free_at);
        let source = match state.owner {
            NOBODY => state.last_owner,
            owner => owner,
        };
        let transfer = self.transfer_ps(source, cpu);
        match needs_alone {
            true => self.take(index, cpu, begin, transfer, reads),
            false => self.read(index, cpu, begin, transfer),
        }
    }

    fn take(&mut self, index: usize, cpu: u32, begin: u64, transfer: f64, reads: bool) -> u64 {
        let state = self.states[index];
        let is_upgrade = reads && state.owner == NOBODY;
        let factor = if is_upgrade { self.rules.upgrade } else { 1.0 };
        let end = begin + (transfer * factor) as u64;
        let lost_at = begin + (transfer * self.rules.hold) as u64;
        if state.owner != NOBODY {
            let kept = &mut self.kept[index * self.cpus + state.owner as usize];
            *kept = KeptUntil {
                shared: lost_at,
                alone: lost_at,
            };
        }
        self.drop_readers(index, begin);
        self.states[index] = LineState {
            owner: cpu,
            last_owner: cpu,
            free_at: end,
        };
        end
    }

    fn read(&mut self, index: usize, cpu: u32, begin: u64, transfer: f64) -> u64 {
        let state = &mut self.states[index];
        self.readers[index * self.words_per_line + cpu as usize / 64] |= 1 << (cpu % 64);
        if state.owner == NOBODY {
            state.free_at = begin + (self.rules.clean_hold_ns * PS) as u64;
            return begin + (transfer * self.rules.clean_read) as u64;
        }
        let owner = std::mem::replace(&mut state.owner, NOBODY);
        let end = begin + transfer as u64;
        state.free_at = end;
        self.kept[index * self.cpus + owner as usize].alone =
            begin + (transfer * self.rules.hold) as u64;
        self.readers[index * self.words_per_line + owner as usize / 64] |= 1 << (owner % 64);
        end
    }

    /// Takes the line from all who may read it.
    fn drop_readers(&mut self, index: usize, lost_at: u64) {
        let first = index * self.words_per_line;
        for word in 0..self.words_per_line {
            let mut bits = std::mem::take(&mut self.readers[first + word]);
            while bits != 0 {
                let reader = word * 64 + bits.trailing_zeros() as usize;
                self.kept[index * self.cpus + reader].shared = lost_at;
                bits &= bits - 1;
            }
        }
    }

    fn transfer_ps(&self, from: u32, to: u32) -> f64 {
        let from = if from == NOBODY { to } else { from };
        self.machine.transfer_ns(from, to) * self.rules.transfer_factor * PS
    }

    fn is_reader(&self, index: usize, cpu: u32) -> bool {
        let word = self.readers[index * self.words_per_line + cpu as usize / 64];
        word >> (cpu % 64) & 1 == 1
    }
}

/// Returns the number of copies of a line on so many CPUs.
pub(crate) fn copy_count(sharing: LineSharing, cpus: u32) -> usize {
    match sharing {
        LineSharing::All => 1,
        LineSharing::Group(size) => cpus.div_ceil(u32::from(size.max(1))) as usize,
    }
}
