//! A profile of a variable of which two members are hot.

use std::path::PathBuf;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::{
    Access, ConflictRow, CountRow, LineRow, Meta, Profile, RangeKind, RangeRow, Run, Site,
    Transfer, WriteOptions,
};

use super::Place;

/// Bytes of a line in the profile.
const LINE_BYTES: u64 = 64;

/// Writes a profile of the program `debug` in which two contexts store to the members of 4 bytes at
/// these offsets of its variable.
pub fn write(place: &Place, name: &str, debug: &str, variable: &str, offsets: [u64; 2]) -> PathBuf {
    let path = place.path(name);
    let bytes = std::fs::read(place.path(debug)).unwrap();
    let file = DwarfFile::parse(&bytes).unwrap();
    let mut globals = file.globals().iter();
    let address = globals
        .find(|global| global.name == variable)
        .unwrap()
        .address;
    assert_eq!(address % LINE_BYTES, 0, "the variable begins on a line");
    let addresses = offsets.map(|offset| address + offset);
    let profile = Profile {
        meta: Meta {
            tool_version: "0.1.0".into(),
            target: "kernel".into(),
            workload: "made up".into(),
            line_bytes: LINE_BYTES as u32,
            contexts: 2,
            machine: "x86_64".into(),
            debug_file: place.path(debug).display().to_string(),
            build_id: file.build_id_text().unwrap(),
            runs: vec![Run {
                complete: true,
                ..Run::default()
            }],
            ..Meta::default()
        },
        sites: vec![Site {
            pc: 0x1000,
            bytes: vec![0x89, 0x07],
        }],
        lines: lines(addresses),
        counts: (0..2).map(|context| count(addresses, context)).collect(),
        ranges: vec![RangeRow {
            run: 0,
            kind: RangeKind::Image,
            start: address,
            bytes: 4096,
            owner: String::new(),
            id: 0,
            first: 0,
            stride: 0,
            object_bytes: 0,
        }],
        conflicts: (0..2).map(|context| conflict(addresses, context)).collect(),
        ..Profile::default()
    };
    relayout_profile::write(&path, &profile, &WriteOptions::default()).unwrap();
    path
}

fn lines(addresses: [u64; 2]) -> Vec<LineRow> {
    let row = |context: usize| LineRow {
        run: 0,
        line: addresses[context] / LINE_BYTES * LINE_BYTES,
        context: context as u16,
        reads: 0,
        writes: 100,
        read_transfers: 0,
        write_transfers: 90,
        upgrades: 0,
        order_errors: None,
    };
    let mut rows = vec![row(0), row(1)];
    rows.sort_by_key(|row| (row.line, row.context));
    rows
}

fn count(addresses: [u64; 2], context: usize) -> CountRow {
    CountRow {
        run: 0,
        addr: addresses[context],
        size: 4,
        context: context as u16,
        site: 0,
        access: Access::Write,
        count: 100,
        silent: None,
    }
}

fn conflict(addresses: [u64; 2], context: usize) -> ConflictRow {
    ConflictRow {
        run: 0,
        transfer: Transfer::Write,
        context: context as u16,
        addr: addresses[context],
        size: 4,
        site: 0,
        access: Access::Write,
        other_context: 1 - context as u16,
        other_addr: addresses[1 - context],
        other_size: 4,
        other_site: 0,
        other_access: Access::Write,
        count: 90,
        false_first_touch: 90,
        false_lifetime: 90,
    }
}
