//! Segment files become rows; what is torn is said.

mod damage;
mod rows;

use std::cell::Cell;

use relayout_profile::segments::{AssembledProfile, Error, SiteNames, assemble, assemble_named};
use relayout_profile::{RecordedRun, RunId, encode};
use relayout_shadow::wire::{
    self, BurstRecord, ConflictRecord, CountRecord, LineRecord, PairRecord, RegionRecord,
    SegmentHeader, SiteRecord, SummaryRecord, VisitRecord, WireRecord,
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

    fn with<R: WireRecord>(mut self, records: &[R]) -> Self {
        let header = SegmentHeader::for_records(self.context, self.sequence, records);
        self.sequence += 1;
        self.bytes.extend(wire::as_header_bytes(&header));
        self.bytes.extend(wire::as_bytes(records));
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
        first_reads: 1,
        later_reads: 2,
        write_transfers: 0,
        upgrades: 0,
        order_errors: 0,
        reserved: 0,
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

fn visit(ticket: u64, site: u32) -> VisitRecord {
    VisitRecord {
        ticket,
        clock: 1000 + ticket,
        addr: 0x1000,
        site,
        operation: 3,
        size: 8,
        access: 2,
        instruction: wire::LOCKED | wire::COMPARE_EXCHANGE,
        stored: 1,
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
        visits_end_ticket: end_ticket,
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
            .with(&[visit(1, 7), visit(3, 9)])
            .with(&[conflict(3, 2, 0)])
            .with(&[count(0x1008, 9, 3, 0)])
            .with(&[line(0x1000, 6), line(0xfc0, 1)])
            .with(&[conflict(0, 0, 1)])
            .with(&[pair(0x1008, 1), pair(0x1000, 2), pair(0x1008, 3)])
            .with(&[region(0, 6)])
            .with(&[summary(1)]),
        File::new(1)
            .with(&[burst(0, 7), burst(2, 7), burst(3, 9), burst(5, 9)])
            .with(&[visit(0, 7), visit(2, 9), visit(4, 9)]),
        File::new(SITES).with(&[site(9)]).with(&[site(7)]),
    ]
}

fn assembled(files: &[File]) -> Result<AssembledProfile, Error> {
    assembled_of(files, 2)
}

fn assembled_of(files: &[File], contexts: u16) -> Result<AssembledProfile, Error> {
    let files: Vec<_> = files
        .iter()
        .map(|file| (file.context, &file.bytes[..]))
        .collect();
    assemble(&files, RunId(0), contexts)
}

/// Asserts that the profile of [`assemble`] can be written once its run is described.
fn check_writable(assembled: &AssembledProfile) {
    let mut profile = assembled.profile.clone();
    profile.meta.runs = vec![RecordedRun::default()];
    encode(&profile).expect("assembled rows fit together");
}

/// The user may abort a long assembly at any segment. It was asked for at the end only.
#[test]
fn an_assembly_is_aborted_at_any_segment() {
    let files = recording();
    let bytes: Vec<_> = files
        .iter()
        .map(|file| (file.context, &file.bytes[..]))
        .collect();
    let assemble_until = |asks_max: usize| {
        let asks = Cell::new(0);
        let is_aborted = || asks.replace(asks.get() + 1) >= asks_max;
        let result = assemble_named(&bytes, RunId(0), 2, SiteNames::Defined, &is_aborted);
        (result.map(|_| ()), asks.get())
    };
    let (whole, asks) = assemble_until(usize::MAX);
    assert_eq!(whole, Ok(()));
    let segments: u32 = files.iter().map(|file| file.sequence).sum();
    // Segments are read, searched for sites, and added up.
    assert!(asks >= 3 * segments as usize, "{asks} of {segments}");
    for asks_max in 0..asks {
        assert_eq!(
            assemble_until(asks_max).0,
            Err(Error::Aborted),
            "{asks_max}"
        );
    }
}
