//! A small profile, written as `relayout record` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use relayout_profile::{
    Access, ConflictRow, CountRow, LineRow, Meta, Profile, RangeKind, RangeRow, Run, Site,
    Transfer, WriteOptions,
};

use super::Place;

/// A line on which two contexts met, of the kernel's image.
pub const LINE: u64 = 0x40_0000;

/// Writes [`small`] as `name`, recorded with the debug file at `debug` of the build `build_id`.
pub fn write(place: &Place, name: &str, debug: &Path, build_id: &str) -> PathBuf {
    let path = place.path(name);
    relayout_profile::write(&path, &small(debug, build_id), &WriteOptions::default()).unwrap();
    path
}

/// Changes a word of the `meta.json` of the profile at `profile`.
pub fn edit_meta(profile: &Path, from: &str, to: &str) {
    let path = profile.join("meta.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    fs::write(&path, text.replace(from, to)).unwrap();
}

/// Two contexts that write neighbouring words of one line.
fn small(debug: &Path, build_id: &str) -> Profile {
    let meta = Meta {
        tool_version: "0.1.0".into(),
        target: "kernel".into(),
        workload: "made up".into(),
        line_bytes: 64,
        contexts: 2,
        machine: "x86_64".into(),
        debug_file: debug.display().to_string(),
        build_id: build_id.into(),
        runs: vec![Run {
            complete: true,
            ..Run::default()
        }],
        ..Meta::default()
    };
    Profile {
        meta,
        sites: vec![Site {
            pc: 0x1000,
            bytes: vec![0x89, 0x07],
        }],
        lines: vec![line(0), line(1)],
        counts: vec![count(0), count(1)],
        conflicts: vec![conflict(0, 1), conflict(1, 0)],
        ranges: vec![image()],
        ..Profile::default()
    }
}

fn image() -> RangeRow {
    RangeRow {
        run: 0,
        kind: RangeKind::Image,
        start: LINE,
        bytes: 4096,
        owner: String::new(),
        id: 0,
        first: 0,
        stride: 0,
        object_bytes: 0,
    }
}

fn line(context: u16) -> LineRow {
    LineRow {
        run: 0,
        line: LINE,
        context,
        reads: 0,
        writes: 100,
        read_transfers: 0,
        write_transfers: 90,
        upgrades: 0,
        order_errors: None,
    }
}

fn count(context: u16) -> CountRow {
    CountRow {
        run: 0,
        addr: LINE + u64::from(context) * 4,
        size: 4,
        context,
        site: 0,
        access: Access::Write,
        count: 100,
        silent: None,
    }
}

fn conflict(context: u16, other: u16) -> ConflictRow {
    ConflictRow {
        run: 0,
        transfer: Transfer::Write,
        context,
        addr: LINE + u64::from(context) * 4,
        size: 4,
        site: 0,
        access: Access::Write,
        other_context: other,
        other_addr: LINE + u64::from(other) * 4,
        other_size: 4,
        other_site: 0,
        other_access: Access::Write,
        count: 90,
        false_first_touch: 90,
        false_lifetime: 90,
    }
}
