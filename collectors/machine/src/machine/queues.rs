//! Lines as servers: who gets a line next, and when it arrives.

use core::cmp::Reverse;

use crate::cpu::CpuPhase;
use crate::machine::SimulatedMachine;
use crate::random::fraction_of;
use crate::request::{LineAccess, LineNumber, LineRequest};
use crate::shared_line::LineArrival;
use crate::time::SimulatedTime;
use crate::topology::CpuDistance;
use crate::transfer::LineTransfer;
use crate::wait_queue::{LineWaiter, WaitingRequest, WantedCopy};

impl SimulatedMachine {
    /// Lets a request have the line at once if it is free, or puts it into the line's queue.
    pub(super) fn enqueue(&mut self, line: usize, request: WaitingRequest) {
        let shared = self.lines.line_mut(line);
        let is_first = shared.queue.is_empty();
        if is_first && shared.free_at <= request.at {
            self.grant(line, &request, request.at);
            return;
        }
        self.waiting.push(&mut shared.queue, request);
        if is_first {
            self.events.push(Reverse((shared.free_at, line as u32)));
        }
    }

    /// Serves the queue of a line that is free at a time.
    pub(super) fn serve(&mut self, line: usize, at: SimulatedTime) {
        loop {
            let shared = self.lines.line_mut(line);
            if shared.queue.is_empty() {
                return;
            }
            if shared.free_at > at {
                self.events.push(Reverse((shared.free_at, line as u32)));
                return;
            }
            let cores = &self.cores;
            let core_of = |request: &WaitingRequest| usize::from(request.core);
            let next = if self.amounts.has_socket_queues {
                let last = usize::from(shared.arrival.core);
                let turn = |request: &WaitingRequest| cores.socket_turn(last, core_of(request));
                self.waiting.pop(&mut shared.queue, u32::MAX, turn)
            } else {
                let place = usize::from(shared.copies.holder.unwrap_or(shared.arrival.core));
                let distance = |request: &WaitingRequest| cores.distance(core_of(request), place);
                let passed_over_max = self.amounts.passed_over_max;
                self.waiting
                    .pop(&mut shared.queue, passed_over_max, distance)
            };
            if let Some(request) = next {
                self.grant(line, &request, at);
            }
        }
    }

    /// Begins the transfer of a line, and tells who waits for it.
    fn grant(&mut self, line: usize, request: &WaitingRequest, start: SimulatedTime) {
        let arrives_at = self.transfer(line, request, start);
        let cpu = usize::from(request.cpu);
        match request.waiter {
            LineWaiter::Load => {
                let ready_at = arrives_at.before(self.amounts.overlap_ps);
                // What others did until now cannot be undone.
                self.order.set(cpu, ready_at.max(start));
            }
            LineWaiter::Atomic => self.order.set(cpu, arrives_at),
            LineWaiter::Store => {
                let state = &mut self.cpus[cpu];
                state.stores.note_arrival(line, arrives_at);
                if let CpuPhase::Storing(request) = state.phase {
                    self.wait_for_stores(request);
                }
            }
            LineWaiter::Prefetch => {}
        }
    }

    /// Moves a line, and returns when it arrives.
    fn transfer(
        &mut self,
        line: usize,
        request: &WaitingRequest,
        start: SimulatedTime,
    ) -> SimulatedTime {
        let core = usize::from(request.core);
        let shared = self.lines.line_mut(line);
        let counts = &mut self.counts.lines[line];
        if request.waiter != LineWaiter::Prefetch {
            counts.queue_ps += start.since(request.at);
        }
        let wanted = request.wanted;
        if shared.copies.allows(core, wanted.is_alone()) {
            // Another thread of the core got it meanwhile.
            let is_own = shared.arrival.core == request.core;
            let arrival = is_own.then_some(shared.arrival.at);
            return start.max(arrival.unwrap_or_default());
        }
        let transfer = LineTransfer::new(
            &shared.copies,
            core,
            wanted,
            &self.protocol,
            &self.cores,
            &self.amounts,
        );
        counts.transfers[transfer.kind as usize][transfer.distance as usize] += 1;
        let whole_ps = self.amounts.transfer_ps[transfer.distance as usize];
        let random = &mut self.cpus[usize::from(request.cpu)].random;
        let drawn_ps = random.around(whole_ps, self.amounts.transfer_jitter);
        let move_ps = match shared.number.is_free() {
            true => 0,
            false => fraction_of(drawn_ps, transfer.part),
        };
        let is_kept =
            transfer.distance == CpuDistance::OtherSocket && shared.copies.owner().is_some();
        let leaves_at = match is_kept && move_ps > 0 {
            true => start.after(self.amounts.far_tenure_ps),
            false => start,
        };
        let arrives_at = leaves_at.after(move_ps);
        shared.free_at = match transfer.keeps_line() {
            true => arrives_at,
            false => start.after(self.amounts.clean_occupation_ps.min(move_ps)),
        };
        let lost_until = leaves_at.after(fraction_of(move_ps, self.amounts.hold));
        shared
            .copies
            .give(core, wanted, &self.protocol, &mut shared.lost, lost_until);
        shared.arrival = LineArrival {
            cpu: request.cpu,
            core: request.core,
            at: arrives_at,
        };
        self.wake_losers(line, lost_until);
        arrives_at
    }

    /// Lets a CPU wait until there is room for a store, or until all stores before an atomic instruction are done.
    /// Returns false: its instruction does not execute now.
    pub(super) fn wait_for_stores(&mut self, request: LineRequest) -> bool {
        let LineRequest {
            cpu, access, at, ..
        } = request;
        let stores = &self.cpus[cpu].stores;
        let done_at = match access {
            LineAccess::Atomic => stores.all_done(),
            _ => stores.oldest_done(),
        };
        self.set_phase(cpu, CpuPhase::Storing(request), at);
        self.order.set(cpu, done_at);
        false
    }

    /// Fetches the other line of a pair to read, if other CPUs use it.
    pub(super) fn fetch_pair(&mut self, line: LineNumber, beside: WaitingRequest) {
        let pair = LineNumber(line.0 ^ 1);
        let Some(entry) = self.lines.entry(pair) else {
            return;
        };
        let cpu = usize::from(beside.cpu);
        if entry.shared().is_none() && usize::from(entry.cpu) == cpu {
            return;
        }
        let index = self.shared_index(pair, cpu);
        let core = usize::from(beside.core);
        let shared = self.lines.line_mut(index);
        let is_waiting = |request: &WaitingRequest| request.core == beside.core;
        if shared.copies.allows(core, false) || self.waiting.has(&shared.queue, is_waiting) {
            return;
        }
        shared.note_use(cpu, false, beside.at);
        let request = WaitingRequest {
            wanted: WantedCopy::Read,
            waiter: LineWaiter::Prefetch,
            ..beside
        };
        self.enqueue(index, request);
    }
}
