//! Comparison of the C ABI engine with the debug information of a real kernel and with GCC.
//!
//! Every struct in its own order has the compiled offsets and size; in other orders it has those by
//! GCC. `RELAYOUT_VMLINUX` may name the file; else it is the kernel in the cache.

use relayout_layout::abi::{AbiEngine, LayoutAttribute, StructShape, TargetAbi};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_layout::{Aggregate, AggregateKind};
use relayout_statistics::random::SplitMix64;

use super::compiled::{ArrangementCase, aligned_arrangement, compare};
use super::{compiler, reproduces_own_layout};

#[test]
fn structs_of_a_kernel() {
    let path = relayout_testkit::vmlinux();
    let file = std::fs::File::open(path).expect("the vmlinux can be opened");
    // SAFETY: nobody writes to a kernel's debug file while the test runs.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.expect("the file can be mapped");
    let store = SectionStore::default();
    let catalog =
        TypeCatalog::parse(&bytes, &store, DebugInfoFormat::Any).expect("the file has types");
    let loaded = catalog.load(&catalog.aggregates()).expect("types load");
    let abi = AbiEngine::for_target(&loaded.types, TargetAbi::X86_64)
        .alignments_recorded(catalog.knows_alignments());
    let mut shapes: Vec<(&Aggregate, StructShape)> = Vec::new();
    for id in &loaded.ids {
        let Some(aggregate) = loaded.types.aggregate(*id) else {
            continue;
        };
        if aggregate.kind == AggregateKind::Struct {
            let shape = abi.shape(aggregate);
            let shape = shape.unwrap_or_else(|e| panic!("{e}"));
            assert!(
                reproduces_own_layout(&shape, aggregate),
                "{aggregate:?}\n{shape:?}"
            );
            shapes.push((aggregate, shape));
        }
    }
    assert!(shapes.len() > 1000);
    // The kernel's source has `unsigned :0` there.
    let task = shapes.iter().find(|(_, shape)| shape.name == "task_struct");
    let before = Some("sched_remote_wakeup".to_owned());
    let expected = LayoutAttribute::ZeroWidth { before };
    assert!(task.is_some_and(|(_, shape)| shape.attributes().contains(&expected)));
    check_other_orders(&abi, &shapes);
}

fn check_other_orders(abi: &AbiEngine<'_>, shapes: &[(&Aggregate, StructShape)]) {
    let compiler = compiler("gcc", TargetAbi::X86_64);
    let mut random = SplitMix64::new(1);
    let cases: Vec<ArrangementCase<'_>> = shapes
        .iter()
        .map(|(aggregate, shape)| ArrangementCase {
            name: shape.name.clone(),
            aggregate,
            shape,
            arrangement: aligned_arrangement(&mut random, shape),
        })
        .collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let compared = compare(abi, &cases, &compiler, folder.path());
    assert_eq!((compared.refused, compared.wrong), (vec![], vec![]));
    assert!(compared.structs > 1000);
}
