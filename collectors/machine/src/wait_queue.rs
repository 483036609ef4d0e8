//! Requests that wait for a line to come free.

use alloc::vec::Vec;

use crate::time::SimulatedTime;

/// Copy that a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WantedCopy {
    /// A copy to read.
    Read,
    /// The only copy, for a load before a store.
    Exclusive,
    /// The only copy, to modify it.
    Modified,
}

impl WantedCopy {
    pub(crate) fn is_alone(self) -> bool {
        self != Self::Read
    }
}

/// Part of a CPU that waits for the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineWaiter {
    /// The CPU stands still, but for the code behind the load that it executes meanwhile.
    Load,
    /// The CPU stands still.
    Atomic,
    /// A store in its store buffer.
    Store,
    /// Nothing: the line was fetched beside another.
    Prefetch,
}

/// A request in the queue of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingRequest {
    pub cpu: u16,
    pub core: u16,
    pub wanted: WantedCopy,
    pub waiter: LineWaiter,
    pub at: SimulatedTime,
    /// Times that a later request was served before.
    pub passed_over: u32,
}

const NONE: u32 = u32::MAX;

/// Queue of a line: a list within [`WaitQueue`], in the order of arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineQueue {
    first: u32,
    last: u32,
}

impl Default for LineQueue {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
        }
    }
}

impl LineQueue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }
}

#[derive(Clone, Debug)]
struct QueueNode {
    request: WaitingRequest,
    next: u32,
}

/// Requests in all queues. Places are used again, so that no request allocates.
#[derive(Clone, Default, Debug)]
pub(crate) struct WaitQueue {
    nodes: Vec<QueueNode>,
    /// First free place.
    free: Option<u32>,
}

impl WaitQueue {
    pub(crate) fn push(&mut self, queue: &mut LineQueue, request: WaitingRequest) {
        let node = QueueNode {
            request,
            next: NONE,
        };
        let place = match self.free {
            Some(place) => {
                let next = self.nodes[place as usize].next;
                self.free = (next != NONE).then_some(next);
                self.nodes[place as usize] = node;
                place
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        match queue.last {
            NONE => queue.first = place,
            last => self.nodes[last as usize].next = place,
        }
        queue.last = place;
    }

    /// Removes the request that is served next: the one with the least `rank`, and of equal ones the first. A request
    /// that was passed over `passed_over_max` times already comes before all others; with 0 that is the first.
    pub(crate) fn pop<R: Ord>(
        &mut self,
        queue: &mut LineQueue,
        passed_over_max: u32,
        rank: impl Fn(&WaitingRequest) -> R,
    ) -> Option<WaitingRequest> {
        if queue.is_empty() {
            return None;
        }
        let (mut chosen, mut chosen_before) = (queue.first, NONE);
        let (mut before, mut place) = (queue.first, self.nodes[queue.first as usize].next);
        // Later requests were passed over no more often than the first.
        let first = &self.nodes[queue.first as usize].request;
        if first.passed_over < passed_over_max {
            let mut least = rank(first);
            while place != NONE {
                let node = &self.nodes[place as usize];
                let node_rank = rank(&node.request);
                if node_rank < least {
                    (chosen, chosen_before, least) = (place, before, node_rank);
                }
                (before, place) = (place, node.next);
            }
            let mut passed = queue.first;
            while passed != chosen {
                let node = &mut self.nodes[passed as usize];
                node.request.passed_over += 1;
                passed = node.next;
            }
        }
        Some(self.remove(queue, chosen, chosen_before))
    }

    fn remove(&mut self, queue: &mut LineQueue, place: u32, before: u32) -> WaitingRequest {
        let next = self.nodes[place as usize].next;
        match before {
            NONE => queue.first = next,
            before => self.nodes[before as usize].next = next,
        }
        if queue.last == place {
            queue.last = before;
        }
        self.nodes[place as usize].next = self.free.unwrap_or(NONE);
        self.free = Some(place);
        self.nodes[place as usize].request
    }

    /// Returns whether a request in the queue satisfies `condition`.
    pub(crate) fn has(
        &self,
        queue: &LineQueue,
        condition: impl Fn(&WaitingRequest) -> bool,
    ) -> bool {
        let mut place = queue.first;
        while place != NONE {
            let node = &self.nodes[place as usize];
            if condition(&node.request) {
                return true;
            }
            place = node.next;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{LineQueue, LineWaiter, WaitQueue, WaitingRequest, WantedCopy};
    use crate::time::SimulatedTime;

    /// Serves requests of CPUs in queue order; the distance of a CPU is its number divided by ten.
    fn served(cpus: &[u16], passed_over_max: u32) -> Vec<u16> {
        let mut pool = WaitQueue::default();
        let mut queue = LineQueue::default();
        for &cpu in cpus {
            let request = WaitingRequest {
                cpu,
                core: cpu,
                wanted: WantedCopy::Read,
                waiter: LineWaiter::Atomic,
                at: SimulatedTime(0),
                passed_over: 0,
            };
            pool.push(&mut queue, request);
        }
        let pop = || pool.pop(&mut queue, passed_over_max, |request| request.cpu / 10);
        let order = core::iter::from_fn(pop)
            .map(|request| request.cpu)
            .collect();
        assert!(queue.is_empty());
        order
    }

    #[test]
    fn orders() {
        assert_eq!(served(&[20, 1, 30, 2], 0), [20, 1, 30, 2]);
        assert_eq!(served(&[20, 1, 30, 2], 9), [1, 2, 20, 30]);
        assert_eq!(served(&[20, 1, 30, 2, 3], 1), [1, 20, 2, 30, 3]);
        assert_eq!(served(&[], 1), [0; 0]);
    }

    #[test]
    fn places_are_used_again() {
        let mut pool = WaitQueue::default();
        let mut queues = [LineQueue::default(); 2];
        for round in 0..100_u16 {
            for queue in &mut queues {
                let request = WaitingRequest {
                    cpu: round,
                    core: 0,
                    wanted: WantedCopy::Read,
                    waiter: LineWaiter::Atomic,
                    at: SimulatedTime(0),
                    passed_over: 0,
                };
                pool.push(queue, request);
            }
            for queue in &mut queues {
                assert!(pool.has(queue, |request| request.cpu == round));
                let request = pool.pop(queue, 0, |_| 0).expect("it was pushed");
                assert_eq!(request.cpu, round);
            }
        }
        assert_eq!(pool.nodes.len(), 2);
    }
}
