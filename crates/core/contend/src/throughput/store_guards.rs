//! Accesses of a context with store guards: `if (x != v) x = v;`.

use std::collections::BTreeMap;

use relayout_profile::{AccessKind, ContextId};

use super::{RecordedLoad, ReplayedStretch, scale_counts};
use crate::replay::{AccessCounts, TraceAccess};

/// Replayed accesses of a context to the subject, by the effect of guards on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardCounts {
    /// All accesses, without the guards.
    pub all: AccessCounts,
    /// Accesses with a guard, which adds a load.
    pub guarded: AccessCounts,
    /// Guarded accesses that do not happen, because they changed nothing.
    pub left_out: AccessCounts,
}

impl GuardCounts {
    /// Counts the accesses by context; those that are `guarded` have a guard.
    pub fn by_context(
        accesses: &[TraceAccess],
        guarded: impl Fn(&TraceAccess) -> bool,
    ) -> BTreeMap<ContextId, Self> {
        let mut found: BTreeMap<ContextId, Self> = BTreeMap::new();
        for access in accesses {
            let sum = found.entry(access.context).or_default();
            *count_of_kind(&mut sum.all, access.access) += 1;
            if let Some((_, store)) = access.with_guard(&guarded) {
                *count_of_kind(&mut sum.guarded, access.access) += 1;
                *count_of_kind(&mut sum.left_out, access.access) += u64::from(store.is_none());
            }
        }
        found
    }

    /// Returns the accesses with the guards, and without those that are left out.
    pub fn guarded_accesses(
        accesses: &[TraceAccess],
        guarded: impl Fn(&TraceAccess) -> bool,
    ) -> Vec<TraceAccess> {
        let made = |access: &TraceAccess| match access.with_guard(&guarded) {
            Some((check, store)) => [Some(check), store],
            None => [Some(*access), None],
        };
        accesses.iter().flat_map(made).flatten().collect()
    }

    /// Applies the guards to `recorded` accesses, of which the replayed ones are a part.
    fn apply(&self, recorded: &AccessCounts) -> AccessCounts {
        let checked = scale_counts(recorded, &self.guarded, &self.all);
        let left_out = scale_counts(recorded, &self.left_out, &self.all);
        AccessCounts {
            loads: recorded.loads.saturating_add(checked.total()),
            stores: recorded.stores.saturating_sub(left_out.stores),
            exchanges: recorded.exchanges.saturating_sub(left_out.exchanges),
        }
    }
}

impl std::ops::AddAssign for GuardCounts {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.guarded += other.guarded;
        self.left_out += other.left_out;
    }
}

/// Accesses of contexts with guards.
pub(super) struct GuardedLoad<'a> {
    load: &'a RecordedLoad,
    guards: BTreeMap<ContextId, GuardCounts>,
}

impl<'a> GuardedLoad<'a> {
    /// Load as recorded.
    pub fn unguarded(load: &'a RecordedLoad) -> Self {
        Self {
            load,
            guards: BTreeMap::new(),
        }
    }

    /// Load with the guards of all the stretches.
    pub fn new(load: &'a RecordedLoad, stretches: &[&ReplayedStretch]) -> Self {
        let mut checked = Self::unguarded(load);
        for (context, checks) in stretches.iter().flat_map(|stretch| &stretch.guards) {
            *checked.guards.entry(*context).or_default() += *checks;
        }
        checked
    }

    /// Returns [`RecordedLoad::accesses`] with the guards.
    pub fn accesses(&self, context: ContextId) -> AccessCounts {
        let recorded = self.load.accesses(context);
        let (before, after) = (self.load.on_subject(context), self.on_subject(context));
        let with = |total: u64, before: u64, after: u64| {
            let rest = total.saturating_sub(before);
            rest.saturating_add(after)
        };
        AccessCounts {
            loads: with(recorded.loads, before.loads, after.loads),
            stores: with(recorded.stores, before.stores, after.stores),
            exchanges: with(recorded.exchanges, before.exchanges, after.exchanges),
        }
    }

    /// Returns [`RecordedLoad::on_subject`] with the guards.
    pub fn on_subject(&self, context: ContextId) -> AccessCounts {
        let recorded = self.load.on_subject(context);
        let checks = self.guards.get(&context);
        checks.map_or(recorded, |checks| checks.apply(&recorded))
    }
}

fn count_of_kind(sum: &mut AccessCounts, kind: AccessKind) -> &mut u64 {
    match kind {
        AccessKind::Read => &mut sum.loads,
        AccessKind::Write => &mut sum.stores,
        AccessKind::ReadWrite => &mut sum.exchanges,
    }
}
