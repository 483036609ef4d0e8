//! Requests of lines, and when their instructions execute.

use crate::cpu::{CpuPhase, HeldRequest};
use crate::machine::SimulatedMachine;
use crate::random::fraction_of;
use crate::request::{LineAccess, LineAnswer, LineRequest};
use crate::time::SimulatedTime;
use crate::wait_queue::{LineWaiter, WaitingRequest, WantedCopy};

impl SimulatedMachine {
    /// Requests a line for the CPU whose turn it is. If other CPUs are behind that time, the request waits for them.
    pub fn request(&mut self, request: LineRequest) -> LineAnswer {
        let cpu = request.cpu;
        debug_assert_eq!(self.cpus[cpu].phase, CpuPhase::Running);
        if request.access.stores() && self.cpus[cpu].open_load.is_some() {
            let line = self.shared_index(request.line, cpu);
            self.learn_from_store(cpu, line, request.at);
        }
        let state = &mut self.cpus[cpu];
        let code_ps = match request.line.is_free() {
            // It costs no more than a line that no other CPU uses, whose accesses are not requested.
            true => 0,
            false => request.at.since(state.last_ordered),
        };
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
        let stores = &mut self.cpus[cpu].stores;
        let is_behind = access.stores() && stores.waits_for(line, at);
        let needs_room = is_behind || usable_at.is_none() && access == LineAccess::Store;
        if needs_room && stores.len() >= self.amounts.stores_max {
            return self.wait_for_stores(request);
        }
        if is_behind {
            stores.push_behind(line);
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
        let counted_access = self
            .sites
            .access_index(site, &request, &mut self.counts.accesses);
        let counts = &mut self.counts;
        counts.cpus[cpu].requests += 1;
        counts.cpus[cpu].misses += misses;
        counts.sites[site as usize].requests += 1;
        counts.sites[site as usize].misses += misses;
        counts.accesses[counted_access as usize].requests += 1;
        counts.accesses[counted_access as usize].misses += misses;
        counts.lines[line].hits += 1 - misses;
        counts.lines[line].cores.insert(core);
        let shared = self.lines.line_mut(line);
        shared.note_use(cpu, access.stores(), request.at);
        HeldRequest {
            request,
            line: line as u32,
            site,
            counted_access,
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
            LineWaiter::Store => self.cpus[cpu].stores.push(line),
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

    pub(super) fn execute_held(&mut self, held: &HeldRequest, at: SimulatedTime) {
        let LineRequest {
            cpu, access, line, ..
        } = held.request;
        if !line.is_free() {
            self.cpus[cpu].last_ordered = at;
        }
        self.execute(cpu, held.line as usize, access, Some(held), at);
    }
}
