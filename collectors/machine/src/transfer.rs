//! Transfer of a line to a core: its distance and kind, and what becomes of the copies.

use crate::amounts::RuleAmounts;
use crate::core_map::CoreMap;
use crate::counts::TransferKind;
use crate::protocol::{CleanSupplier, CoherenceProtocol, CopyState};
use crate::random::WHOLE;
use crate::shared_line::{LineCopies, LostCopies};
use crate::time::SimulatedTime;
use crate::topology::CpuDistance;
use crate::wait_queue::WantedCopy;

/// Transfer that a request needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineTransfer {
    pub kind: TransferKind,
    pub distance: CpuDistance,
    /// Part of the time to move a modified line, in millionths.
    pub part: u64,
}

impl LineTransfer {
    /// Returns the transfer by which a core gets the copy that it wants and does not have.
    pub(crate) fn new(
        copies: &LineCopies,
        core: usize,
        wanted: WantedCopy,
        protocol: &CoherenceProtocol,
        cores: &CoreMap,
        amounts: &RuleAmounts,
    ) -> Self {
        let others = copies.cores.without(core);
        let (kind, distance, part) = if wanted.is_alone() {
            let distance = cores.farthest(core, &others);
            match copies.cores.contains(core) {
                true => (TransferKind::Upgrade, distance, amounts.upgrade),
                false => (TransferKind::Take, distance, WHOLE),
            }
        } else {
            let holder = copies.holder.map(usize::from);
            match (copies.state, holder) {
                (CopyState::Modified | CopyState::Exclusive, Some(owner)) => {
                    (TransferKind::DirtyRead, cores.distance(core, owner), WHOLE)
                }
                (CopyState::Owned, Some(owner)) => {
                    (TransferKind::SharedRead, cores.distance(core, owner), WHOLE)
                }
                (_, Some(forwarder)) if protocol.clean_supplier == CleanSupplier::Forwarder => {
                    let distance = cores.distance(core, forwarder);
                    (TransferKind::SharedRead, distance, amounts.clean_read)
                }
                _ => {
                    let distance = cores.nearest(core, &others);
                    (TransferKind::SharedRead, distance, amounts.clean_read)
                }
            }
        };
        Self {
            kind,
            distance,
            part,
        }
    }

    /// Returns whether the line can move on only when it has arrived.
    pub(crate) fn keeps_line(&self) -> bool {
        self.kind != TransferKind::SharedRead
    }
}

impl LineCopies {
    /// Gives a core the copy that it wants. Who loses the line goes on using it until `lost_until`.
    pub(crate) fn give(
        &mut self,
        core: usize,
        wanted: WantedCopy,
        protocol: &CoherenceProtocol,
        lost: &mut LostCopies,
        lost_until: SimulatedTime,
    ) {
        if let Some(owner) = self.owner() {
            lost.owner = Some(owner as u16);
            lost.owner_until = lost_until;
        } else if wanted.is_alone() {
            lost.readers = self.cores.without(core);
            lost.readers_until = lost_until;
        }
        match wanted {
            WantedCopy::Modified => *self = Self::alone(core, CopyState::Modified),
            WantedCopy::Exclusive => *self = Self::alone(core, CopyState::Exclusive),
            WantedCopy::Read => self.add_reader(core, protocol),
        }
    }

    fn add_reader(&mut self, core: usize, protocol: &CoherenceProtocol) {
        let effect = protocol.read_effect(self.state);
        if let (None, Some(holder)) = (effect.keeps, self.holder) {
            self.cores.remove(usize::from(holder));
        }
        self.cores.insert(core);
        let kept = effect.keeps.unwrap_or(CopyState::Shared);
        if effect.reader != CopyState::Shared {
            (self.holder, self.state) = (Some(core as u16), effect.reader);
        } else if kept == CopyState::Shared {
            (self.holder, self.state) = (None, CopyState::Shared);
        } else {
            self.state = kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::protocol::{CoherenceProtocol, CopyState};
    use crate::random::CpuRandom;
    use crate::shared_line::{LineCopies, LostCopies};
    use crate::time::SimulatedTime;
    use crate::wait_queue::WantedCopy;

    #[test]
    fn a_line_has_one_owner_or_readers() {
        for protocol in CoherenceProtocol::ALL {
            let mut random = CpuRandom::new(1, 0);
            let mut copies = LineCopies::alone(0, CopyState::Modified);
            for _ in 0..10_000 {
                let core = random.up_to(1 << 20) as usize % 5;
                let wanted = match random.up_to(1 << 20) % 4 {
                    0 => WantedCopy::Modified,
                    1 => WantedCopy::Exclusive,
                    _ => WantedCopy::Read,
                };
                if copies.allows(core, wanted.is_alone()) {
                    continue;
                }
                let (before, mut lost) = (copies, LostCopies::default());
                let until = SimulatedTime(1);
                copies.give(core, wanted, &protocol, &mut lost, until);
                assert!(copies.allows(core, wanted.is_alone()));
                assert!(
                    copies
                        .owner()
                        .is_none_or(|owner| copies.cores.iter().eq([owner]))
                );
                let holder = copies.holder.map(usize::from);
                assert!(holder.is_none_or(|holder| copies.cores.contains(holder)));
                assert_eq!(holder.is_none(), copies.state == CopyState::Shared);
                // Who could load before, can load now or for the time that lost copies are used.
                let now = SimulatedTime(0);
                let keeps = |core| copies.allows(core, false) || lost.allows(core, false, now);
                assert!(before.cores.iter().all(keeps));
            }
        }
    }
}
