//! Layouts that bring members onto a line with other variables.
//!
//! A static variable that does not fill its lines shares the first and the last with the variables
//! beside it. The search replays the accesses to an object alone. A layout that moves a stored
//! member to the object's end can so move its transfers to the next variable, and save nothing:
//!
//! ```text
//! now   | pending enabled ... trace | rounds      `enabled` loses its line to `pending`
//! then  | enabled ... trace pending | rounds      `rounds` loses its line to `pending`
//! ```
//!
//! So layouts that leave the object where it is are replayed again, with the variables beside it.

use std::collections::BTreeSet;

use relayout_contend::{BytePlacement, ObjectExtent, PreparedTrace, RecordedPlacement, TraceIndex};
use relayout_layout::abi::StructLayout;
use relayout_profile::{Addr, RunId};
use relayout_search::{LayoutAdvice, ObjectHome, OffsetMapping, RankedLayout, RecordedInstance};

use super::gathered::GatheredType;
use crate::ResolvedProfile;

/// Part of the gain that must be left with the variables beside the object, at least.
const GAIN_LEFT_MIN: f64 = 0.5;
/// Objects that are replayed with what is beside them, at most.
const OBJECTS_MAX: usize = 64;
/// Accesses that are replayed for all layouts together, at most.
const REPLAYED_MAX: usize = 400_000_000;

/// Candidates that would move transfers to the variables beside the objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrowdedLayouts {
    /// Indices of the candidates.
    pub candidates: BTreeSet<usize>,
    /// Variables beside the objects.
    pub variables: BTreeSet<String>,
}

impl CrowdedLayouts {
    /// Finds the candidates of `advice` that gain little once the variables beside the objects are
    /// replayed too. Only programs are judged: other objects of a kernel are members of a larger
    /// one.
    pub(super) fn find(
        resolved: &ResolvedProfile<'_>,
        gathered: &GatheredType<'_>,
        advice: &LayoutAdvice,
    ) -> Self {
        let is_program = resolved.profile.meta.target == "program";
        let objects = match is_program && !gathered.is_whole {
            true => surrounded_objects(resolved, gathered),
            false => Vec::new(),
        };
        let steps: usize = objects.iter().map(|object| object.trace.steps()).sum();
        if objects.is_empty() || steps.saturating_mul(advice.candidates.len()) > REPLAYED_MAX {
            return Self::default();
        }
        let transfers_with = |layout: &StructLayout| -> u64 {
            let mapping = OffsetMapping::new(&gathered.shape, &advice.current.layout, layout);
            let objects = objects.iter();
            objects
                .map(|object| object.transfers(&mapping, resolved.line_bytes))
                .sum()
        };
        let today = transfers_with(&advice.current.layout);
        let is_crowded = |candidate: &RankedLayout| {
            let saved_with = today as f64 - transfers_with(&candidate.layout) as f64;
            let saved_alone =
                advice.current.tally.transfers() as f64 - candidate.tally.transfers() as f64;
            saved_alone > 0.0 && saved_with < GAIN_LEFT_MIN * saved_alone
        };
        let stays = |candidate: &RankedLayout| {
            let layouts = [&candidate.layout, &advice.current.layout];
            let [then, now] = layouts.map(|layout| (layout.size, layout.align));
            then == now
        };
        let candidates: BTreeSet<usize> = { advice.candidates.iter().enumerate() }
            .filter(|(_, candidate)| stays(candidate) && is_crowded(candidate))
            .map(|(index, _)| index)
            .collect();
        let variables = match candidates.is_empty() {
            true => BTreeSet::new(),
            false => objects
                .into_iter()
                .flat_map(|object| object.variables)
                .collect(),
        };
        Self {
            candidates,
            variables,
        }
    }
}

/// An object with the other bytes of its first and last line.
struct SurroundedObject {
    /// Accesses from the start of the first line on.
    trace: PreparedTrace,
    /// Bytes of the first line in front of the object.
    in_front: u32,
    /// Bytes of the object.
    bytes: u32,
    /// Variables beside it that were accessed.
    variables: BTreeSet<String>,
}

impl SurroundedObject {
    fn transfers(&self, mapping: &OffsetMapping, line_bytes: u32) -> u64 {
        let own = self.in_front..self.in_front + self.bytes;
        let placement = |offset: u32| match own.contains(&offset) {
            true => self.in_front + mapping.place(offset - self.in_front),
            false => RecordedPlacement.place(offset),
        };
        self.trace.tally(0, &placement, line_bytes).transfers()
    }
}

/// Returns the objects at fixed addresses that share a line with accessed bytes of others.
fn surrounded_objects(
    resolved: &ResolvedProfile<'_>,
    gathered: &GatheredType<'_>,
) -> Vec<SurroundedObject> {
    let is_fixed =
        |instance: &&RecordedInstance| instance.home == ObjectHome::Fixed && !instance.is_row();
    let places: BTreeSet<(RunId, Addr)> = { gathered.instances.iter() }
        .filter(is_fixed)
        .map(|instance| (instance.run, instance.trace.base))
        .collect();
    if places.is_empty() {
        return Vec::new();
    }
    let index = TraceIndex::new(resolved.profile);
    let bytes = u32::try_from(gathered.aggregate.size).unwrap_or(u32::MAX);
    { places.into_iter().take(OBJECTS_MAX) }
        .flat_map(|(run, base)| surrounded_traces(resolved, &index, (run, base), bytes))
        .collect()
}

/// Returns an object with what is beside it, for each stretch of time in which all was logged;
/// empty where nothing beside it was accessed.
fn surrounded_traces(
    resolved: &ResolvedProfile<'_>,
    index: &TraceIndex<'_>,
    (run, base): (RunId, Addr),
    bytes: u32,
) -> Vec<SurroundedObject> {
    let line = u64::from(resolved.line_bytes.max(1));
    let in_front = (base % line) as u32;
    let start = Addr(base.0 - u64::from(in_front));
    let end = base.saturating_add(bytes.into());
    let extent = ObjectExtent {
        run,
        base: start,
        bytes: u32::try_from(end.0.next_multiple_of(line) - start.0).unwrap_or(u32::MAX),
    };
    let own = in_front..in_front.saturating_add(bytes);
    let surrounded = |trace: relayout_contend::ObjectTrace| {
        let beside = { trace.accesses.iter() }
            .map(|access| access.offset)
            .filter(|offset| !own.contains(offset));
        let places: BTreeSet<u32> = beside.collect();
        let variables = places.iter().filter_map(|offset| {
            let object = resolved
                .resolution
                .object_at(run, start.saturating_add(u64::from(*offset)))?;
            object.variable().map(str::to_owned)
        });
        (!places.is_empty()).then(|| SurroundedObject {
            trace: PreparedTrace::new(&trace),
            in_front,
            bytes,
            variables: variables.collect(),
        })
    };
    let traces = index.traces(extent).into_iter();
    traces.filter_map(surrounded).collect()
}
