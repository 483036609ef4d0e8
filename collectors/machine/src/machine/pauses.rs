//! Pause instructions: polls that cost no time of the host.

use crate::cpu::CpuPhase;
use crate::machine::SimulatedMachine;
use crate::request::LineNumber;
use crate::time::SimulatedTime;

impl SimulatedMachine {
    /// Executes a pause instruction, which ends the turn. The CPU sleeps until another CPU stores to one of the last
    /// eight lines that it loaded since its last pause, an interrupt comes, or the time of
    /// [`crate::MachineRule::PauseLimit`] is over. It does not sleep if it loaded none, or if one of them has changed.
    pub fn pause(&mut self, cpu: usize, at: SimulatedTime) {
        debug_assert_eq!(self.cpus[cpu].phase, CpuPhase::Running);
        self.counts.cpus[cpu].pauses += 1;
        self.note_polls(cpu, at);
        if self.may_sleep(cpu) {
            for loaded in self.cpus[cpu].loaded.clone().iter() {
                let line = self.shared_index(LineNumber(loaded.line), cpu);
                self.lines.line_mut(line).watchers.insert(cpu);
            }
            self.counts.cpus[cpu].sleeps += 1;
            self.set_phase(cpu, CpuPhase::Pausing, at);
            self.order.set(cpu, at.after(self.amounts.pause_limit_ps));
        } else {
            self.cpus[cpu].loaded.clear();
            self.set_phase(cpu, CpuPhase::Ready, at);
            self.order.set(cpu, at);
        }
    }

    /// Learns which sites poll: those between two pauses that are close to each other.
    fn note_polls(&mut self, cpu: usize, at: SimulatedTime) {
        let state = &mut self.cpus[cpu];
        let is_close = |last: SimulatedTime| at.since(last) < self.amounts.poll_interval_ps;
        if state.last_pause.is_some_and(is_close) {
            for site in state.loaded.iter().filter_map(|loaded| loaded.site) {
                self.sites.note_poll(site);
            }
        }
        state.last_pause = Some(at);
    }

    fn may_sleep(&self, cpu: usize) -> bool {
        let mut loaded = self.cpus[cpu].loaded.iter().peekable();
        let is_unchanged = |line, version| {
            let entry = self.lines.entry(LineNumber(line));
            let shared = entry.and_then(|entry| entry.shared());
            shared.map_or(0, |index| self.lines.line(index).version) == version
        };
        self.amounts.pause_limit_ps > 0
            && loaded.peek().is_some()
            && loaded.all(|loaded| is_unchanged(loaded.line, loaded.version))
    }

    /// Lets a CPU go on that slept.
    pub(super) fn end_pause(&mut self, cpu: usize, at: SimulatedTime) {
        let loaded = core::mem::take(&mut self.cpus[cpu].loaded);
        for loaded in loaded.iter() {
            let line = self.shared_index(LineNumber(loaded.line), cpu);
            self.lines.line_mut(line).watchers.remove(cpu);
        }
        let state = &mut self.cpus[cpu];
        state.last_ordered = at;
        state.last_pause = Some(at);
    }

    /// Wakes the CPUs that sleep until another one stores to the line. A CPU does not see the store before it has lost
    /// its copy; a copy that it has while the store still waits for the line wakes it later ([`Self::wake_losers`]). A store
    /// of a core that goes on using a line which it has lost comes with the copy that is on its way.
    pub(super) fn wake_watchers(&mut self, cpu: usize, line: usize, at: SimulatedTime) {
        let core = self.cores.core_of(cpu);
        let store_waits = self.cpus[cpu].stores.waits_for(line, at);
        let watchers = self.lines.line(line).watchers.without(cpu);
        for watcher in watchers.iter() {
            let watcher_core = self.cores.core_of(watcher);
            let shared = self.lines.line_mut(line);
            if watcher_core == core {
                self.wake(watcher, line, at);
            } else if shared.copies.allows(watcher_core, false) {
                if store_waits {
                    shared.has_waiting_change = true;
                } else {
                    let arrives_at = shared.arrival.at;
                    self.wake(watcher, line, at.max(arrives_at));
                }
            } else {
                let until = shared.lost.until(watcher_core);
                self.wake(watcher, line, at.max(until));
            }
        }
    }

    /// Wakes the CPUs that have lost their copies of a line to a store, when they stop using them.
    pub(super) fn wake_losers(&mut self, line: usize, lost_until: SimulatedTime) {
        let shared = self.lines.line(line);
        if !shared.has_waiting_change {
            return;
        }
        let watchers = shared.watchers;
        for watcher in watchers.iter() {
            let core = self.cores.core_of(watcher);
            if !self.lines.line(line).copies.allows(core, false) {
                self.wake(watcher, line, lost_until);
            }
        }
        let shared = self.lines.line_mut(line);
        shared.has_waiting_change = !shared.watchers.is_empty();
    }

    fn wake(&mut self, watcher: usize, line: usize, at: SimulatedTime) {
        // All that poll the line wake now. If none were later than others, the smallest number would always win.
        let random = &mut self.cpus[watcher].random;
        let noticed_at = at.after(random.up_to(self.amounts.poll_period_ps));
        // It may have gone to sleep ahead of the store.
        let from = noticed_at.max(self.counts.cpus[watcher].to);
        let until = from.min(self.order.time_of(watcher));
        self.order.set(watcher, until);
        self.lines.line_mut(line).watchers.remove(watcher);
    }
}
