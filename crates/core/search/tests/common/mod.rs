//! Structs and traces made up.

// Not every test uses all of it.
#![allow(dead_code)]

pub mod made;
pub mod recorded;

use std::ops::Range;

use relayout_contend::{ObjectTrace, TraceAccess};
use relayout_layout::abi::StructShape;
use relayout_layout::{Aggregate, Member, SourceLine, Type, TypeArena, TypeId};
use relayout_profile::{AccessKind, Addr, ContextId, RunId, SiteId};
use relayout_search::{AdviceSubject, ObjectHome, RecordedInstance};

/// Builds a struct from `(name, bytes, offset)`; eight bytes is a pointer, and so on.
pub fn structure(name: &str, size: u64, members: &[(&str, u64, u64)]) -> (TypeArena, Aggregate) {
    let mut types = TypeArena::default();
    let scalar = |types: &mut TypeArena, size: u64| {
        types.add(Type::Base {
            name: format!("u{}", size * 8),
            size,
        })
    };
    let mut list = Vec::new();
    for &(member, bytes, offset) in members {
        let ty: TypeId = match bytes {
            1 | 2 | 4 | 8 => scalar(&mut types, bytes),
            _ => {
                let element = scalar(
                    &mut types,
                    if bytes % 8 == 0 && offset % 8 == 0 {
                        8
                    } else {
                        4
                    },
                );
                let unit = if bytes % 8 == 0 && offset % 8 == 0 {
                    8
                } else {
                    4
                };
                let count = if bytes == 0 { None } else { Some(bytes / unit) };
                types.add(Type::Array {
                    element,
                    counts: vec![count],
                })
            }
        };
        list.push(Member {
            name: Some(member.to_owned()),
            is_base: false,
            ty,
            offset,
            bits: None,
            declared_align: None,
            decl: None,
        });
    }
    let aggregate = Aggregate {
        name: Some(name.to_owned()),
        size,
        members: list,
        decl: Some(SourceLine {
            file: "mm/percpu-internal.h".to_owned(),
            line: 1,
        }),
        complete: true,
        ..Aggregate::default()
    };
    (types, aggregate)
}

/// `struct pcpu_chunk` of Linux 6.1.
pub fn pcpu_chunk() -> (TypeArena, Aggregate) {
    let members = [
        ("list", 16, 0),
        ("free_bytes", 4, 16),
        ("chunk_md", 32, 20),
        ("base_addr", 8, 56),
        ("alloc_map", 8, 64),
        ("bound_map", 8, 72),
        ("md_blocks", 8, 80),
        ("data", 8, 88),
        ("immutable", 1, 96),
        ("isolated", 1, 97),
        ("start_offset", 4, 100),
        ("end_offset", 4, 104),
        ("obj_cgroups", 8, 112),
        ("nr_pages", 4, 120),
        ("nr_populated", 4, 124),
        ("nr_empty_pop_pages", 4, 128),
        ("populated", 0, 136),
    ];
    structure("pcpu_chunk", 136, &members)
}

/// Its order as accepted upstream.
pub const PCPU_CHUNK_ACCEPTED: &str = "list\nfree_bytes\nchunk_md\nbound_map\nbase_addr @64\nalloc_map\nmd_blocks\n\
    data\nimmutable\nisolated\nstart_offset\nend_offset\nobj_cgroups\nnr_pages\nnr_populated\n\
    nr_empty_pop_pages\npopulated\n";

/// One access.
pub fn access(context: u16, offset: u32, size: u8, access: AccessKind) -> TraceAccess {
    TraceAccess {
        context: ContextId(context),
        offset,
        size,
        access,
        silent: None,
        site: SiteId(0),
    }
}

/// One recorded object.
pub fn instance(
    base: u64,
    home: ObjectHome,
    covered: Range<u32>,
    accesses: Vec<TraceAccess>,
) -> RecordedInstance {
    let trace = ObjectTrace {
        base: Addr(base),
        accesses,
        operations: 100,
        covered: vec![covered],
    };
    RecordedInstance {
        run: RunId(0),
        recording: RunId(0),
        trace,
        home,
        row: Vec::new(),
    }
}

/// Subject of the type with these instances.
pub fn subject<'a>(
    aggregate: &'a Aggregate,
    shape: &'a StructShape,
    instances: &'a [RecordedInstance],
    tail_element_bytes: u64,
) -> AdviceSubject<'a> {
    let objects = instances.len() as u64;
    AdviceSubject {
        aggregate,
        shape,
        instances,
        tail_element_bytes,
        objects,
        line_bytes: 64,
        builds: &[],
    }
}
