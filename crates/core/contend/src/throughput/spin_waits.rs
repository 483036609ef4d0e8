//! Contexts that spin until another context stores.

use std::collections::BTreeMap;

use relayout_profile::{AccessKind, ContextId, SiteId};

use crate::replay::{ObjectTrace, TraceAccess};

/// Minimum number of waits; fewer can be chance.
const WAITS_MIN: u32 = 16;
/// Minimum share, among the repeats before a context goes on, of those that are the first since
/// another context stored there. Not all are, because the last load before them may not be in the
/// log.
const ENDED: f64 = 0.5;
/// Maximum share of such repeats among those after which the context repeats once more.
const GOES_ON: f64 = 0.1;

/// A load that a context repeats until another context stores to its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinWait {
    /// Context that waits.
    pub context: ContextId,
    /// Site of the load.
    pub site: SiteId,
    /// Offset of the first loaded byte from the object's first byte.
    pub offset: u32,
    /// Number of waits in the log.
    pub times: u32,
}

/// Finds the contexts that wait for one another on these objects, with the most frequent place of
/// each.
///
/// Repeats are a context's loads by one instruction of one place, without another access of the
/// context to the object between them. A context that waits repeats as long as no other context has
/// stored, and goes on once one has. A context that only reads along does not stop at a store. A
/// waiting context is as fast as the one that it waits for, so that predictions for each context by
/// itself do not hold.
pub fn find_spin_waits<'t>(traces: impl IntoIterator<Item = &'t ObjectTrace>) -> Vec<SpinWait> {
    let mut places: BTreeMap<(ContextId, SiteId, u32), LoadRepeats> = BTreeMap::new();
    for trace in traces {
        count_repeats(&trace.accesses, &mut places);
    }
    let mut found: BTreeMap<ContextId, SpinWait> = BTreeMap::new();
    for ((context, site, offset), repeats) in places {
        let times = repeats.ended[1];
        let best = found.get(&context).map_or(0, |earlier| earlier.times);
        if repeats.is_waiting() && times > best {
            found.insert(
                context,
                SpinWait {
                    context,
                    site,
                    offset,
                    times,
                },
            );
        }
    }
    found.into_values().collect()
}

/// Repeats of a load, without and with another context's store to it since the load before.
#[derive(Clone, Copy, Debug, Default)]
struct LoadRepeats {
    /// Repeats after which the context did something else.
    ended: [u32; 2],
    /// Repeats after which it repeated once more.
    goes_on: [u32; 2],
}

impl LoadRepeats {
    fn is_waiting(&self) -> bool {
        let share =
            |[without, with]: [u32; 2]| f64::from(with) / f64::from(with + without).max(1.0);
        self.ended[1] >= WAITS_MIN && share(self.ended) >= ENDED && share(self.goes_on) <= GOES_ON
    }
}

/// A context's last load, which may be or become a repeated one.
struct LastLoad {
    load: TraceAccess,
    /// True if the load is itself a repeat.
    repeat: bool,
    /// True if another context stored there between the load before and this one.
    seen: bool,
    /// True if another context stored there after the load.
    stored: bool,
}

fn count_repeats(
    accesses: &[TraceAccess],
    places: &mut BTreeMap<(ContextId, SiteId, u32), LoadRepeats>,
) {
    let mut last: BTreeMap<ContextId, LastLoad> = BTreeMap::new();
    for access in accesses {
        if access.access != AccessKind::Read && access.silent != Some(true) {
            for (_, other) in last
                .iter_mut()
                .filter(|(context, _)| **context != access.context)
            {
                other.stored |= overlap(&other.load, access);
            }
        }
        let before = last.remove(&access.context);
        let again =
            |load: &LastLoad| (load.load.site, load.load.offset) == (access.site, access.offset);
        let repeat = before.as_ref().is_some_and(again);
        if let Some(before) = &before
            && before.repeat
        {
            let place = (access.context, before.load.site, before.load.offset);
            let repeats = places.entry(place).or_default();
            let sort = match repeat {
                true => &mut repeats.goes_on,
                false => &mut repeats.ended,
            };
            sort[usize::from(before.seen)] = sort[usize::from(before.seen)].saturating_add(1);
        }
        if access.access == AccessKind::Read {
            let seen = before.is_some_and(|before| before.stored);
            last.insert(
                access.context,
                LastLoad {
                    load: *access,
                    repeat,
                    seen,
                    stored: false,
                },
            );
        }
    }
}

fn overlap(a: &TraceAccess, b: &TraceAccess) -> bool {
    let end = |access: &TraceAccess| u64::from(access.offset) + u64::from(access.size);
    u64::from(a.offset) < end(b) && u64::from(b.offset) < end(a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(context: ContextId, site: SiteId, access: AccessKind, offset: u32) -> TraceAccess {
        TraceAccess {
            context,
            offset,
            size: 8,
            access,
            silent: None,
            site,
        }
    }

    #[track_caller]
    fn check(round: &[TraceAccess], expect: &[(u16, u32)]) {
        let accesses = round.iter().copied().cycle().take(round.len() * 20);
        let trace = ObjectTrace {
            accesses: accesses.collect(),
            ..ObjectTrace::default()
        };
        let found = find_spin_waits(&[trace]);
        let found: Vec<(u16, u32)> = found
            .iter()
            .map(|spin_wait| (spin_wait.context.0, spin_wait.site.0))
            .collect();
        assert_eq!(found, expect);
    }

    const LOOK: (u32, AccessKind, u32) = (1, AccessKind::Read, 8);
    const ANSWER: (u32, AccessKind, u32) = (2, AccessKind::Write, 0);

    fn do_access(context: ContextId, (site, kind, offset): (u32, AccessKind, u32)) -> TraceAccess {
        access(context, SiteId(site), kind, offset)
    }

    #[test]
    fn who_looks_until_it_is_stored_waits() {
        let store = access(ContextId(1), SiteId(3), AccessKind::Write, 8);
        let look = do_access(ContextId(0), LOOK);
        check(
            &[
                look,
                look,
                look,
                store,
                look,
                do_access(ContextId(0), ANSWER),
            ],
            &[(0, 1)],
        );
        // The store is to something else.
        let beside = access(ContextId(1), SiteId(3), AccessKind::Write, 16);
        check(
            &[
                look,
                look,
                look,
                beside,
                look,
                do_access(ContextId(0), ANSWER),
            ],
            &[],
        );
        // It leaves what is there.
        let silent = TraceAccess {
            silent: Some(true),
            ..store
        };
        check(
            &[
                look,
                look,
                look,
                silent,
                look,
                do_access(ContextId(0), ANSWER),
            ],
            &[],
        );
    }

    #[test]
    fn who_reads_along_does_not() {
        let (look, store) = (
            do_access(ContextId(0), LOOK),
            access(ContextId(1), SiteId(3), AccessKind::Write, 8),
        );
        check(&[look, store, look, look, store], &[]);
        // Now and then it does something else, whatever was stored.
        check(
            &[
                look,
                store,
                look,
                store,
                look,
                store,
                look,
                do_access(ContextId(0), ANSWER),
            ],
            &[],
        );
    }

    #[test]
    fn one_look_for_each_answer_is_no_wait() {
        check(
            &[
                do_access(ContextId(0), LOOK),
                do_access(ContextId(0), ANSWER),
                access(ContextId(1), SiteId(3), AccessKind::Write, 8),
            ],
            &[],
        );
    }
}
