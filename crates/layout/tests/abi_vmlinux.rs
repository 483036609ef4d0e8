//! Every struct of a real kernel, laid out from its own members in their own order, has the
//! offsets and the size that its debug information gives.
//!
//! `RELAYOUT_VMLINUX` names the file; without it there is nothing to test.

use std::collections::BTreeMap;

use relayout_layout::abi::{Abi, Shape};
use relayout_layout::dwarf::{DieOffset, DwarfFile, DwarfTypes};
use relayout_layout::{Aggregate, AggregateKind, Type, TypeId};

#[derive(Debug, Default)]
struct Counts {
    structs: usize,
    members: usize,
    packed: usize,
    unexplained: Vec<String>,
    wrong: Vec<String>,
    errors: BTreeMap<String, usize>,
}

#[test]
fn own_order_gives_own_offsets() {
    let Some(path) = std::env::var_os("RELAYOUT_VMLINUX") else {
        eprintln!("RELAYOUT_VMLINUX is not set: nothing tested");
        return;
    };
    let file = std::fs::File::open(&path).expect("RELAYOUT_VMLINUX names a readable file");
    // SAFETY: nobody writes to a kernel's debug file while the test runs.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.expect("the file can be mapped");
    let dwarf = DwarfFile::parse(&bytes).expect("the file has debug information");
    let mut types = DwarfTypes::new(&dwarf);
    let first_dies: Vec<DieOffset> = dwarf
        .type_names()
        .filter_map(|(_, mut definitions)| Some(definitions.next()?.die))
        .collect();
    let loaded = first_dies
        .into_iter()
        .filter(|die| types.load(*die).is_ok());
    assert!(loaded.count() > 0);
    let abi = Abi::new(types.types());
    let mut counts = Counts::default();
    for index in 0..types.types().len() {
        let id = TypeId(u32::try_from(index).expect("arenas are indexed by u32"));
        if let Type::Aggregate(aggregate) = types.types().get(id)
            && aggregate.complete
            && aggregate.kind == AggregateKind::Struct
        {
            check(&abi, aggregate, &mut counts);
        }
    }
    println!("{counts:#?}");
    assert!(counts.structs > 1000);
    assert!(counts.wrong.is_empty() && counts.errors.is_empty());
}

fn check(abi: &Abi<'_>, aggregate: &Aggregate, counts: &mut Counts) {
    let unnamed = || format!("{:?}", aggregate.decl);
    let name = aggregate.name.clone().unwrap_or_else(unnamed);
    counts.structs += 1;
    counts.members += aggregate.members.len();
    match abi.shape(aggregate) {
        Ok(shape) => {
            counts.packed += usize::from(shape.packed);
            if shape.unexplained {
                counts.unexplained.push(name.clone());
            }
            if !same(&shape, aggregate) {
                counts.wrong.push(name);
            }
        }
        Err(e) => *counts.errors.entry(format!("{name}: {e}")).or_default() += 1,
    }
}

fn same(shape: &Shape, aggregate: &Aggregate) -> bool {
    let current = shape.current();
    let again = shape.apply(aggregate, &current, &shape.lay_out(&current));
    let mut pairs = again.members.iter().zip(&aggregate.members);
    again.size == aggregate.size
        && pairs.all(|(new, old)| match (new.bits, old.bits) {
            (Some(new), Some(old)) => new == old,
            _ => new.offset == old.offset,
        })
}
