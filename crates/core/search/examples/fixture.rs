//! Writes what a profile recorded of the objects of one type as a fixture for tests.
//!
//!     relayout record kernel --workload mntns -o mntns.relayout
//!     cargo run --release -p relayout-search --example fixture -- \
//!         VMLINUX mntns.relayout pcpu_chunk 8000 > crates/core/search/tests/data/mntns_pcpu_chunk.txt
//!
//! The format is read by `tests/common/recorded.rs`; `#` starts a line that says where it is from.
//! At most so many accesses are kept, of the objects with the most, each from its start.

use std::cmp::Reverse;
use std::error::Error;
use std::fs::File;
use std::path::Path;

use relayout_contend::{ObjectExtent, TraceIndex};
use relayout_layout::dwarf::DwarfFile;
use relayout_layout::{Aggregate, Type, TypeArena, TypeId};
use relayout_profile::{AccessKind, Addr, Profile, RangeKind, RunId};
use relayout_resolve::{DebugImages, Options, resolve};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [debug, profile, name, limit] = args.as_slice() else {
        return Err("usage: fixture VMLINUX PROFILE TYPE ACCESSES".into());
    };
    let limit: usize = limit.parse()?;
    // SAFETY: the file is not changed while this runs.
    let bytes = unsafe { memmap2::Mmap::map(&File::open(debug)?)? };
    let file = DwarfFile::parse(&bytes)?;
    let profile = relayout_profile::store::read(Path::new(profile))?;
    let images = DebugImages::from_modules(&profile, &file, |_| None);
    let resolution = resolve(&profile, &images, Options::default())?;
    let types = resolution.types();
    let index = TraceIndex::new(&profile);
    let mut all = Vec::new();
    for object in resolution.objects() {
        let mut found = Vec::new();
        places(types, object.ty, name, 0, &mut found);
        for (offset, size) in found {
            let whole = offset == 0 && found_alone(types, object.ty, name);
            let bytes = if whole { object.bytes } else { size };
            let extent = ObjectExtent {
                run: object.run,
                base: object.base + offset,
                bytes: u32::try_from(bytes)?,
            };
            all.extend(
                index
                    .traces(extent)
                    .into_iter()
                    .map(|trace| (object.run, trace)),
            );
        }
    }
    all.sort_by_key(|(_, trace)| Reverse(trace.accesses.len()));
    let mut left = limit;
    for (run, trace) in all {
        let count = trace.accesses.len().min(left);
        if count == 0 {
            break;
        }
        left -= count;
        println!(
            "object {run} {:#x} {}",
            trace.base,
            home(&profile, run, trace.base)
        );
        let covered: Vec<String> = (trace.covered.iter())
            .map(|bytes| format!("{}-{}", bytes.start, bytes.end))
            .collect();
        println!("covered {}", covered.join(" "));
        for access in &trace.accesses[..count] {
            let kind = match (access.access, access.silent) {
                (AccessKind::Read, _) => 'r',
                (AccessKind::Write, Some(true)) => 's',
                (AccessKind::Write, _) => 'w',
                (AccessKind::ReadWrite, _) => 'x',
            };
            println!(
                "{} {} {} {kind}",
                access.context, access.offset, access.size
            );
        }
    }
    Ok(())
}

fn found_alone(types: &TypeArena, ty: TypeId, name: &str) -> bool {
    types
        .aggregate(ty)
        .is_some_and(|aggregate| aggregate.name.as_deref() == Some(name))
}

/// Offsets and sizes of structs called `name` in a type, arrays left out.
fn places(types: &TypeArena, ty: TypeId, name: &str, at: u64, found: &mut Vec<(u64, u64)>) {
    let Type::Aggregate(Aggregate {
        name: own,
        members,
        size,
        ..
    }) = types.get(types.strip_typedefs(ty))
    else {
        return;
    };
    if own.as_deref() == Some(name) {
        found.push((at, *size));
        return;
    }
    for member in members {
        places(types, member.ty, name, at + member.offset, found);
    }
}

/// The slab that the object is a slot of.
fn home(profile: &Profile, run: RunId, base: Addr) -> String {
    let holds = |row: &&relayout_profile::RangeRow| {
        row.kind == RangeKind::Slab
            && row.run == run
            && row.stride > 0
            && base >= row.first
            && base - row.start < row.bytes
            && (base - row.first).is_multiple_of(u64::from(row.stride))
    };
    match profile.ranges.iter().find(holds) {
        Some(row) => format!(
            "{} {:#x} {} {}",
            row.owner, row.first, row.stride, row.object_bytes
        ),
        None => "fixed".to_owned(),
    }
}
