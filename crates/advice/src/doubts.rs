//! Doubts about advice: reasons for which the gain may not hold in another recording. With a doubt
//! no patch is written, unless the user insists.

use std::collections::BTreeSet;
use std::fmt;

use relayout_contend::{CONFIDENCE_MIN_PERCENT, TypeConfidence};
use relayout_profile::{Addr, ProfileMeta, RunId};
use relayout_search::{LayoutAdvice, PlaceChanges, RankedLayout, RecordedInstance};

use super::advised_type::AdvisedType;
use super::gathered::GatheredType;
use crate::ResolvedProfile;

/// Transfers that were replayed, at least.
const TRANSFERS_MIN: u64 = 100;
/// Objects from which on a part of the contended ones stands for all.
const OBJECTS_ENOUGH: usize = 8;

/// Reason to doubt advice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AdviceDoubt {
    /// Few transfers were replayed.
    FewTransfers {
        /// Transfers of today's layout.
        transfers: u64,
    },
    /// Few of the contended objects were recorded in order.
    FewObjects {
        /// Objects that were replayed.
        replayed: usize,
        /// Objects with transfers.
        contended: usize,
    },
    /// The type of objects was elected by evidence that hardly agrees.
    UncertainType(TypeConfidence),
    /// More threads than CPUs accessed the objects: the scheduler made the order.
    MoreThreadsThanCpus {
        /// Threads.
        threads: usize,
        /// CPUs of the host.
        cpus: usize,
    },
    /// Others took the host's CPUs while it was recorded.
    BusyHost {
        /// CPU time that was lost, in percent.
        lost_percent: u32,
    },
    /// Accesses were out of simulated time's order, so that transfers are missing.
    OutOfOrder {
        /// Accesses to contended lines that were, in percent.
        percent: u32,
    },
    /// On a part of what was recorded, the layout gains nothing.
    NoGainInPart {
        /// Worst change, in percent.
        change_percent: f64,
        /// True if the parts are recordings.
        are_recordings: bool,
    },
    /// It depends on the allocator whether the layout gains anything.
    NoGainAtPlace(PlaceChanges),
}

impl AdviceDoubt {
    /// Returns the key of the doubt in documents.
    pub fn key(&self) -> &'static str {
        match self {
            Self::FewTransfers { .. } => "few-transfers",
            Self::FewObjects { .. } => "few-objects",
            Self::UncertainType(_) => "uncertain-type",
            Self::MoreThreadsThanCpus { .. } => "more-threads-than-cpus",
            Self::BusyHost { .. } => "busy-host",
            Self::OutOfOrder { .. } => "out-of-order",
            Self::NoGainInPart { .. } => "no-gain-in-part",
            Self::NoGainAtPlace(_) => "no-gain-at-place",
        }
    }
}

impl fmt::Display for AdviceDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewTransfers { transfers } => write!(
                f,
                "{transfers} transfers were replayed, of {TRANSFERS_MIN} that a judgement needs"
            ),
            Self::FewObjects {
                replayed,
                contended,
            } => write!(
                f,
                "{replayed} of {contended} objects with transfers were recorded in order"
            ),
            Self::UncertainType(confidence) => write!(
                f,
                "the type of {} of {} objects was elected, with a confidence from {}% (below \
                 {CONFIDENCE_MIN_PERCENT}%)",
                confidence.uncertain, confidence.objects, confidence.least_percent
            ),
            Self::MoreThreadsThanCpus { threads, cpus } => write!(
                f,
                "{threads} threads shared {cpus} CPUs, so that the scheduler made the order"
            ),
            Self::BusyHost { lost_percent } => write!(
                f,
                "the host was busy: others took {lost_percent}% of the CPU time"
            ),
            Self::OutOfOrder { percent } => write!(
                f,
                "{percent}% of the accesses to contended lines were out of order"
            ),
            Self::NoGainInPart {
                change_percent,
                are_recordings,
            } => {
                let part = match are_recordings {
                    true => "in one of the recordings",
                    false => "in a third of the recording",
                };
                write!(f, "{part} transfers change by {change_percent:+.1}%")
            }
            Self::NoGainAtPlace(places) => write!(
                f,
                "the allocator decides where in a line an object begins, and at {} of the {} places \
                 that it can give nothing is saved (at worst transfers change by {:+.1}%)",
                places.without_gain,
                places.count,
                places.worst * 100.0
            ),
        }
    }
}

/// Returns the doubts about any gain that is found in the recording of a type.
pub(super) fn advice_doubts(
    resolved: &ResolvedProfile<'_>,
    gathered: &GatheredType<'_>,
    advice: &LayoutAdvice,
) -> Vec<AdviceDoubt> {
    let best = { advice.candidates.first() };
    let Some(best) = best.filter(|best| best.ranked_cost() < advice.current.cost) else {
        return Vec::new();
    };
    let transfers = advice.current.tally.transfers();
    let few_transfers =
        (transfers < TRANSFERS_MIN).then_some(AdviceDoubt::FewTransfers { transfers });
    // The order of threads and the load of the host differ between recordings.
    let is_repeated = best.parts.are_recordings && best.parts.is_repeated();
    let circumstances = match is_repeated {
        true => [None, None],
        false => [
            more_threads_than_cpus(&resolved.profile.meta, gathered),
            busy_host(&resolved.profile.meta),
        ],
    };
    [
        few_transfers,
        few_objects(gathered),
        uncertain_type(gathered),
        out_of_order(&resolved.profile.meta),
    ]
    .into_iter()
    .chain(circumstances)
    .flatten()
    .collect()
}

impl AdvisedType<'_> {
    /// Returns the reasons for which the gain of a layout may not hold.
    pub fn doubts_about(&self, ranked: &RankedLayout) -> Vec<AdviceDoubt> {
        let no_gain = ranked.parts.worst().filter(|worst| *worst >= 0.0);
        let no_gain = no_gain.map(|worst| AdviceDoubt::NoGainInPart {
            change_percent: worst * 100.0,
            are_recordings: ranked.parts.are_recordings,
        });
        let today = self.searched.outcome.as_ref().ok();
        let places = today.and_then(|advice| ranked.place_changes(&advice.current));
        let lucky = places.filter(PlaceChanges::is_lucky);
        { self.doubts.iter().copied() }
            .chain(no_gain)
            .chain(lucky.map(AdviceDoubt::NoGainAtPlace))
            .collect()
    }
}

/// True if enough was replayed to say that a type's layouts do not help: enough transfers, of enough
/// of its objects, whose type is certain.
pub(super) fn has_evidence(gathered: &GatheredType<'_>, advice: &LayoutAdvice) -> bool {
    advice.current.tally.transfers() >= TRANSFERS_MIN
        && few_objects(gathered).is_none()
        && uncertain_type(gathered).is_none()
}

fn few_objects(gathered: &GatheredType<'_>) -> Option<AdviceDoubt> {
    let replayed: BTreeSet<_> = { gathered.instances.iter() }
        .flat_map(replayed_objects)
        .collect();
    let (replayed, contended) = (replayed.len(), gathered.contended_objects);
    let has_few = replayed < OBJECTS_ENOUGH && replayed * 2 <= contended;
    has_few.then_some(AdviceDoubt::FewObjects {
        replayed,
        contended,
    })
}

/// Returns the objects of an instance that have accesses, by run and address: elements of an array
/// are objects of their own.
fn replayed_objects(instance: &RecordedInstance) -> BTreeSet<(RunId, Addr)> {
    let accesses = instance.trace.accesses.iter();
    let start_of = |offset: u32| {
        let (_, inside) = instance.locate(offset);
        instance.trace.base + u64::from(offset - inside)
    };
    accesses
        .map(|access| (instance.run, start_of(access.offset)))
        .collect()
}

pub(super) fn uncertain_type(gathered: &GatheredType<'_>) -> Option<AdviceDoubt> {
    let confidence = gathered.confidence;
    { confidence.is_doubtful() }.then_some(AdviceDoubt::UncertainType(confidence))
}

fn more_threads_than_cpus(meta: &ProfileMeta, gathered: &GatheredType<'_>) -> Option<AdviceDoubt> {
    if meta.target == "kernel" {
        // Its CPUs are the emulator's, which takes turns by itself.
        return None;
    }
    let cpus = { meta.settings.iter() }.find(|setting| setting.name == "cpus")?;
    let cpus: usize = cpus.value.parse().ok()?;
    let accesses = { gathered.instances.iter() }
        .flat_map(|instance| instance.trace.accesses.iter().map(|access| access.context));
    let threads = accesses.collect::<BTreeSet<_>>().len();
    (threads > cpus).then_some(AdviceDoubt::MoreThreadsThanCpus { threads, cpus })
}

fn busy_host(meta: &ProfileMeta) -> Option<AdviceDoubt> {
    let lost_percent = (meta.distrusted_lost_share()? * 100.0) as u32;
    Some(AdviceDoubt::BusyHost { lost_percent })
}

fn out_of_order(meta: &ProfileMeta) -> Option<AdviceDoubt> {
    let percent = (meta.distrusted_order_share()? * 100.0) as u32;
    Some(AdviceDoubt::OutOfOrder { percent })
}
