//! Accesses: which of them are ordered, when they execute, and what that changes.

use crate::cpu::{CpuPhase, HeldRequest};
use crate::machine::SimulatedMachine;
use crate::poll_ring::LoadedLine;
use crate::protocol::CopyState;
use crate::random::fraction_of;
use crate::request::{LineAccess, LineAnswer, LineNumber, LineRequest};
use crate::sites::OpenLoad;
use crate::time::SimulatedTime;
use crate::wait_queue::{LineWaiter, WaitingRequest, WantedCopy};

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
        let Some(entry) = self.lines.entry(line) else {
            return false;
        };
        let stores = access.stores();
        let Some(index) = entry.shared() else {
            return usize::from(entry.cpu) != cpu && (entry.is_stored || stores);
        };
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

    /// Notes an access that was not requested. If the CPU does not have the line, it gets it at once and without a cost.
    #[inline]
    pub fn note_access(
        &mut self,
        cpu: usize,
        line: LineNumber,
        access: LineAccess,
        at: SimulatedTime,
    ) {
        let entry = self.lines.entry_or_first(line, cpu);
        if entry.shared().is_none() && usize::from(entry.cpu) == cpu {
            entry.is_stored |= access.stores();
            if access.loads() {
                let (version, site) = (0, None);
                self.cpus[cpu].loaded.note_load(LoadedLine {
                    line: line.0,
                    version,
                    site,
                });
            }
            return;
        }
        self.note_shared_access(cpu, line, access, at);
    }

    fn note_shared_access(
        &mut self,
        cpu: usize,
        line: LineNumber,
        access: LineAccess,
        at: SimulatedTime,
    ) {
        let index = self.shared_index(line, cpu);
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
    }

    /// Learns whether the last load that missed had a store close behind it, by the time at which that would execute
    /// if it did not wait.
    fn learn_from_store(&mut self, cpu: usize, line: usize, at: SimulatedTime) {
        let open_load = &mut self.cpus[cpu].open_load;
        let within_ps = self.amounts.load_before_store_ps;
        self.sites.note_store(open_load, line as u32, at, within_ps);
    }

    /// Requests a line for the CPU whose turn it is. If other CPUs are behind that time, the request waits for them.
    pub fn request(&mut self, request: LineRequest) -> LineAnswer {
        let cpu = request.cpu;
        debug_assert_eq!(self.cpus[cpu].phase, CpuPhase::Running);
        if request.access.stores() && self.cpus[cpu].open_load.is_some() {
            let line = self.shared_index(request.line, cpu);
            self.learn_from_store(cpu, line, request.at);
        }
        let state = &mut self.cpus[cpu];
        let code_ps = request.at.since(state.last_ordered);
        let stretch = fraction_of(code_ps, 2 * self.amounts.code_jitter);
        let at = request.at.after(state.random.up_to(stretch));
        let request = LineRequest { at, ..request };
        if !self.is_next(cpu, at) {
            self.set_phase(cpu, CpuPhase::Requesting(request), at);
            self.order.set(cpu, at);
            return LineAnswer::Waits;
        }
        self.now = self.now.max(at);
        match self.perform(request) {
            true => LineAnswer::Now(at),
            false => LineAnswer::Waits,
        }
    }

    /// Performs a request whose time has come, and returns whether its instruction executes at once.
    pub(super) fn perform(&mut self, request: LineRequest) -> bool {
        let LineRequest {
            cpu,
            line,
            access,
            at,
            ..
        } = request;
        self.set_phase(cpu, CpuPhase::Running, at);
        let line = self.shared_index(line, cpu);
        let stores = &mut self.cpus[cpu].stores;
        stores.retire(at);
        if access == LineAccess::Atomic && stores.len() > 0 {
            return self.wait_for_stores(request);
        }
        let usable_at = self.usable_at(line, cpu, access, at);
        let is_full = self.cpus[cpu].stores.len() >= self.amounts.stores_max;
        if usable_at.is_none() && access == LineAccess::Store && is_full {
            return self.wait_for_stores(request);
        }
        let held = self.hold(request, line, usable_at.is_none());
        match usable_at {
            Some(ready_at) if ready_at > at => {
                self.set_phase(cpu, CpuPhase::Waiting(held), at);
                self.order.set(cpu, ready_at);
                return false;
            }
            None if !self.ask_for(&held) => return false,
            _ => {}
        }
        self.execute_held(&held, at);
        true
    }

    /// Counts a request, and returns what its CPU keeps of it until it executes.
    fn hold(&mut self, request: LineRequest, line: usize, missed: bool) -> HeldRequest {
        let LineRequest { cpu, access, .. } = request;
        let site = self.sites.index(request.site, &mut self.counts.sites);
        let core = self.cores.core_of(cpu);
        let misses = u64::from(missed);
        let counts = &mut self.counts;
        counts.cpus[cpu].requests += 1;
        counts.cpus[cpu].misses += misses;
        counts.sites[site as usize].requests += 1;
        counts.sites[site as usize].misses += misses;
        counts.lines[line].hits += 1 - misses;
        counts.lines[line].cores.insert(core);
        let shared = self.lines.line_mut(line);
        shared.note_use(cpu, access.stores(), request.at);
        HeldRequest {
            request,
            line: line as u32,
            site,
            missed,
        }
    }

    /// Asks for the line of a request that misses, and returns whether the CPU goes on: so it does after a store, and if
    /// the code behind a load hides the whole wait.
    fn ask_for(&mut self, held: &HeldRequest) -> bool {
        let LineRequest {
            cpu, access, at, ..
        } = held.request;
        let line = held.line as usize;
        let waiter = match access {
            LineAccess::Load | LineAccess::Update => LineWaiter::Load,
            LineAccess::Atomic => LineWaiter::Atomic,
            LineAccess::Store => LineWaiter::Store,
        };
        match waiter {
            LineWaiter::Store => self.cpus[cpu].stores.push(line, SimulatedTime::NEVER),
            _ => self.set_phase(cpu, CpuPhase::Waiting(*held), at),
        }
        let wanted = match access {
            LineAccess::Load if self.sites.loads_for_store(held.site) => WantedCopy::Exclusive,
            LineAccess::Load => WantedCopy::Read,
            _ => WantedCopy::Modified,
        };
        let asking = WaitingRequest {
            cpu: cpu as u16,
            core: self.cores.core_of(cpu) as u16,
            wanted,
            waiter,
            at,
            passed_over: 0,
        };
        self.enqueue(line, asking);
        if self.amounts.fetches_pair && waiter == LineWaiter::Load {
            self.fetch_pair(held.request.line, asking);
        }
        if waiter == LineWaiter::Store {
            return true;
        }
        let is_hidden = self.order.time_of(cpu) <= at;
        if is_hidden {
            self.order.set(cpu, SimulatedTime::NEVER);
            self.set_phase(cpu, CpuPhase::Running, at);
        }
        is_hidden
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
        } else if is_atomic {
            Some(arrival.at)
        } else if is_own || access == LineAccess::Store {
            // What it waits for, it waited for already.
            Some(at)
        } else {
            Some(at.max(arrival.at.before(self.amounts.overlap_ps)))
        }
    }

    pub(super) fn execute_held(&mut self, held: &HeldRequest, at: SimulatedTime) {
        let LineRequest { cpu, access, .. } = held.request;
        self.cpus[cpu].last_ordered = at;
        self.execute(cpu, held.line as usize, access, Some(held), at);
    }

    /// Notes the execution of an access: what it teaches, and who it wakes.
    fn execute(
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

    pub(super) fn shared_index(&mut self, line: LineNumber, cpu: usize) -> usize {
        self.lines
            .shared_index(line, cpu, &self.cores, &mut self.counts.lines)
    }
}
