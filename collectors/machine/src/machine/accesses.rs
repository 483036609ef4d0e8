//! Accesses: which of them are ordered, and what each changes.

use crate::cpu::HeldRequest;
use crate::machine::SimulatedMachine;
use crate::poll_ring::LoadedLine;
use crate::protocol::CopyState;
use crate::request::{LineAccess, LineNumber, LineUse};
use crate::sites::OpenLoad;
use crate::time::SimulatedTime;
use crate::wait_queue::WantedCopy;

impl SimulatedMachine {
    /// Returns whether an access has to be requested, in the order of time.
    ///
    /// So has one to a line that another CPU used, if one of them stores to it. A load that hits has not if no other
    /// CPU has stored to the line for the time of [`crate::MachineRule::OrderedWithin`], a store that hits if none has
    /// used it for so long.
    #[inline]
    pub fn must_order(
        &self,
        cpu: usize,
        line: LineNumber,
        access: LineAccess,
        at: SimulatedTime,
    ) -> bool {
        let stores = access.stores();
        if self.cpus[cpu].own_lines.allow(line, stores) {
            return false;
        }
        let Some(entry) = self.lines.entry(line) else {
            return false;
        };
        match entry.shared() {
            Some(index) => self.is_contended(index, cpu, access, at),
            None => usize::from(entry.cpu) != cpu && (entry.is_stored || stores),
        }
    }

    fn is_contended(
        &self,
        index: usize,
        cpu: usize,
        access: LineAccess,
        at: SimulatedTime,
    ) -> bool {
        let stores = access.stores();
        let shared = self.lines.line(index);
        let Some(last_use) = shared.uses.by_others(cpu) else {
            return false;
        };
        if !shared.is_stored && !stores {
            return false;
        }
        if self.usable_at(index, cpu, access, at) != Some(at) {
            return true;
        }
        let last = match stores {
            true => Some(last_use),
            false => shared.stores.by_others(cpu),
        };
        let is_recent = |last: SimulatedTime| at.since(last) <= self.amounts.ordered_within_ps;
        last.is_some_and(is_recent)
    }

    /// Notes an access that was not requested, and returns how the line was used. If the CPU does not have the line, it
    /// gets it at once and without a cost.
    #[inline]
    pub fn note_access(
        &mut self,
        cpu: usize,
        line: LineNumber,
        access: LineAccess,
        at: SimulatedTime,
    ) -> LineUse {
        let state = &mut self.cpus[cpu];
        if !state.own_lines.allow(line, access.stores()) {
            let entry = self.lines.entry_or_first(line, cpu);
            if entry.shared().is_some() || usize::from(entry.cpu) != cpu {
                return self.note_shared_access(cpu, line, access, at);
            }
            entry.is_stored |= access.stores();
            state.own_lines.note(line, entry.is_stored);
        }
        if access.loads() {
            let (version, site) = (0, None);
            state.loaded.note_load(LoadedLine {
                line: line.0,
                version,
                site,
            });
        }
        LineUse::Quiet
    }

    fn note_shared_access(
        &mut self,
        cpu: usize,
        line: LineNumber,
        access: LineAccess,
        at: SimulatedTime,
    ) -> LineUse {
        let index = self.shared_index(line, cpu);
        let line_use = self.use_of_shared(index, cpu, access, at);
        if self.usable_at(index, cpu, access, at).is_none() {
            let wanted = match access {
                LineAccess::Load => WantedCopy::Read,
                _ => WantedCopy::Modified,
            };
            let core = self.cores.core_of(cpu);
            let shared = self.lines.line_mut(index);
            shared
                .copies
                .give(core, wanted, &self.protocol, &mut shared.lost, at);
            self.counts.cpus[cpu].unordered += 1;
        }
        if access.stores() {
            self.learn_from_store(cpu, index, at);
        }
        self.execute(cpu, index, access, None, at);
        line_use
    }

    fn use_of_shared(
        &self,
        index: usize,
        cpu: usize,
        access: LineAccess,
        at: SimulatedTime,
    ) -> LineUse {
        let shared = self.lines.line(index);
        let is_recent = |last: SimulatedTime| at.since(last) <= self.amounts.ordered_within_ps;
        if self.is_contended(index, cpu, access, at) {
            LineUse::Contended
        } else if shared.is_stored && shared.uses.by_others(cpu).is_some_and(is_recent) {
            LineUse::Shared
        } else {
            LineUse::Quiet
        }
    }

    /// Returns when a CPU that has the line, or still uses it, can access it. None: it has to get it.
    #[inline]
    pub(super) fn usable_at(
        &self,
        line: usize,
        cpu: usize,
        access: LineAccess,
        at: SimulatedTime,
    ) -> Option<SimulatedTime> {
        let shared = self.lines.line(line);
        let core = self.cores.core_of(cpu);
        let is_atomic = access == LineAccess::Atomic;
        let uses_value = access == LineAccess::Load && self.amounts.second_load_waits;
        if !is_atomic && self.cpus[cpu].stores.waits_for(line, at) {
            return Some(at);
        }
        if !shared.copies.allows(core, access.stores()) {
            let is_kept = shared.lost.allows(core, access.stores(), at);
            return is_kept.then_some(at);
        }
        let arrival = &shared.arrival;
        let is_own = usize::from(arrival.cpu) == cpu;
        if arrival.at <= at || usize::from(arrival.core) != core {
            Some(at)
        } else if is_atomic || is_own && uses_value {
            Some(arrival.at)
        } else if is_own || access == LineAccess::Store {
            // What it waits for, it waited for already.
            Some(at)
        } else {
            Some(at.max(arrival.at.before(self.amounts.overlap_ps)))
        }
    }

    /// Notes the execution of an access: what it teaches, and who it wakes.
    pub(super) fn execute(
        &mut self,
        cpu: usize,
        line: usize,
        access: LineAccess,
        held: Option<&HeldRequest>,
        at: SimulatedTime,
    ) {
        let shared = self.lines.line_mut(line);
        shared.note_use(cpu, access.stores(), at);
        let state = &mut self.cpus[cpu];
        let load = held.filter(|_| access == LineAccess::Load);
        if access.loads() {
            state.loaded.note_load(LoadedLine {
                line: shared.number.0,
                version: shared.version,
                site: load.map(|held| held.site),
            });
        }
        if let Some(held) = load {
            let load = OpenLoad::new(held.line, held.site, at);
            self.sites
                .note_load(&mut state.open_load, load, held.missed);
        }
        if access.stores() {
            self.change_line(cpu, line, at);
        }
    }

    /// Changes the content of a line by a store.
    fn change_line(&mut self, cpu: usize, line: usize, at: SimulatedTime) {
        let core = self.cores.core_of(cpu);
        let shared = self.lines.line_mut(line);
        if shared.copies.owner() == Some(core) {
            shared.copies.state = CopyState::Modified;
        }
        let seen = shared.version;
        shared.version = seen.wrapping_add(1);
        let loaded = &mut self.cpus[cpu].loaded;
        loaded.note_own_store(shared.number.0, seen, shared.version);
        if !shared.watchers.is_empty() {
            self.wake_watchers(cpu, line, at);
        }
    }

    /// Learns whether the last load that missed had a store close behind it, by the time at which that would execute
    /// if it did not wait.
    pub(super) fn learn_from_store(&mut self, cpu: usize, line: usize, at: SimulatedTime) {
        let open_load = &mut self.cpus[cpu].open_load;
        let within_ps = self.amounts.load_before_store_ps;
        self.sites.note_store(open_load, line as u32, at, within_ps);
    }

    pub(super) fn shared_index(&mut self, line: LineNumber, cpu: usize) -> usize {
        if let Some(entry) = self.lines.entry(line)
            && entry.shared().is_none()
        {
            self.cpus[usize::from(entry.cpu)].own_lines.forget(line);
        }
        self.lines
            .shared_index(line, cpu, &self.cores, &mut self.counts.lines)
    }
}
