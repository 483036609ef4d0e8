//! Accesses that moved a line, against the replay of the same accesses.

use proptest::prelude::*;
use relayout_contend::{LineMove, ObjectTrace, RecordedPlacement, TraceAccess, line_moves, replay};
use relayout_profile::{
    AccessKind, Addr, ContextId, Profile, ProfileMeta, RegionRow, RunId, SiteId, VisitRow,
};

const BASE: u64 = 0x1000;

fn visit(ticket: u64, context: u16, clock: u64, access: AccessKind, offset: u64) -> VisitRow {
    VisitRow {
        run: RunId(0),
        ticket,
        context: ContextId(context),
        clock,
        operation: 0,
        site: SiteId(0),
        addr: Addr(BASE + offset),
        size: 8,
        access,
        locked: false,
        compare_exchange: false,
        string: false,
        stored: None,
    }
}

fn region(tickets: std::ops::Range<u64>, visits_end_ticket: u64) -> RegionRow {
    RegionRow {
        run: RunId(0),
        start: Addr(BASE),
        bytes: 512,
        first_ticket: tickets.start,
        end_ticket: tickets.end,
        first_op: 0,
        end_op: 0,
        visits_end_ticket: Some(visits_end_ticket),
    }
}

fn profile(visits: Vec<VisitRow>, regions: Vec<RegionRow>) -> Profile {
    Profile {
        meta: ProfileMeta {
            line_bytes: 64,
            ..ProfileMeta::default()
        },
        visits,
        regions,
        ..Profile::default()
    }
}

fn tickets_and_ticks(moves: &[LineMove<'_>]) -> Vec<(u64, u64)> {
    let pair = |moved: &LineMove<'_>| (moved.visit.ticket, moved.ticks);
    moves.iter().map(pair).collect()
}

proptest! {
    #[test]
    fn moves_are_the_transfers_of_replay(
        words in prop::collection::vec((0u16..5, 0u8..3, 0u64..40), 0..200)
    ) {
        let access = |kind| [AccessKind::Read, AccessKind::Write, AccessKind::ReadWrite][usize::from(kind)];
        let visits: Vec<VisitRow> = { (0..).zip(&words) }
            .map(|(ticket, &(context, kind, word))| visit(ticket, context, ticket, access(kind), 4 * word))
            .collect();
        let accesses = { visits.iter() }.map(|visit| TraceAccess {
            context: visit.context,
            offset: (visit.addr - Addr(BASE)) as u32,
            size: visit.size,
            access: visit.access,
            silent: None,
            site: visit.site,
        });
        let trace = ObjectTrace { base: Addr(BASE), accesses: accesses.collect(), ..ObjectTrace::default() };
        let tally = replay(&trace, 0, &RecordedPlacement, 64);
        let recorded = profile(visits, vec![region(0..1000, 1000)]);
        let moves = line_moves(&recorded);
        let sum = |is_store| -> u64 {
            let of_kind = moves.iter().filter(|moved| moved.is_store() == is_store);
            of_kind.map(|moved| u64::from(moved.lines)).sum()
        };
        prop_assert_eq!((sum(false), sum(true)), (tally.read_transfers, tally.write_transfers));
    }
}

#[test]
fn a_context_begins_at_the_latest_time_so_far() {
    use AccessKind::{Read, Write};
    let visits = vec![
        visit(0, 0, 1_000, Write, 0),
        visit(1, 0, 1_050, Write, 0),
        visit(2, 1, 7, Read, 0),
        visit(3, 0, 1_060, Write, 0),
        visit(4, 1, 27, Read, 0),
    ];
    let recorded = profile(visits, vec![region(0..1000, 1000)]);
    let moves = line_moves(&recorded);
    assert_eq!(tickets_and_ticks(&moves), [(2, 50), (4, 70)]);
    assert!(!moves[0].is_store());
}

#[test]
fn visits_outside_of_complete_logs_are_left_out() {
    use AccessKind::Write;
    let visits = (0..40).map(|ticket| visit(ticket, (ticket % 2) as u16, ticket, Write, 0));
    let regions = vec![region(5..15, 10), region(20..40, 25)];
    let recorded = profile(visits.collect(), regions);
    let moves = line_moves(&recorded);
    let tickets: Vec<u64> = moves.iter().map(|moved| moved.visit.ticket).collect();
    // The state of the line is unknown at the beginning of each region.
    assert_eq!(tickets, [6, 7, 8, 9, 21, 22, 23, 24]);
}
