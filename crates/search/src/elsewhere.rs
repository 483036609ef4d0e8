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
use crate::subject::{Code, Instance, Subject};

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

/// Scores the layouts that `orders` (of the shape of the code's type) lead to in the build whose type is
/// `other`. The first result is that build's own layout, without checks.
pub fn elsewhere<'a>(
    code: impl Into<Code<'a>>,
    other: &Shape,
    orders: &[&Order],
) -> Vec<Elsewhere> {
    let code = code.into();
    let shape = code.now().shape;
    let there = There {
        current: shape.lay_out(&shape.current()),
        atoms: counterparts(shape, other),
    };
    let own = there.seen(other.lay_out(&other.current()));
    let carried: Vec<Layout> = { orders.iter() }
        .map(|one| {
            let order = one.carry_over(shape, other);
            there.seen(other.lay_out_padded(&order.arrangement, &order.pads))
        })
        .collect();
    let mut scored = there.score(code.now(), &[&own]);
    scored.extend(there.score(code.then(), &carried.iter().collect::<Vec<&Layout>>()));
    let before = scored.first().map(|(_, own)| own.clone());
    let layouts = std::iter::once(&own).chain(&carried);
    { layouts.zip(scored) }
        .map(|(layout, (tally, stretches))| Elsewhere {
            size: layout.size,
            tally,
            interval: { before.as_ref() }.and_then(|own| Interval::of(own, &stretches)),
        })
        .collect()
}

/// Another build, as the recorded one sees it.
struct There {
    /// The recorded build's own layout.
    current: Layout,
    /// By atom of the recorded build: which it is there.
    atoms: Vec<Option<usize>>,
}

impl There {
    /// By layout: what it costs, and that by stretch of the recording.
    fn score(&self, subject: Subject<'_>, layouts: &[&Layout]) -> Vec<(Tally, Vec<u64>)> {
        let instances: Vec<Instance> = { subject.instances.iter() }
            .map(|instance| self.without_missing(instance))
            .collect();
        let subject = Subject {
            instances: &instances,
            ..subject
        };
        let coverage = Coverage::new(&subject, &self.current);
        let scorer = Scorer::new(subject, self.current.clone(), &coverage);
        let tallies = scorer.tallies(layouts, u64::MAX).into_iter();
        let tallies = tallies.map(|tallies| tallies.unwrap_or_default().into_iter().sum());
        tallies.zip(scorer.by_stretch(layouts, STRETCHES)).collect()
    }

    /// The instance without accesses to members that are not there.
    fn without_missing(&self, instance: &Instance) -> Instance {
        let missing = |offset: u32| {
            let (_, offset) = instance.within(offset);
            let mut places = self.current.places.iter().zip(&self.atoms);
            places.any(|(place, there)| {
                there.is_none() && (place.offset..place.end).contains(&u64::from(offset))
            })
        };
        let mut kept = instance.clone();
        kept.trace.accesses.retain(|access| !missing(access.offset));
        kept
    }

    /// The other build's layout by the recorded one's atoms; those that are not there are behind it.
    fn seen(&self, other: Layout) -> Layout {
        let place = |(own, there): (&Place, &Option<usize>)| match there {
            Some(atom) => other.places[*atom].clone(),
            None => Place {
                offset: other.size,
                end: other.size + (own.end - own.offset),
                bits: Vec::new(),
            },
        };
        Layout {
            places: self
                .current
                .places
                .iter()
                .zip(&self.atoms)
                .map(place)
                .collect(),
            size: other.size,
            align: other.align,
            holes: Vec::new(),
            padding: other.padding,
        }
    }
}
