//! Rates with the order of samples: laws that hold for all of them, and what they say of turns.

use proptest::collection::vec;
use proptest::prelude::*;
use relayout_contend::rates::estimate;
use relayout_profile::{
    AccessCoverage, AccessKind, Addr, BurstRow, CoherenceEvent, ConflictRow, ContextId, CountRow,
    Profile, ProfileMeta, RecordedRun, RunId, Site, SiteId, validate,
};

const LINE: u64 = 0x1000;
const SITES: u32 = 4;

/// A sample, and how many accesses it stands for.
#[derive(Clone, Copy, Debug)]
struct Sample {
    context: u16,
    site: u32,
    access: AccessKind,
    offset: u64,
    size: u8,
    period: u64,
}

/// A profile of samples, in this order.
fn profile(samples: &[Sample]) -> Profile {
    let count = |sample: &Sample| CountRow {
        run: RunId(0),
        addr: Addr(LINE + sample.offset),
        size: sample.size,
        context: ContextId(sample.context),
        site: SiteId(sample.site),
        access: sample.access,
        count: sample.period,
        silent: None,
    };
    let burst = |(ticket, sample): (u64, &Sample)| BurstRow {
        run: RunId(0),
        ticket,
        context: ContextId(sample.context),
        site: SiteId(sample.site),
        addr: Addr(LINE + sample.offset),
        size: sample.size,
        access: sample.access,
        silent: None,
    };
    let mut counts: Vec<CountRow> = samples.iter().map(count).collect();
    counts.sort_by_key(|row| (row.addr, row.size, row.context, row.site, row.access));
    let site = Site {
        pc: 0,
        bytes: Vec::new(),
    };
    Profile {
        meta: ProfileMeta {
            line_bytes: 64,
            contexts: 8,
            coverage: AccessCoverage::Samples,
            runs: vec![RecordedRun::default()],
            ..ProfileMeta::default()
        },
        sites: vec![site; SITES as usize],
        counts,
        bursts: (0..).zip(samples).map(burst).collect(),
        ..Profile::default()
    }
}

fn without_order(mut profile: Profile) -> Profile {
    profile.bursts.clear();
    profile
}

/// Transfers, or upgrades, into a context.
fn into(events: &[ConflictRow], context: u16, upgrades: bool) -> u64 {
    let own = events
        .iter()
        .filter(|event| event.context == ContextId(context));
    own.filter(|event| (event.transfer == CoherenceEvent::Upgrade) == upgrades)
        .map(|event| event.count)
        .sum()
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let access = prop_oneof![
        Just(AccessKind::Read),
        Just(AccessKind::Write),
        Just(AccessKind::ReadWrite)
    ];
    let sample = (0_u16..4, 0..SITES, access, 0_u64..120, 1_u8..9, 1_u64..5000).prop_map(
        |(context, site, access, offset, size, period)| Sample {
            context,
            site,
            access,
            offset,
            size,
            period,
        },
    );
    vec(sample, 0..100)
}

/// Two contexts take turns of `each` accesses, each to a word of its own; one access of `period` is
/// sampled.
fn turns(each: usize, period: usize) -> Vec<Sample> {
    let sample_at = |n: usize| {
        let context = (n / each % 2) as u16;
        Sample {
            context,
            site: u32::from(context),
            access: AccessKind::Write,
            offset: u64::from(context) * 8,
            size: 8,
            period: period as u64,
        }
    };
    (0..40_000).step_by(period).map(sample_at).collect()
}

/// `each` accesses a turn are 40000 / `each` transfers. Rates alone say 20000 of each; the order
/// says it as well as the distance between samples lets it.
#[test]
fn turns_longer_than_the_distance_between_samples_are_seen() {
    let transfers = |each, period| {
        let profile = profile(&turns(each, period));
        let all = |profile: &Profile| {
            let events = estimate(profile);
            into(&events, 0, false) + into(&events, 1, false)
        };
        (all(&without_order(profile.clone())), all(&profile))
    };
    assert_eq!(transfers(1000, 10), (20_000, 400));
    assert_eq!(transfers(1000, 100), (20_000, 3_980));
    // A turn has no more than one sample: nothing is learnt.
    assert_eq!(transfers(100, 100), (20_000, 20_000));
}

proptest! {
    /// Order takes from what rates expect, and adds nothing: of transfers, and of transfers and
    /// upgrades together.
    #[test]
    fn order_only_lowers(samples in samples()) {
        let profile = profile(&samples);
        let (with, without) = (estimate(&profile), estimate(&without_order(profile)));
        for context in 0..4 {
            let transfers = |events: &[ConflictRow]| into(events, context, false);
            let all = |events: &[ConflictRow]| into(events, context, true) + transfers(events);
            // Whole numbers: each of two lines, two kinds of transfer and three classes is off by
            // less than a half, in both; the upgrades of each line by a half more.
            prop_assert!(transfers(&with) <= transfers(&without) + 12);
            prop_assert!(all(&with) <= all(&without) + 14);
        }
    }

    /// Whatever the samples, the rows can be written as a profile's.
    #[test]
    fn rows_are_valid(samples in samples()) {
        let mut profile = profile(&samples);
        profile.conflicts = estimate(&profile);
        prop_assert_eq!(validate::validate(&profile), Ok(()));
    }

    /// Only the order counts, not how far samples are apart.
    #[test]
    fn gaps_between_tickets_mean_nothing(samples in samples(), gap in 1_u64..1_000_000) {
        let near = profile(&samples);
        let mut far = near.clone();
        for burst in &mut far.bursts {
            burst.ticket *= gap;
        }
        prop_assert_eq!(estimate(&near), estimate(&far));
    }

    /// Of two lines, each has its own order.
    #[test]
    fn lines_are_apart(samples in samples()) {
        let moved = |sample: &Sample| Sample { offset: sample.offset + 4096, ..*sample };
        let both: Vec<Sample> = samples.iter().flat_map(|sample| [*sample, moved(sample)]).collect();
        let alone = estimate(&profile(&samples));
        let together = estimate(&profile(&both));
        let first: Vec<ConflictRow> = { together.into_iter() }
            .filter(|event| event.addr < Addr(LINE + 4096))
            .collect();
        prop_assert_eq!(alone, first);
    }
}
