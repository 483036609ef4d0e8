//! Order of turns: the CPU with the smallest time, by number among equals.

use alloc::vec;
use alloc::vec::Vec;

use crate::time::SimulatedTime;

/// Times of all CPUs as a tournament: each node has the winner of the two below it, so that a change costs one
/// comparison for each doubling of the CPUs, and times can change in place.
#[derive(Clone, Debug)]
pub(crate) struct TurnOrder {
    times: Vec<SimulatedTime>,
    /// Winner below each node; the root is node 1, and leaf `n` is node `n + leaves`.
    winners: Vec<u16>,
    leaves: usize,
}

impl TurnOrder {
    /// Makes the order of so many CPUs, none of which has a time.
    pub(crate) fn new(cpus: usize) -> Self {
        let leaves = cpus.next_power_of_two();
        let mut winners = vec![0; 2 * leaves];
        for (leaf, winner) in winners[leaves..].iter_mut().enumerate() {
            *winner = leaf as u16;
        }
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node];
        }
        Self {
            times: vec![SimulatedTime::NEVER; leaves],
            winners,
            leaves,
        }
    }

    pub(crate) fn time_of(&self, cpu: usize) -> SimulatedTime {
        self.times[cpu]
    }

    pub(crate) fn set(&mut self, cpu: usize, time: SimulatedTime) {
        if self.times[cpu] == time {
            return;
        }
        self.times[cpu] = time;
        let mut node = (self.leaves + cpu) / 2;
        while node > 0 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            // The left one has the smaller number.
            let is_left = self.times[usize::from(left)] <= self.times[usize::from(right)];
            self.winners[node] = if is_left { left } else { right };
            node /= 2;
        }
    }

    /// Returns the CPU that is next, with its time. The time is [`SimulatedTime::NEVER`] if no CPU has one.
    #[inline]
    pub(crate) fn first(&self) -> (SimulatedTime, usize) {
        let cpu = usize::from(self.winners[1]);
        (self.times[cpu], cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::TurnOrder;
    use crate::time::SimulatedTime;

    #[test]
    fn smallest_time_and_number() {
        for cpus in [1, 2, 3, 5, 224] {
            let mut order = TurnOrder::new(cpus);
            assert_eq!(order.first().0, SimulatedTime::NEVER);
            for cpu in 0..cpus {
                order.set(cpu, SimulatedTime(10 + (cpu as u64 + 1) % 3));
            }
            let first = order.first().1;
            assert_eq!(first, if cpus > 2 { 2 } else { 0 }, "{cpus} CPUs");
            order.set(cpus - 1, SimulatedTime(1));
            assert_eq!(order.first(), (SimulatedTime(1), cpus - 1));
            order.set(cpus - 1, SimulatedTime::NEVER);
            assert_eq!(order.time_of(cpus - 1), SimulatedTime::NEVER);
        }
    }
}
