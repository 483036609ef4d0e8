//! Pair transfers: accesses that a store to the buddy of their line disturbs.
//!
//! The buddy is the other line of an aligned pair. Some processors fetch lines in pairs; there, a
//! store by another context to the buddy disturbs a line to which nobody else stores. An access to
//! a line that the context has counts as a pair transfer if another context stored to the buddy
//! since the context's last access to the pair. `report` estimates the same from samples (see
//! `docs/method.md`, pairs of lines). The cost is the coefficient that `relayout probe` measures,
//! in transfers; 0 on machines that do not fetch pairs.

use relayout_contend::{BytePlacement, TraceAccess};
use relayout_profile::ContextId;
use rustc_hash::FxHashMap;

use crate::last_stores::LastStores;

/// Counts the pair transfers of an object whose first byte is at `phase` modulo two lines.
pub(crate) fn pair_transfers(
    accesses: &[TraceAccess],
    placement: &impl BytePlacement,
    phase: u32,
    line_bytes: u32,
) -> u64 {
    let line_bytes = line_bytes.max(1);
    let mut stores: FxHashMap<u32, LastStores> = FxHashMap::default();
    let mut accessed: FxHashMap<(ContextId, u32), u32> = FxHashMap::default();
    let mut count = 0;
    for (index, access) in accesses.iter().enumerate() {
        let now = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let line_of = |byte: u32| placement.place(byte).saturating_add(phase) / line_bytes;
        let last_byte = access
            .offset
            .saturating_add(u32::from(access.size.max(1)) - 1);
        let (first, last) = (line_of(access.offset), line_of(last_byte));
        for line in [Some(first), Some(last).filter(|last| *last != first)]
            .into_iter()
            .flatten()
        {
            let last_access = |line: u32| accessed.get(&(access.context, line)).copied();
            let context = usize::from(access.context);
            let foreign = |line: u32| {
                let stores = stores.get(&line).copied().unwrap_or_default();
                stores.by_others_than(context)
            };
            let (own, buddy) = (last_access(line), line ^ 1);
            let pair = own.unwrap_or(0).max(last_access(buddy).unwrap_or(0));
            let stays = own.is_some_and(|own| foreign(line) <= own);
            count += u64::from(stays && foreign(buddy) > pair);
            accessed.insert((access.context, line), now);
            if access.is_store() {
                stores.entry(line).or_default().record(context, now);
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayout_contend::RecordedPlacement;
    use relayout_profile::{AccessKind, SiteId};

    fn check(accesses: &[(u16, u32, AccessKind)], phase: u32, expect: u64) {
        let trace: Vec<TraceAccess> = (accesses.iter())
            .map(|&(context, offset, access)| TraceAccess {
                context: ContextId(context),
                offset,
                size: 8,
                access,
                silent: None,
                site: SiteId(0),
            })
            .collect();
        assert_eq!(
            pair_transfers(&trace, &RecordedPlacement, phase, 64),
            expect
        );
    }

    #[test]
    fn stores_to_the_buddy_disturb() {
        use AccessKind::{Read, Write};
        let apart = [(0, 0, Read), (1, 64, Write), (0, 0, Read), (0, 0, Read)];
        check(&apart, 0, 1);
        // The lines are of different pairs.
        check(&apart, 64, 0);
        // The line itself is lost: that is a transfer, counted elsewhere.
        let lost = [(0, 0, Read), (1, 64, Write), (1, 8, Write), (0, 0, Read)];
        check(&lost, 0, 0);
        // One's own stores disturb nobody else here.
        check(&[(0, 0, Read), (0, 64, Write), (0, 0, Read)], 0, 0);
    }
}
