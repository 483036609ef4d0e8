//! Profiles to test with.
#![allow(dead_code, reason = "each test file uses its part")]

use proptest::collection::vec;
use proptest::prelude::*;
use relayout_profile::{
    AccessKind, Addr, BurstRow, CoherenceEvent, ConflictRow, ContextGaps, ContextId, CountRow,
    LineRow, PairRow, Profile, ProfileMeta, RangeKind, RangeRow, RecordedRun, RecordedTime,
    RecordingSetting, RegionRow, RunId, Site, SiteId, VisitRow, WaitRow,
};

pub const RUNS: u16 = 3;
pub const CONTEXTS: u16 = 8;
pub const SITES: u32 = 5;

fn gaps(context: u16) -> ContextGaps {
    ContextGaps {
        context,
        samples: 1,
        mean_ps: u64::MAX,
        error_ps: u64::from(context),
    }
}

/// Metadata with [`RUNS`] runs and [`CONTEXTS`] contexts.
pub fn meta() -> ProfileMeta {
    let run = |seed| RecordedRun {
        seed,
        complete: seed > 0,
        ended: "end marker".to_owned(),
        window_wall_ns: 1 << 60,
        recorded_time: (seed > 0).then_some(RecordedTime {
            whole_ns: u64::MAX,
            sliced_ns: u64::MAX,
            slices_ns: seed,
            slice_ns: 20_000_000,
        }),
        pair_period: (seed > 1).then_some(1024),
        gaps: (0..seed as u16).map(gaps).collect(),
        console_tail: vec!["panic: \"ü\"".to_owned()],
        ..RecordedRun::default()
    };
    ProfileMeta {
        tool_version: "0.1.0".to_owned(),
        target: "kernel".to_owned(),
        workload: "mntns".to_owned(),
        command: vec!["relayout".to_owned(), "record".to_owned()],
        settings: vec![RecordingSetting {
            name: "cpus".to_owned(),
            value: "8".to_owned(),
        }],
        line_bytes: 64,
        contexts: CONTEXTS,
        machine: "x86_64".to_owned(),
        build_id: "8f00".to_owned(),
        values_seen: true,
        runs: (0..u64::from(RUNS)).map(run).collect(),
        ..ProfileMeta::default()
    }
}

/// Any valid profile.
pub fn profiles() -> impl Strategy<Value = Profile> {
    let totals = (
        vec(lines(), 0..20),
        vec(counts(), 0..20),
        vec(conflicts(), 0..20),
        vec(pairs(), 0..20),
        vec(waits(), 0..20),
    );
    let memory = (
        vec(bursts(), 0..40),
        vec(visits(), 0..20),
        vec(regions(), 0..10),
        vec(ranges(), 0..10),
    );
    (vec(sites(), SITES as usize), totals, memory).prop_map(
        |(sites, (lines, counts, conflicts, pairs, waits), (bursts, visits, regions, ranges))| {
            let mut profile = Profile {
                meta: meta(),
                sites,
                lines,
                counts,
                conflicts,
                pairs,
                waits,
                bursts,
                visits,
                regions,
                ranges,
            };
            order(&mut profile);
            profile
        },
    )
}

/// One small profile with a row or more in each table.
pub fn sample() -> Profile {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    loop {
        let tree = profiles()
            .new_tree(&mut runner)
            .expect("profiles are not filtered");
        let profile = tree.current();
        let full = ![
            profile.lines.len(),
            profile.counts.len(),
            profile.conflicts.len(),
            profile.pairs.len(),
            profile.waits.len(),
            profile.bursts.len(),
            profile.visits.len(),
            profile.regions.len(),
            profile.ranges.len(),
        ]
        .contains(&0);
        if full {
            return profile;
        }
    }
}

fn order(profile: &mut Profile) {
    profile.lines.sort_by_key(|row| (row.run, row.line));
    profile.counts.sort_by_key(|row| (row.run, row.addr));
    profile.conflicts.sort_by_key(|row| (row.run, row.addr));
    profile.pairs.sort_by_key(|row| (row.run, row.addr));
    profile.waits.sort_by_key(|row| (row.run, row.addr));
    profile.bursts.sort_by_key(|row| (row.run, row.ticket));
    profile.bursts.dedup_by_key(|row| (row.run, row.ticket));
    profile.visits.sort_by_key(|row| (row.run, row.ticket));
    profile.visits.dedup_by_key(|row| (row.run, row.ticket));
    profile.regions.sort_by_key(|row| (row.run, row.start));
}

fn access() -> impl Strategy<Value = AccessKind> {
    prop_oneof![
        Just(AccessKind::Read),
        Just(AccessKind::Write),
        Just(AccessKind::ReadWrite)
    ]
}

fn transfer() -> impl Strategy<Value = CoherenceEvent> {
    prop_oneof![
        Just(CoherenceEvent::Read),
        Just(CoherenceEvent::Write),
        Just(CoherenceEvent::Upgrade)
    ]
}

fn kind() -> impl Strategy<Value = RangeKind> {
    prop::sample::select(vec![
        RangeKind::Slab,
        RangeKind::PerCpu,
        RangeKind::Image,
        RangeKind::PageArray,
        RangeKind::DirectMap,
        RangeKind::Vmalloc,
        RangeKind::Stack,
        RangeKind::Heap,
        RangeKind::Tls,
        RangeKind::Named,
    ])
}

fn sites() -> impl Strategy<Value = Site> {
    (any::<u64>(), vec(any::<u8>(), 0..=15)).prop_map(|(pc, bytes)| Site { pc, bytes })
}

fn lines() -> impl Strategy<Value = LineRow> {
    let numbers = (
        any::<u64>(),
        any::<u64>(),
        any::<[u64; 3]>(),
        any::<[Option<u64>; 2]>(),
    );
    (0..RUNS, any::<u64>(), 0..CONTEXTS, numbers).prop_map(
        |(run, addr, context, (reads, writes, transfers, [first_reads, order_errors]))| LineRow {
            run: RunId(run),
            line: Addr(addr & !63),
            context: ContextId(context),
            reads,
            writes,
            read_transfers: transfers[0],
            first_reads: first_reads.map(|n| n.min(transfers[0])),
            write_transfers: transfers[1],
            upgrades: transfers[2],
            order_errors,
        },
    )
}

fn counts() -> impl Strategy<Value = CountRow> {
    let place = (0..RUNS, any::<u64>(), 1..=u8::MAX, 0..CONTEXTS, 0..SITES);
    (place, access(), any::<u64>(), any::<Option<u64>>()).prop_map(
        |((run, addr, size, context, site), access, count, silent)| CountRow {
            run: RunId(run),
            addr: Addr(addr),
            size,
            context: ContextId(context),
            site: SiteId(site),
            access,
            count,
            silent: silent.map(|n| n.min(count)),
        },
    )
}

fn conflicts() -> impl Strategy<Value = ConflictRow> {
    let side = || (0..CONTEXTS, any::<u64>(), 1..=u8::MAX, 0..SITES, access());
    let numbers = (any::<[u64; 3]>(), any::<Option<u64>>());
    (0..RUNS, transfer(), side(), side(), numbers).prop_map(
        |(run, transfer, own, other, (numbers, first_reads))| ConflictRow {
            run: RunId(run),
            transfer,
            context: ContextId(own.0),
            addr: Addr(own.1),
            size: own.2,
            site: SiteId(own.3),
            access: own.4,
            other_context: ContextId(other.0),
            other_addr: Addr(other.1),
            other_size: other.2,
            other_site: SiteId(other.3),
            other_access: other.4,
            count: numbers[0],
            first_reads: first_reads.map(|n| n.min(numbers[0])),
            false_first_touch: numbers[1].min(numbers[0]),
            false_lifetime: numbers[2].min(numbers[0]),
        },
    )
}

fn pairs() -> impl Strategy<Value = PairRow> {
    let side = || (0..CONTEXTS, any::<u64>(), 1..=u8::MAX, 0..SITES, access());
    (0..RUNS, side(), side(), any::<u64>()).prop_map(|(run, own, other, samples)| PairRow {
        run: RunId(run),
        context: ContextId(own.0),
        addr: Addr(own.1),
        size: own.2,
        site: SiteId(own.3),
        access: own.4,
        other_context: ContextId(other.0),
        other_addr: Addr(other.1),
        other_size: other.2,
        other_site: SiteId(other.3),
        other_access: other.4,
        samples,
    })
}

fn waits() -> impl Strategy<Value = WaitRow> {
    let place = (0..RUNS, any::<u64>(), 1..=u8::MAX, 0..SITES, access());
    (place, any::<[u64; 3]>()).prop_map(|((run, addr, size, site, access), numbers)| WaitRow {
        run: RunId(run),
        addr: Addr(addr),
        size,
        site: SiteId(site),
        access,
        requests: numbers[0],
        misses: numbers[1].min(numbers[0]),
        wait_ps: numbers[2],
    })
}

fn bursts() -> impl Strategy<Value = BurstRow> {
    let place = (0..RUNS, any::<u64>(), 0..CONTEXTS, 0..SITES);
    (
        place,
        any::<u64>(),
        1..=u8::MAX,
        access(),
        any::<Option<bool>>(),
    )
        .prop_map(
            |((run, ticket, context, site), addr, size, access, silent)| BurstRow {
                run: RunId(run),
                ticket,
                context: ContextId(context),
                site: SiteId(site),
                addr: Addr(addr),
                size,
                access,
                silent,
            },
        )
}

fn visits() -> impl Strategy<Value = VisitRow> {
    let place = (0..RUNS, any::<u64>(), 0..CONTEXTS, 0..SITES);
    let time = (any::<u64>(), any::<u32>());
    let flags = (any::<[bool; 3]>(), any::<Option<bool>>());
    (place, time, any::<u64>(), 1..=u8::MAX, access(), flags).prop_map(
        |((run, ticket, context, site), (clock, operation), addr, size, access, flags)| VisitRow {
            run: RunId(run),
            ticket,
            context: ContextId(context),
            clock,
            operation,
            site: SiteId(site),
            addr: Addr(addr),
            size,
            access,
            locked: flags.0[0],
            compare_exchange: flags.0[1],
            string: flags.0[2],
            stored: flags.1,
        },
    )
}

fn regions() -> impl Strategy<Value = RegionRow> {
    (
        0..RUNS,
        any::<u64>(),
        any::<u32>(),
        any::<[u64; 2]>(),
        any::<[u64; 2]>(),
        any::<Option<u64>>(),
    )
        .prop_map(|(run, start, bytes, tickets, ops, visits)| RegionRow {
            run: RunId(run),
            start: Addr(start),
            bytes,
            first_ticket: tickets[0].min(tickets[1]),
            end_ticket: tickets[0].max(tickets[1]),
            first_op: ops[0].min(ops[1]),
            end_op: ops[0].max(ops[1]),
            visits_end_ticket: visits.map(|end| end.min(tickets[0].max(tickets[1]))),
        })
}

fn ranges() -> impl Strategy<Value = RangeRow> {
    let numbers = (any::<u32>(), any::<u64>(), any::<u32>(), any::<u32>());
    (
        0..RUNS,
        kind(),
        any::<u64>(),
        any::<u64>(),
        ".{0,12}",
        numbers,
    )
        .prop_map(
            |(run, kind, start, bytes, owner, (id, first, stride, object_bytes))| RangeRow {
                run: RunId(run),
                kind,
                start: Addr(start),
                bytes,
                owner,
                id,
                first: Addr(first),
                stride,
                object_bytes,
            },
        )
}
