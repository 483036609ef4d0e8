//! The same change in another build of the type, where members are missing or more: another
//! configuration of a kernel.
//!
//! What was recorded stays the same but for accesses to members that the other build lacks; where the
//! others are follows from the other build's own members.

use relayout_contend::Tally;
use relayout_layout::abi::{Layout, Place, Shape};

use crate::coverage::Coverage;
use crate::interval::Interval;
use crate::order::{Order, counterparts};
use crate::score::Scorer;
use crate::subject::{Instance, Subject};

/// Stretches that the recording is cut into for an interval.
const STRETCHES: usize = 32;

/// What a layout costs in another build.
#[derive(Clone, Debug, PartialEq)]
pub struct Elsewhere {
    /// `sizeof` there in bytes.
    pub size: u64,
    /// Replayed events.
    pub tally: Tally,
    /// Change of the transfers from that build's own layout; `None` where it has none.
    pub interval: Option<Interval>,
}

impl Elsewhere {
    /// Whether it clearly has more transfers than that build's own layout.
    pub fn hurts(&self) -> bool {
        self.interval.is_some_and(|interval| interval.low > 0.0)
    }
}

/// Scores the layouts that `orders` (of the subject's shape) lead to in the build whose type is `other`.
/// The first result is that build's own layout.
pub fn elsewhere(subject: Subject<'_>, other: &Shape, orders: &[&Order]) -> Vec<Elsewhere> {
    let current = subject.shape.lay_out(&subject.shape.current());
    let there = counterparts(subject.shape, other);
    let instances: Vec<Instance> = (subject.instances.iter())
        .map(|instance| without_missing(instance, &current, &there))
        .collect();
    let subject = Subject {
        instances: &instances,
        ..subject
    };
    let coverage = Coverage::new(&subject, &current);
    let scorer = Scorer::new(subject, current.clone(), &coverage);
    let carried = orders.iter().map(|one| {
        let order = one.carry_over(subject.shape, other);
        other.lay_out_padded(&order.arrangement, &order.pads)
    });
    let layouts: Vec<Layout> = std::iter::once(other.lay_out(&other.current()))
        .chain(carried)
        .map(|layout| seen_from(&current, &there, &layout))
        .collect();
    let layouts: Vec<&Layout> = layouts.iter().collect();
    let tallies = scorer.tallies(&layouts, u64::MAX);
    let stretches = scorer.by_stretch(&layouts, STRETCHES);
    let results = layouts.iter().zip(tallies).zip(&stretches);
    results
        .map(|((layout, tallies), stretch)| Elsewhere {
            size: layout.size,
            tally: tallies.unwrap_or_default().into_iter().sum(),
            interval: stretches.first().and_then(|own| Interval::of(own, stretch)),
        })
        .collect()
}

/// The instance without accesses to members that are not there.
fn without_missing(instance: &Instance, current: &Layout, there: &[Option<usize>]) -> Instance {
    let missing = |offset: u32| {
        let (_, offset) = instance.within(offset);
        let mut places = current.places.iter().zip(there);
        places.any(|(place, there)| {
            there.is_none() && (place.offset..place.end).contains(&u64::from(offset))
        })
    };
    let mut kept = instance.clone();
    kept.trace.accesses.retain(|access| !missing(access.offset));
    kept
}

/// The other build's layout by this one's atoms; those that are not there are behind it.
fn seen_from(current: &Layout, there: &[Option<usize>], other: &Layout) -> Layout {
    let place = |(own, there): (&Place, &Option<usize>)| match there {
        Some(atom) => other.places[*atom].clone(),
        None => Place {
            offset: other.size,
            end: other.size + (own.end - own.offset),
            bits: Vec::new(),
        },
    };
    Layout {
        places: current.places.iter().zip(there).map(place).collect(),
        size: other.size,
        align: other.align,
        holes: Vec::new(),
        padding: other.padding,
    }
}
