//! Findings from small profiles.

use relayout_contend::{Findings, Identify, Kind, Object, Place, Source, Subject, find};
use relayout_layout::MemberPath;
use relayout_profile::{
    Access, ConflictRow, CountRow, Meta, Profile, RegionRow, Run, Site, Transfer,
};

/// Chunks of 192 bytes from 0x1_0000, csds of 32 bytes at 48 of each 128 from 0x2_0000, scalars
/// of 8 bytes from 0x3_0000, locks with data from 0x4_0000, an array of nodes of 40 bytes from 0x5_0000;
/// nothing else is known.
struct Table;

fn member(object: (u64, u64, Option<&str>), path: &str, types: &[&str], at: (u64, u64)) -> Place {
    Place::Member {
        object: Object {
            base: object.0,
            bytes: object.1,
            variable: object.2.map(str::to_owned),
            origin: None,
        },
        member: MemberPath {
            path: path.to_owned(),
            types_path: types.iter().map(|&name| name.to_owned()).collect(),
            offset: at.0,
            size: at.1,
        },
    }
}

impl Identify for Table {
    fn place(&self, _: u16, addr: u64, _: u8) -> Place {
        let low = addr & 0xffff;
        match addr >> 16 {
            1 => {
                let object = (addr - low % 192, 192, None);
                match low % 192 {
                    16..20 => member(object, "free_bytes", &["pcpu_chunk"], (16, 4)),
                    56..64 => member(object, "base_addr", &["pcpu_chunk"], (56, 8)),
                    _ => member(object, "", &["pcpu_chunk"], (0, 0)),
                }
            }
            2 => {
                let object = (addr - (low - 48) % 128, 32, None);
                let word = (low - 48) % 128 / 8;
                member(object, &format!("word{word}"), &["csd"], (8 * word, 8))
            }
            3 => Place::Scalar(Object {
                base: addr & !7,
                bytes: 8,
                variable: Some(format!("counter{}", low / 8)),
                origin: None,
            }),
            4 => match low {
                0..4 => {
                    let types = ["zone", "spinlock", "qspinlock"];
                    member((0x4_0000, 64, Some("zones")), "lock.val", &types, (0, 4))
                }
                _ => member((0x4_0000, 64, Some("zones")), "free", &["zone"], (8, 8)),
            },
            5 => {
                let at = low % 40 / 8 * 8;
                let names = ["next", "prev", "count", "owner", "flags"];
                let object = (addr - low % 40, 40, None);
                member(object, names[at as usize / 8], &["node"], (at, 8))
            }
            _ => Place::Unresolved("stack".to_owned()),
        }
    }

    fn source(&self, site: u32) -> Source {
        Source {
            function: Some(format!("f{site}")),
            inlined: None,
            file: Some("mm/x.c".into()),
            line: Some(site),
        }
    }
}

const READ: (Access, Transfer) = (Access::Read, Transfer::Read);
const WRITE: (Access, Transfer) = (Access::Write, Transfer::Write);

fn conflict(
    addr: u64,
    (access, transfer): (Access, Transfer),
    other_addr: u64,
    count: u64,
    false_lifetime: u64,
) -> ConflictRow {
    ConflictRow {
        run: 0,
        transfer,
        context: 1,
        addr,
        size: 4,
        site: 1,
        access,
        other_context: 0,
        other_addr,
        other_size: 4,
        other_site: 2,
        other_access: Access::Write,
        count,
        false_first_touch: false_lifetime,
        false_lifetime,
    }
}

fn stores(addr: u64, count: u64, silent: u64) -> CountRow {
    CountRow {
        run: 0,
        addr,
        size: 4,
        context: 0,
        site: 2,
        access: Access::Write,
        count,
        silent: Some(silent),
    }
}

fn profile(conflicts: Vec<ConflictRow>) -> Profile {
    let site = Site {
        pc: 0,
        bytes: vec![0x89, 0x07],
    };
    Profile {
        conflicts,
        sites: vec![site; 3],
        ..Profile::default()
    }
}

fn kinds(findings: &Findings) -> Vec<(&str, i64, Kind)> {
    let row = |f: &'_ relayout_contend::Finding| (f.line_offset, f.kind);
    findings
        .findings
        .iter()
        .map(|f| (f.subject.type_name(), row(f).0, row(f).1))
        .collect()
}

#[test]
fn grouped_by_line_of_the_type_over_all_objects() {
    let found = find(
        &profile(vec![
            conflict(0x1_0000 + 56, READ, 0x1_0000 + 16, 60, 60),
            conflict(0x1_0000 + 192 + 56, READ, 0x1_0000 + 192 + 16, 40, 10),
            conflict(
                0x1_0000 + 192 * 2 + 64,
                WRITE,
                0x1_0000 + 192 * 2 + 64,
                5,
                0,
            ),
            conflict(0x9_0000, WRITE, 0x9_0000, 45, 0),
        ]),
        &Table,
    );
    assert_eq!(
        kinds(&found),
        [
            ("pcpu_chunk", 0, Kind::FalseSharing),
            ("pcpu_chunk", 64, Kind::TrueSharing)
        ]
    );
    let first = &found.findings[0];
    assert_eq!(
        (
            first.objects,
            first.tally.transfers(),
            first.tally.false_lifetime
        ),
        (2, 100, 70)
    );
    assert_eq!(first.types_path, ["pcpu_chunk"]);
    assert!((first.share - 100.0 / 150.0).abs() < 1e-9);
    assert_eq!(first.stability, None);
    assert_eq!(first.pairs[0].here.member, "base_addr");
    assert_eq!(first.pairs[0].there.member, "free_bytes");
    // The hole is a known object but no member.
    assert_eq!(found.totals.resolved, 100);
    assert_eq!(found.totals.unresolved.get("hole"), Some(&5));
    assert_eq!(found.totals.unresolved.get("stack"), Some(&45));
    assert_eq!(found.unresolved[0].lines, 1);
}

#[test]
fn lines_around_one_member_of_objects_at_several_places_are_one_finding() {
    let node = |n: u64, at: u64| 0x5_0000 + 40 * n + at;
    let mut given = profile(vec![
        // The first begins a line, the second 40 bytes into one, the third 16 bytes into one.
        conflict(node(0, 16), WRITE, node(0, 16), 10, 0),
        conflict(node(1, 16), WRITE, node(1, 16), 30, 0),
        conflict(node(1, 0), READ, node(1, 16), 5, 5),
        conflict(node(2, 16), WRITE, node(2, 16), 20, 0),
        // Here another member has most, there the kind is another.
        conflict(node(3, 0), WRITE, node(3, 0), 7, 0),
        conflict(node(4, 16), WRITE, node(4, 0), 6, 6),
    ]);
    given.counts = vec![stores(node(0, 16), 100, 0), stores(node(2, 16), 50, 0)];
    let found = find(&given, &Table);
    let places = |at: usize| -> Vec<_> {
        let places = found.findings[at].places.iter();
        places
            .map(|p| (p.line_offset, p.transfers, p.objects))
            .collect()
    };
    assert_eq!(
        kinds(&found),
        [
            ("node", -40, Kind::TrueSharing),
            ("node", -56, Kind::TrueSharing),
            ("node", -32, Kind::FalseSharing),
        ]
    );
    assert_eq!(places(0), [(-40, 35, 1), (-16, 20, 1), (0, 10, 1)]);
    assert_eq!(found.findings[0].phase(), None);
    assert_eq!(found.findings[1].phase(), Some(56));
    let members: Vec<_> = { found.findings[0].members.iter() }
        .map(|m| (m.name.as_str(), m.writes, m.transfers))
        .collect();
    assert_eq!(members, [("next", 0, 5), ("count", 150, 60)]);
    assert_eq!(found.findings[0].objects, 3);
}

#[test]
fn silent_stores() {
    let mut profile = profile(vec![conflict(0x1_0000 + 56, READ, 0x1_0000 + 16, 60, 60)]);
    profile.counts = vec![stores(0x1_0000 + 16, 100, 90)];
    assert_eq!(find(&profile, &Table).findings[0].kind, Kind::SilentStore);
    profile.counts = vec![stores(0x1_0000 + 16, 100, 30)];
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].kind, Kind::FalseSharing);
    assert_eq!(found.findings[0].members[0].silent_writes, Some(30));
    profile.counts[0].silent = None;
    assert_eq!(
        find(&profile, &Table).findings[0].members[0].silent_writes,
        None
    );
}

#[test]
fn scalars_of_one_line_are_one_finding() {
    let found = find(
        &profile(vec![
            conflict(0x3_0008, READ, 0x3_0010, 10, 9),
            conflict(0x3_0010, WRITE, 0x3_0008, 20, 20),
        ]),
        &Table,
    );
    assert_eq!(kinds(&found), [("counter2", -16, Kind::HotGlobal)]);
    let members: Vec<_> = found.findings[0]
        .members
        .iter()
        .map(|m| (m.name.as_str(), m.offset))
        .collect();
    assert_eq!(members, [("counter1", -8), ("counter2", 0)]);
    assert_eq!(found.findings[0].neighbours.get("counter1"), Some(&20));
    assert_eq!(found.totals.resolved, 30);
}

#[test]
fn lock_word_beside_data() {
    let mut profile = profile(vec![ConflictRow {
        access: Access::ReadWrite,
        ..conflict(0x4_0000, WRITE, 0x4_0008, 10, 9)
    }]);
    assert_eq!(find(&profile, &Table).findings[0].kind, Kind::FalseSharing);
    profile.sites[1].bytes = vec![0xf0, 0x0f, 0xb1, 0x17];
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].kind, Kind::LockWord);
    let subject = Subject::Variable {
        type_name: "zone".into(),
        name: "zones".into(),
    };
    assert_eq!(found.findings[0].subject, subject);
    assert_eq!(
        found.findings[0].types_path,
        ["zone", "spinlock", "qspinlock"]
    );
}

/// A spinlock is taken by a locked instruction and released by a plain store, which is what takes the line from
/// those who look at the data.
#[test]
fn the_release_of_a_lock_is_of_the_lock() {
    let taken = ConflictRow {
        access: Access::ReadWrite,
        ..conflict(0x4_0000, WRITE, 0x4_0008, 10, 0)
    };
    let lost = |count| ConflictRow {
        other_site: 2,
        other_access: Access::Write,
        ..conflict(0x4_0008, WRITE, 0x4_0000, count, count)
    };
    let kind = |rows: Vec<ConflictRow>, bytes: &[u8]| {
        let mut profile = profile(rows);
        profile.sites[1].bytes = bytes.to_vec();
        find(&profile, &Table).findings[0].kind
    };
    let cmpxchg = [0xf0, 0x0f, 0xb1, 0x17];
    assert_eq!(kind(vec![taken, lost(90)], &cmpxchg), Kind::LockWord);
    // Stored to, but taken by nobody.
    assert_eq!(kind(vec![lost(90)], &cmpxchg), Kind::FalseSharing);
    assert_eq!(kind(vec![taken, lost(90)], &[0x87, 0x17]), Kind::LockWord);
    assert_eq!(
        kind(vec![taken, lost(90)], &[0x89, 0x17]),
        Kind::FalseSharing
    );
}

#[test]
fn an_object_over_two_lines_is_a_straddle_if_replay_says_so() {
    let burst = |ticket: u64, addr| relayout_profile::BurstRow {
        run: 0,
        ticket,
        context: (ticket / 2 % 2) as u16,
        site: 1,
        addr,
        size: 8,
        access: Access::Write,
        silent: None,
    };
    let flags = 0x2_0000 + 48;
    let mut profile = profile(vec![
        conflict(flags, WRITE, flags, 50, 0),
        conflict(flags + 16, WRITE, flags + 16, 50, 0),
    ]);
    profile.regions = vec![RegionRow {
        run: 0,
        start: 0x2_0000,
        bytes: 512,
        first_ticket: 0,
        end_ticket: 1000,
        first_op: 0,
        end_op: 0,
    }];
    // Each context writes both halves in turn: two transfers for one.
    profile.bursts = (0..200).map(|t| burst(t, flags + t % 2 * 16)).collect();
    let straddle = [("csd", -48, Kind::Straddle), ("csd", 16, Kind::Straddle)];
    assert_eq!(kinds(&find(&profile, &Table)), straddle);
    // One half for each context: two lines are right.
    profile.bursts = (0..200).map(|t| burst(t, flags + t / 2 % 2 * 16)).collect();
    let fine = [
        ("csd", -48, Kind::TrueSharing),
        ("csd", 16, Kind::TrueSharing),
    ];
    assert_eq!(kinds(&find(&profile, &Table)), fine);
}

#[test]
fn stability_counts_the_runs_that_agree() {
    let lines = (0..12u64).flat_map(|n| {
        (0..4u16).map(move |run| {
            let addr = 0x3_0000 + n * 64;
            // One is 11th over all, 12th in three runs and 7th in the fourth.
            let count = if n == 11 && run == 3 { 25 } else { 30 - n };
            ConflictRow {
                run,
                ..conflict(addr, WRITE, addr, count, 0)
            }
        })
    });
    let mut profile = profile(lines.collect());
    profile.meta = Meta {
        runs: vec![Run::default(); 4],
        ..Meta::default()
    };
    let stability: Vec<_> = find(&profile, &Table)
        .findings
        .iter()
        .map(|f| f.stability.unwrap())
        .collect();
    assert_eq!(stability.len(), 12);
    assert!(stability[..9].iter().all(|&s| s == 1.0), "{stability:?}");
    assert!(stability[10] == 0.75, "{stability:?}");
}

#[test]
fn an_empty_profile_has_no_findings() {
    let found = find(&Profile::default(), &Table);
    assert!(found.findings.is_empty() && found.unresolved.is_empty());
    assert_eq!(found.totals.resolved_share(), 1.0);
}

/// Loads and stores of one place by one context.
fn uses(addr: u64, context: u16, access: Access, count: u64) -> CountRow {
    CountRow {
        run: 0,
        addr,
        size: 4,
        context,
        site: 1,
        access,
        count,
        silent: Some(0),
    }
}

#[test]
fn a_member_that_is_read_mostly() {
    use Access::{Read, Write};
    let base_addr = 0x1_0000 + 56;
    let mut profile = profile(vec![
        conflict(base_addr, READ, 0x1_0000 + 16, 40, 40),
        conflict(base_addr, READ, 0x1_0000 + 16, 20, 20),
        conflict(0x1_0000 + 16, WRITE, 0x1_0000 + 16, 20, 0),
    ]);
    for row in &mut profile.conflicts {
        row.context = if row.false_lifetime == 20 { 2 } else { 1 };
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
    assert_eq!(kind(&profile), Kind::ReadMostly);
    // Stored to too often.
    profile.counts = reads(20);
    assert_eq!(kind(&profile), Kind::FalseSharing);
    // By one context alone.
    profile.counts = reads(10);
    profile.counts.pop();
    assert_eq!(kind(&profile), Kind::FalseSharing);
    // Lost by one context alone.
    profile.counts = reads(10);
    profile.conflicts.iter_mut().for_each(|row| row.context = 1);
    assert_eq!(kind(&profile), Kind::FalseSharing);
    // Its readers go on to use what was written.
    for row in &mut profile.conflicts {
        row.false_lifetime /= 8;
    }
    assert_eq!(kind(&profile), Kind::TrueSharing);
}

#[test]
fn a_member_that_others_alone_read() {
    use Access::{Read, Write};
    let nodes = [0x1_0000u64, 0x1_0000 + 192];
    let lost = |n: usize, count| ConflictRow {
        context: 1 - n as u16,
        other_context: n as u16,
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
    assert_eq!(found.findings[0].kind, Kind::RemoteRead);
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
    assert_eq!(found.findings[0].kind, Kind::TrueSharing);
    assert_eq!(reads(&found), [expected]);
    // They miss for what the owner stores beside it: another layout removes that.
    let beside = |n: usize, count| ConflictRow {
        other_addr: nodes[n] + 16,
        false_lifetime: count,
        ..lost(n, count)
    };
    let conflicts = std::mem::replace(&mut profile.conflicts, vec![beside(0, 40), beside(1, 50)]);
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].kind, Kind::FalseSharing);
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
