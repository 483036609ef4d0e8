//! Scoring layouts by replay.

mod waits;

use relayout_profile::{Addr, RunId};
use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use relayout_contend::{
    CoherenceTally, ElementRun, LineScores, ObjectTrace, PreparedTrace, RoundedRuns, TraceAccess,
    are_runs,
};
use relayout_layout::abi::StructLayout;
use rustc_hash::FxHashMap;

use crate::array_uses;
use crate::change::atom_placer::PlacedExtent;
use crate::coverage::AtomCoverage;
use crate::heap;
use crate::mapping::{MovedStart, OffsetMapping, narrow};
use crate::pair_transfers::pair_transfers;
use crate::places::{InstanceTallies, PhaseSet, PlaceUse, ScoredTallies};
use crate::slab::{self, ObjectSlot};
use crate::subject::{AdviceSubject, RecordedInstance};

pub use waits::waits_by_stretch;

/// Memory that an object takes under a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryCost {
    /// Slab cache of most of the recorded objects; `None` for objects that are not from a slab.
    pub cache: Option<String>,
    /// Bytes per object, with a flexible array and the slot's unused rest.
    pub bytes_per_object: u64,
}

/// Events per operation of the workload, summed over objects and averaged over recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventsPerOperation {
    /// Read transfers.
    pub read_transfers: f64,
    /// Write transfers.
    pub write_transfers: f64,
    /// Upgrades.
    pub upgrades: f64,
    /// Transfers that are false by first touch.
    pub false_first_touch: f64,
    /// Transfers that are false by lifetime.
    pub false_lifetime: f64,
}

impl EventsPerOperation {
    /// Returns the read and write transfers.
    pub fn transfers(&self) -> f64 {
        self.read_transfers + self.write_transfers
    }
}

/// Scores layouts of a subject; its traces are prepared once.
pub(crate) struct LayoutScorer<'a> {
    subject: AdviceSubject<'a>,
    current: StructLayout,
    replays: Vec<PreparedTrace>,
    /// Bytes behind the struct by instance.
    tails: Vec<u64>,
    /// Runs of objects that one context uses, by instance; none for single objects.
    runs: Arc<[Vec<ElementRun>]>,
    /// Accessed atoms, with the bytes behind the struct that belong to them.
    hot_atoms: Vec<(usize, u64)>,
    /// True if some instance consists of several objects.
    has_rows: bool,
    /// Index of the instance with the most accesses.
    busiest: usize,
    /// Cost of a pair transfer, in transfers.
    pair_coefficient: f64,
    place_use: PlaceUse,
}

/// Units of cost in a transfer.
pub(crate) const COST_UNITS: u64 = 1000;

/// Lines of the accessed members, reduced to what matters for replay.
type LineSignature = Vec<u32>;

impl<'a> LayoutScorer<'a> {
    pub fn new(subject: AdviceSubject<'a>, current: StructLayout, coverage: &AtomCoverage) -> Self {
        let element = subject.tail_element_bytes;
        let tails: Vec<u64> = subject
            .instances
            .iter()
            .map(|instance| slab::tail_bytes(instance, current.size, element))
            .collect();
        let tail_max = tails.iter().copied().max().unwrap_or(0);
        let last = current.places.len().wrapping_sub(1);
        let hot = (0..current.places.len())
            .filter(|atom| coverage.accessed[*atom] || *atom == last && tail_max > 0)
            .map(|atom| (atom, if atom == last { tail_max } else { 0 }))
            .collect();
        let runs = subject.instances.par_iter().map(array_uses::row_runs);
        let runs: Vec<Vec<ElementRun>> = runs.collect();
        let scorer = Self::from_parts(subject, current, (tails, runs.into()), hot);
        let place_use = PlaceUse::new(subject.instances, &scorer.slots(&scorer.current));
        Self {
            place_use,
            ..scorer
        }
    }

    /// Scorer for a part of the recording. The instances of `subject` are parts of those of `self`
    /// with these `indices`.
    pub fn for_instances<'b>(
        &self,
        subject: AdviceSubject<'b>,
        indices: &[usize],
    ) -> LayoutScorer<'b> {
        let tails = indices.iter().map(|index| self.tails[*index]).collect();
        let runs = indices
            .iter()
            .map(|index| self.runs[*index].clone())
            .collect();
        let (current, hot_atoms) = (self.current.clone(), self.hot_atoms.clone());
        let part = LayoutScorer::from_parts(subject, current, (tails, runs), hot_atoms);
        LayoutScorer {
            pair_coefficient: self.pair_coefficient,
            place_use: self.place_use.for_instances(indices),
            ..part
        }
    }

    fn from_parts(
        subject: AdviceSubject<'a>,
        current: StructLayout,
        (tails, runs): (Vec<u64>, Arc<[Vec<ElementRun>]>),
        hot: Vec<(usize, u64)>,
    ) -> Self {
        let instances = subject.instances;
        let accesses = |index: &usize| instances[*index].trace.accesses.len();
        Self {
            subject,
            current,
            replays: instances
                .par_iter()
                .map(|instance| PreparedTrace::new(&instance.trace))
                .collect(),
            tails,
            runs,
            hot_atoms: hot,
            has_rows: instances.iter().any(RecordedInstance::is_row),
            busiest: (0..instances.len()).rev().max_by_key(accesses).unwrap_or(0),
            pair_coefficient: 0.0,
            place_use: PlaceUse::new(&[], &[]),
        }
    }

    /// Sets the cost of a pair transfer, in transfers.
    pub fn with_pairs(self, coefficient: f64) -> Self {
        let pair_coefficient = if coefficient > 0.0 { coefficient } else { 0.0 };
        Self {
            pair_coefficient,
            ..self
        }
    }

    /// Counts the pair transfers of all instances; `None` where the pair coefficient is 0.
    pub fn pair_transfers(&self, layout: &StructLayout) -> Option<u64> {
        let instances = self.subject.instances.par_iter().enumerate();
        let in_instance = |(index, instance): (usize, &RecordedInstance)| {
            self.pairs_in(&instance.trace.accesses, index, layout)
        };
        (self.pair_coefficient > 0.0).then(|| instances.map(in_instance).sum())
    }

    fn pairs_in(&self, accesses: &[TraceAccess], index: usize, layout: &StructLayout) -> u64 {
        let slot = self.slot_in_layout(index, layout);
        let mapping = OffsetMapping::new(self.subject.shape, &self.current, layout);
        let mapping = mapping.with_row(self.moved_starts(index, &slot, layout));
        pair_transfers(accesses, &mapping, slot.pair_phase, self.subject.line_bytes)
    }

    /// Returns the cost of transfers and pair transfers, in [`COST_UNITS`].
    pub fn cost(&self, transfers: u64, pair_transfers: u64) -> u64 {
        let pairs = self.pair_coefficient * COST_UNITS as f64 * pair_transfers as f64;
        (transfers * COST_UNITS).saturating_add(pairs as u64)
    }

    /// Returns the slot of each instance's object.
    pub fn slots(&self, layout: &StructLayout) -> Vec<ObjectSlot> {
        { 0..self.subject.instances.len() }
            .map(|index| self.slot_in_layout(index, layout))
            .collect()
    }

    /// Returns the slot of an instance's object. Runs that begin at lines need an array that does.
    fn slot_in_layout(&self, index: usize, layout: &StructLayout) -> ObjectSlot {
        let instance = &self.subject.instances[index];
        let slot = self.instance_slot(instance, self.tails[index], layout.into());
        match self.rounds_runs(index, layout) {
            true => ObjectSlot {
                phase: 0,
                phases: vec![0],
                pair_phase: 0,
                ..slot
            },
            false => slot,
        }
    }

    /// Returns true if a layout moves runs of an instance's objects to lines.
    fn rounds_runs(&self, index: usize, layout: &StructLayout) -> bool {
        layout.run_align > 1 && self.runs[index].len() > 1
    }

    /// Returns true if contexts use runs of objects in some row.
    pub fn has_runs(&self) -> bool {
        self.runs.iter().any(|runs| are_runs(runs))
    }

    /// Returns the objects by which rows grow at most if the runs are rounded and each keeps its
    /// objects; 0 where nothing is rounded.
    pub fn run_growth(&self, layout: &StructLayout) -> u64 {
        let mut growth: BTreeMap<(RunId, Addr), u64> = BTreeMap::new();
        for (index, instance) in self.subject.instances.iter().enumerate() {
            if let Some(rounded) = self.rounded_runs(index, layout) {
                let elements = u64::from(instance.objects());
                let extra = rounded.count(elements).saturating_sub(elements);
                let most = growth
                    .entry((instance.run, instance.trace.base))
                    .or_default();
                *most = extra.max(*most);
            }
        }
        growth.into_values().fold(0, u64::saturating_add)
    }

    fn rounded_runs(&self, index: usize, layout: &StructLayout) -> Option<RoundedRuns> {
        let stride = self.subject.instances[index].even_stride()?;
        self.rounds_runs(index, layout)
            .then(|| RoundedRuns::new(&self.runs[index], stride.into(), layout.run_align))
    }

    fn instance_slot(
        &self,
        instance: &RecordedInstance,
        tail: u64,
        extent: PlacedExtent,
    ) -> ObjectSlot {
        let extents = [(&self.current).into(), extent];
        slab::object_slot(instance, extents, tail, self.subject.line_bytes)
    }

    /// Returns the distinct pairs of phases at the same place, today and with `layout`.
    pub fn phase_changes(&self, layout: &StructLayout) -> Vec<(u32, u32)> {
        let today = self.slots(&self.current);
        let mut phases: Vec<(u32, u32)> = Vec::new();
        for (now, then) in today.iter().zip(&self.slots(layout)) {
            let [now, then] = [now, then].map(|slot| self.place_use.phases(slot));
            let places = 0..now.len().max(then.len());
            phases.extend(places.map(|place| (now[place % now.len()], then[place % then.len()])));
        }
        phases.sort_unstable();
        phases.dedup();
        phases
    }

    /// Returns the phase of the object with the most accesses, where it was recorded.
    pub fn phase(&self, layout: &StructLayout) -> u32 {
        self.busiest_slot(layout.into())
            .map_or(0, |slot| slot.phase)
    }

    /// Returns the phases at which the object with the most accesses is replayed for a type of this
    /// size and alignment.
    pub fn phases_of(&self, extent: PlacedExtent) -> PhaseSet {
        match self.busiest_slot(extent) {
            Some(slot) => PhaseSet::new(self.place_use.phases(&slot).iter().copied()),
            None => PhaseSet::new([0]),
        }
    }

    fn busiest_slot(&self, extent: PlacedExtent) -> Option<ObjectSlot> {
        let instance = self.subject.instances.get(self.busiest)?;
        Some(self.instance_slot(instance, self.tails[self.busiest], extent))
    }

    /// Returns true if the layout needs an alignment that the allocation of some object does not
    /// give.
    pub fn needs_allocation(&self, layout: &StructLayout) -> bool {
        let mut instances = self.subject.instances.iter().enumerate();
        instances.any(|(index, instance)| {
            let needs_type_align = layout.align > self.current.align
                && heap::needs_other_call(&instance.home, layout.align);
            let needs_run_align = self.rounds_runs(index, layout)
                && heap::gives_less(&instance.home, layout.run_align);
            needs_type_align || needs_run_align
        })
    }

    /// Returns the memory that most objects would take.
    pub fn memory(&self, layout: &StructLayout) -> MemoryCost {
        let mut counts: BTreeMap<(Option<String>, u64), u64> = BTreeMap::new();
        for slot in self.slots(layout) {
            *counts.entry((slot.cache, slot.bytes)).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let (cache, bytes) = most.map_or((None, layout.size), |(key, _)| key);
        MemoryCost {
            cache,
            bytes_per_object: bytes,
        }
    }

    /// Replays each layout at the places where objects can begin; `None` for layouts after
    /// `budget` accesses were replayed. Layouts under which the accessed members share lines in the
    /// same way are replayed once.
    pub fn tallies(&self, layouts: &[&StructLayout], budget: u64) -> Vec<Option<ScoredTallies>> {
        let mut plan = ReplayPlan::default();
        let mut wanted: Vec<Option<Vec<InstanceJobs>>> = Vec::with_capacity(layouts.len());
        for (number, layout) in layouts.iter().enumerate() {
            let is_affordable = plan.spent < budget;
            wanted.push(is_affordable.then(|| self.plan_layout(&mut plan, number, layout)));
        }
        let done = self.replay_jobs(layouts, &plan.jobs);
        let look_up = |jobs: InstanceJobs| InstanceTallies {
            by_place: jobs.by_place.into_iter().map(|job| done[job]).collect(),
            recorded_place: jobs.recorded_place,
        };
        let joined = |instances: Vec<InstanceJobs>| {
            let tallies: Vec<InstanceTallies> = instances.into_iter().map(look_up).collect();
            self.place_use.join(&tallies)
        };
        { wanted.into_iter() }
            .map(|instances| instances.map(joined))
            .collect()
    }

    /// Adds the replays of a layout that no other needs too, and returns those that it needs.
    fn plan_layout(
        &self,
        plan: &mut ReplayPlan,
        number: usize,
        layout: &StructLayout,
    ) -> Vec<InstanceJobs> {
        let mut at_phase: FxHashMap<u32, usize> = FxHashMap::default();
        let slots = self.slots(layout);
        let jobs_of = |(instance, slot): (usize, &ObjectSlot)| {
            let accesses = self.subject.instances[instance].trace.accesses.len() as u64;
            let by_place = self.place_use.phases(slot).iter().map(|phase| {
                let id = *at_phase.entry(*phase).or_insert_with(|| {
                    let next = plan.ids.len();
                    *plan
                        .ids
                        .entry(self.signature(layout, *phase))
                        .or_insert(next)
                });
                let next = plan.jobs.len();
                let job = *plan.by_pair.entry((instance, id)).or_insert(next);
                if job == next {
                    plan.jobs.push((number, instance, *phase));
                    plan.spent += accesses;
                }
                job
            });
            InstanceJobs {
                by_place: by_place.collect(),
                recorded_place: slot.recorded_place(),
            }
        };
        slots.iter().enumerate().map(jobs_of).collect()
    }

    fn replay_jobs(
        &self,
        layouts: &[&StructLayout],
        jobs: &[(usize, usize, u32)],
    ) -> Vec<CoherenceTally> {
        let line_bytes = self.subject.line_bytes;
        let replays = self.replays.iter();
        let scores: Vec<LineScores<'_>> = replays
            .map(|replay| LineScores::new(replay, line_bytes))
            .collect();
        jobs.par_iter()
            .map(|&(layout, instance, phase)| {
                let mapping = self.row_mapping(instance, layouts[layout]);
                scores[instance].tally(phase, &mapping)
            })
            .collect()
    }

    /// Returns the mapping from today's layout to another for the objects of an instance.
    fn row_mapping(&self, instance: usize, layout: &StructLayout) -> OffsetMapping {
        let mapping = OffsetMapping::new(self.subject.shape, &self.current, layout);
        self.with_row_of(mapping, instance, layout)
    }

    /// Applies the mapping of a single object to those of an instance.
    fn with_row_of(
        &self,
        mapping: OffsetMapping,
        instance: usize,
        layout: &StructLayout,
    ) -> OffsetMapping {
        let recorded = &self.subject.instances[instance];
        match recorded.is_row() {
            false => mapping,
            true => {
                let slot = self.instance_slot(recorded, 0, layout.into());
                mapping.with_row(self.moved_starts(instance, &slot, layout))
            }
        }
    }

    /// Returns the starts of the objects of a row, as recorded and in `slot`; empty for a single
    /// object.
    fn moved_starts(
        &self,
        index: usize,
        slot: &ObjectSlot,
        layout: &StructLayout,
    ) -> Vec<MovedStart> {
        let instance = &self.subject.instances[index];
        if !instance.is_row() {
            return Vec::new();
        }
        let rounded = self.rounded_runs(index, layout);
        // Runs are of arrays, whose elements follow each other evenly.
        let stride = slot.starts.get(1).copied().unwrap_or(0);
        let then = |(number, start): (usize, &u32)| match &rounded {
            Some(rounded) => narrow(rounded.element(number as u64)).saturating_mul(stride),
            None => *start,
        };
        {
            instance
                .starts()
                .zip(slot.starts.iter().enumerate().map(then))
        }
        .map(|(recorded, then)| MovedStart { recorded, then })
        .collect()
    }

    /// Returns the transfers with every object at `phase`.
    pub fn transfers_at_phase(&self, layout: &StructLayout, phase: u32) -> u64 {
        let mapping = OffsetMapping::new(self.subject.shape, &self.current, layout);
        let line_bytes = self.subject.line_bytes;
        let replays = self.replays.par_iter();
        replays
            .map(|replay| replay.tally(phase, &mapping, line_bytes).transfers())
            .sum()
    }

    fn signature(&self, layout: &StructLayout, phase: u32) -> LineSignature {
        let line = u64::from(self.subject.line_bytes.max(1));
        let mut names: FxHashMap<u64, u32> = FxHashMap::default();
        let mut signature = Vec::with_capacity(self.hot_atoms.len() * 2);
        if self.has_rows {
            // Neighbours share lines in ways that the lines of a single object do not show.
            let extent = [layout.size, layout.align, layout.run_align].map(|bytes| bytes as u32);
            signature.extend(extent);
            signature.push(phase);
            signature.extend(layout.places.iter().map(|place| place.offset as u32));
        }
        for &(atom, extra) in &self.hot_atoms {
            let place = &layout.places[atom];
            let start = place.offset + u64::from(phase);
            let end = (place.end + u64::from(phase) + extra).max(start + 1);
            let lines = start / line..=(end - 1) / line;
            if lines.start() != lines.end() {
                signature.push((start % line) as u32 | 1 << 31);
            }
            for number in lines {
                let next = names.len() as u32;
                signature.push(*names.entry(number).or_insert(next));
            }
            signature.extend(place.element_starts.iter().map(|start| *start as u32));
            // Bitfields can move apart within their run.
            if let Some(first) = place.bitfield_starts.first() {
                signature.extend(
                    place
                        .bitfield_starts
                        .iter()
                        .map(|bit| (bit - first / 8 * 8) as u32),
                );
            }
        }
        signature
    }

    /// Returns the transfers by recording, ascending, from the tallies of the instances.
    pub fn transfers_by_run(&self, tallies: &[CoherenceTally]) -> Vec<(RunId, u64)> {
        let mut runs: BTreeMap<RunId, u64> = BTreeMap::new();
        for (instance, tally) in self.subject.instances.iter().zip(tallies) {
            *runs.entry(instance.recording).or_default() += tally.transfers();
        }
        runs.into_iter().collect()
    }

    /// Returns the events per operation; `None` where no operations were marked.
    pub fn per_operation(&self, tallies: &[CoherenceTally]) -> Option<EventsPerOperation> {
        let mut objects: BTreeMap<(RunId, Addr), (CoherenceTally, u64)> = BTreeMap::new();
        for (instance, tally) in self.subject.instances.iter().zip(tallies) {
            let trace = &instance.trace;
            if trace.operations > 0 {
                let sum = objects.entry((instance.run, trace.base)).or_default();
                sum.0 += *tally;
                sum.1 += trace.operations;
            }
        }
        let mut runs: Vec<RunId> = self
            .subject
            .instances
            .iter()
            .map(|instance| instance.recording)
            .collect();
        runs.sort_unstable();
        runs.dedup();
        let mut total = EventsPerOperation::default();
        for (tally, operations) in objects.values() {
            let weight = 1.0 / (*operations as f64 * runs.len() as f64);
            total.read_transfers += tally.read_transfers as f64 * weight;
            total.write_transfers += tally.write_transfers as f64 * weight;
            total.upgrades += tally.upgrades as f64 * weight;
            total.false_first_touch += tally.false_first_touch as f64 * weight;
            total.false_lifetime += tally.false_lifetime as f64 * weight;
        }
        (!objects.is_empty()).then_some(total)
    }

    /// Returns the cost of each layout by stretch of the recording, which is cut into about
    /// `stretches`.
    pub fn costs_by_stretch(&self, layouts: &[&StructLayout], stretches: usize) -> Vec<Vec<u64>> {
        let traces = self::stretches(self.subject.instances, stretches);
        let pieces: Vec<(usize, &[TraceAccess], PreparedTrace)> = { traces.into_iter() }
            .map(|(index, accesses)| {
                let piece = ObjectTrace {
                    accesses: accesses.to_vec(),
                    ..ObjectTrace::default()
                };
                (index, accesses, PreparedTrace::new(&piece))
            })
            .collect();
        layouts
            .par_iter()
            .map(|layout| {
                let mapping = OffsetMapping::new(self.subject.shape, &self.current, layout);
                let slots = self.slots(layout);
                let line_bytes = self.subject.line_bytes;
                let tally = |(index, accesses, piece): &(usize, &[TraceAccess], PreparedTrace)| {
                    let mapping = self.with_row_of(mapping.clone(), *index, layout);
                    let phases = self.place_use.phases(&slots[*index]);
                    let cost = PhaseSet::new(phases.iter().copied()).mean(|phase| {
                        COST_UNITS * piece.tally(phase, &mapping, line_bytes).transfers()
                    });
                    let pairs = match self.pair_coefficient > 0.0 {
                        true => self.pairs_in(accesses, *index, layout),
                        false => 0,
                    };
                    cost.saturating_add(self.cost(0, pairs))
                };
                pieces.iter().map(tally).collect()
            })
            .collect()
    }
}

/// Replays that layouts need, each once.
#[derive(Default)]
struct ReplayPlan {
    ids: FxHashMap<LineSignature, usize>,
    /// Layout, instance and phase.
    jobs: Vec<(usize, usize, u32)>,
    by_pair: FxHashMap<(usize, usize), usize>,
    /// Accesses to replay.
    spent: u64,
}

/// Replays of an instance under one layout.
struct InstanceJobs {
    /// Indices of the jobs, by number of the place.
    by_place: Vec<usize>,
    recorded_place: usize,
}

/// Cuts all traces into about `count` stretches, each with the index of its instance.
pub(crate) fn stretches(
    instances: &[RecordedInstance],
    count: usize,
) -> Vec<(usize, &[TraceAccess])> {
    let total: usize = instances
        .iter()
        .map(|instance| instance.trace.accesses.len())
        .sum();
    let length = total.div_ceil(count.max(1)).max(1);
    let instances = instances.iter().enumerate();
    instances
        .flat_map(|(index, instance)| {
            let chunks = instance.trace.accesses.chunks(length);
            chunks.map(move |chunk| (index, chunk))
        })
        .collect()
}
