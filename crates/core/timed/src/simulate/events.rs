//! Queue of the next steps of tasks, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time and task of a step.
pub(super) type StepEvent = (u64, u32);

/// Steps to come; the earliest comes first, and of two at one time that of the task with the lower number.
///
/// A step mostly has one that follows. It takes the place of the next one that is asked for, which sorts once instead of
/// twice.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    sorted: BinaryHeap<Reverse<StepEvent>>,
    latest: Option<StepEvent>,
}

impl EventQueue {
    pub fn push(&mut self, event: StepEvent) {
        if let Some(before) = self.latest.replace(event) {
            self.sorted.push(Reverse(before));
        }
    }

    pub fn pop(&mut self) -> Option<StepEvent> {
        let Some(latest) = self.latest.take() else {
            return self.sorted.pop().map(|Reverse(event)| event);
        };
        match self.sorted.peek_mut() {
            Some(mut first) if first.0 < latest => {
                let Reverse(event) = std::mem::replace(&mut *first, Reverse(latest));
                Some(event)
            }
            _ => Some(latest),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Steps come in the order of a sorted list.
        #[test]
        fn events_come_in_order(steps in proptest::collection::vec(proptest::option::of((0u64..50, 0u32..8)), 0..80)) {
            let mut queue = EventQueue::default();
            let mut expect = Vec::new();
            for step in steps {
                match step {
                    Some(event) => {
                        queue.push(event);
                        expect.push(event);
                        expect.sort_unstable_by(|a, b| b.cmp(a));
                    }
                    None => prop_assert_eq!(queue.pop(), expect.pop()),
                }
            }
        }
    }
}
