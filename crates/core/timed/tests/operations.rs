//! Operations of profiles, and their lines.

use relayout_profile::{
    AccessKind, Addr, ClockUnit, ContextId, Profile, ProfileMeta, RegionRow, RunId, SiteId,
    VisitRow,
};
use relayout_timed::{
    AccessStep, BytePlace, LineLayout, LineName, LineSharing, LockKind, LockMode,
    MissingOperations, OperationDivision, OperationLog, PlacedKind, PlacedOperations,
    RecordedOperation, SiteRole, SiteRoles,
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
    recorded_operations(12)
}

fn recorded_operations(count: u32) -> Profile {
    let mut visits = Vec::new();
    for operation in 0..count {
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

/// Roles of some instructions; the others are code.
struct Roles(Vec<(SiteId, SiteRole)>);

impl SiteRoles for Roles {
    fn role(&self, site: SiteId) -> SiteRole {
        let known = self.0.iter().find(|(own, _)| *own == site);
        known.map_or(SiteRole::Code, |(_, role)| *role)
    }
}

fn read_with(
    profile: &Profile,
    roles: Vec<(SiteId, SiteRole)>,
) -> Result<OperationLog, MissingOperations> {
    OperationLog::from_profile(profile, &|_, addr| addr == Addr(WORD), &Roles(roles))
}

fn read(profile: &Profile) -> Result<OperationLog, MissingOperations> {
    read_with(profile, Vec::new())
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
    let log = read_with(&profile, vec![(site_of(OTHER), SiteRole::Interrupt)]);
    assert_eq!(all(&log.expect("operations")), 20);
}

fn site_of(addr: u64) -> SiteId {
    SiteId((addr & 0xff) as u32)
}

/// What lies between the entry code and an interrupt's last access goes with it, and so does the time.
#[test]
fn what_an_interrupt_calls_is_cut_out() {
    let mut visits = Vec::new();
    for operation in 0..12u32 {
        for context in 0..2u16 {
            let clock = u64::from(operation) * 10_000;
            let at = |ticks, addr| {
                visit(
                    context,
                    operation,
                    clock + ticks,
                    addr,
                    AccessKind::ReadWrite,
                )
            };
            visits.extend([
                at(0, WORD),
                at(100, ENTRY),
                at(300, OTHER),
                at(1100, TICK),
                at(1200, WORD),
            ]);
        }
    }
    let roles = vec![
        (site_of(ENTRY), SiteRole::Entry),
        (site_of(TICK), SiteRole::Interrupt),
    ];
    let log = read_with(&with_visits(visits.clone()), roles).expect("operations");
    let operation = &log.operations[0];
    let found: Vec<(u32, Addr)> = { operation.accesses.iter() }
        .map(|access| (access.ticks, access.addr))
        .collect();
    assert_eq!(found, [(0, Addr(WORD)), (200, Addr(WORD))]);
    assert_eq!(operation.ticks_behind, 8800);
    // Entry code alone is that of a page fault.
    let log = read_with(
        &with_visits(visits),
        vec![(site_of(ENTRY), SiteRole::Entry)],
    );
    assert_eq!(log.expect("operations").operations[0].accesses.len(), 5);
}

const ENTRY: u64 = 0x1050;
const TICK: u64 = 0x1058;
/// A semaphore: its count, its owner, and the lock of its queue.
const COUNT: u64 = 0x1080;
const OWNER: u64 = 0x1088;
const QUEUE: u64 = 0x1090;

/// One operation that waits for a semaphore: it tries, looks at the owner, queues up under a lock, does something else
/// meanwhile, has the semaphore at 900 ticks, uses it, and gives it back.
fn waiting_operation(context: u16, operation: u32) -> Vec<VisitRow> {
    let at = |site: u32, ticks: u64, addr, access| VisitRow {
        site: SiteId(site),
        ..visit(
            context,
            operation,
            u64::from(operation) * 10_000 + ticks,
            addr,
            access,
        )
    };
    vec![
        at(9, 50, WORD, AccessKind::ReadWrite),
        at(1, 100, COUNT, AccessKind::ReadWrite),
        at(1, 120, OWNER, AccessKind::Read),
        at(3, 140, QUEUE, AccessKind::ReadWrite),
        at(4, 160, QUEUE, AccessKind::Write),
        at(9, 500, WORD, AccessKind::Read),
        at(3, 880, QUEUE, AccessKind::ReadWrite),
        at(1, 900, COUNT, AccessKind::ReadWrite),
        at(4, 920, QUEUE, AccessKind::Write),
        at(9, 940, OWNER, AccessKind::Write),
        at(9, 1000, WORD, AccessKind::ReadWrite),
        at(2, 1100, COUNT, AccessKind::ReadWrite),
    ]
}

#[test]
fn waiting_for_a_lock_is_cut_out() {
    let visits = (0..12).flat_map(|operation| {
        (0..2).flat_map(move |context| waiting_operation(context, operation))
    });
    let (acquire, release) = (
        SiteRole::Acquire(LockKind::Semaphore, LockMode::Alone),
        SiteRole::Release,
    );
    let roles = [(1, acquire), (2, release), (3, acquire), (4, release)];
    let roles = roles.map(|(site, role)| (SiteId(site), role)).to_vec();
    let log = read_with(&with_visits(visits.collect()), roles).expect("operations");
    let found: Vec<(u32, Addr, AccessStep)> = { log.operations[0].accesses.iter() }
        .map(|access| (access.ticks, access.addr, access.step))
        .collect();
    let number = { log.locks.iter() }
        .position(|lock| lock.word == Addr(COUNT))
        .expect("the semaphore is a lock") as u32;
    assert_eq!(
        found,
        [
            (0, Addr(WORD), AccessStep::Plain),
            (
                50,
                Addr(COUNT),
                AccessStep::Acquire(number, LockMode::Alone)
            ),
            // The lock of the queue was taken for the semaphore.
            (20, Addr(QUEUE), AccessStep::Plain),
            (20, Addr(OWNER), AccessStep::Plain),
            (60, Addr(WORD), AccessStep::Plain),
            (100, Addr(COUNT), AccessStep::Release(number)),
        ]
    );
    let lock = &log.locks[number as usize];
    assert!(lock.polled.contains(&Addr(OWNER)) && lock.enqueued.contains(&Addr(QUEUE)));
}

/// A lock that is only tried for, or not given back in the operation, is an access like others.
#[test]
fn locks_without_an_end_are_no_locks() {
    let log = read_with(
        &recorded(),
        vec![(
            site_of(WORD),
            SiteRole::Acquire(LockKind::Semaphore, LockMode::Alone),
        )],
    );
    let log = log.expect("operations");
    let steps = log
        .operations
        .iter()
        .flat_map(|operation| &operation.accesses);
    assert!(
        log.locks.is_empty()
            && steps
                .into_iter()
                .all(|access| access.step == AccessStep::Plain)
    );
}

#[test]
fn what_is_missing_is_told() {
    let mut profile = recorded();
    profile.meta.clock = None;
    assert_eq!(read(&profile), Err(MissingOperations::NoClock));
    profile.meta.clock = Some(ClockUnit::Accesses);
    assert_eq!(read(&profile), Err(MissingOperations::NoInstructions));
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

/// Without marks, operations are pieces of what each context did, and each context has its own.
#[test]
fn contexts_without_marks_have_pieces_of_their_own() {
    let mut profile = recorded_operations(200);
    let visits = profile.visits.iter_mut();
    visits.for_each(|visit| visit.operation = 0);
    let log = read(&profile).expect("pieces");
    assert_eq!(log.division, OperationDivision::Pieces);
    let placed = PlacedOperations::new(&log, &Recorded);
    let contexts: Vec<Option<ContextId>> = placed.parts.iter().map(|part| part.context).collect();
    assert_eq!(contexts, [Some(ContextId(0)), Some(ContextId(1))]);
    // 400 visits are seven pieces of 64 at most; the first and the last are left out.
    assert!(placed.parts.iter().all(|part| part.operations.len() == 5));
    // The time from one piece to the next counts.
    let ticks = |operation: &RecordedOperation| -> u32 {
        operation
            .accesses
            .iter()
            .map(|access| access.ticks)
            .sum::<u32>()
            + operation.ticks_behind
    };
    assert!(log.operations.iter().all(|piece| ticks(piece) == 32_000));
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

/// Of two orders of two locks the rarer one was not read right, and its operations are dropped.
#[test]
fn operations_in_the_other_order_of_locks_are_dropped() {
    let (acquire, release) = (
        SiteRole::Acquire(LockKind::Semaphore, LockMode::Alone),
        SiteRole::Release,
    );
    let (first, second) = (COUNT, COUNT + 0x40);
    let nested = |context: u16, operation: u32, outer: u64, inner: u64| {
        let at = |site: u32, ticks: u64, addr| VisitRow {
            site: SiteId(site),
            ..visit(
                context,
                operation,
                u64::from(operation) * 10_000 + ticks,
                addr,
                AccessKind::ReadWrite,
            )
        };
        let code = at(9, 0, WORD);
        [
            code,
            at(1, 100, outer),
            at(1, 200, inner),
            at(2, 300, inner),
            at(2, 400, outer),
        ]
    };
    let mut visits = Vec::new();
    for operation in 0..40u32 {
        visits.extend((0..2).flat_map(|context| match (operation, context) {
            (7, 0) => nested(context, operation, second, first),
            _ => nested(context, operation, first, second),
        }));
    }
    let roles = vec![(SiteId(1), acquire), (SiteId(2), release)];
    let log = read_with(&with_visits(visits), roles).expect("operations");
    assert_eq!((log.operations.len(), log.locks.len()), (2 * 38 - 1, 2));
}

/// A task that took a semaphore and was moved gave it back on another CPU. What it did here meanwhile, under a mutex, is
/// no waiting for the next who takes the semaphore.
#[test]
fn work_under_another_lock_is_no_waiting() {
    let mutex = COUNT + 0x40;
    let operation = |context: u16, operation: u32| {
        let at = |site: u32, ticks: u64, addr| VisitRow {
            site: SiteId(site),
            ..visit(
                context,
                operation,
                u64::from(operation) * 10_000 + ticks,
                addr,
                AccessKind::ReadWrite,
            )
        };
        [
            at(1, 0, COUNT),
            at(1, 50, mutex),
            at(9, 100, WORD),
            at(2, 150, mutex),
            at(1, 200, COUNT),
            at(2, 300, COUNT),
        ]
    };
    let visits =
        (0..12).flat_map(|number| (0..2).flat_map(move |context| operation(context, number)));
    let acquire = SiteRole::Acquire(LockKind::Semaphore, LockMode::Alone);
    let roles = vec![(SiteId(1), acquire), (SiteId(2), SiteRole::Release)];
    let log = read_with(&with_visits(visits.collect()), roles).expect("operations");
    let found: Vec<(Addr, bool)> = { log.operations[0].accesses.iter() }
        .map(|access| (access.addr, access.step == AccessStep::Plain))
        .collect();
    assert_eq!(
        found,
        [
            (Addr(COUNT), true),
            (Addr(mutex), false),
            (Addr(WORD), true),
            (Addr(mutex), false),
            (Addr(COUNT), false),
            (Addr(COUNT), false),
        ]
    );
}

/// A spin lock whose release is not logged is held until it is taken again, and the work in between is no spinning.
#[test]
fn work_between_two_tries_is_no_spinning() {
    let operation = |context: u16, operation: u32| {
        let at = |site: u32, ticks: u64, addr| VisitRow {
            site: SiteId(site),
            ..visit(
                context,
                operation,
                u64::from(operation) * 10_000 + ticks,
                addr,
                AccessKind::ReadWrite,
            )
        };
        [
            at(1, 0, COUNT),
            at(9, 100, WORD),
            at(1, 200, COUNT),
            at(1, 260, COUNT),
            at(2, 300, COUNT),
        ]
    };
    let visits =
        (0..12).flat_map(|number| (0..2).flat_map(move |context| operation(context, number)));
    let acquire = SiteRole::Acquire(LockKind::Spinning, LockMode::Alone);
    let roles = vec![(SiteId(1), acquire), (SiteId(2), SiteRole::Release)];
    let log = read_with(&with_visits(visits.collect()), roles).expect("operations");
    let found: Vec<(u32, Addr)> = { log.operations[0].accesses.iter() }
        .map(|access| (access.ticks, access.addr))
        .collect();
    let expect = [
        (0, Addr(COUNT)),
        (100, Addr(WORD)),
        (100, Addr(COUNT)),
        (40, Addr(COUNT)),
    ];
    assert_eq!(found, expect);
}
