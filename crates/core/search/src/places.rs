//! Places of a line where an object can begin.
//!
//! The allocator of an object decides where in a line it begins. `malloc` gives any multiple of 16
//! bytes, a slab any multiple of its slots' distance. A layout that saves transfers at the recorded
//! place alone saves them by luck: one more allocation before it undoes the gain. So a layout is
//! replayed at every place that the allocator can give, and counted by the mean of them.
//!
//! Places are numbered, and a number means the same for all layouts: the same allocation, with the
//! object in it. So two layouts are compared place by place.

use std::collections::{BTreeMap, BTreeSet};

use relayout_contend::CoherenceTally;
use relayout_profile::{Addr, RunId};

use crate::slab::ObjectSlot;
use crate::subject::RecordedInstance;

/// Different phases of an object at most: a line of 256 bytes with a place at every 16.
const PHASES_MAX: usize = 16;
/// Recorded objects at each place from which on the recording shows how objects lie.
const OBJECTS_AT_EACH: usize = 4;
/// Part of the mean transfers of today's layout, below which a place has nothing to gain.
const FEW_AT_PLACE: f64 = 0.1;
/// Probability that all objects lie at places without a gain, from which on a gain is luck.
const LUCK_MAX: f64 = 0.05;
/// Part of today's transfers at a place that a layout has to save there.
const GAIN_AT_PLACE: f64 = 0.01;

/// Different phases of an object, each as likely as the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhaseSet {
    phases: [u8; PHASES_MAX],
    count: u8,
}

impl PhaseSet {
    /// Collects phases, which are below 256; those behind the first 16 different ones are left out.
    pub fn new(phases: impl IntoIterator<Item = u32>) -> Self {
        let mut set = Self {
            phases: [0; PHASES_MAX],
            count: 0,
        };
        for phase in phases
            .into_iter()
            .filter_map(|phase| u8::try_from(phase).ok())
        {
            let count = usize::from(set.count);
            if count < PHASES_MAX && !set.phases[..count].contains(&phase) {
                set.phases[count] = phase;
                set.count += 1;
            }
        }
        set
    }

    /// Returns the phases.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let known = &self.phases[..usize::from(self.count)];
        known.iter().map(|phase| u32::from(*phase))
    }

    /// Returns the mean of `value` over the phases.
    pub fn mean(&self, value: impl FnMut(u32) -> u64) -> u64 {
        let sum: u64 = self.iter().map(value).sum();
        let count = u64::from(self.count.max(1));
        (sum + count / 2) / count
    }
}

/// Use of the places where objects can begin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlaceUse {
    /// True if every object is replayed where it began: so many objects were recorded at each
    /// place that they stand for others. Else every object is replayed at all places.
    are_recorded: bool,
    /// As [`PlacedTallies::objects`].
    objects: f64,
    /// Number of the place where each instance lies today.
    places_today: Vec<usize>,
}

impl PlaceUse {
    /// Decides from the recorded instances and their slots today. The recording stands for others
    /// if at least four objects were recorded at each place that today's layout can have.
    pub fn new(instances: &[RecordedInstance], slots: &[ObjectSlot]) -> Self {
        let mut at_phase: BTreeMap<u32, BTreeSet<(RunId, Addr)>> = BTreeMap::new();
        let mut possible: BTreeSet<u32> = BTreeSet::new();
        let mut accesses: BTreeMap<(RunId, Addr), f64> = BTreeMap::new();
        for (instance, slot) in instances.iter().zip(slots) {
            let object = (instance.run, instance.trace.base);
            possible.extend(slot.phases.iter().copied());
            at_phase.entry(slot.phase).or_default().insert(object);
            *accesses.entry(object).or_default() += instance.trace.accesses.len() as f64;
        }
        let is_recorded = |phase: &u32| {
            { at_phase.get(phase) }.is_some_and(|objects| objects.len() >= OBJECTS_AT_EACH)
        };
        let sum: f64 = accesses.values().sum();
        let squares: f64 = accesses.values().map(|count| count * count).sum();
        Self {
            are_recorded: possible.iter().all(is_recorded),
            // Allocations of a multiple of the line begin at one place all of them.
            objects: match at_phase.len() > 1 && squares > 0.0 {
                true => sum * sum / squares,
                false => 1.0,
            },
            places_today: slots.iter().map(ObjectSlot::recorded_place).collect(),
        }
    }

    /// Returns the same for a part of the recording, whose instances are parts of those with these
    /// `indices`.
    pub fn for_instances(&self, indices: &[usize]) -> Self {
        let places_today = { indices.iter() }.map(|index| self.places_today[*index]);
        Self {
            places_today: places_today.collect(),
            ..*self
        }
    }

    /// Returns the phases at which an object in `slot` is replayed, by number of the place.
    pub fn phases<'s>(&self, slot: &'s ObjectSlot) -> &'s [u32] {
        match self.are_recorded {
            false => &slot.phases,
            true => std::slice::from_ref(&slot.phase),
        }
    }
}

/// Events of a layout at the places where its objects can begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlacedTallies {
    /// Events where the objects began when they were recorded.
    pub as_recorded: CoherenceTally,
    /// Events with all objects at one place, by number of the place; of the objects that began
    /// there, if `are_recorded`. Empty where nothing but one place is possible.
    pub by_place: Vec<CoherenceTally>,
    /// True if enough objects were recorded at each place to stand for others.
    pub are_recorded: bool,
    /// Number of objects whose places are independent of each other: one if all were recorded at
    /// the same, else those that have most of the accesses.
    pub objects: f64,
}

/// Comparison of a layout with today's at the places where objects can begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaceChanges {
    /// Number of places.
    pub count: usize,
    /// Change of the mean transfers: -0.2 is a fifth less.
    pub mean: f64,
    /// Change at the place where the layout does worst, of those where today's has transfers to
    /// save or the layout adds some.
    pub worst: f64,
    /// Number of places at which the layout saves nothing, although today's has transfers there.
    pub without_gain: usize,
    /// True if enough objects were recorded at each place to stand for others.
    pub are_recorded: bool,
    /// As [`PlacedTallies::objects`].
    pub objects: f64,
}

impl PlacedTallies {
    /// Compares with `today`, place by place; `None` where objects have no choice of places.
    ///
    /// ```
    /// use relayout_contend::CoherenceTally;
    /// use relayout_search::PlacedTallies;
    ///
    /// let reads = |read_transfers| CoherenceTally { read_transfers, ..Default::default() };
    /// let reads = |counts: [u64; 4]| PlacedTallies {
    ///     by_place: counts.map(reads).to_vec(),
    ///     ..Default::default()
    /// };
    /// // At one place of four, the layout has nothing of what it has at the others.
    /// let lucky = reads([100, 100, 100, 0]).changes_from(&reads([100; 4])).expect("four places");
    /// assert_eq!((lucky.mean, lucky.worst, lucky.without_gain), (-0.25, 0.0, 3));
    /// ```
    pub fn changes_from(&self, today: &Self) -> Option<PlaceChanges> {
        let count = self.by_place.len().max(today.by_place.len());
        if count < 2 {
            return None;
        }
        let at = |tallies: &Self, place: usize| -> f64 {
            let places = &tallies.by_place;
            let tally = match places.len() {
                0 => tallies.as_recorded,
                known => places[place % known],
            };
            tally.transfers() as f64
        };
        let pairs: Vec<(f64, f64)> = { 0..count }
            .map(|place| (at(today, place), at(self, place)))
            .collect();
        let before: f64 = pairs.iter().map(|(before, _)| before).sum();
        let after: f64 = pairs.iter().map(|(_, after)| after).sum();
        let few = FEW_AT_PLACE * before / count as f64;
        let matters = |pair: &&(f64, f64)| pair.0 > few || pair.1 > few;
        let change = |(before, after): &(f64, f64)| (after - before) / before.max(few).max(1.0);
        let counted = || pairs.iter().filter(matters);
        let is_gain = |pair: &&(f64, f64)| change(pair) <= -GAIN_AT_PLACE;
        Some(PlaceChanges {
            count,
            mean: match before > 0.0 {
                true => after / before - 1.0,
                false => 0.0,
            },
            worst: counted().map(change).reduce(f64::max).unwrap_or(0.0),
            without_gain: counted().filter(|pair| !is_gain(pair)).count(),
            are_recorded: self.are_recorded && today.are_recorded,
            objects: today.objects,
        })
    }
}

/// Tallies of one layout.
pub(crate) struct ScoredTallies {
    /// By instance: the mean over its places.
    pub by_instance: Vec<CoherenceTally>,
    /// Of all instances: the mean over the places.
    pub mean: CoherenceTally,
    pub placed: PlacedTallies,
}

/// Tallies of an instance under one layout.
pub(crate) struct InstanceTallies {
    /// By number of the place at which it is replayed.
    pub by_place: Vec<CoherenceTally>,
    /// Number of the place where it was recorded, of all that are possible.
    pub recorded_place: usize,
}

impl PlaceUse {
    /// Joins the tallies of the instances under one layout.
    pub fn join(&self, instances: &[InstanceTallies]) -> ScoredTallies {
        let by_instance: Vec<CoherenceTally> = { instances.iter() }
            .map(|instance| mean_tally(&instance.by_place))
            .collect();
        let by_place = match self.are_recorded {
            true => self.sums_by_recorded_place(&by_instance),
            false => sums_at_each_place(instances),
        };
        ScoredTallies {
            mean: match self.are_recorded || by_place.is_empty() {
                true => by_instance.iter().copied().sum(),
                false => mean_tally(&by_place),
            },
            by_instance,
            placed: PlacedTallies {
                as_recorded: instances.iter().map(InstanceTallies::as_recorded).sum(),
                by_place,
                are_recorded: self.are_recorded,
                objects: self.objects,
            },
        }
    }

    /// Returns the sums over the instances that lie at each place today, by number of that place:
    /// also for layouts of a larger alignment, which leave an object fewer places.
    fn sums_by_recorded_place(&self, by_instance: &[CoherenceTally]) -> Vec<CoherenceTally> {
        let count = self.places_today.iter().max().map_or(0, |last| last + 1);
        if count < 2 {
            return Vec::new();
        }
        let mut sums = vec![CoherenceTally::default(); count];
        for (place, tally) in self.places_today.iter().zip(by_instance) {
            sums[*place] = [sums[*place], *tally].into_iter().sum();
        }
        sums
    }
}

impl InstanceTallies {
    /// Returns the tally at the place where the instance was recorded.
    fn as_recorded(&self) -> CoherenceTally {
        self.by_place[self.recorded_place % self.by_place.len()]
    }
}

/// Returns the sums over all instances, by number of the place at which all of them begin; empty where
/// nothing but one place is possible.
fn sums_at_each_place(instances: &[InstanceTallies]) -> Vec<CoherenceTally> {
    let count = { instances.iter() }.map(|instance| instance.by_place.len());
    let count = count.max().filter(|count| *count > 1).unwrap_or(0);
    let at_place = |place: usize| -> CoherenceTally {
        { instances.iter() }
            .map(|instance| instance.by_place[place % instance.by_place.len()])
            .sum()
    };
    (0..count).map(at_place).collect()
}

/// Returns the mean, rounded; nothing for no tallies.
fn mean_tally(tallies: &[CoherenceTally]) -> CoherenceTally {
    let sum: CoherenceTally = tallies.iter().copied().sum();
    let count = tallies.len().max(1) as u64;
    let mean = |events: u64| (events + count / 2) / count;
    CoherenceTally {
        read_transfers: mean(sum.read_transfers),
        write_transfers: mean(sum.write_transfers),
        upgrades: mean(sum.upgrades),
        false_first_touch: mean(sum.false_first_touch),
        false_lifetime: mean(sum.false_lifetime),
    }
}

impl PlaceChanges {
    /// Returns true if it is luck whether the layout saves anything: at some places it does not,
    /// and so few objects matter that all of them can lie there.
    ///
    /// ```
    /// use relayout_search::PlaceChanges;
    ///
    /// let at_one_of_four = |objects: f64| PlaceChanges {
    ///     count: 4, mean: -0.25, worst: 0.0, without_gain: 3, are_recorded: false, objects,
    /// };
    /// assert!(at_one_of_four(1.0).is_lucky());
    /// assert!(!at_one_of_four(20.0).is_lucky());
    /// ```
    pub fn is_lucky(&self) -> bool {
        let without_gain = self.without_gain as f64 / self.count.max(1) as f64;
        !self.are_recorded && without_gain.powf(self.objects.max(1.0)) > LUCK_MAX
    }
}
