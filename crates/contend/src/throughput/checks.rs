//! What checks before stores make of a context's accesses: `if (x != v) x = v;`.

use std::collections::BTreeMap;

use relayout_profile::Access;

use super::{Load, Stretch, share};
use crate::replay::{ByKind, TraceAccess};

/// Of a context's accesses to the subject, as replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// All of them, without the checks.
    pub all: ByKind,
    /// Those with a check in front, which is a load more.
    pub checked: ByKind,
    /// Of those, the ones that do not happen then, as they changed nothing.
    pub left_out: ByKind,
}

impl Checks {
    /// By context; those that are `guarded` have a check in front.
    pub fn of(
        accesses: &[TraceAccess],
        guarded: impl Fn(&TraceAccess) -> bool,
    ) -> BTreeMap<u16, Self> {
        let mut found: BTreeMap<u16, Self> = BTreeMap::new();
        for access in accesses {
            let sum = found.entry(access.context).or_default();
            *of_kind(&mut sum.all, access.access) += 1;
            if let Some((_, store)) = access.with_check(&guarded) {
                *of_kind(&mut sum.checked, access.access) += 1;
                *of_kind(&mut sum.left_out, access.access) += u64::from(store.is_none());
            }
        }
        found
    }

    /// The accesses with the checks, and without those that are left out.
    pub fn made(
        accesses: &[TraceAccess],
        guarded: impl Fn(&TraceAccess) -> bool,
    ) -> Vec<TraceAccess> {
        let made = |access: &TraceAccess| match access.with_check(&guarded) {
            Some((check, store)) => [Some(check), store],
            None => [Some(*access), None],
        };
        accesses.iter().flat_map(made).flatten().collect()
    }

    /// What becomes of `recorded` accesses, of which those replayed are a part.
    fn applied(&self, recorded: &ByKind) -> ByKind {
        let checked = share(recorded, &self.checked, &self.all);
        let left_out = share(recorded, &self.left_out, &self.all);
        ByKind {
            loads: recorded.loads.saturating_add(checked.all()),
            stores: recorded.stores.saturating_sub(left_out.stores),
            exchanges: recorded.exchanges.saturating_sub(left_out.exchanges),
        }
    }
}

impl std::ops::AddAssign for Checks {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.checked += other.checked;
        self.left_out += other.left_out;
    }
}

/// What contexts access, with checks.
pub(super) struct Checked<'a> {
    load: &'a Load,
    checks: BTreeMap<u16, Checks>,
}

impl<'a> Checked<'a> {
    /// As recorded.
    pub fn none(load: &'a Load) -> Self {
        Self {
            load,
            checks: BTreeMap::new(),
        }
    }

    /// With the checks of all the stretches.
    pub fn new(load: &'a Load, stretches: &[&Stretch]) -> Self {
        let mut checked = Self::none(load);
        for (context, checks) in stretches.iter().flat_map(|stretch| &stretch.checks) {
            *checked.checks.entry(*context).or_default() += *checks;
        }
        checked
    }

    /// As [`Load::accesses`].
    pub fn accesses(&self, context: u16) -> ByKind {
        let recorded = self.load.accesses(context);
        let (before, after) = (self.load.on_subject(context), self.on_subject(context));
        let with = |all: u64, before: u64, after: u64| {
            let rest = all.saturating_sub(before);
            rest.saturating_add(after)
        };
        ByKind {
            loads: with(recorded.loads, before.loads, after.loads),
            stores: with(recorded.stores, before.stores, after.stores),
            exchanges: with(recorded.exchanges, before.exchanges, after.exchanges),
        }
    }

    /// As [`Load::on_subject`].
    pub fn on_subject(&self, context: u16) -> ByKind {
        let recorded = self.load.on_subject(context);
        let checks = self.checks.get(&context);
        checks.map_or(recorded, |checks| checks.applied(&recorded))
    }
}

fn of_kind(sum: &mut ByKind, kind: Access) -> &mut u64 {
    match kind {
        Access::Read => &mut sum.loads,
        Access::Write => &mut sum.stores,
        Access::ReadWrite => &mut sum.exchanges,
    }
}
