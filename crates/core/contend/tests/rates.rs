//! Rates: laws that hold for all counts, and what they say of small profiles.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use relayout_contend::rates::estimate;
use relayout_profile::{
    AccessCoverage, AccessKind, Addr, CoherenceEvent, ConflictRow, ContextId, CountRow, Profile,
    ProfileMeta, RunId, SiteId, validate,
};

const LINE: u64 = 0x1000;

fn count(context: u16, site: u32, access: AccessKind, at: (u64, u8), count: u64) -> CountRow {
    let (offset, size) = at;
    CountRow {
        run: RunId(0),
        addr: Addr(LINE + offset),
        size,
        context: ContextId(context),
        site: SiteId(site),
        access,
        count,
        silent: None,
    }
}

fn profile(mut counts: Vec<CountRow>) -> Profile {
    counts.sort_by_key(|row| row.addr);
    let runs = vec![relayout_profile::RecordedRun::default()];
    let site = relayout_profile::Site {
        pc: 0,
        bytes: Vec::new(),
    };
    Profile {
        meta: ProfileMeta {
            line_bytes: 64,
            contexts: 8,
            coverage: AccessCoverage::Samples,
            runs,
            ..ProfileMeta::default()
        },
        sites: vec![site; 8],
        counts,
        ..Profile::default()
    }
}

/// Events of a kind into a context: all, false by first touch, false by lifetime.
fn sums(events: &[ConflictRow], transfer: CoherenceEvent, context: u16) -> [u64; 3] {
    let own = events
        .iter()
        .filter(|e| e.transfer == transfer && e.context == ContextId(context));
    own.fold([0; 3], |[a, b, c], e| {
        [a + e.count, b + e.false_first_touch, c + e.false_lifetime]
    })
}

use AccessKind::{Read, ReadWrite, Write};

#[test]
fn a_reader_and_a_writer() {
    // Half of 1000*1000/2000 in random order; different bytes: all false.
    let apart = estimate(&profile(vec![
        count(0, 0, Read, (0, 8), 1000),
        count(1, 1, Write, (8, 8), 1000),
    ]));
    assert_eq!(sums(&apart, CoherenceEvent::Read, 0), [500, 500, 500]);
    assert_eq!(sums(&apart, CoherenceEvent::Upgrade, 1), [500, 0, 0]);
    assert_eq!(sums(&apart, CoherenceEvent::Write, 1), [0, 0, 0]);
    let together = estimate(&profile(vec![
        count(0, 0, Read, (0, 8), 1000),
        count(1, 1, Write, (4, 8), 1000),
    ]));
    assert_eq!(sums(&together, CoherenceEvent::Read, 0), [500, 0, 0]);
}

#[test]
fn rare_stores_bound_many_loads() {
    let events = estimate(&profile(vec![
        count(0, 0, Read, (0, 8), 1_000_000),
        count(1, 1, Write, (8, 8), 10),
    ]));
    assert_eq!(sums(&events, CoherenceEvent::Read, 0)[0], 10);
}

/// pcpu_chunk's story: `base_addr` is read, then what another wrote is used under the lock.
#[test]
fn first_touch_and_lifetime_differ() {
    let events = estimate(&profile(vec![
        count(0, 0, Read, (56, 8), 1000),
        count(0, 1, ReadWrite, (16, 4), 1000),
        count(1, 2, ReadWrite, (16, 4), 1000),
    ]));
    let [reads, first_touch, lifetime] = sums(&events, CoherenceEvent::Read, 0);
    assert_eq!((reads, first_touch, lifetime), (250, 250, 0));
    let [writes, first_touch, _] = sums(&events, CoherenceEvent::Write, 0);
    assert_eq!((writes, first_touch), (250, 0));
}

/// An operation that has four instructions on the line is one episode.
#[test]
fn episodes_are_not_accesses() {
    let many = |site| count(0, site, Read, (u64::from(site) * 8, 8), 1000);
    let mut counts = vec![count(1, 7, Write, (56, 8), 1000)];
    counts.extend((0..4).map(many));
    assert_eq!(
        sums(&estimate(&profile(counts)), CoherenceEvent::Read, 0)[0],
        500
    );
}

/// Taking and dropping a reference are two operations, loading it twice is one: between 1000 and
/// 2000 episodes here, and 1000 there.
#[test]
fn instructions_that_store_to_one_granule_are_operations_of_their_own() {
    let into_first = |access| {
        let by = |site| count(0, site, access, (0, 8), 1000);
        let events = estimate(&profile(vec![
            by(0),
            by(1),
            count(1, 7, Write, (8, 8), 1000),
        ]));
        [CoherenceEvent::Read, CoherenceEvent::Write].map(|transfer| sums(&events, transfer, 0)[0])
    };
    assert_eq!(into_first(ReadWrite), [0, 586]);
    assert_eq!(into_first(Read), [500, 0]);
}

#[test]
fn silent_stores_take_the_line_and_change_nothing() {
    let mut store = count(1, 1, Write, (0, 8), 1000);
    store.silent = Some(1000);
    let events = estimate(&profile(vec![count(0, 0, Read, (0, 8), 1000), store]));
    assert_eq!(sums(&events, CoherenceEvent::Read, 0), [500, 500, 500]);
}

#[test]
fn nothing_without_two_contexts_and_a_store() {
    let read = |context| count(context, 0, Read, (0, 8), 1000);
    assert_eq!(estimate(&profile(vec![read(0), read(1)])), []);
    assert_eq!(
        estimate(&profile(vec![read(0), count(0, 1, Write, (0, 8), 5)])),
        []
    );
    // On the neighbouring line.
    assert_eq!(
        estimate(&profile(vec![read(0), count(1, 1, Write, (64, 8), 5)])),
        []
    );
    assert_eq!(estimate(&profile(vec![])), []);
}

/// A store that straddles moves both lines.
#[test]
fn straddling() {
    let events = estimate(&profile(vec![
        count(0, 0, Read, (56, 4), 1000),
        count(2, 0, Read, (64, 4), 1000),
        count(1, 1, Write, (60, 8), 1000),
    ]));
    assert_eq!(sums(&events, CoherenceEvent::Read, 0), [500, 500, 500]);
    assert_eq!(sums(&events, CoherenceEvent::Read, 2), [500, 0, 0]);
}

fn access() -> impl Strategy<Value = AccessKind> {
    prop_oneof![Just(Read), Just(Write), Just(ReadWrite)]
}

fn counts() -> impl Strategy<Value = Vec<CountRow>> {
    let fields = (
        0_u16..5,
        0_u32..8,
        access(),
        0_u64..70,
        1_u8..9,
        0_u64..100_000,
        0_u8..=4,
    );
    let row = fields.prop_map(|(context, site, access, offset, size, n, silent)| {
        let silent = (access != Read && silent < 4).then_some(n * u64::from(silent) / 4);
        CountRow {
            silent,
            ..count(context, site, access, (offset, size), n)
        }
    });
    vec(row, 0..30)
}

/// Events of each kind into each context on each line.
fn by_context(counts: Vec<CountRow>) -> BTreeMap<(u64, ContextId, CoherenceEvent), u64> {
    let mut sums = BTreeMap::new();
    for event in estimate(&profile(counts)) {
        let key = (event.addr / 64, event.context, event.transfer);
        *sums.entry(key).or_default() += event.count;
    }
    sums
}

/// Each sum is rounded in three parts (true, false by first touch, false by lifetime), each by at
/// most a half, which is a half of ten where it is taken ten times.
const ROUNDED: u64 = 3 * (5 + 1);

fn assert_scale(counts: Vec<CountRow>) {
    let tenfold = counts
        .iter()
        .map(|row| CountRow {
            count: row.count * 10,
            silent: row.silent.map(|n| n * 10),
            ..*row
        })
        .collect();
    let (single, ten) = (by_context(counts), by_context(tenfold));
    for key in single.keys().chain(ten.keys()) {
        let sum = |sums: &BTreeMap<_, u64>| sums.get(key).copied().unwrap_or(0);
        let (single_sum, ten) = (sum(&single), sum(&ten));
        assert!(
            ten.abs_diff(single_sum * 10) <= ROUNDED,
            "{key:?}: {single_sum} and {ten}"
        );
    }
}

/// Four contexts on two lines: what is rounded in each sum adds up to 61.
#[test]
fn rounding_is_of_each_sum() {
    let silent = |silent, row| CountRow {
        silent: Some(silent),
        ..row
    };
    assert_scale(vec![
        silent(23_755, count(0, 0, Write, (66, 4), 95_023)),
        silent(57_902, count(0, 6, Write, (10, 4), 77_203)),
        silent(0, count(0, 1, Write, (0, 1), 80_171)),
        count(0, 0, Read, (42, 4), 84_081),
        silent(35_568, count(1, 0, Write, (65, 5), 71_136)),
        silent(16_254, count(1, 7, Write, (28, 5), 65_016)),
        count(2, 0, Read, (64, 1), 31_217),
        silent(95, count(1, 7, Write, (44, 1), 383)),
        count(4, 3, Read, (13, 1), 4_711),
        count(2, 6, Write, (13, 1), 6_859),
        count(0, 0, Read, (0, 1), 2_989),
        count(0, 3, Read, (0, 1), 19_571),
        silent(19_021, count(4, 0, Write, (13, 1), 76_085)),
        silent(67_147, count(0, 3, Write, (42, 3), 89_530)),
        count(2, 3, Read, (45, 1), 96_256),
        silent(47_361, count(0, 0, Write, (38, 5), 94_723)),
        silent(8_634, count(2, 0, Write, (39, 7), 34_538)),
        silent(17_308, count(0, 1, Write, (39, 7), 34_617)),
        silent(37_846, count(0, 2, Write, (24, 5), 75_693)),
        count(2, 3, Write, (41, 2), 45_576),
        count(1, 0, Read, (43, 1), 30_517),
        count(0, 2, Read, (0, 1), 845),
        count(1, 0, Read, (14, 1), 22_563),
    ]);
}

proptest! {
    /// Whatever the counts, the rows can be written as a profile's.
    #[test]
    fn rows_are_valid(counts in counts()) {
        let mut profile = profile(counts);
        profile.conflicts = estimate(&profile);
        prop_assert_eq!(validate::validate(&profile), Ok(()));
        for event in &profile.conflicts {
            prop_assert!(event.context != event.other_context);
            prop_assert!(event.false_lifetime <= event.false_first_touch);
            prop_assert!(event.transfer == CoherenceEvent::Upgrade || event.other_access != Read);
            prop_assert_eq!(event.addr / 64, event.other_addr / 64);
        }
    }

    /// Never more transfers than accesses of one's own, or stores by others.
    #[test]
    fn bounds(counts in counts()) {
        let profile = profile(counts);
        let events = estimate(&profile);
        for context in 0..5 {
            for line in [LINE, LINE + 64] {
                let on = |addr: u64, size: u8| addr < line + 64 && line < addr + u64::from(size);
                let rows = || profile.counts.iter().filter(|row| on(row.addr.0, row.size));
                let own: u64 = rows().filter(|r| r.context == ContextId(context)).map(|r| r.count).sum();
                let stores = |r: &&CountRow| r.context != ContextId(context) && r.access != Read;
                let stores: u64 = rows().filter(stores).map(|r| r.count).sum();
                let into = |e: &&ConflictRow| e.context == ContextId(context) && e.transfer != CoherenceEvent::Upgrade && on(e.addr.0, 1);
                let transfers: u64 = events.iter().filter(into).map(|e| e.count).sum();
                // Rounding may bring each of the parts up by one.
                prop_assert!(transfers <= own.min(stores) + 3, "{transfers} of {own} and {stores}");
            }
        }
    }

    /// The numbers of contexts make no difference.
    #[test]
    fn contexts_are_alike(counts in counts()) {
        let renamed: Vec<CountRow> = counts.iter().map(|row| CountRow { context: ContextId(4 - row.context.0), ..*row }).collect();
        let total = |counts: Vec<CountRow>, context: u16| {
            let events = estimate(&profile(counts));
            [CoherenceEvent::Read, CoherenceEvent::Write, CoherenceEvent::Upgrade].map(|t| sums(&events, t, context)[0])
        };
        for context in 0..5 {
            let (a, b) = (total(counts.clone(), context), total(renamed.clone(), 4 - context));
            for (a, b) in a.iter().zip(b) {
                prop_assert!(a.abs_diff(b) <= 6, "{a} and {b}");
            }
        }
    }

    /// Ten times the accesses, ten times the transfers.
    #[test]
    fn scale(counts in counts()) {
        assert_scale(counts);
    }

    /// More stores by others never mean fewer transfers.
    #[test]
    fn more_stores_more_transfers(a in 1_u64..100_000, w in 1_u64..100_000, more in 1_u64..100_000) {
        let transfers = |w| {
            let rows = vec![count(0, 0, Read, (0, 8), a), count(1, 1, Write, (8, 8), w)];
            sums(&estimate(&profile(rows)), CoherenceEvent::Read, 0)[0]
        };
        prop_assert!(transfers(w) <= transfers(w + more));
        prop_assert!(transfers(w) <= a.min(w));
    }
}
