//! Rows from intact files. Records with impossible values are skipped and counted.

use relayout_profile::segments::SegmentLosses;
use relayout_profile::{AccessKind, VisitRow};

use super::*;

#[test]
fn deltas_add_up_and_rows_are_sorted() {
    let all = assembled(&recording()).expect("sound");
    check_writable(&all);
    assert_eq!(
        (&all.torn[..], all.losses),
        (&[][..], SegmentLosses::default())
    );
    assert_eq!(all.summary.map(|s| s.operations), Some(4));
    let profile = &all.profile;
    assert_eq!(
        profile.sites.iter().map(|s| s.pc - PC).collect::<Vec<_>>(),
        [7, 9]
    );
    assert_eq!(profile.sites[0].bytes, [0x48; 3]);
    let counts: Vec<_> = profile
        .counts
        .iter()
        .map(|c| (c.addr.0, c.site.0, c.count, c.silent))
        .collect();
    assert_eq!(counts, [(0x1000, 0, 1, Some(0)), (0x1008, 1, 5, Some(1))]);
    let lines: Vec<_> = profile
        .lines
        .iter()
        .map(|l| (l.line.0, l.reads, l.read_transfers, l.first_reads))
        .collect();
    assert_eq!(lines, [(0xfc0, 1, 3, Some(1)), (0x1000, 11, 6, Some(2))]);
    let [conflict] = &profile.conflicts[..] else {
        panic!("{:?}", profile.conflicts)
    };
    let falses = (conflict.false_first_touch, conflict.false_lifetime);
    assert_eq!(
        (conflict.count, falses, conflict.other_access),
        (3, (2, 1), AccessKind::ReadWrite)
    );
    let pairs: Vec<_> = profile
        .pairs
        .iter()
        .map(|p| (p.addr.0, p.other_addr.0, p.other_site.0, p.samples))
        .collect();
    assert_eq!(pairs, [(0x1000, 0x1048, 1, 2), (0x1008, 0x1048, 1, 4)]);
    let tickets: Vec<_> = profile
        .bursts
        .iter()
        .map(|b| (b.ticket, b.context.0))
        .collect();
    assert_eq!(tickets, [(0, 1), (1, 0), (2, 1), (3, 1), (4, 0), (5, 1)]);
    let region = &profile.regions[0];
    assert_eq!((region.end_ticket, region.visits_end_ticket), (6, Some(6)));
    let visits: Vec<_> = profile
        .visits
        .iter()
        .map(|v| (v.ticket, v.context.0, v.clock, v.operation, v.site.0))
        .collect();
    let expect = [(0, 1, 0), (1, 0, 0), (2, 1, 1), (3, 0, 1), (4, 1, 1)]
        .map(|(ticket, context, site)| (ticket, context, 1000 + ticket, 3, site));
    assert_eq!(visits, expect);
    let exchanges = |v: &VisitRow| v.locked && v.compare_exchange && v.stored == Some(true);
    assert!(profile.visits.iter().all(exchanges));
}

#[test]
fn impossible_visits_are_dropped_and_end_the_complete_ones() {
    let odd = [
        VisitRecord {
            instruction: 8,
            ..visit(5, 7)
        },
        VisitRecord {
            stored: 3,
            ..visit(5, 7)
        },
        VisitRecord {
            instruction: wire::LOCKED,
            ..visit(5, 7)
        },
        VisitRecord {
            size: 0,
            ..visit(5, 7)
        },
    ];
    for record in odd {
        let mut files = recording();
        files.push(File::new(2).with(&[record]));
        let all = assembled_of(&files, 3).expect("damage is no error");
        check_writable(&all);
        assert_eq!(
            (all.losses.invalid, all.profile.visits.len()),
            (1, 5),
            "{record:?}"
        );
        assert_eq!(
            all.profile.regions[0].visits_end_ticket,
            Some(5),
            "{record:?}"
        );
    }
}

/// What a context has gathered and not appended is lost if the collector is killed.
#[test]
fn visits_of_a_recording_that_was_cut_off() {
    let mut files = recording();
    files[0] = File::new(0)
        .with(&[burst(1, 7), burst(4, 9)])
        .with(&[visit(1, 7)])
        .with(&[region(0, 6)]);
    let all = assembled(&files).expect("damage is no error");
    check_writable(&all);
    let region = &all.profile.regions[0];
    assert_eq!((region.end_ticket, region.visits_end_ticket), (5, Some(2)));
}

#[test]
fn unseen_values_are_unknown() {
    let mut files = recording();
    files[0] = File::new(0)
        .with(&[count(0x1000, 7, 2, 0), count(0x1000, 7, 1, 0)])
        .with(&[summary(0)]);
    let all = assembled(&files).expect("sound");
    check_writable(&all);
    assert!(!all.profile.meta.values_seen);
    assert_eq!(all.profile.counts[0].silent, None);
    assert!(
        all.profile
            .bursts
            .iter()
            .all(|burst| burst.silent.is_none())
    );
}

#[test]
fn records_of_lost_sites_are_counted() {
    let mut files = recording();
    files[2] = File::new(SITES).with(&[site(7)]);
    let all = assembled(&files).expect("damage is no error");
    check_writable(&all);
    assert_eq!(all.losses.unknown_site, 13);
    let region = &all.profile.regions[0];
    assert_eq!(region.end_ticket, 3, "the burst of ticket 3 is dropped");
    assert_eq!(
        region.visits_end_ticket,
        Some(2),
        "so is the visit of ticket 2"
    );
}

/// Of a file with these records in the second context's place.
#[track_caller]
fn check_losses<R: WireRecord>(records: &[R], expect: SegmentLosses) {
    let mut files = recording();
    files[1] = File::new(1).with(records);
    let all = assembled(&files).expect("damage is no error");
    check_writable(&all);
    assert_eq!(all.losses, expect);
}

#[test]
fn impossible_records_are_counted() {
    let invalid = SegmentLosses {
        invalid: 1,
        ..SegmentLosses::default()
    };
    let sound_count = count(0, 7, 1, 0);
    check_losses(
        &[CountRecord {
            access: 3,
            ..sound_count
        }],
        invalid,
    );
    check_losses(
        &[CountRecord {
            size: 0,
            ..sound_count
        }],
        invalid,
    );
    check_losses(&[line(0x1001, 1)], invalid);
    check_losses(&[region(2, 1)], invalid);
    let no_such_context = ConflictRecord {
        other_context: 2,
        ..conflict(1, 0, 0)
    };
    check_losses(&[no_such_context], invalid);
    let (sound_pair, other_context, other_size) = (pair(0x1000, 1), 2, 0);
    let no_such_context = PairRecord {
        other_context,
        ..sound_pair
    };
    check_losses(&[no_such_context], invalid);
    check_losses(
        &[PairRecord {
            other_size,
            ..sound_pair
        }],
        invalid,
    );
}

#[test]
fn what_does_not_fit_together_is_counted_apart() {
    let unknown = ConflictRecord {
        other_size: 0,
        ..conflict(1, 0, 0)
    };
    let losses = SegmentLosses {
        unknown_other_side: 1,
        ..SegmentLosses::default()
    };
    check_losses(&[unknown], losses);
    let losses = SegmentLosses {
        part_exceeds_whole: 1,
        ..SegmentLosses::default()
    };
    check_losses(&[count(0, 7, 1, 2)], losses);
    let losses = SegmentLosses {
        duplicate_ticket: 1,
        ..SegmentLosses::default()
    };
    check_losses(&[burst(4, 7)], losses);
}
