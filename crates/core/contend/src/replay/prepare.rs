//! Preparation of a trace for thousands of replays.

use std::collections::hash_map::Entry;

use relayout_profile::{AccessKind, ContextId};
use rustc_hash::FxHashMap;

use super::line::AccessEffect;
use super::{AccessCounts, ObjectTrace, TraceAccess};

/// An [`ObjectTrace`] prepared for replay with many placements.
///
/// Contexts and granules (distinct offset and size) are numbered densely. Accesses that cannot
/// matter under any placement are left out: while one context alone accesses the object, no other
/// copies change, so that its second load of a granule, or its second store, does nothing that the
/// first did not. Accesses are also sorted by granule, so that single lines can be replayed.
///
/// ```
/// use relayout_contend::{ObjectTrace, PreparedTrace, RecordedPlacement};
///
/// let prepared = PreparedTrace::new(&ObjectTrace::default());
/// let as_recorded = prepared.tally(0, &RecordedPlacement, 64);
/// let swapped_words = prepared.tally(0, &|offset: u32| offset ^ 8, 64);
/// assert_eq!(as_recorded, swapped_words);
/// ```
#[derive(Clone, Debug)]
pub struct PreparedTrace {
    pub(super) granules: Vec<Granule>,
    /// Contexts by granule.
    pub(super) users: Vec<GranuleUsers>,
    pub(super) steps: Vec<PackedAccess>,
    /// Number of each context by its dense number.
    pub(super) contexts: Vec<u16>,
    /// First index in `order` by granule, and an entry for the end.
    first_places: Vec<u32>,
    /// Indices of `steps` by granule, ascending.
    order: Vec<u32>,
}

/// Bytes that are accessed together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Granule {
    pub offset: u32,
    pub size: u8,
}

/// Contexts that access a granule.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GranuleUsers {
    /// First context.
    first: Option<u16>,
    several: bool,
    stored: bool,
}

/// An access in 8 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedAccess {
    pub granule: u32,
    pub context: ContextId,
    /// Bits [`STORE`], [`SILENT`], [`EXCHANGE`]; 0 is a load.
    kind: u8,
}

const STORE: u8 = 1;
const SILENT: u8 = 2;
const EXCHANGE: u8 = 4;

impl PreparedTrace {
    /// Prepares `trace`.
    pub fn new(trace: &ObjectTrace) -> Self {
        let mut builder = PreparedTraceBuilder::default();
        for access in &trace.accesses {
            builder.push(access);
        }
        builder.finish()
    }

    /// Returns the number of accesses that a replay visits, without those that cannot matter.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Returns the indices of the steps of a granule, ascending.
    pub(super) fn steps_of(&self, granule: u32) -> &[u32] {
        let granule = granule as usize;
        &self.order[self.first_places[granule] as usize..self.first_places[granule + 1] as usize]
    }
}

impl GranuleUsers {
    pub(super) fn join(&mut self, others: &Self) {
        let differ = others.first.is_some() && self.first.is_some() && others.first != self.first;
        self.several |= others.several || differ;
        self.first = self.first.or(others.first);
        self.stored |= others.stored;
    }

    /// Returns true if there are several contexts, and one of them stores.
    pub(super) fn can_conflict(&self) -> bool {
        self.several && self.stored
    }
}

impl PackedAccess {
    #[inline]
    pub(super) fn kind(self) -> AccessEffect {
        match self.kind {
            0 => AccessEffect::Load,
            bits => AccessEffect::Store {
                silent: bits & SILENT != 0,
            },
        }
    }

    /// Counts the access in `sum`.
    pub(super) fn count(self, sum: &mut AccessCounts) {
        match self.kind {
            0 => sum.loads += 1,
            bits if bits & EXCHANGE != 0 => sum.exchanges += 1,
            _ => sum.stores += 1,
        }
    }
}

/// Numbers contexts and granules, and leaves out accesses that cannot matter.
#[derive(Default)]
struct PreparedTraceBuilder {
    granules: Vec<Granule>,
    /// By granule: the turn in which it was last accessed, and the strongest access since: a load
    /// (1), a silent store (2), a store (3).
    strongest: Vec<(u32, u8)>,
    granule_ids: FxHashMap<(u32, u8), u32>,
    contexts: FxHashMap<ContextId, u16>,
    steps: Vec<PackedAccess>,
    /// Number of changes from one context to another.
    turn: u32,
    last_context: Option<ContextId>,
}

impl PreparedTraceBuilder {
    fn push(&mut self, access: &TraceAccess) {
        if self.last_context != Some(access.context) {
            self.last_context = Some(access.context);
            self.turn += 1;
        }
        let granule = self.granule(access.offset, access.size);
        let kind = match (access.access, access.silent) {
            (AccessKind::Read, _) => 0,
            (access, silent) => {
                let bit = |is: bool, bit| if is { bit } else { 0 };
                STORE
                    | bit(silent == Some(true), SILENT)
                    | bit(access == AccessKind::ReadWrite, EXCHANGE)
            }
        };
        // A store covers later loads and silent stores, a silent store covers later loads.
        let strength = match kind {
            0 => 1,
            _ if kind & SILENT != 0 => 2,
            _ => 3,
        };
        let (turn, done) = &mut self.strongest[granule as usize];
        if *turn == self.turn && *done >= strength {
            return;
        }
        (*turn, *done) = (self.turn, strength);
        let context = self.context(access.context);
        self.steps.push(PackedAccess {
            granule,
            context: ContextId(context),
            kind,
        });
    }

    fn granule(&mut self, offset: u32, size: u8) -> u32 {
        match self.granule_ids.entry((offset, size)) {
            Entry::Occupied(id) => *id.get(),
            Entry::Vacant(place) => {
                let id = self.granules.len() as u32;
                self.granules.push(Granule { offset, size });
                self.strongest.push((0, 0));
                *place.insert(id)
            }
        }
    }

    /// Sorts the steps by granule: a pass to count and a pass to place.
    fn finish(self) -> PreparedTrace {
        let mut users = vec![GranuleUsers::default(); self.granules.len()];
        let mut first = vec![0; self.granules.len() + 1];
        for step in &self.steps {
            users[step.granule as usize].join(&GranuleUsers {
                first: Some(step.context.0),
                several: false,
                stored: step.kind != 0,
            });
            first[step.granule as usize + 1] += 1;
        }
        for granule in 0..self.granules.len() {
            first[granule + 1] += first[granule];
        }
        let mut next: Vec<u32> = first.clone();
        let mut order = vec![0; self.steps.len()];
        for (number, step) in self.steps.iter().enumerate() {
            let place = &mut next[step.granule as usize];
            order[*place as usize] = number as u32;
            *place += 1;
        }
        let mut contexts = vec![0; self.contexts.len()];
        for (context, number) in self.contexts {
            contexts[usize::from(number)] = context.0;
        }
        PreparedTrace {
            granules: self.granules,
            users,
            steps: self.steps,
            contexts,
            first_places: first,
            order,
        }
    }

    fn context(&mut self, context: ContextId) -> u16 {
        // There are at most as many contexts as numbers, so that the count fits.
        let next = self.contexts.len() as u16;
        *self.contexts.entry(context).or_insert(next)
    }
}
