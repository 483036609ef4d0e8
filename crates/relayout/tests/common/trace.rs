//! A profile of a variable whose accesses were logged in order, in one recording or several.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::{
    Access, BurstRow, ConflictRow, CountRow, LineRow, Meta, Profile, RangeKind, RangeRow,
    RegionRow, Run, Site, Transfer, WriteOptions,
};

use super::Place;

const LINE_BYTES: u64 = 64;
/// Bytes of a member that is accessed.
const WORD_BYTES: u8 = 8;
/// Bytes that are logged.
const REGION_BYTES: u32 = 512;

/// An access by a context to the word at an offset of the variable.
pub type Word = (u16, Access, u64);

/// Writes a profile of the program `debug` as `name`: each of `runs` is a recording of its `variable`, which
/// begins on a line. Contexts use a word either for themselves or not at all once they lost its line, so
/// that what is false by first touch is so by lifetime.
pub fn write(
    place: &Place,
    name: &str,
    debug: &str,
    variable: &str,
    runs: &[Vec<Word>],
) -> PathBuf {
    let path = place.path(name);
    let bytes = std::fs::read(place.path(debug)).unwrap();
    let file = DwarfFile::parse(&bytes).unwrap();
    let mut globals = file.globals().iter();
    let base = globals
        .find(|global| global.name == variable)
        .unwrap()
        .address;
    assert_eq!(base % LINE_BYTES, 0, "the variable begins on a line");
    let mut profile = Profile {
        meta: Meta {
            tool_version: "0.1.0".into(),
            target: "kernel".into(),
            workload: "made up".into(),
            line_bytes: LINE_BYTES as u32,
            contexts: 2,
            machine: "x86_64".into(),
            debug_file: place.path(debug).display().to_string(),
            build_id: file.build_id_text().unwrap(),
            runs: vec![
                Run {
                    complete: true,
                    ..Run::default()
                };
                runs.len()
            ],
            ..Meta::default()
        },
        sites: vec![Site {
            pc: 0x1000,
            bytes: vec![0x89, 0x07],
        }],
        ..Profile::default()
    };
    for (run, words) in (0..).zip(runs) {
        add_run(&mut profile, run, base, words);
    }
    relayout_profile::write(&path, &profile, &WriteOptions::default()).unwrap();
    path
}

fn add_run(profile: &mut Profile, run: u16, base: u64, words: &[Word]) {
    profile.ranges.push(RangeRow {
        run,
        kind: RangeKind::Image,
        start: base,
        bytes: 4096,
        owner: String::new(),
        id: 0,
        first: 0,
        stride: 0,
        object_bytes: 0,
    });
    profile.regions.push(RegionRow {
        run,
        start: base,
        bytes: REGION_BYTES,
        first_ticket: 0,
        end_ticket: words.len() as u64,
        first_op: 0,
        end_op: 0,
    });
    let bursts = (0..).zip(words);
    profile
        .bursts
        .extend(bursts.map(|(ticket, &(context, access, offset))| BurstRow {
            run,
            ticket,
            context,
            site: 0,
            addr: base + offset,
            size: WORD_BYTES,
            access,
            silent: None,
        }));
    profile.lines.extend(lines(run, base, words));
    profile.counts.extend(counts(run, base, words));
    profile.conflicts.extend(conflicts(run, base, words));
}

fn lines(run: u16, base: u64, words: &[Word]) -> Vec<LineRow> {
    let mut rows: BTreeMap<(u64, u16), LineRow> = BTreeMap::new();
    for &(context, access, offset) in words {
        let line = (base + offset) / LINE_BYTES * LINE_BYTES;
        let row = rows.entry((line, context)).or_insert(LineRow {
            run,
            line,
            context,
            reads: 0,
            writes: 0,
            read_transfers: 0,
            write_transfers: 0,
            upgrades: 0,
            order_errors: None,
        });
        row.reads += u64::from(access != Access::Write);
        row.writes += u64::from(access != Access::Read);
    }
    rows.into_values().collect()
}

fn counts(run: u16, base: u64, words: &[Word]) -> Vec<CountRow> {
    let mut counted: BTreeMap<(u64, u16, Access), u64> = BTreeMap::new();
    for &(context, access, offset) in words {
        *counted.entry((base + offset, context, access)).or_default() += 1;
    }
    let row = |((addr, context, access), count)| CountRow {
        run,
        addr,
        size: WORD_BYTES,
        context,
        site: 0,
        access,
        count,
        silent: None,
    };
    counted.into_iter().map(row).collect()
}

/// Who holds a line, its last store, and by context the words that others stored to since it lost it.
#[derive(Default)]
struct Line {
    valid: BTreeSet<u16>,
    last: Option<(u16, u64, Access)>,
    news: BTreeMap<u16, BTreeSet<u64>>,
}

fn conflicts(run: u16, base: u64, words: &[Word]) -> Vec<ConflictRow> {
    let contexts: BTreeSet<u16> = words.iter().map(|(context, ..)| *context).collect();
    let mut lines: BTreeMap<u64, Line> = BTreeMap::new();
    let mut rows: Vec<ConflictRow> = Vec::new();
    for &(context, access, offset) in words {
        let line = lines.entry(offset / LINE_BYTES).or_default();
        let alone = line.valid.iter().all(|holder| *holder == context);
        let transfer = match (line.valid.contains(&context), access) {
            (true, Access::Read) => None,
            (true, _) => (!alone).then_some(Transfer::Upgrade),
            (false, Access::Read) => Some(Transfer::Read),
            (false, _) => Some(Transfer::Write),
        };
        let other = line.last.filter(|(other, ..)| *other != context);
        if let Some((transfer, (other_context, other_offset, other_access))) = transfer.zip(other) {
            let is_false = transfer != Transfer::Upgrade
                && !line
                    .news
                    .get(&context)
                    .is_some_and(|news| news.contains(&offset));
            let row = ConflictRow {
                run,
                transfer,
                context,
                addr: base + offset,
                size: WORD_BYTES,
                site: 0,
                access,
                other_context,
                other_addr: base + other_offset,
                other_size: WORD_BYTES,
                other_site: 0,
                other_access,
                count: 1,
                false_first_touch: is_false.into(),
                false_lifetime: is_false.into(),
            };
            add(&mut rows, row);
        }
        line.valid.insert(context);
        line.news.remove(&context);
        if access != Access::Read {
            line.valid.retain(|holder| *holder == context);
            for other in contexts.iter().filter(|other| **other != context) {
                line.news.entry(*other).or_default().insert(offset);
            }
        }
        // Upgrades name who had a copy.
        if access != Access::Read || line.last.is_none_or(|(last, ..)| last != context) {
            line.last = Some((context, offset, access));
        }
    }
    rows.sort_by_key(|row| row.addr);
    rows
}

/// Counts of the same access against the same other are one row.
fn add(rows: &mut Vec<ConflictRow>, row: ConflictRow) {
    let same = |one: &&mut ConflictRow| {
        let key = |row: &ConflictRow| {
            (
                (row.transfer, row.context, row.addr, row.access),
                (row.other_context, row.other_addr, row.other_access),
            )
        };
        key(one) == key(&row)
    };
    match rows.iter_mut().find(same) {
        Some(one) => {
            one.count += row.count;
            one.false_first_touch += row.false_first_touch;
            one.false_lifetime += row.false_lifetime;
        }
        None => rows.push(row),
    }
}
