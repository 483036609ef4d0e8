//! State of contended lines: who has each, and until when it is on its way.
//!
//! A line is a server. It moves to one CPU at a time, and those that want it meanwhile wait in the order in which
//! they came.

use crate::machine::TimedMachine;
use crate::placed::{ContendedLine, LineSharing};
use crate::rules::ModelRules;

/// Picoseconds in a nanosecond. Times of the simulation are whole numbers, so that sums do not depend on their order.
pub(crate) const PS: f64 = 1000.0;
/// No CPU.
const NOBODY: u32 = u32::MAX;

/// Way in which a CPU uses a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineUse {
    /// Loads.
    #[default]
    Load,
    /// Stores, which do not wait.
    Store,
    /// Atomic instructions.
    Locked,
}

/// State of one line, as the last request leaves it. A request that waits changes it at once; what a CPU may still do
/// until its line is gone, [`CpuUse`] tells.
#[derive(Clone, Copy, Debug)]
struct LineState {
    /// CPU that has it alone.
    owner: u32,
    /// The owner has stored to it.
    is_modified: bool,
    /// CPU that had it alone last; the distance of those that share it counts from there.
    last_owner: u32,
    /// When it can begin to move again.
    free_at: u64,
    /// When the owner can load from it.
    readable_at: u64,
}

const UNTOUCHED: LineState = LineState {
    owner: NOBODY,
    is_modified: false,
    last_owner: NOBODY,
    free_at: 0,
    readable_at: 0,
};

/// Use of a line by a CPU, and when it has lost the line that others asked for.
#[derive(Clone, Copy, Debug, Default)]
struct CpuUse {
    /// For loads.
    shared_until: u64,
    /// For stores.
    alone_until: u64,
    /// Strongest use of the line since it came.
    strongest: LineUse,
}

/// Request of a CPU for a line.
#[derive(Clone, Copy)]
struct CopyRequest {
    line: u32,
    cpu: u32,
    /// Index of the CPU's copy of the line.
    copy: usize,
}

/// All lines of a simulation.
pub(crate) struct SimulatedLines<'m> {
    machine: &'m TimedMachine,
    rules: &'m ModelRules,
    /// By copy of a line.
    states: Vec<LineState>,
    /// CPUs that have their copy of a line to read: by line, one bit each.
    readers: Vec<u64>,
    words_per_line: usize,
    /// By line and CPU.
    uses: Vec<CpuUse>,
    cpus: u32,
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
            readers: vec![0; lines.len() * words_per_line],
            words_per_line,
            uses: vec![CpuUse::default(); lines.len() * cpus as usize],
            cpus,
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
    pub(crate) fn access(&mut self, line: u32, cpu: u32, at: u64, line_use: LineUse) -> u64 {
        let request = CopyRequest {
            line,
            cpu,
            copy: self.copies[line as usize].0 + self.copy_of(line, cpu),
        };
        let state = self.states[request.copy];
        let needs_alone = line_use != LineUse::Load;
        let own = self.use_by(line, cpu);
        let keeps_alone = at < own.alone_until;
        let is_kept = keeps_alone || (!needs_alone && at < own.shared_until);
        if is_kept || state.owner == cpu {
            own.strongest = own.strongest.max(line_use);
            self.states[request.copy].is_modified |= needs_alone && state.owner == cpu;
            return if is_kept {
                at
            } else {
                at.max(state.readable_at)
            };
        }
        let is_reader = self.is_reader(line, cpu);
        if is_reader && !needs_alone {
            return at;
        }
        self.use_by(line, cpu).strongest = line_use;
        let begin = at.max(state.free_at);
        let is_moved = state.is_modified && self.rules.moved_by_loads > 0.5;
        match needs_alone || is_moved {
            true => self.take_line(request, begin, is_reader, line_use),
            false => self.share_line(request, begin),
        }
    }

    /// Moves a line to a CPU that has it alone then, and returns when it is there.
    fn take_line(
        &mut self,
        request: CopyRequest,
        begin: u64,
        is_reader: bool,
        line_use: LineUse,
    ) -> u64 {
        let transfer = self.transfer_ps(request);
        let CopyRequest { line, cpu, copy } = request;
        let owner = self.states[copy].owner;
        let is_upgrade = is_reader && owner == NOBODY;
        let transfer = transfer * if is_upgrade { self.rules.upgrade } else { 1.0 };
        let end = begin + transfer as u64;
        if owner != NOBODY {
            let lost_at = begin + self.kept_ps(line, owner, line_use, transfer);
            let own = self.use_by(line, owner);
            (own.shared_until, own.alone_until) = (lost_at, lost_at);
        }
        let shared = (transfer * self.rules.kept_part(LineUse::Load, line_use)) as u64;
        self.drop_readers(line, cpu, begin + shared);
        self.states[copy] = LineState {
            owner: cpu,
            is_modified: line_use != LineUse::Load,
            last_owner: cpu,
            free_at: end,
            readable_at: if is_upgrade { 0 } else { end },
        };
        end
    }

    /// Gives a line to a CPU that reads it, and returns when it is there.
    fn share_line(&mut self, request: CopyRequest, begin: u64) -> u64 {
        let transfer = self.transfer_ps(request);
        let CopyRequest { line, cpu, copy } = request;
        self.add_reader(line, cpu);
        let state = &mut self.states[copy];
        if state.owner == NOBODY {
            state.free_at = begin + (self.rules.clean_hold_ns * PS) as u64;
            return begin + (transfer * self.rules.clean_read) as u64;
        }
        let owner = std::mem::replace(&mut state.owner, NOBODY);
        state.is_modified = false;
        let end = begin + transfer as u64;
        state.free_at = end;
        let lost_at = begin + self.kept_ps(line, owner, LineUse::Load, transfer);
        self.use_by(line, owner).alone_until = lost_at;
        self.add_reader(line, owner);
        end
    }

    /// Returns for how long an owner goes on to use a line whose move to another CPU begins.
    fn kept_ps(&mut self, line: u32, owner: u32, line_use: LineUse, transfer: f64) -> u64 {
        let own_use = self.use_by(line, owner).strongest;
        (transfer * self.rules.kept_part(own_use, line_use)) as u64
    }

    /// Takes a CPU's copy of a line from all who may read it.
    fn drop_readers(&mut self, line: u32, cpu: u32, lost_at: u64) {
        let sharers = match self.copies[line as usize].1 {
            LineSharing::All => 0..self.cpus,
            LineSharing::Group(size) => {
                let size = u32::from(size.max(1));
                let first = cpu / size * size;
                first..self.cpus.min(first + size)
            }
        };
        let first_word = line as usize * self.words_per_line;
        for word in sharers.start / 64..sharers.end.div_ceil(64) {
            let bits = self.readers[first_word + word as usize] & bits_within(&sharers, word);
            self.readers[first_word + word as usize] ^= bits;
            let mut left = bits;
            while left != 0 {
                self.use_by(line, word * 64 + left.trailing_zeros())
                    .shared_until = lost_at;
                left &= left - 1;
            }
        }
    }

    fn use_by(&mut self, line: u32, cpu: u32) -> &mut CpuUse {
        &mut self.uses[line as usize * self.cpus as usize + cpu as usize]
    }

    /// Returns the time to move the line to the CPU that asks for it.
    fn transfer_ps(&self, CopyRequest { cpu, copy, .. }: CopyRequest) -> f64 {
        let state = self.states[copy];
        let holders = [state.owner, state.last_owner, cpu].into_iter();
        let from = { holders }.find(|holder| *holder != NOBODY).unwrap_or(cpu);
        self.machine.transfer_ns(from, cpu) * self.rules.transfer_factor * PS
    }

    fn is_reader(&self, line: u32, cpu: u32) -> bool {
        let word = self.readers[line as usize * self.words_per_line + cpu as usize / 64];
        word >> (cpu % 64) & 1 == 1
    }

    fn add_reader(&mut self, line: u32, cpu: u32) {
        self.readers[line as usize * self.words_per_line + cpu as usize / 64] |= 1 << (cpu % 64);
    }
}

/// Returns the bits of those CPUs that are in one word of 64.
fn bits_within(cpus: &std::ops::Range<u32>, word: u32) -> u64 {
    let first = word * 64;
    let below = |end: u32| match end.saturating_sub(first) {
        64.. => u64::MAX,
        bits => (1 << bits) - 1,
    };
    below(cpus.end) & !below(cpus.start)
}

/// Returns the number of copies of a line on so many CPUs.
pub(crate) fn copy_count(sharing: LineSharing, cpus: u32) -> usize {
    match sharing {
        LineSharing::All => 1,
        LineSharing::Group(size) => cpus.div_ceil(u32::from(size.max(1))) as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::bits_within;

    #[test]
    fn bits_of_cpus() {
        assert_eq!(bits_within(&(0..3), 0), 0b111);
        assert_eq!(bits_within(&(2..4), 0), 0b1100);
        assert_eq!(bits_within(&(60..70), 0), 0xf << 60);
        assert_eq!(bits_within(&(60..70), 1), 0x3f);
        assert_eq!(bits_within(&(0..128), 1), u64::MAX);
    }
}
