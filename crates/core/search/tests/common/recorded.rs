//! Fixtures of recorded objects, as `examples/fixture.rs` writes them.

use relayout_contend::{ObjectTrace, TraceAccess};
use relayout_profile::{AccessKind, Addr, ContextId, RunId, SiteId};
use relayout_search::{ObjectHome, RecordedInstance};

/// The objects of a fixture.
pub fn read(text: &str) -> Vec<RecordedInstance> {
    let mut instances: Vec<RecordedInstance> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["object", run, base, ref home @ ..] => instances.push(RecordedInstance {
                run: RunId(run.parse().unwrap()),
                recording: RunId(run.parse().unwrap()),
                trace: ObjectTrace {
                    base: Addr(number(base)),
                    ..ObjectTrace::default()
                },
                home: read_home(home),
                row: Vec::new(),
            }),
            ["covered", ref ranges @ ..] => {
                let range = |text: &&str| {
                    let (start, end) = text.split_once('-').unwrap();
                    start.parse().unwrap()..end.parse().unwrap()
                };
                instances.last_mut().unwrap().trace.covered = ranges.iter().map(range).collect();
            }
            [context, offset, size, kind] => {
                let access = access(context, offset, size, kind);
                instances.last_mut().unwrap().trace.accesses.push(access);
            }
            _ => panic!("not a line of a fixture: {line}"),
        }
    }
    instances
}

fn access(context: &str, offset: &str, size: &str, kind: &str) -> TraceAccess {
    TraceAccess {
        context: ContextId(context.parse().unwrap()),
        offset: offset.parse().unwrap(),
        size: size.parse().unwrap(),
        access: match kind {
            "r" => AccessKind::Read,
            "x" => AccessKind::ReadWrite,
            _ => AccessKind::Write,
        },
        silent: Some(kind == "s"),
        site: SiteId(0),
    }
}

fn read_home(words: &[&str]) -> ObjectHome {
    match words {
        [cache, first, stride, object_bytes] => ObjectHome::Slab {
            cache: (*cache).to_owned(),
            first: Addr(number(first)),
            stride: stride.parse().unwrap(),
            object_bytes: object_bytes.parse().unwrap(),
        },
        _ => ObjectHome::Fixed,
    }
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}
