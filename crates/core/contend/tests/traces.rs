//! Object traces against a plain filter over all bursts.

use proptest::prelude::*;
use relayout_contend::{ObjectExtent, ObjectTrace, TraceIndex};
use relayout_profile::{AccessKind, Addr, BurstRow, ContextId, Profile, RegionRow, RunId, SiteId};

fn burst(run: u16, ticket: u64, addr: u64, size: u8) -> BurstRow {
    let context = (ticket % 3) as u16;
    BurstRow {
        run: RunId(run),
        ticket,
        context: ContextId(context),
        site: SiteId(7),
        addr: Addr(addr),
        size,
        access: AccessKind::Write,
        silent: None,
    }
}

fn region(start: u64, tickets: std::ops::Range<u64>, ops: std::ops::Range<u64>) -> RegionRow {
    RegionRow {
        run: RunId(0),
        start: Addr(start),
        bytes: 512,
        first_ticket: tickets.start,
        end_ticket: tickets.end,
        first_op: ops.start,
        end_op: ops.end,
        visits_end_ticket: None,
    }
}

fn offsets(trace: &ObjectTrace) -> Vec<(u32, u8)> {
    trace
        .accesses
        .iter()
        .map(|access| (access.offset, access.size))
        .collect()
}

#[test]
fn only_when_all_regions_were_logged() {
    let profile = Profile {
        bursts: vec![
            burst(0, 10, 0x11f8, 8),
            burst(0, 20, 0x11f8, 8),
            burst(0, 30, 0x1200, 4),
            burst(0, 40, 0x11fc, 8),
            burst(0, 60, 0x1200, 4),
        ],
        regions: vec![
            region(0x1000, 0..50, 0..1000),
            region(0x1200, 15..100, 5..90),
        ],
        ..Profile::default()
    };
    let index = TraceIndex::new(&profile);
    let traces = index.traces(ObjectExtent {
        run: RunId(0),
        base: Addr(0x11f0),
        bytes: 64,
    });
    assert_eq!(traces.len(), 1);
    assert_eq!(offsets(&traces[0]), [(8, 8), (16, 4), (12, 8)]);
    assert_eq!(
        traces[0].covered,
        std::iter::once(0..64).collect::<Vec<_>>()
    );
    // 35 of the second region's 85 tickets, 85 operations.
    assert_eq!(traces[0].operations, 35);
    assert!(
        index
            .traces(ObjectExtent {
                run: RunId(1),
                base: Addr(0x11f0),
                bytes: 64
            })
            .is_empty()
    );
}

#[test]
fn regions_that_never_met() {
    let profile = Profile {
        bursts: vec![
            burst(0, 1, 0x1100, 8),
            burst(0, 2, 0x1108, 8),
            burst(0, 60, 0x1200, 8),
        ],
        regions: vec![region(0x1000, 0..50, 0..0), region(0x1200, 50..100, 0..0)],
        ..Profile::default()
    };
    let traces = TraceIndex::new(&profile).traces(ObjectExtent {
        run: RunId(0),
        base: Addr(0x1100),
        bytes: 512,
    });
    assert_eq!(traces.len(), 1);
    assert_eq!(offsets(&traces[0]), [(0, 8), (8, 8)]);
    assert_eq!(
        traces[0].covered,
        std::iter::once(0..256).collect::<Vec<_>>()
    );
    assert_eq!(traces[0].operations, 0);
}

#[test]
fn accesses_are_cut_at_the_ends() {
    let profile = Profile {
        bursts: vec![
            burst(0, 1, 0xffc, 8),
            burst(0, 2, 0x101c, 8),
            burst(0, 3, 0x1020, 1),
        ],
        regions: vec![region(0xe00, 0..9, 0..0), region(0x1000, 0..9, 0..0)],
        ..Profile::default()
    };
    let traces = TraceIndex::new(&profile).traces(ObjectExtent {
        run: RunId(0),
        base: Addr(0x1000),
        bytes: 0x20,
    });
    assert_eq!(offsets(&traces[0]), [(0, 4), (0x1c, 4)]);
}

proptest! {
    #[test]
    fn same_as_a_filter(
        rows in prop::collection::vec((0..3u16, 0x4000..0x5000u64, 1..=255u8), 0..300),
        run in 0..3u16,
        base in 0x3f00..0x5000u64,
        bytes in 1..1500u32,
    ) {
        let mut bursts: Vec<_> = rows
            .iter()
            .enumerate()
            .map(|(ticket, &(run, addr, size))| burst(run, ticket as u64, addr, size))
            .collect();
        bursts.sort_by_key(|burst| (burst.run, burst.ticket));
        let everything = RegionRow { run: RunId(run), bytes: 1 << 20, ..region(0, 0..1 << 20, 0..0) };
        let profile = Profile { bursts, regions: vec![everything], ..Profile::default() };
        let end = base + u64::from(bytes);
        let expected: Vec<_> = profile
            .bursts
            .iter()
            .filter(|b| b.run == RunId(run) && b.addr < Addr(end) && b.addr + u64::from(b.size) > Addr(base))
            .map(|b| {
                let first = b.addr.max(Addr(base));
                ((first - Addr(base)) as u32, ((b.addr + u64::from(b.size)).min(Addr(end)) - first) as u8)
            })
            .collect();
        let traces = TraceIndex::new(&profile).traces(ObjectExtent { run: RunId(run), base: Addr(base), bytes });
        let found: Vec<_> = traces.iter().flat_map(offsets).collect();
        prop_assert_eq!(found, expected);
    }
}
