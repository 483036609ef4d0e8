//! Groups that make a finding, their order and their stability.

use std::collections::BTreeMap;

use relayout_contend::ProfileTotals;
use relayout_contend::replay::CoherenceTally;
use relayout_profile::{
    ProfileMeta, RecordedProcess, RecordedRun, RunId, SimulatedMachineName, WaitRow,
};

use super::*;

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
            ("pcpu_chunk", 0, FindingKind::FalseSharing),
            ("pcpu_chunk", 64, FindingKind::TrueSharing)
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
fn in_simulated_time_the_line_that_is_waited_for_longest_comes_first() {
    let line = |object: u64| 0x1_0000 + 192 * object;
    let mut given = profile(vec![
        conflict(line(0) + 56, READ, line(0) + 16, 60, 60),
        conflict(line(0) + 64, WRITE, line(0) + 64, 5, 0),
    ]);
    let wait = |addr, wait_ps| WaitRow {
        run: RunId(0),
        addr: Addr(addr),
        size: 8,
        site: SiteId(0),
        access: AccessKind::Read,
        requests: 1,
        misses: 1,
        wait_ps,
    };
    given.waits = vec![
        wait(line(0) + 56, 10),
        wait(line(0) + 64, 500),
        wait(line(3) + 64, 200),
        wait(line(3) + 72, 400),
    ];
    let offsets = |given: &Profile| {
        let found = find(given, &Table);
        let findings = found.findings.iter();
        findings
            .map(|found| (found.line_offset, found.wait_ps))
            .collect::<Vec<_>>()
    };
    given.meta.simulated_machine = Some(SimulatedMachineName::default());
    assert_eq!(offsets(&given), [(64, Some(1100)), (0, Some(10))]);
    let longest = &find(&given, &Table).findings[0];
    assert_eq!(longest.waited_lines, [line(3) + 64, line(0) + 64]);
    // Nobody knows of waiting in the order of the host.
    given.meta.simulated_machine = None;
    given.waits.clear();
    assert_eq!(offsets(&given), [(0, None), (64, None)]);
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
            ("node", -40, FindingKind::TrueSharing),
            ("node", -56, FindingKind::TrueSharing),
            ("node", -32, FindingKind::FalseSharing),
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
fn scalars_of_one_line_are_one_finding() {
    let found = find(
        &profile(vec![
            conflict(0x3_0008, READ, 0x3_0010, 10, 9),
            conflict(0x3_0010, WRITE, 0x3_0008, 20, 20),
        ]),
        &Table,
    );
    assert_eq!(kinds(&found), [("counter2", -16, FindingKind::HotGlobal)]);
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
fn stability_counts_the_runs_that_agree() {
    let lines = (0..12u64).flat_map(|n| {
        (0..4u16).map(move |run| {
            let addr = 0x3_0000 + n * 64;
            // One is 11th over all, 12th in three runs and 7th in the fourth.
            let count = if n == 11 && run == 3 { 25 } else { 30 - n };
            ConflictRow {
                run: RunId(run),
                ..conflict(addr, WRITE, addr, count, 0)
            }
        })
    });
    let mut profile = profile(lines.collect());
    profile.meta = ProfileMeta {
        runs: vec![RecordedRun::default(); 4],
        ..ProfileMeta::default()
    };
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].transfers_range, Some([30, 30]));
    assert_eq!(found.findings[10].transfers_range, Some([19, 25]));
    let stability: Vec<_> = { found.findings.iter() }
        .map(|f| f.stability.unwrap())
        .collect();
    assert_eq!(stability.len(), 12);
    assert!(stability[..9].iter().all(|&s| s == 1.0), "{stability:?}");
    assert!(stability[10] == 0.75, "{stability:?}");
    // Processes of one recording are no repeats.
    let further = RecordedRun {
        process: Some(RecordedProcess {
            is_further: true,
            ..RecordedProcess::default()
        }),
        ..RecordedRun::default()
    };
    profile.meta.runs = vec![
        RecordedRun::default(),
        further.clone(),
        further.clone(),
        further,
    ];
    for finding in find(&profile, &Table).findings {
        assert_eq!((finding.stability, finding.transfers_range), (None, None));
    }
}

/// Contents of files and pipes have no members. They count in one share and not in the other.
#[test]
fn contents_have_no_members() {
    let class = |name: &str, transfers| (name.to_owned(), transfers);
    let totals = ProfileTotals {
        tally: CoherenceTally {
            read_transfers: 100,
            ..CoherenceTally::default()
        },
        resolved: 90,
        unresolved: BTreeMap::from([
            class("content of a pipe", 4),
            class("page cache of /a (tmpfs)", 1),
            class("page data", 5),
        ]),
        ..ProfileTotals::default()
    };
    assert_eq!(totals.resolved_share(), 0.9);
    assert_eq!(totals.content_transfers(), 5);
    assert_eq!(totals.resolved_share_without_content(), 90.0 / 95.0);
}

#[test]
fn an_empty_profile_has_no_findings() {
    let found = find(&Profile::default(), &Table);
    assert!(found.findings.is_empty() && found.unresolved.is_empty());
    assert_eq!(found.totals.resolved_share(), 1.0);
}

/// The table, but the types of half of the chunks were elected by evidence that hardly agrees.
struct UncertainTable;

impl AddressNamer for UncertainTable {
    fn target_at(&self, run: RunId, addr: Addr, size: u8) -> AccessTarget {
        match Table.target_at(run, addr, size) {
            AccessTarget::Member { mut object, member } => {
                if object.base.0 / 192 % 2 == 0 {
                    object.type_percent = 62;
                }
                AccessTarget::Member { object, member }
            }
            other => other,
        }
    }

    fn source_of_site(&self, site: SiteId) -> SiteSource {
        Table.source_of_site(site)
    }
}

#[test]
fn confidence_in_types_counts_each_object_once() {
    let chunk = |index: u64, at: u64| 0x1_0000 + 192 * index + at;
    let conflicts: Vec<ConflictRow> = (0..4)
        .flat_map(|index| [index, index])
        .map(|index| conflict(chunk(index, 56), READ, chunk(index, 16), 60, 60))
        .collect();
    let certain = find(&profile(conflicts.clone()), &Table);
    assert!(!certain.findings[0].type_confidence.is_doubtful());
    let found = find(&profile(conflicts), &UncertainTable);
    let confidence = found.findings[0].type_confidence;
    assert_eq!((confidence.objects, confidence.uncertain), (4, 2));
    assert_eq!(confidence.least_percent, 62);
    assert!(confidence.is_doubtful());
}
