//! Files that are mapped into a program of the guest, and its stacks and thread-local storage.

use std::path::Path;

use relayout_files::map_file;
use relayout_profile::{Addr, LoadedModule, RangeKind, RangeRow, RunId};

use crate::elf::{ImagePlace, ThreadLocalBlock, build_id};
use crate::memory::{GuestThread, MemoryMapping, ProcessSnapshot};

/// Returns the programs and libraries that are mapped, by start. They have the same paths on this machine.
pub fn loaded_modules(mappings: &[MemoryMapping]) -> Vec<LoadedModule> {
    let mut modules: Vec<LoadedModule> = Vec::new();
    for mapping in mappings {
        let covered = { modules.last() }.is_some_and(|module| mapping.start < module.end);
        if !covered && let Some(path) = &mapping.path {
            modules.extend(loaded_module(path, mapping));
        }
    }
    modules
}

fn loaded_module(path: &str, mapping: &MemoryMapping) -> Option<LoadedModule> {
    let bytes = map_file(Path::new(path)).ok()?;
    let place = ImagePlace::find(&bytes, mapping.start, mapping.file_offset)?;
    Some(LoadedModule {
        path: path.to_owned(),
        build_id: build_id(&bytes).unwrap_or_default(),
        start: place.start,
        end: place.end,
        bias: place.bias,
    })
}

/// Returns the ranges of a program: its modules, stacks, and its own thread-local storage, by start.
pub fn program_ranges(
    program: &Path,
    modules: &[LoadedModule],
    process: &ProcessSnapshot,
) -> Vec<RangeRow> {
    let images = modules.iter().map(|module| {
        let bytes = module.end - module.start;
        range_row(RangeKind::Image, module.start, bytes, &module.path)
    });
    let mut ranges: Vec<RangeRow> = images.collect();
    ranges.extend(stack_rows(process));
    let storage = { map_file(program).ok() }.and_then(|bytes| ThreadLocalBlock::read(&bytes));
    if let Some(storage) = storage {
        let blocks = process.threads.iter();
        ranges.extend(blocks.filter_map(|thread| storage_row(program, storage, thread)));
    }
    ranges.sort_by_key(|range| (range.start, range.bytes, range.kind));
    ranges.dedup_by_key(|range| (range.start, range.bytes, range.kind));
    ranges
}

/// Returns the stacks. The C library puts what a thread's pointer leads to at the end of the thread's stack, but for the
/// first thread's, whose stack is the kernel's.
fn stack_rows(process: &ProcessSnapshot) -> impl Iterator<Item = RangeRow> {
    let first = process.threads.first();
    let others = process.threads.iter().skip(1);
    let addresses = others.map(|thread| (thread.pointer, Some(thread)));
    let all = std::iter::once((process.first_stack, first)).chain(addresses);
    all.filter_map(|(address, thread)| {
        let holds = |mapping: &&MemoryMapping| (mapping.start..mapping.end).contains(&address);
        let mapping = process.mappings.iter().find(holds)?;
        let bytes = mapping.end - mapping.start;
        let name = thread.map_or("", |thread| thread.name.as_str());
        let row = range_row(RangeKind::Stack, mapping.start, bytes, name);
        mapping.path.is_none().then_some(RangeRow {
            id: thread.map_or(0, |thread| thread.tid),
            ..row
        })
    })
}

fn storage_row(
    program: &Path,
    storage: ThreadLocalBlock,
    thread: &GuestThread,
) -> Option<RangeRow> {
    let start = thread.pointer.checked_sub(storage.before_pointer)?;
    let path = program.to_str()?;
    let row = range_row(RangeKind::Tls, start, storage.bytes, path);
    (storage.bytes > 0).then_some(RangeRow {
        id: thread.tid,
        first: Addr(start),
        ..row
    })
}

fn range_row(kind: RangeKind, start: u64, bytes: u64, owner: &str) -> RangeRow {
    RangeRow {
        run: RunId(0),
        kind,
        start: Addr(start),
        bytes,
        owner: owner.to_owned(),
        id: 0,
        first: Addr(0),
        stride: 0,
        object_bytes: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::ProcessLife;

    fn mapping(start: u64, end: u64, path: Option<&str>) -> MemoryMapping {
        MemoryMapping {
            start,
            end,
            path: path.map(str::to_owned),
            file_offset: 0,
        }
    }

    #[test]
    fn stacks_are_where_threads_point() {
        let thread = |tid, pointer| GuestThread {
            tid,
            name: format!("t{tid}"),
            pointer,
        };
        let process = ProcessSnapshot {
            mappings: vec![
                mapping(0x1000, 0x9000, None),
                mapping(0xa000, 0xb000, Some("/data")),
                mapping(0x7000_0000, 0x7002_1000, None),
            ],
            threads: vec![
                thread(7, 0x1010),
                thread(8, 0x8f00),
                thread(9, 0xa100),
                thread(10, 0),
            ],
            first_stack: 0x7002_0000,
            life: ProcessLife::Runs,
        };
        let rows: Vec<_> = stack_rows(&process)
            .map(|row| (row.start.0, row.bytes, row.id, row.owner))
            .collect();
        let expect = [
            (0x7000_0000, 0x2_1000, 7, "t7".to_owned()),
            (0x1000, 0x8000, 8, "t8".to_owned()),
        ];
        assert_eq!(rows, expect);
    }
}
