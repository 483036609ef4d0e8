//! Kinds of findings.

use relayout_contend::FindingSubject;
use relayout_profile::{Addr, ContextId, RegionRow, RunId, SiteId};

use super::*;

#[test]
fn silent_stores() {
    let mut profile = profile(vec![conflict(0x1_0000 + 56, READ, 0x1_0000 + 16, 60, 60)]);
    profile.counts = vec![stores(0x1_0000 + 16, 100, 90)];
    assert_eq!(
        find(&profile, &Table).findings[0].kind,
        FindingKind::SilentStore
    );
    profile.counts = vec![stores(0x1_0000 + 16, 100, 30)];
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].kind, FindingKind::FalseSharing);
    assert_eq!(found.findings[0].members[0].silent_writes, Some(30));
    profile.counts[0].silent = None;
    assert_eq!(
        find(&profile, &Table).findings[0].members[0].silent_writes,
        None
    );
}

#[test]
fn lock_word_beside_data() {
    let waiting = ConflictRow {
        access: AccessKind::ReadWrite,
        ..conflict(0x4_0000, WRITE, 0x4_0008, 10, 9)
    };
    let holding = ConflictRow {
        context: waiting.other_context,
        other_context: waiting.context,
        ..waiting
    };
    let mut profile = profile(vec![waiting, holding]);
    assert_eq!(
        find(&profile, &Table).findings[0].kind,
        FindingKind::FalseSharing
    );
    profile.sites[1].bytes = vec![0xf0, 0x0f, 0xb1, 0x17];
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].kind, FindingKind::LockWord);
    let subject = FindingSubject::Variable {
        type_name: "zone".into(),
        name: "zones".into(),
    };
    assert_eq!(found.findings[0].subject, subject);
    assert_eq!(
        found.findings[0].types_path,
        ["zone", "spinlock", "qspinlock"]
    );
}

/// A lock that one context alone takes is data: who uses the other data does not wait for it.
#[test]
fn the_lock_of_one_context_is_data() {
    let taken = ConflictRow {
        access: AccessKind::ReadWrite,
        ..conflict(0x4_0000, WRITE, 0x4_0008, 10, 10)
    };
    let mut profile = profile(vec![taken]);
    profile.sites[1].bytes = vec![0xf0, 0x0f, 0xb1, 0x17];
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].kind, FindingKind::FalseSharing);
}

/// A spinlock is taken by a locked instruction and released by a plain store, which is what takes
/// the line from those who look at the data.
#[test]
fn the_release_of_a_lock_is_of_the_lock() {
    let taken = ConflictRow {
        access: AccessKind::ReadWrite,
        ..conflict(0x4_0000, WRITE, 0x4_0008, 10, 0)
    };
    let lost = |count| ConflictRow {
        other_site: SiteId(2),
        other_access: AccessKind::Write,
        ..conflict(0x4_0008, WRITE, 0x4_0000, count, count)
    };
    let kind = |rows: Vec<ConflictRow>, bytes: &[u8]| {
        let mut profile = profile(rows);
        profile.sites[1].bytes = bytes.to_vec();
        find(&profile, &Table).findings[0].kind
    };
    let cmpxchg = [0xf0, 0x0f, 0xb1, 0x17];
    assert_eq!(kind(vec![taken, lost(90)], &cmpxchg), FindingKind::LockWord);
    // Stored to, but taken by nobody.
    assert_eq!(kind(vec![lost(90)], &cmpxchg), FindingKind::FalseSharing);
    assert_eq!(
        kind(vec![taken, lost(90)], &[0x87, 0x17]),
        FindingKind::LockWord
    );
    assert_eq!(
        kind(vec![taken, lost(90)], &[0x89, 0x17]),
        FindingKind::FalseSharing
    );
}

#[test]
fn an_object_over_two_lines_is_a_straddle_if_replay_says_so() {
    let burst = |ticket: u64, addr| relayout_profile::BurstRow {
        run: RunId(0),
        ticket,
        context: ContextId((ticket / 2 % 2) as u16),
        site: SiteId(1),
        addr,
        size: 8,
        access: AccessKind::Write,
        silent: None,
    };
    let flags = 0x2_0000 + 48;
    let mut profile = profile(vec![
        conflict(flags, WRITE, flags, 50, 0),
        conflict(flags + 16, WRITE, flags + 16, 50, 0),
    ]);
    profile.regions = vec![RegionRow {
        run: RunId(0),
        start: Addr(0x2_0000),
        bytes: 512,
        first_ticket: 0,
        end_ticket: 1000,
        first_op: 0,
        end_op: 0,
        visits_end_ticket: None,
    }];
    // Each context writes both halves in turn: two transfers for one.
    profile.bursts = (0..200)
        .map(|t| burst(t, Addr(flags + t % 2 * 16)))
        .collect();
    let straddle = [
        ("csd", -48, FindingKind::Straddle),
        ("csd", 16, FindingKind::Straddle),
    ];
    assert_eq!(kinds(&find(&profile, &Table)), straddle);
    // One half for each context: two lines are right.
    profile.bursts = (0..200)
        .map(|t| burst(t, Addr(flags + t / 2 % 2 * 16)))
        .collect();
    let fine = [
        ("csd", -48, FindingKind::TrueSharing),
        ("csd", 16, FindingKind::TrueSharing),
    ];
    assert_eq!(kinds(&find(&profile, &Table)), fine);
}

/// Loads and stores of one place by one context.
fn uses(addr: u64, context: u16, access: AccessKind, count: u64) -> CountRow {
    CountRow {
        run: RunId(0),
        addr: Addr(addr),
        size: 4,
        context: ContextId(context),
        site: SiteId(1),
        access,
        count,
        silent: Some(0),
    }
}

#[test]
fn a_member_that_is_read_mostly() {
    use AccessKind::{Read, Write};
    let base_addr = 0x1_0000 + 56;
    let mut profile = profile(vec![
        conflict(base_addr, READ, 0x1_0000 + 16, 40, 40),
        conflict(base_addr, READ, 0x1_0000 + 16, 20, 20),
        conflict(0x1_0000 + 16, WRITE, 0x1_0000 + 16, 20, 0),
    ]);
    for row in &mut profile.conflicts {
        row.context = ContextId(if row.false_lifetime == 20 { 2 } else { 1 });
    }
    let reads = |stores| {
        vec![
            uses(0x1_0000 + 16, 0, Write, 5000),
            uses(base_addr, 1, Read, 600),
            uses(base_addr, 1, Write, stores),
            uses(base_addr, 2, Read, 400),
        ]
    };
    let kind = |profile: &Profile| find(profile, &Table).findings[0].kind;
    profile.counts = reads(10);
    assert_eq!(kind(&profile), FindingKind::ReadMostly);
    // Stored to too often.
    profile.counts = reads(20);
    assert_eq!(kind(&profile), FindingKind::FalseSharing);
    // By one context alone.
    profile.counts = reads(10);
    profile.counts.pop();
    assert_eq!(kind(&profile), FindingKind::FalseSharing);
    // Lost by one context alone.
    profile.counts = reads(10);
    profile
        .conflicts
        .iter_mut()
        .for_each(|row| row.context = ContextId(1));
    assert_eq!(kind(&profile), FindingKind::FalseSharing);
    // Its readers go on to use what was written.
    for row in &mut profile.conflicts {
        row.false_lifetime /= 8;
    }
    assert_eq!(kind(&profile), FindingKind::TrueSharing);
}

#[test]
fn a_member_that_others_alone_read() {
    use AccessKind::{Read, Write};
    let nodes = [0x1_0000u64, 0x1_0000 + 192];
    let lost = |n: usize, count| ConflictRow {
        context: ContextId(1 - n as u16),
        other_context: ContextId(n as u16),
        ..conflict(nodes[n] + 56, READ, nodes[n] + 56, count, 0)
    };
    let mut profile = profile(vec![lost(0, 40), lost(1, 50)]);
    let counts = |own_loads| {
        let node = |n: usize| {
            let (owner, other) = (n as u16, 1 - n as u16);
            [
                uses(nodes[n] + 56, owner, Write, 100),
                uses(nodes[n] + 56, owner, Read, own_loads),
                uses(nodes[n] + 56, other, Read, 90),
            ]
        };
        [node(0), node(1)].concat()
    };
    profile.counts = counts(10);
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].kind, FindingKind::RemoteRead);
    let reads = |found: &Findings| found.findings[0].remote_reads.clone();
    let expected = relayout_contend::finding::RemoteRead {
        member: "base_addr".to_owned(),
        transfers: 90,
        needed: 90,
    };
    assert_eq!(reads(&found), std::slice::from_ref(&expected));
    // Most transfers are others: noted, but not what the line is called by.
    let stores = conflict(nodes[0] + 16, WRITE, nodes[0] + 16, 200, 0);
    profile.conflicts.push(stores);
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].kind, FindingKind::TrueSharing);
    assert_eq!(reads(&found), [expected]);
    // They miss for what the owner stores beside it: another layout removes that.
    let beside = |n: usize, count| ConflictRow {
        other_addr: Addr(nodes[n] + 16),
        false_lifetime: count,
        ..lost(n, count)
    };
    let conflicts = std::mem::replace(&mut profile.conflicts, vec![beside(0, 40), beside(1, 50)]);
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].kind, FindingKind::FalseSharing);
    let needed = reads(&found)
        .iter()
        .map(|read| (read.transfers, read.needed))
        .collect::<Vec<_>>();
    assert_eq!(needed, [(90, 0)]);
    profile.conflicts = conflicts;
    // The owner reads it too.
    profile.counts = counts(11);
    assert_eq!(reads(&find(&profile, &Table)), []);
    // One object with one owner, as a clock is.
    profile.counts = counts(10);
    profile.conflicts.remove(1);
    assert_eq!(reads(&find(&profile, &Table)), []);
}
