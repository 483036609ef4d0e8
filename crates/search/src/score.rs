//! Scoring layouts by replay.

mod waits;

use std::collections::BTreeMap;

use rayon::prelude::*;
use relayout_contend::{LineScores, ObjectTrace, Replay, Tally, TraceAccess};
use relayout_layout::abi::Layout;
use rustc_hash::FxHashMap;

use crate::coverage::Coverage;
use crate::mapping::Mapping;
use crate::pairs::pair_transfers;
use crate::slab::{self, Slot};
use crate::subject::{Instance, Subject};

pub use waits::waits_by_stretch;

/// What a layout costs in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Slab cache that most of the recorded objects would come from; `None`: not from a slab.
    pub cache: Option<String>,
    /// Bytes that one of them takes, a flexible array and the slot's unused rest included.
    pub bytes_per_object: u64,
}

/// Events per operation of the workload: summed over objects, averaged over recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PerOperation {
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

impl PerOperation {
    /// Read and write transfers.
    pub fn transfers(&self) -> f64 {
        self.read_transfers + self.write_transfers
    }
}

/// Layouts of one subject, scored; traces are prepared once.
pub(crate) struct Scorer<'a> {
    subject: Subject<'a>,
    current: Layout,
    replays: Vec<Replay>,
    /// Bytes behind the struct, by instance.
    tails: Vec<u64>,
    /// Atoms that are accessed, with the bytes that belong to them behind the struct.
    hot: Vec<(usize, u64)>,
    /// Some instance is of several objects.
    has_rows: bool,
    /// Index of the instance with the most accesses.
    busiest: usize,
    /// What a pair transfer costs, in transfers.
    pair_coefficient: f64,
}

/// Thousandths of a transfer, in which costs are counted.
pub(crate) const COST_UNITS: u64 = 1000;

/// The lines on which the accessed members fall, without what does not matter to the replay.
type Signature = Vec<u32>;

impl<'a> Scorer<'a> {
    pub fn new(subject: Subject<'a>, current: Layout, coverage: &Coverage) -> Self {
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
        Self::with(subject, current, tails, hot)
    }

    /// For a part of the recording: `instances` are of those of `self` with the indices in `of`.
    pub fn part<'b>(&self, subject: Subject<'b>, of: &[usize]) -> Scorer<'b> {
        let tails = of.iter().map(|index| self.tails[*index]).collect();
        let part = Scorer::with(subject, self.current.clone(), tails, self.hot.clone());
        part.with_pairs(self.pair_coefficient)
    }

    fn with(
        subject: Subject<'a>,
        current: Layout,
        tails: Vec<u64>,
        hot: Vec<(usize, u64)>,
    ) -> Self {
        let instances = subject.instances;
        let accesses = |index: &usize| instances[*index].trace.accesses.len();
        Self {
            subject,
            current,
            replays: instances
                .par_iter()
                .map(|one| Replay::new(&one.trace))
                .collect(),
            tails,
            hot,
            has_rows: instances.iter().any(|one| one.elements > 1),
            busiest: (0..instances.len()).rev().max_by_key(accesses).unwrap_or(0),
            pair_coefficient: 0.0,
        }
    }

    /// With the cost of a pair transfer, in transfers.
    pub fn with_pairs(self, coefficient: f64) -> Self {
        let pair_coefficient = if coefficient > 0.0 { coefficient } else { 0.0 };
        Self {
            pair_coefficient,
            ..self
        }
    }

    /// Pair transfers of all instances; `None` where they cost nothing.
    pub fn pair_transfers(&self, layout: &Layout) -> Option<u64> {
        let instances = self.subject.instances.par_iter().enumerate();
        let one = |(index, instance): (usize, &Instance)| {
            self.pairs_in(&instance.trace.accesses, index, layout)
        };
        (self.pair_coefficient > 0.0).then(|| instances.map(one).sum())
    }

    fn pairs_in(&self, accesses: &[TraceAccess], index: usize, layout: &Layout) -> u64 {
        let instance = &self.subject.instances[index];
        let slot = self.slot_of(instance, self.tails[index], layout.size, layout.align);
        let row = self.row(instance, layout);
        let mapping = Mapping::new(self.subject.shape, &self.current, layout).of_row(row);
        pair_transfers(accesses, &mapping, slot.pair_phase, self.subject.line_bytes)
    }

    /// What so many transfers and pair transfers cost, in [`COST_UNITS`].
    pub fn cost(&self, transfers: u64, pair_transfers: u64) -> u64 {
        let pairs = self.pair_coefficient * COST_UNITS as f64 * pair_transfers as f64;
        (transfers * COST_UNITS).saturating_add(pairs as u64)
    }

    /// Where each instance's object would lie.
    pub fn slots(&self, layout: &Layout) -> Vec<Slot> {
        let instances = self.subject.instances.iter().zip(&self.tails);
        instances
            .map(|(instance, tail)| self.slot_of(instance, *tail, layout.size, layout.align))
            .collect()
    }

    fn slot_of(&self, instance: &Instance, tail: u64, size: u64, align: u64) -> Slot {
        let line_bytes = self.subject.line_bytes;
        slab::slot(instance, self.current.size, size, align, tail, line_bytes)
    }

    /// The distinct phases before and after.
    pub fn phases(&self, layout: &Layout) -> Vec<(u32, u32)> {
        let line = self.subject.line_bytes;
        let instances = self.subject.instances.iter().zip(self.slots(layout));
        let mut phases: Vec<(u32, u32)> = instances
            .map(|(instance, slot)| (instance.trace.phase(line), slot.phase))
            .collect();
        phases.sort_unstable();
        phases.dedup();
        phases
    }

    /// The phase of the object with the most accesses.
    pub fn phase(&self, layout: &Layout) -> u32 {
        self.phase_of(layout.size, layout.align)
    }

    /// The same for a type of `size` bytes with alignment `align`.
    pub fn phase_of(&self, size: u64, align: u64) -> u32 {
        match self.subject.instances.get(self.busiest) {
            Some(instance) => {
                self.slot_of(instance, self.tails[self.busiest], size, align)
                    .phase
            }
            None => 0,
        }
    }

    /// What most objects would take.
    pub fn memory(&self, layout: &Layout) -> Memory {
        let mut counts: BTreeMap<(Option<String>, u64), u64> = BTreeMap::new();
        for slot in self.slots(layout) {
            *counts.entry((slot.cache, slot.bytes)).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let (cache, bytes) = most.map_or((None, layout.size), |(key, _)| key);
        Memory {
            cache,
            bytes_per_object: bytes,
        }
    }

    /// By layout: the tally of each instance; `None` once `budget` accesses have been
    /// replayed. Layouts under which the accessed members share lines in the same way are
    /// replayed once.
    pub fn tallies(&self, layouts: &[&Layout], budget: u64) -> Vec<Option<Vec<Tally>>> {
        let mut ids: FxHashMap<Signature, usize> = FxHashMap::default();
        let mut jobs: Vec<(usize, usize, u32)> = Vec::new();
        let mut by_pair: FxHashMap<(usize, usize), usize> = FxHashMap::default();
        let mut wanted: Vec<Option<Vec<usize>>> = Vec::with_capacity(layouts.len());
        let mut spent = 0u64;
        for (number, layout) in layouts.iter().enumerate() {
            if spent >= budget {
                wanted.push(None);
                continue;
            }
            let mut at_phase: FxHashMap<u32, usize> = FxHashMap::default();
            let mut mine = Vec::with_capacity(self.replays.len());
            for (instance, slot) in self.slots(layout).iter().enumerate() {
                let id = *at_phase.entry(slot.phase).or_insert_with(|| {
                    let next = ids.len();
                    *ids.entry(self.signature(layout, slot.phase))
                        .or_insert(next)
                });
                mine.push(*by_pair.entry((instance, id)).or_insert_with(|| {
                    jobs.push((number, instance, slot.phase));
                    spent += self.subject.instances[instance].trace.accesses.len() as u64;
                    jobs.len() - 1
                }));
            }
            wanted.push(Some(mine));
        }
        let done = self.run(layouts, &jobs);
        let look_up = |mine: Vec<usize>| mine.into_iter().map(|job| done[job]).collect();
        wanted.into_iter().map(|mine| mine.map(look_up)).collect()
    }

    fn run(&self, layouts: &[&Layout], jobs: &[(usize, usize, u32)]) -> Vec<Tally> {
        let shape = self.subject.shape;
        let line_bytes = self.subject.line_bytes;
        let replays = self.replays.iter();
        let scores: Vec<LineScores<'_>> = replays
            .map(|one| LineScores::new(one, line_bytes))
            .collect();
        jobs.par_iter()
            .map(|&(layout, instance, phase)| {
                let row = self.row(&self.subject.instances[instance], layouts[layout]);
                let mapping = Mapping::new(shape, &self.current, layouts[layout]).of_row(row);
                scores[instance].tally(phase, &mapping)
            })
            .collect()
    }

    /// Transfers with every object at `phase` modulo the line.
    pub fn at_phase(&self, layout: &Layout, phase: u32) -> u64 {
        let mapping = Mapping::new(self.subject.shape, &self.current, layout);
        let line_bytes = self.subject.line_bytes;
        let replays = self.replays.par_iter();
        replays
            .map(|replay| replay.tally(phase, &mapping, line_bytes).transfers())
            .sum()
    }

    /// How objects of `instance` follow each other, today and in `layout`; `None` for one alone.
    fn row(&self, instance: &Instance, layout: &Layout) -> Option<(u32, u32)> {
        let then = || self.slot_of(instance, 0, layout.size, layout.align).stride;
        (instance.elements > 1).then(|| (instance.stride, then()))
    }

    fn signature(&self, layout: &Layout, phase: u32) -> Signature {
        let line = u64::from(self.subject.line_bytes.max(1));
        let mut names: FxHashMap<u64, u32> = FxHashMap::default();
        let mut signature = Vec::with_capacity(self.hot.len() * 2);
        if self.has_rows {
            // Neighbours meet on lines in ways that one object's lines do not tell.
            signature.extend([layout.size as u32, layout.align as u32]);
            signature.extend(layout.places.iter().map(|place| place.offset as u32));
        }
        for &(atom, extra) in &self.hot {
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
            // Bitfields can come apart within their run.
            if let Some(first) = place.bits.first() {
                signature.extend(place.bits.iter().map(|bit| (bit - first / 8 * 8) as u32));
            }
        }
        signature
    }

    /// Transfers by recording, ascending, from the tallies of its instances.
    pub fn by_run(&self, tallies: &[Tally]) -> Vec<(u16, u64)> {
        let mut runs: BTreeMap<u16, u64> = BTreeMap::new();
        for (instance, tally) in self.subject.instances.iter().zip(tallies) {
            *runs.entry(instance.run).or_default() += tally.transfers();
        }
        runs.into_iter().collect()
    }

    /// Events per operation; `None` where no operations were marked.
    pub fn per_operation(&self, tallies: &[Tally]) -> Option<PerOperation> {
        let mut objects: BTreeMap<(u16, u64), (Tally, u64)> = BTreeMap::new();
        for (instance, tally) in self.subject.instances.iter().zip(tallies) {
            let trace = &instance.trace;
            if trace.operations > 0 {
                let sum = objects.entry((instance.run, trace.base)).or_default();
                sum.0 += *tally;
                sum.1 += trace.operations;
            }
        }
        let mut runs: Vec<u16> = self.subject.instances.iter().map(|one| one.run).collect();
        runs.sort_unstable();
        runs.dedup();
        let mut total = PerOperation::default();
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

    /// Cost by stretch of the recording, about `stretches` of them, for each layout.
    pub fn by_stretch(&self, layouts: &[&Layout], stretches: usize) -> Vec<Vec<u64>> {
        let all = self::stretches(self.subject.instances, stretches);
        let pieces: Vec<(usize, &[TraceAccess], Replay)> = { all.into_iter() }
            .map(|(index, accesses)| {
                let piece = ObjectTrace {
                    accesses: accesses.to_vec(),
                    ..ObjectTrace::default()
                };
                (index, accesses, Replay::new(&piece))
            })
            .collect();
        layouts
            .par_iter()
            .map(|layout| {
                let mapping = Mapping::new(self.subject.shape, &self.current, layout);
                let slots = self.slots(layout);
                let line_bytes = self.subject.line_bytes;
                let tally = |(index, accesses, piece): &(usize, &[TraceAccess], Replay)| {
                    let row = self.row(&self.subject.instances[*index], layout);
                    let mapping = mapping.clone().of_row(row);
                    let tally = piece.tally(slots[*index].phase, &mapping, line_bytes);
                    let pairs = match self.pair_coefficient > 0.0 {
                        true => self.pairs_in(accesses, *index, layout),
                        false => 0,
                    };
                    self.cost(tally.transfers(), pairs)
                };
                pieces.iter().map(tally).collect()
            })
            .collect()
    }
}

/// All traces cut into about so many stretches, each with the instance that it is of.
pub(crate) fn stretches(instances: &[Instance], count: usize) -> Vec<(usize, &[TraceAccess])> {
    let total: usize = instances.iter().map(|one| one.trace.accesses.len()).sum();
    let length = total.div_ceil(count.max(1)).max(1);
    let instances = instances.iter().enumerate();
    instances
        .flat_map(|(index, one)| {
            let chunks = one.trace.accesses.chunks(length);
            chunks.map(move |chunk| (index, chunk))
        })
        .collect()
}
