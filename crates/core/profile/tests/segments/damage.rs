//! Files that were cut off, changed, lost or mixed up: what is sure is kept, and what is torn is
//! said.

use proptest::prelude::*;
use relayout_profile::segments::TornReason;
use relayout_profile::{ContextId, RunId};

use super::*;

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
            all.profile
                .bursts
                .iter()
                .filter(|b| b.context == ContextId(1))
                .count(),
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
        let _ = assemble(&[(0, &bytes)], RunId(0), 1);
    }
}

/// Makes the checksums agree with the records again.
fn forge(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(header) = bytes.get(at..at + 24) {
        let Some(kind) = wire::RecordKind::from_u16(u16::from_le_bytes([header[6], header[7]]))
        else {
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
