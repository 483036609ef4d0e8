//! Remedies of findings from small profiles; findings that differ between recordings have none.

use relayout_contend::remedy::{OwnLineTransfers, ReplayComparison, SharingPattern};
use relayout_contend::{
    AccessTarget, AddressNamer, Finding, FindingKind, Remedy, SiteSource, TargetObject, find,
};
use relayout_layout::MemberAt;
use relayout_profile::{
    AccessKind, Addr, BurstRow, CoherenceEvent, ConflictRow, ContextId, CountRow, Profile,
    RecordedRun, RegionRow, RunId, Site, SiteId,
};

/// One object of 64 bytes in 8-byte members named `a` to `h`, of a lock type the first, at `AT`,
/// the last two a count of references and a link; one of 32 bytes across lines at `CROSSING`; from
/// `SMALL`, objects of an array of two.
struct Table;

const AT: u64 = 0x1_0000;
const CROSSING: u64 = 0x2_0030;
const SMALL: u64 = 0x3_0000;

impl AddressNamer for Table {
    fn target_at(&self, _: RunId, addr: Addr, _: u8) -> AccessTarget {
        let addr = addr.0;
        let (base, bytes) = match addr {
            ..CROSSING => (AT, 64),
            CROSSING..SMALL => (CROSSING, 32),
            SMALL.. => (addr / 16 * 16, 16),
        };
        let offset = (addr - base) / 8 * 8;
        let names = match base {
            SMALL.. => ["a[]"; 8],
            _ => ["a", "b", "c", "d", "e", "f", "g", "h"],
        };
        let types: &[&str] = match (base, offset) {
            (AT, 0) => &["thing", "qspinlock"],
            (AT, 48) => &["thing", "refcount_struct"],
            (AT, 56) => &["thing", "list_head"],
            _ => &["thing"],
        };
        AccessTarget::Member {
            object: TargetObject {
                base: Addr(base),
                bytes,
                variable: None,
                declaring: None,
                origin: None,
                array: None,
                type_percent: 100,
                rival_type: None,
            },
            member: MemberAt {
                path: names[offset as usize / 8].to_owned(),
                types_path: types.iter().map(|&name| name.to_owned()).collect(),
                offset,
                size: 8,
                ..MemberAt::default()
            },
        }
    }

    fn source_of_site(&self, site: SiteId) -> SiteSource {
        SiteSource {
            function: Some(format!("f{site}")),
            line: Some(site.0),
            ..SiteSource::default()
        }
    }
}

/// One access; its site is its offset in words, and 8 more for a store.
fn access(context: u16, addr: u64, access: AccessKind, silent: Option<bool>) -> BurstRow {
    let word = (addr / 8 % 8) as u32;
    BurstRow {
        run: RunId(0),
        ticket: 0,
        context: ContextId(context),
        site: SiteId(if access == AccessKind::Read {
            word
        } else {
            word + 8
        }),
        addr: Addr(addr),
        size: 8,
        access,
        silent,
    }
}

/// Repeats `round`, and says of who lost the line to whom what `conflicts` do.
fn recorded(round: &[BurstRow], rounds: usize, conflicts: Vec<ConflictRow>) -> Profile {
    let bursts: Vec<BurstRow> = round
        .iter()
        .cycle()
        .take(round.len() * rounds)
        .copied()
        .collect();
    let count = |burst: &BurstRow| CountRow {
        run: RunId(0),
        addr: burst.addr,
        size: burst.size,
        context: burst.context,
        site: burst.site,
        access: burst.access,
        count: rounds as u64,
        silent: burst
            .silent
            .map(|silent| if silent { rounds as u64 } else { 0 }),
    };
    let region = |start| RegionRow {
        run: RunId(0),
        start,
        bytes: 512,
        first_ticket: 0,
        end_ticket: bursts.len() as u64,
        first_op: 0,
        end_op: 0,
        visits_end_ticket: None,
    };
    Profile {
        sites: vec![
            Site {
                pc: 0,
                // lock xadd %eax,(%rdi)
                bytes: vec![0xf0, 0x0f, 0xc1, 0x07],
            };
            16
        ],
        counts: round.iter().map(count).collect(),
        conflicts,
        regions: vec![
            region(Addr(AT)),
            region(Addr(CROSSING - 0x30)),
            region(Addr(SMALL)),
        ],
        bursts: (0..)
            .zip(bursts)
            .map(|(ticket, burst)| BurstRow { ticket, ..burst })
            .collect(),
        ..Profile::default()
    }
}

fn lost(here: BurstRow, there: BurstRow, count: u64, false_lifetime: u64) -> ConflictRow {
    ConflictRow {
        run: RunId(0),
        transfer: match here.access {
            AccessKind::Read => CoherenceEvent::Read,
            _ => CoherenceEvent::Write,
        },
        context: here.context,
        addr: here.addr,
        size: here.size,
        site: here.site,
        access: here.access,
        other_context: there.context,
        other_addr: there.addr,
        other_size: there.size,
        other_site: there.site,
        other_access: there.access,
        count,
        first_reads: None,
        false_first_touch: false_lifetime,
        false_lifetime,
    }
}

fn first(profile: &Profile) -> Finding {
    find(profile, &Table).findings.remove(0)
}

#[test]
fn members_that_do_not_belong_together() {
    let (read, store) = (
        access(0, AT + 16, AccessKind::Read, None),
        access(1, AT + 24, AccessKind::Write, Some(false)),
    );
    let found = first(&recorded(
        &[read, store],
        100,
        vec![lost(read, store, 99, 99)],
    ));
    assert_eq!(found.kind, FindingKind::FalseSharing);
    let part = Remedy::SeparateMembers {
        member: "c".into(),
        from: "d".into(),
        transfers: 99,
    };
    assert_eq!(found.remedies, [part]);
}

/// Context 1 stores what is there; context 0 reads another member of the line.
#[test]
fn a_store_that_changes_nothing_names_its_line() {
    let read = access(0, AT + 16, AccessKind::Read, None);
    let store = access(1, AT + 24, AccessKind::Write, Some(true));
    let found = first(&recorded(
        &[read, store],
        100,
        vec![lost(read, store, 99, 99)],
    ));
    assert_eq!(found.kind, FindingKind::SilentStore);
    let [
        Remedy::GuardStore {
            member,
            members: 1,
            source,
            stores,
            silent,
            replayed,
            own_line,
        },
    ] = &found.remedies[..]
    else {
        panic!("{:?}", found.remedies);
    };
    assert_eq!(
        (member.as_str(), source.line, *stores, *silent),
        ("d", Some(11), 100, 100)
    );
    assert_eq!(
        *replayed,
        Some(ReplayComparison {
            today: 99,
            changed: 0
        })
    );
    // Nobody but the writer uses it.
    let apart = OwnLineTransfers {
        stored: 0,
        guarded: 0,
    };
    assert_eq!(*own_line, Some(apart));
}

/// Case 5 in small: of each four transfers a round, a line of its own for `f` saves one, a check
/// before the store to it none, and both two. Told though the line is called by what it suffers
/// from most.
#[test]
fn a_check_with_a_line_of_its_own() {
    let (e, f) = (AT + 32, AT + 40);
    let store = access(0, e, AccessKind::Write, Some(false));
    let silent = access(0, f, AccessKind::Write, Some(true));
    let (read, add) = (
        access(2, f, AccessKind::Read, None),
        access(1, e, AccessKind::ReadWrite, Some(false)),
    );
    let rows = vec![lost(add, store, 100, 0), lost(read, silent, 50, 40)];
    let found = first(&recorded(&[store, silent, read, add, read], 100, rows));
    assert_eq!(found.kind, FindingKind::TrueSharing);
    let told = found.remedies.iter().find_map(|remedy| match remedy {
        Remedy::GuardStore {
            member,
            replayed: Some(replayed),
            own_line: Some(own_line),
            ..
        } => Some((member.as_str(), *replayed, *own_line)),
        _ => None,
    });
    let Some(("f", replayed, own_line)) = told else {
        panic!("{:?}", found.remedies);
    };
    let near = |transfers: u64, each: u64| transfers.abs_diff(100 * each) <= 4;
    assert!(
        near(replayed.today, 4) && near(replayed.changed, 4),
        "{replayed:?}"
    );
    assert!(
        near(own_line.stored, 3) && near(own_line.guarded, 2),
        "{own_line:?}"
    );
}

/// Filled in one go on one CPU, used in one go on another: one line moves, or two.
#[test]
fn an_object_that_crosses_says_the_least_alignment() {
    let words = [0, 8, 16, 24].map(|offset| CROSSING + offset);
    let fill = words.map(|addr| access(0, addr, AccessKind::Write, Some(false)));
    let answer = words.map(|addr| access(1, addr, AccessKind::ReadWrite, Some(false)));
    let round: Vec<BurstRow> = fill.into_iter().chain(answer).collect();
    let rows = vec![
        lost(answer[0], fill[0], 100, 0),
        lost(fill[0], answer[0], 100, 0),
    ];
    let found = first(&recorded(&round, 100, rows));
    assert_eq!(found.kind, FindingKind::Straddle);
    let [
        Remedy::Align {
            bytes: 32,
            replayed: Some(replayed),
        },
    ] = &found.remedies[..]
    else {
        panic!("{:?}", found.remedies);
    };
    assert_eq!((replayed.today, replayed.changed), (398, 199));
}

/// Others try to take the lock while its holder works; or each takes it, works, and is done.
#[test]
fn a_lock_stays_or_goes_as_the_mix_says() {
    let lock = |context| access(context, AT, AccessKind::ReadWrite, Some(false));
    let data = |context| access(context, AT + 8, AccessKind::Write, Some(false));
    let row = || vec![lost(data(0), lock(1), 50, 40), lost(lock(0), lock(1), 5, 0)];
    let fought = [lock(0), data(0), lock(1), data(0), lock(1), data(0)];
    let found = first(&recorded(&fought, 50, row()));
    assert_eq!(found.kind, FindingKind::LockWord);
    assert!(
        matches!(found.remedies[..], [Remedy::Lock { apart: true, .. }]),
        "{:?}",
        found.remedies
    );
    let handed = [lock(0), data(0), lock(1), data(1)];
    let found = first(&recorded(&handed, 50, row()));
    let [
        Remedy::Lock {
            apart: false,
            replayed,
        },
    ] = &found.remedies[..]
    else {
        panic!("{:?}", found.remedies);
    };
    assert!(replayed.changed > replayed.today, "{replayed:?}");
}

#[test]
fn true_sharing_has_advice_in_words() {
    let check = |round: &[BurstRow], expect: SharingPattern| {
        let found = first(&recorded(round, 100, vec![lost(round[0], round[1], 99, 0)]));
        assert_eq!(found.kind, FindingKind::TrueSharing);
        let how = found.remedies.iter().find_map(|remedy| match remedy {
            Remedy::Shared { pattern: how, .. } => Some(*how),
            _ => None,
        });
        assert_eq!(how, Some(expect));
    };
    let add = |context| access(context, AT + 8, AccessKind::ReadWrite, Some(false));
    let read = |context| access(context, AT + 8, AccessKind::Read, None);
    check(&[add(0), add(1)], SharingPattern::PerContext);
    check(&[read(1), add(0), read(2)], SharingPattern::Copy);
    check(
        &[add(0), add(1), read(0), read(1), read(2)],
        SharingPattern::Batch,
    );
    let lock = |context| access(context, AT, AccessKind::ReadWrite, Some(false));
    check(&[lock(0), lock(1)], SharingPattern::Lock);
    let store = |context| access(context, AT + 8, AccessKind::Write, Some(false));
    // What is stored plainly is no sum.
    check(
        &[store(0), read(1), store(1), read(0)],
        SharingPattern::Batch,
    );
    // By its type, whatever is done to it.
    let of = |word| move |context| access(context, AT + word, AccessKind::ReadWrite, Some(false));
    let (count, link) = (of(48), of(56));
    check(&[count(0), count(1)], SharingPattern::References);
    check(&[link(0), link(1)], SharingPattern::List);
}

/// Advice is about what was stored, not about what missed: `b` is only read, by whoever goes on to
/// use `d`.
#[test]
fn advice_names_what_was_stored() {
    let read = |context| access(context, AT + 8, AccessKind::Read, None);
    let add = |context| access(context, AT + 24, AccessKind::ReadWrite, Some(false));
    let round = [read(0), add(0), read(1), add(1)];
    let rows = vec![lost(read(0), add(1), 100, 5), lost(read(1), add(0), 100, 5)];
    let found = first(&recorded(&round, 100, rows));
    let expected = Remedy::Shared {
        member: "d".into(),
        pattern: SharingPattern::PerContext,
    };
    assert_eq!(
        (found.kind, &found.remedies[..]),
        (FindingKind::TrueSharing, &[expected][..])
    );
}

/// Two objects, each stored to by its own context: one for each is what there is already.
#[test]
fn what_each_context_owns_is_not_split_again() {
    let (mine, yours) = (SMALL, SMALL + 128);
    let store = |context, addr| access(context, addr, AccessKind::ReadWrite, Some(false));
    let look = |context, addr| access(context, addr, AccessKind::Read, None);
    let round = [
        store(0, mine),
        look(1, mine),
        store(1, yours),
        look(0, yours),
    ];
    let rows = vec![
        lost(round[1], round[0], 100, 0),
        lost(round[3], round[2], 100, 0),
    ];
    let found = first(&recorded(&round, 100, rows));
    let expected = Remedy::Shared {
        member: "a[]".into(),
        pattern: SharingPattern::Owned,
    };
    assert!(found.remedies.contains(&expected), "{:?}", found.remedies);
}

#[test]
fn elements_and_objects_that_share_a_line() {
    let read = access(0, SMALL, AccessKind::Read, None);
    let store = |addr| access(1, addr, AccessKind::Write, Some(false));
    let near = store(SMALL + 8);
    let found = first(&recorded(
        &[read, near],
        100,
        vec![lost(read, near, 99, 99)],
    ));
    let elements = Remedy::SeparateElements {
        member: "a[]".into(),
        transfers: 99,
    };
    assert_eq!(found.remedies, [elements]);
    let other = store(SMALL + 16);
    let found = first(&recorded(
        &[read, other],
        100,
        vec![lost(read, other, 99, 99)],
    ));
    assert_eq!(found.remedies, [Remedy::SeparateObjects { transfers: 99 }]);
}

/// False sharing in one recording, true in the other: shown as it is, and nothing advised.
#[test]
fn what_changes_between_recordings_is_unstable() {
    let (read, store) = (
        access(0, AT + 16, AccessKind::Read, None),
        access(1, AT + 24, AccessKind::Write, Some(false)),
    );
    let mut profile = recorded(&[read, store], 10, vec![lost(read, store, 100, 90)]);
    profile.meta.runs = vec![RecordedRun::default(); 2];
    let again = |false_lifetime| ConflictRow {
        run: RunId(1),
        ..lost(read, store, 50, false_lifetime)
    };
    profile.conflicts.push(again(0));
    let found = first(&profile);
    assert!(
        found.is_unstable() && found.remedies.is_empty(),
        "{found:?}"
    );
    assert_eq!(found.kinds_by_run.len(), 2);
    profile.conflicts[1] = again(40);
    let found = first(&profile);
    assert!(
        !found.is_unstable() && !found.remedies.is_empty(),
        "{found:?}"
    );
}
