//! Operations of profiles, and their lines.

use relayout_profile::{
    AccessKind, Addr, ClockUnit, ContextId, Profile, ProfileMeta, RegionRow, RunId, SiteId,
    VisitRow,
};
use relayout_timed::{
    BytePlace, LineLayout, LineName, LineSharing, MissingOperations, OperationLog, PlacedKind,
    PlacedOperations,
};

const WORD: u64 = 0x1000;
const OTHER: u64 = 0x1040;

/// Lines of 64 bytes where they were recorded.
struct Recorded;

impl LineLayout for Recorded {
    fn place(&self, _: RunId, addr: Addr) -> BytePlace {
        (LineName::Memory(addr.0 / 64), (addr.0 % 64) as u32)
    }
}

fn visit(context: u16, operation: u32, clock: u64, addr: u64, access: AccessKind) -> VisitRow {
    VisitRow {
        run: RunId(0),
        ticket: 0,
        context: ContextId(context),
        clock,
        operation,
        site: SiteId((addr & 0xff) as u32),
        addr: Addr(addr),
        size: 8,
        access,
        locked: access == AccessKind::ReadWrite,
        compare_exchange: false,
        string: false,
        stored: None,
    }
}

/// Twelve operations of each of two contexts: a load of one line, and an atomic addition to another 20 ticks later.
fn recorded() -> Profile {
    let mut visits = Vec::new();
    for operation in 0..12u32 {
        for context in 0..2u16 {
            let clock = u64::from(operation) * 1000 + u64::from(context) * 7;
            visits.push(visit(context, operation, clock, OTHER, AccessKind::Read));
            visits.push(visit(
                context,
                operation,
                clock + 20,
                WORD,
                AccessKind::ReadWrite,
            ));
        }
    }
    with_visits(visits)
}

fn with_visits(mut visits: Vec<VisitRow>) -> Profile {
    for (ticket, visit) in (0..).zip(&mut visits) {
        visit.ticket = ticket;
    }
    let end = visits.len() as u64;
    Profile {
        meta: ProfileMeta {
            clock: Some(ClockUnit::Instructions),
            ..ProfileMeta::default()
        },
        regions: vec![RegionRow {
            run: RunId(0),
            start: Addr(0x1000),
            bytes: 512,
            first_ticket: 0,
            end_ticket: end,
            first_op: 0,
            end_op: 12,
            visits_end_ticket: Some(end),
        }],
        visits,
        ..Profile::default()
    }
}

fn read(profile: &Profile) -> Result<OperationLog, MissingOperations> {
    OperationLog::from_profile(profile, &|_, addr| addr == Addr(WORD), &|_| false)
}

#[test]
fn whole_operations_are_read() {
    let log = read(&recorded()).expect("operations");
    // The first and the last of each context may be cut.
    assert_eq!((log.operations.len(), log.contexts), (20, 2));
    let first = &log.operations[0];
    let ticks: Vec<u32> = first.accesses.iter().map(|access| access.ticks).collect();
    assert_eq!((ticks, first.ticks_behind), (vec![0, 20], 980));
}

#[test]
fn only_stored_lines_are_contended() {
    let log = read(&recorded()).expect("operations");
    let placed = PlacedOperations::new(&log, &Recorded);
    assert_eq!(placed.lines.len(), 1);
    assert_eq!(placed.lines[0].name, LineName::Memory(WORD / 64));
    assert_eq!(placed.lines[0].sharing, LineSharing::All);
    let operation = &placed.operations[0];
    assert_eq!(operation.accesses.len(), 1);
    assert_eq!(operation.accesses[0].kind, PlacedKind::Locked);
    // The load of the other line is code now.
    assert_eq!(
        (operation.accesses[0].ticks, operation.ticks_behind),
        (20, 980)
    );
}

#[test]
fn long_gaps_are_something_else() {
    let mut profile = recorded();
    for visit in &mut profile.visits {
        if visit.operation > 5 {
            visit.clock += 50_000;
        }
    }
    let log = read(&profile).expect("operations");
    let longest = log
        .operations
        .iter()
        .map(|operation| operation.ticks_behind)
        .max();
    assert_eq!(longest, Some(4 * 980));
}

#[test]
fn failed_exchanges_and_interrupts_are_left_out() {
    let mut profile = recorded();
    let mut visits = std::mem::take(&mut profile.visits);
    let mut failed = visit(0, 5, 5015, WORD, AccessKind::ReadWrite);
    failed.stored = Some(false);
    let at = visits
        .iter()
        .position(|visit| visit.operation == 5)
        .expect("it is there");
    visits.insert(at + 1, failed);
    let profile = with_visits(visits);
    let all = |log: &OperationLog| -> usize {
        log.operations
            .iter()
            .map(|operation| operation.accesses.len())
            .sum()
    };
    assert_eq!(all(&read(&profile).expect("operations")), 40);
    let is_interrupt = |site: SiteId| site == SiteId((OTHER & 0xff) as u32);
    let log = OperationLog::from_profile(&profile, &|_, addr| addr == Addr(WORD), &is_interrupt);
    assert_eq!(all(&log.expect("operations")), 20);
}

#[test]
fn what_is_missing_is_told() {
    let mut profile = recorded();
    profile.meta.clock = None;
    assert_eq!(read(&profile), Err(MissingOperations::NoClock));
    profile.meta.clock = Some(ClockUnit::Accesses);
    assert_eq!(read(&profile), Err(MissingOperations::NoInstructions));
    let mut unmarked = recorded();
    unmarked
        .visits
        .iter_mut()
        .for_each(|visit| visit.operation = 0);
    assert_eq!(read(&unmarked), Err(MissingOperations::NoMarks));
    let mut late = recorded();
    late.regions[0].visits_end_ticket = Some(6);
    assert_eq!(read(&late), Err(MissingOperations::TooFew));
    let mut elsewhere = recorded();
    elsewhere.regions[0].start = Addr(0x9000);
    assert_eq!(read(&elsewhere), Err(MissingOperations::TooFew));
    let mut alone = recorded();
    alone.visits.retain(|visit| visit.context == ContextId(0));
    assert_eq!(read(&alone), Err(MissingOperations::TooFew));
}

/// Clocks that run backwards, and addresses at the end of memory.
#[test]
fn damaged_visits_do_no_harm() {
    let mut profile = recorded();
    profile.visits[9].clock = 0;
    profile.visits[12].clock = u64::MAX;
    profile.regions[0].bytes = u32::MAX;
    profile.visits[14].addr = Addr(u64::MAX);
    profile.visits[14].size = 0;
    if let Ok(log) = read(&profile) {
        PlacedOperations::new(&log, &Recorded);
    }
}
