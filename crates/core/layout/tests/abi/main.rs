//! Comparison of the C ABI engine with compilers, for structs in other orders.
//!
//! GCC for x86-64, ARM and s390x is needed, and Clang.

/// Test for each machine that GCC compiles for, of a function that takes the command and the
/// machine.
macro_rules! on_every_gcc {
    ($check:path) => {
        #[test]
        fn gcc_x86_64() {
            $check("gcc", TargetAbi::X86_64);
        }

        #[test]
        fn gcc_i386() {
            $check("gcc -m32", TargetAbi::I386);
        }

        #[test]
        fn gcc_arm() {
            $check("arm-linux-gnueabihf-gcc", TargetAbi::ARM);
        }

        #[test]
        fn gcc_s390x() {
            $check("s390x-linux-gnu-gcc", TargetAbi::S390X);
        }
    };
}

mod classes;
#[path = "../common/compiled.rs"]
mod compiled;
mod generate;
mod headers;
mod random;
mod reordered;
mod unnamed;
mod vmlinux;

use std::path::Path;

use compiled::{
    ArrangementCase, ComparisonCounts, TestCompiler, aligned_arrangement, compare,
    reproduces_own_layout, shuffled_arrangement, structs,
};
use relayout_layout::abi::emit::EmitLanguage;
use relayout_layout::abi::{AbiEngine, AbiError, StructShape, TargetAbi};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_statistics::random::SplitMix64;

/// Compiler of a command line such as `gcc -m32`. Fails the test where it is not installed.
#[track_caller]
fn compiler(command: &str, target: TargetAbi) -> TestCompiler {
    let language = match command.contains("++") {
        true => EmitLanguage::Cxx,
        false => EmitLanguage::C,
    };
    let compiler = TestCompiler::new(command, language, target);
    compiler.require();
    compiler
}

/// Result for one object file.
#[derive(Debug, Default)]
struct ObjectOutcome {
    /// Comparison in the own order, in a random order, and in a random order with random
    /// alignments.
    compared: ComparisonCounts,
    /// Errors of refused types.
    refused: Vec<AbiError>,
}

/// Splits every struct of an object file into atoms, and compares its own order and two others.
fn compare_object(object: &[u8], compiler: &TestCompiler, folder: &Path) -> ObjectOutcome {
    let store = SectionStore::default();
    let catalog =
        TypeCatalog::parse(object, &store, DebugInfoFormat::Any).expect("the object has types");
    let loaded = catalog.load(&catalog.aggregates()).expect("types load");
    assert_eq!(TargetAbi::from_elf(object), Some(compiler.target));
    let abi = AbiEngine::for_target(&loaded.types, compiler.target).alignments_recorded(true);
    let mut outcome = ObjectOutcome::default();
    let mut random = SplitMix64::new(1);
    let mut shapes = Vec::new();
    for (_, aggregate) in structs(&loaded.types) {
        match abi.shape(aggregate) {
            Ok(shape) => {
                assert!(
                    reproduces_own_layout(&shape, aggregate),
                    "own order: {aggregate:?}\n{shape:?}"
                );
                shapes.push((aggregate, shape));
            }
            Err(e) => outcome.refused.push(e),
        }
    }
    let arrange: [&mut dyn FnMut(&StructShape, &mut SplitMix64) -> _; 3] = [
        &mut |shape, _| shape.current_arrangement(),
        &mut |shape, random| shuffled_arrangement(random, shape),
        &mut |shape, random| aligned_arrangement(random, shape),
    ];
    for arrange in arrange {
        let cases: Vec<ArrangementCase<'_>> = shapes
            .iter()
            .map(|(aggregate, shape)| ArrangementCase {
                name: format!("{:?} {:?}", aggregate.name, shape.attributes()),
                aggregate,
                shape,
                arrangement: arrange(shape, &mut random),
            })
            .collect();
        outcome
            .compared
            .add(compare(&abi, &cases, compiler, folder));
    }
    outcome
}
