//! Segment files become rows; what is torn is said.

use proptest::prelude::*;
use relayout_profile::segments::{Assembled, Error, Losses, TornReason, assemble};
use relayout_profile::{Access, Run, encode};
use relayout_shadow::wire::{
    self, BurstRecord, ConflictRecord, CountRecord, LineRecord, PairRecord, Record, RegionRecord,
    SegmentHeader, SiteRecord, SummaryRecord,
};

/// Number of the file that holds sites alone.
const SITES: u16 = 48;
const PC: u64 = 0xffff_ffff_8123_4560;

/// A segment file being appended to.
struct File {
    context: u16,
    sequence: u32,
    bytes: Vec<u8>,
}

impl File {
    fn new(context: u16) -> Self {
        Self {
            context,
            sequence: 0,
            bytes: Vec::new(),
        }
    }

    fn with<R: Record>(mut self, records: &[R]) -> Self {
        let payload = wire::as_bytes(records);
        let header = SegmentHeader {
            magic: wire::MAGIC,
            version: wire::VERSION,
            kind: R::KIND as u16,
            context: self.context,
            reserved: 0,
            count: records.len() as u32,
            sequence: self.sequence,
            crc: wire::crc32(payload),
        };
        self.sequence += 1;
        self.bytes.extend(wire::as_header_bytes(&header));
        self.bytes.extend(payload);
        self
    }
}

fn site(number: u32) -> SiteRecord {
    SiteRecord {
        pc: PC + u64::from(number),
        site: number,
        len: 3,
        bytes: [0x48; 19],
    }
}

fn count(addr: u64, site: u32, count: u32, silent: u32) -> CountRecord {
    CountRecord {
        addr,
        site,
        size: 8,
        access: 1,
        reserved: 0,
        count,
        silent,
    }
}

fn line(line: u64, reads: u64) -> LineRecord {
    LineRecord {
        line,
        reads,
        writes: 0,
        read_transfers: 1,
        write_transfers: 0,
        upgrades: 0,
        order_errors: 0,
    }
}

fn conflict(count: u32, false_first_touch: u32, false_lifetime: u32) -> ConflictRecord {
    ConflictRecord {
        addr: 0x1000,
        other_addr: 0x1008,
        site: 7,
        other_site: 9,
        size: 8,
        access: 0,
        other_size: 4,
        other_access: 2,
        other_context: 1,
        transfer: 0,
        reserved: 0,
        count,
        false_first_touch,
        false_lifetime,
        reserved2: 0,
    }
}

fn pair(addr: u64, samples: u32) -> PairRecord {
    PairRecord {
        addr,
        other_addr: 0x1048,
        site: 7,
        other_site: 9,
        size: 8,
        access: 0,
        other_size: 4,
        other_access: 2,
        other_context: 0,
        reserved: 0,
        samples,
        reserved2: 0,
    }
}

fn burst(ticket: u64, site: u32) -> BurstRecord {
    BurstRecord {
        ticket,
        addr: 0x1000,
        site,
        size: 8,
        access: 1,
        silent: 0,
        reserved: 0,
    }
}

fn region(first_ticket: u64, end_ticket: u64) -> RegionRecord {
    RegionRecord {
        start: 0x1000,
        first_ticket,
        end_ticket,
        first_op: 1,
        end_op: 2,
        bytes: 512,
        reserved: 0,
    }
}

fn summary(values_seen: u32) -> SummaryRecord {
    SummaryRecord {
        window_wall_ns: 1,
        window_cpu_ns: 2,
        accesses: 3,
        operations: 4,
        bursts_dropped: 0,
        entries_lost: 0,
        values_seen,
        window_closed: 1,
    }
}

/// Two contexts, with deltas, sites in a file of their own, an orderly end.
fn recording() -> Vec<File> {
    vec![
        File::new(0)
            .with(&[count(0x1008, 9, 2, 1), count(0x1000, 7, 1, 0)])
            .with(&[line(0x1000, 5)])
            .with(&[burst(1, 7), burst(4, 9)])
            .with(&[conflict(3, 2, 0)])
            .with(&[count(0x1008, 9, 3, 0)])
            .with(&[line(0x1000, 6), line(0xfc0, 1)])
            .with(&[conflict(0, 0, 1)])
            .with(&[pair(0x1008, 1), pair(0x1000, 2), pair(0x1008, 3)])
            .with(&[region(0, 6)])
            .with(&[summary(1)]),
        File::new(1).with(&[burst(0, 7), burst(2, 7), burst(3, 9), burst(5, 9)]),
        File::new(SITES).with(&[site(9)]).with(&[site(7)]),
    ]
}

fn assembled(files: &[File]) -> Result<Assembled, Error> {
    let files: Vec<_> = files
        .iter()
        .map(|file| (file.context, &file.bytes[..]))
        .collect();
    assemble(&files, 0, 2)
}

/// What [`assemble`] returns can be written once the run is described.
fn check_writable(assembled: &Assembled) {
    let mut profile = assembled.profile.clone();
    profile.meta.runs = vec![Run::default()];
    encode(&profile).expect("assembled rows fit together");
}

#[test]
fn deltas_add_up_and_rows_are_sorted() {
    let all = assembled(&recording()).expect("sound");
    check_writable(&all);
    assert_eq!((&all.torn[..], all.losses), (&[][..], Losses::default()));
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
        .map(|c| (c.addr, c.site, c.count, c.silent))
        .collect();
    assert_eq!(counts, [(0x1000, 0, 1, Some(0)), (0x1008, 1, 5, Some(1))]);
    let lines: Vec<_> = profile
        .lines
        .iter()
        .map(|l| (l.line, l.reads, l.read_transfers))
        .collect();
    assert_eq!(lines, [(0xfc0, 1, 1), (0x1000, 11, 2)]);
    let [conflict] = &profile.conflicts[..] else {
        panic!("{:?}", profile.conflicts)
    };
    let falses = (conflict.false_first_touch, conflict.false_lifetime);
    assert_eq!(
        (conflict.count, falses, conflict.other_access),
        (3, (2, 1), Access::ReadWrite)
    );
    let pairs: Vec<_> = profile
        .pairs
        .iter()
        .map(|p| (p.addr, p.other_addr, p.other_site, p.samples))
        .collect();
    assert_eq!(pairs, [(0x1000, 0x1048, 1, 2), (0x1008, 0x1048, 1, 4)]);
    let tickets: Vec<_> = profile
        .bursts
        .iter()
        .map(|b| (b.ticket, b.context))
        .collect();
    assert_eq!(tickets, [(0, 1), (1, 0), (2, 1), (3, 1), (4, 0), (5, 1)]);
    assert_eq!(profile.regions[0].end_ticket, 6);
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
fn a_recording_cut_off_keeps_what_is_sure() {
    let mut files = recording();
    let length = files[0].bytes.len() - 10;
    files[0].bytes.truncate(length);
    let all = assembled(&files).expect("damage is no error");
    check_writable(&all);
    assert_eq!(all.summary, None);
    let [torn] = &all.torn[..] else {
        panic!("{:?}", all.torn)
    };
    assert_eq!(
        (torn.context, torn.offset + torn.bytes_lost),
        (0, length as u64)
    );
    assert_eq!(
        torn.reason,
        TornReason::RecordsCut {
            count: 1,
            bytes_left: 46
        }
    );
    // Context 0 was last seen at ticket 4, so it may have had an access with ticket 5 or later.
    assert_eq!(all.profile.regions[0].end_ticket, 5);
    assert_eq!(all.losses.regions_shortened, 1);
    assert!(all.profile.meta.values_seen, "a silent store was seen");
}

#[test]
fn room_never_used_is_not_torn() {
    let mut files = recording();
    files[1].bytes.extend([0; 4096]);
    let all = assembled(&files).expect("sound");
    assert_eq!(all.torn, []);
}

#[test]
fn records_of_lost_sites_are_counted() {
    let mut files = recording();
    files[2] = File::new(SITES).with(&[site(7)]);
    let all = assembled(&files).expect("damage is no error");
    check_writable(&all);
    assert_eq!(all.losses.unknown_site, 10);
    assert_eq!(
        all.profile.regions[0].end_ticket, 3,
        "the burst of ticket 3 is dropped"
    );
}

#[test]
fn impossible_records_are_counted() {
    let check = |file: File, expect: Losses| {
        let mut files = recording();
        files[1] = file;
        let all = assembled(&files).expect("damage is no error");
        check_writable(&all);
        assert_eq!(all.losses, expect);
    };
    let invalid = Losses {
        invalid: 1,
        ..Losses::default()
    };
    check(
        File::new(1).with(&[CountRecord {
            access: 3,
            ..count(0, 7, 1, 0)
        }]),
        invalid,
    );
    check(
        File::new(1).with(&[CountRecord {
            size: 0,
            ..count(0, 7, 1, 0)
        }]),
        invalid,
    );
    check(File::new(1).with(&[line(0x1001, 1)]), invalid);
    check(File::new(1).with(&[region(2, 1)]), invalid);
    check(
        File::new(1).with(&[ConflictRecord {
            other_context: 2,
            ..conflict(1, 0, 0)
        }]),
        invalid,
    );
    check(
        File::new(1).with(&[PairRecord {
            other_context: 2,
            ..pair(0x1000, 1)
        }]),
        invalid,
    );
    check(
        File::new(1).with(&[PairRecord {
            other_size: 0,
            ..pair(0x1000, 1)
        }]),
        invalid,
    );
    let unknown = ConflictRecord {
        other_size: 0,
        ..conflict(1, 0, 0)
    };
    let losses = Losses {
        unknown_other_side: 1,
        ..Losses::default()
    };
    check(File::new(1).with(&[unknown]), losses);
    let exceeding = Losses {
        part_exceeds_whole: 1,
        ..Losses::default()
    };
    check(File::new(1).with(&[count(0, 7, 1, 2)]), exceeding);
    check(
        File::new(1).with(&[burst(4, 7)]),
        Losses {
            duplicate_ticket: 1,
            ..Losses::default()
        },
    );
}

#[test]
fn bad_segments_end_their_file() {
    let check = |at: usize, byte: u8, expect: TornReason| {
        let mut files = recording();
        files[1] = File::new(1).with(&[burst(0, 7)]).with(&[burst(2, 7)]);
        files[1].bytes[48 + at] = byte;
        let all = assembled(&files).expect("damage is no error");
        check_writable(&all);
        assert_eq!(all.torn[0].reason, expect);
        assert_eq!((all.torn[0].offset, all.torn[0].bytes_lost), (48, 48));
        assert_eq!(
            all.profile.bursts.iter().filter(|b| b.context == 1).count(),
            1
        );
    };
    check(0, b'X', TornReason::Magic { found: *b"XLS1" });
    check(4, 9, TornReason::Version { found: 9 });
    check(6, 99, TornReason::Kind { found: 99 });
    check(8, 0, TornReason::Context { found: 0 });
    check(
        12,
        2,
        TornReason::RecordsCut {
            count: 2,
            bytes_left: 24,
        },
    );
    check(
        16,
        3,
        TornReason::Sequence {
            found: 3,
            expected: 1,
        },
    );
    let records = burst(2, 7);
    let expected = wire::crc32(wire::as_bytes(&[records]));
    let found = wire::crc32(wire::as_bytes(&[BurstRecord {
        ticket: 3,
        ..records
    }]));
    check(24, 3, TornReason::Checksum { found, expected });
}

#[test]
fn a_missing_file_is_reported() {
    let mut files = recording();
    files.remove(1);
    let all = assembled(&files).expect("damage is no error");
    assert_eq!(
        (all.torn[0].context, &all.torn[0].reason),
        (1, &TornReason::NoFile)
    );
}

#[test]
fn files_that_do_not_belong_together() {
    let mut files = recording();
    files[2] = File::new(1);
    assert_eq!(assembled(&files), Err(Error::DuplicateFile { context: 1 }));

    let other = SiteRecord { pc: 1, ..site(7) };
    let mut files = recording();
    files[1] = File::new(1).with(&[other]);
    let first_wins = Error::SiteRedefined {
        site: 7,
        first: 1,
        second: PC + 7,
    };
    assert_eq!(assembled(&files), Err(first_wins));

    let mut file = File::new(0).with(&[site(1)]);
    file.bytes[4] = 99;
    assert_eq!(assembled(&[file]), Err(Error::Version { found: 99 }));
}

#[test]
fn cut_at_every_byte() {
    for file in 0..3 {
        for length in 0..recording()[file].bytes.len() {
            let mut files = recording();
            files[file].bytes.truncate(length);
            check_writable(&assembled(&files).expect("damage is no error"));
        }
    }
}

proptest! {
    #[test]
    fn damaged_files_assemble_to_something_writable(
        file in 0..3usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        forged in any::<bool>(),
    ) {
        let mut files = recording();
        for (at, value) in changes {
            let place = at.index(files[file].bytes.len());
            files[file].bytes[place] = value;
        }
        if forged {
            forge(&mut files[file].bytes);
        }
        if let Ok(all) = assembled(&files) {
            check_writable(&all);
        }
    }

    #[test]
    fn anything_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = assemble(&[(0, &bytes)], 0, 1);
    }
}

/// Makes the checksums agree with the records again.
fn forge(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(header) = bytes.get(at..at + 24) {
        let Some(kind) = wire::Kind::from_u16(u16::from_le_bytes([header[6], header[7]])) else {
            return;
        };
        let count = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
        let length = count as usize * kind.record_bytes();
        let Some(payload) = bytes.get(at + 24..).and_then(|rest| rest.get(..length)) else {
            return;
        };
        let crc = wire::crc32(payload).to_le_bytes();
        bytes[at + 20..at + 24].copy_from_slice(&crc);
        at += 24 + length;
    }
}
