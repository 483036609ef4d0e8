//! Pair transfers: what a line costs when its buddy, the other line of an aligned pair, is stored to.
//!
//! Some processors fetch lines in pairs. Then a store by another context to the buddy disturbs a line that
//! itself nobody else stores to. Counted is each access to a line that the context has, if since its
//! last access to the pair another stored to the buddy: what `report` estimates from samples (see
//! `docs/method.md`, pairs of lines). It costs the coefficient that `relayout probe` measures, in
//! transfers; 0 on machines that show nothing.

use relayout_contend::{BytePlacement, TraceAccess};
use rustc_hash::FxHashMap;

/// The last store to a line, by whom, and the last by somebody else; times from 1.
#[derive(Clone, Copy, Default)]
struct LastStores {
    last: u32,
    context: u16,
    by_others: u32,
}

impl LastStores {
    fn foreign(&self, context: u16) -> u32 {
        match self.context == context {
            true => self.by_others,
            false => self.last,
        }
    }

    fn store(&mut self, context: u16, now: u32) {
        if self.context != context {
            self.by_others = self.last;
            self.context = context;
        }
        self.last = now;
    }
}

/// Pair transfers of an object whose first byte is at `phase` modulo two lines.
pub(crate) fn pair_transfers(
    accesses: &[TraceAccess],
    placement: &impl BytePlacement,
    phase: u32,
    line_bytes: u32,
) -> u64 {
    let line_bytes = line_bytes.max(1);
    let mut stores: FxHashMap<u32, LastStores> = FxHashMap::default();
    let mut accessed: FxHashMap<(u16, u32), u32> = FxHashMap::default();
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
            let foreign = |line: u32| {
                let stores = stores.get(&line).copied().unwrap_or_default();
                stores.foreign(access.context)
            };
            let (own, buddy) = (last_access(line), line ^ 1);
            let pair = own.unwrap_or(0).max(last_access(buddy).unwrap_or(0));
            let stays = own.is_some_and(|own| foreign(line) <= own);
            count += u64::from(stays && foreign(buddy) > pair);
            accessed.insert((access.context, line), now);
            if access.is_store() {
                stores.entry(line).or_default().store(access.context, now);
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayout_contend::RecordedPlacement;
    use relayout_profile::AccessKind;

    fn check(accesses: &[(u16, u32, AccessKind)], phase: u32, expect: u64) {
        let trace: Vec<TraceAccess> = (accesses.iter())
            .map(|&(context, offset, access)| TraceAccess {
                context,
                offset,
                size: 8,
                access,
                silent: None,
                site: 0,
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
