//! A small profile, written as `relayout record` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use relayout_profile::{
    AccessKind, Addr, CoherenceEvent, ConflictRow, ContextId, CountRow, LineRow, Profile,
    ProfileMeta, RangeRow, RecordedRun, RunId, Site, SiteId, WriteOptions,
};
use relayout_testprofile::{LINE_BYTES, image};

use super::Place;

/// A line on which two contexts met, of the kernel's image.
pub const LINE: u64 = 0x40_0000;

/// Writes a profile in which two contexts store to neighbouring words of a line as `name`, recorded
/// with the debug file at `debug` of the build `build_id`.
pub fn write(place: &Place, name: &str, debug: &Path, build_id: &str) -> PathBuf {
    write_stores(place, name, debug, build_id, [LINE, LINE + 4])
}

/// Writes a profile in which two contexts store to these words of 4 bytes of the image, by turns,
/// so that the lines move each time.
pub fn write_stores(
    place: &Place,
    name: &str,
    debug: &Path,
    build_id: &str,
    words: [u64; 2],
) -> PathBuf {
    let path = place.path(name);
    let mut lines: Vec<LineRow> = (0..2).map(|context| line(words, context)).collect();
    lines.sort_by_key(|row| (row.line, row.context));
    let profile = Profile {
        meta: meta(debug, build_id),
        sites: vec![Site {
            pc: 0x1000,
            bytes: vec![0x89, 0x07],
        }],
        lines,
        counts: (0..2).map(|context| count(words, context)).collect(),
        conflicts: (0..2).map(|context| conflict(words, context)).collect(),
        ranges: vec![image(words[0] / LINE_BYTES * LINE_BYTES, 0)],
        ..Profile::default()
    };
    relayout_profile::write(&path, &profile, &WriteOptions::default()).unwrap();
    path
}

/// GNU build id of a file, in hexadecimal; empty if it has none or is not there.
pub fn build_id(path: &Path) -> String {
    let links = fs::read(path).ok();
    let links = links.and_then(|bytes| relayout_layout::links::DebugLinks::read(&bytes).ok());
    let id = links.and_then(|links| links.build_id).unwrap_or_default();
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Changes a word of the `meta.json` of the profile at `profile`.
pub fn edit_meta(profile: &Path, from: &str, to: &str) {
    let path = profile.join("meta.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    fs::write(&path, text.replace(from, to)).unwrap();
}

/// Metadata of a recording of a kernel with two CPUs; without a `build_id`, that of `debug`.
pub fn meta(debug: &Path, build_id: &str) -> ProfileMeta {
    ProfileMeta {
        tool_version: "0.1.0".into(),
        target: "kernel".into(),
        workload: "made up".into(),
        line_bytes: LINE_BYTES as u32,
        contexts: 2,
        machine: "x86_64".into(),
        debug_file: debug.display().to_string(),
        build_id: match build_id {
            "" => self::build_id(debug),
            build_id => build_id.to_owned(),
        },
        runs: vec![RecordedRun {
            complete: true,
            ..RecordedRun::default()
        }],
        ..ProfileMeta::default()
    }
}

fn line(words: [u64; 2], context: usize) -> LineRow {
    LineRow {
        run: RunId(0),
        line: Addr(words[context] / LINE_BYTES * LINE_BYTES),
        context: ContextId(context as u16),
        reads: 0,
        writes: 100,
        read_transfers: 0,
        first_reads: None,
        write_transfers: 90,
        upgrades: 0,
        order_errors: None,
    }
}

fn count(words: [u64; 2], context: usize) -> CountRow {
    CountRow {
        run: RunId(0),
        addr: Addr(words[context]),
        size: 4,
        context: ContextId(context as u16),
        site: SiteId(0),
        access: AccessKind::Write,
        count: 100,
        silent: None,
    }
}

fn conflict(words: [u64; 2], context: usize) -> ConflictRow {
    ConflictRow {
        run: RunId(0),
        transfer: CoherenceEvent::Write,
        context: ContextId(context as u16),
        addr: Addr(words[context]),
        size: 4,
        site: SiteId(0),
        access: AccessKind::Write,
        other_context: ContextId(1 - context as u16),
        other_addr: Addr(words[1 - context]),
        other_size: 4,
        other_site: SiteId(0),
        other_access: AccessKind::Write,
        count: 90,
        first_reads: None,
        false_first_touch: 90,
        false_lifetime: 90,
    }
}

/// Writes a profile in which two contexts store by turns to the first two words of 4 bytes of each of these addresses
/// of lines, each line a little less often than the one before.
pub fn write_lines(
    place: &Place,
    name: &str,
    debug: &Path,
    build_id: &str,
    lines: &[u64],
) -> PathBuf {
    let path = place.path(name);
    let start = lines.iter().min().copied().unwrap_or(LINE);
    let end = lines.iter().max().copied().unwrap_or(LINE) + LINE_BYTES;
    let mut profile = Profile {
        meta: meta(debug, build_id),
        sites: vec![Site {
            pc: 0x1000,
            bytes: vec![0x89, 0x07],
        }],
        ranges: vec![RangeRow {
            bytes: end - start,
            ..image(start, 0)
        }],
        ..Profile::default()
    };
    for (number, &address) in (1..).zip(lines) {
        let words = [address, address + 4];
        for context in 0..2 {
            profile.lines.push(line(words, context));
            profile.counts.push(count(words, context));
            profile.conflicts.push(ConflictRow {
                count: 90 + lines.len() as u64 - number,
                ..conflict(words, context)
            });
        }
    }
    profile.lines.sort_by_key(|row| (row.line, row.context));
    relayout_profile::write(&path, &profile, &WriteOptions::default()).unwrap();
    path
}
