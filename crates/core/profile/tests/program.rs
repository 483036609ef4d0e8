//! The output of a program's collector, whole or damaged, becomes rows that can be written.

use proptest::prelude::*;
use relayout_profile::program::{ProgramMap, SiteNaming, assemble};
use relayout_profile::{RecordedRun, RunId, encode};
use relayout_shadow::wire::{
    self, AllocRecord, CountRecord, LineRecord, SegmentHeader, WireRecord,
};

const LOW: u32 = 0x5555_5010;

fn append<R: WireRecord>(file: &mut Vec<u8>, sequence: u32, records: &[R]) {
    let header = SegmentHeader::for_records(0, sequence, records);
    file.extend(wire::as_header_bytes(&header));
    file.extend(wire::as_bytes(records));
}

fn count(site: u32) -> CountRecord {
    CountRecord {
        addr: 0x1000,
        site,
        size: 8,
        access: 0,
        reserved: 0,
        count: 5,
        silent: 0,
    }
}

fn alloc((start, bytes, events, first, end, name): (u64, u64, u64, u64, u64, u32)) -> AllocRecord {
    AllocRecord {
        start,
        bytes,
        events,
        first_ticket: first,
        end_ticket: end,
        frames: [0x5555_5555_5020; 8],
        name,
        stride: 8,
    }
}

fn check_writable(files: &[(u16, &[u8])], map: &ProgramMap) -> relayout_profile::Profile {
    let program =
        assemble(files, map, RunId(0), SiteNaming::ReturnAddresses).expect("files of one version");
    let mut profile = program.assembled.profile;
    profile.meta.runs = vec![RecordedRun {
        modules: program.modules,
        threads: program.threads,
        ..RecordedRun::default()
    }];
    encode(&profile).expect("assembled rows fit together");
    profile
}

#[test]
fn sites_are_where_their_module_is() {
    let map = ProgramMap::parse(b"module 555555554000 555555560000 555555554000 /bin/program\n");
    let mut file = Vec::new();
    append(
        &mut file,
        0,
        &[count(LOW), count(LOW + 4), count(1), count(2)],
    );
    let profile = check_writable(&[(0, &file)], &map);
    let pcs: Vec<u64> = profile.sites.iter().map(|site| site.pc).collect();
    // What is in no module is one place that nobody knows.
    assert_eq!(pcs, [0, 0x5555_5555_5010, 0x5555_5555_5014]);
    assert!(profile.sites.iter().all(relayout_profile::Site::is_call));
    assert_eq!(profile.counts.iter().map(|row| row.count).sum::<u64>(), 20);
}

proptest! {
    #[test]
    fn ranges_of_one_kind_share_no_memory(
        allocs in prop::collection::vec((0..64u64, 0..16u64, 0..9u64, 0..9u64, 0..9u64), 0..40)
    ) {
        let allocs: Vec<AllocRecord> = allocs
            .into_iter()
            .map(|(start, bytes, events, first, lives)| (start, bytes, events, first, first + lives, 0))
            .map(alloc)
            .collect();
        let mut file = Vec::new();
        append(&mut file, 0, &allocs);
        let mut ranges = check_writable(&[(0, &file)], &ProgramMap::default()).ranges;
        ranges.sort_by_key(|range| range.start);
        for pair in ranges.windows(2) {
            prop_assert!(pair[0].start + pair[0].bytes <= pair[1].start, "{:?}", pair);
        }
    }

    #[test]
    fn anything_is_survived(
        lines in "((module|thread|stack|tls|name|x)( [0-9a-f]{1,16}| .{0,4}){0,5}\n){0,20}",
        starts in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), 0..3u32), 0..9),
        sites in prop::collection::vec(any::<u32>(), 0..9),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = Vec::new();
        append(&mut file, 0, &starts.into_iter().map(alloc).collect::<Vec<_>>());
        append(&mut file, 1, &sites.into_iter().map(count).collect::<Vec<_>>());
        let line = LineRecord {
            line: 0x1000,
            reads: 1,
            writes: 0,
            first_reads: 0,
            later_reads: 0,
            write_transfers: 0,
            upgrades: 0,
            order_errors: 0,
            reserved: 0,
        };
        append(&mut file, 2, &[line]);
        let cut = &file[..cut.index(file.len())];
        check_writable(&[(0, cut)], &ProgramMap::parse(lines.as_bytes()));
    }
}
