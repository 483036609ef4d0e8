//! Random structs whose debug information tells everything. The engine predicts from one order the
//! layout that the compiler makes of the same source in another order. Attributes are those of the
//! source, not inferred ones.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use relayout_layout::abi::{AbiEngine, AtomArrangement, LayoutAttribute, StructShape, TargetAbi};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_layout::{Aggregate, TypeId};
use relayout_statistics::random::SplitMix64;

use super::generate::{Field, PREAMBLE, Struct, any_struct};
use super::{TestCompiler, compiler, shuffled_arrangement};

/// Layout of a reordered struct by the engine.
struct PredictedStruct {
    index: usize,
    text: String,
    aggregate: Aggregate,
}

fn declare(index: usize, text: &str) -> String {
    format!("{text}struct x{index} v{index};\n")
}

/// Calls `look` with the structs `x0`, `x1` and so on of an object file.
fn with_structs(object: &[u8], mut look: impl FnMut(&AbiEngine<'_>, usize, &Aggregate)) {
    let store = SectionStore::default();
    let catalog =
        TypeCatalog::parse(object, &store, DebugInfoFormat::Any).expect("the object has types");
    let loaded = catalog.load(&catalog.aggregates()).expect("types load");
    let target = TargetAbi::from_elf(object).expect("an ELF file");
    let abi = AbiEngine::for_target(&loaded.types, target).alignments_recorded(true);
    for aggregate in loaded
        .ids
        .iter()
        .filter_map(|id: &TypeId| loaded.types.aggregate(*id))
    {
        let name = aggregate.name.as_deref().unwrap_or_default();
        if let Some(index) = name.strip_prefix('x').and_then(|index| index.parse().ok()) {
            look(&abi, index, aggregate);
        }
    }
}

/// Fields in the order of the atoms. Runs of bitfields stay together.
fn fields_in_order(definition: &Struct, arrangement: &AtomArrangement) -> Vec<usize> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, field) in definition.fields.iter().enumerate() {
        let is_bits = |index: usize| matches!(definition.fields[index], Field::Bits { .. });
        match groups.last_mut() {
            Some(group) if matches!(field, Field::Bits { .. }) && is_bits(group[0]) => {
                group.push(index);
            }
            _ => groups.push(vec![index]),
        }
    }
    // An array at the end is an atom but no field, and stays at the end.
    let order = arrangement.order.iter();
    order
        .filter_map(|atom| groups.get(*atom))
        .flatten()
        .copied()
        .collect()
}

fn predict(
    definition: &Struct,
    index: usize,
    shape: &StructShape,
    aggregate: &Aggregate,
) -> Option<PredictedStruct> {
    let packed = shape.attributes().contains(&LayoutAttribute::Packed);
    if definition.attributes.packed != packed {
        // `packed` changed nothing: all members have their natural offsets.
        return None;
    }
    let arrangement = shuffled_arrangement(&mut SplitMix64::new(index as u64), shape);
    let order = fields_in_order(definition, &arrangement);
    Some(PredictedStruct {
        index,
        text: definition.declare_in(&format!("x{index}"), order),
        aggregate: shape.apply_arrangement(aggregate, &arrangement, &shape.lay_out(&arrangement)),
    })
}

/// Size of the struct, and names and first bits of its members.
fn places(aggregate: &Aggregate) -> (u64, Vec<(Option<&str>, u64)>) {
    let members = aggregate.members.iter().map(|member| {
        let first = member
            .bits
            .map_or(member.offset * 8, |bits| bits.offset_bits);
        (member.name.as_deref(), first)
    });
    (aggregate.size, members.collect())
}

fn check(structs: &[Struct], compiler: &TestCompiler) -> Result<usize, TestCaseError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = |index: usize, definition: &Struct| {
        declare(index, &definition.declare(&format!("x{index}")))
    };
    let numbered = structs.iter().enumerate();
    let source: String = numbered
        .map(|(index, definition)| text(index, definition))
        .collect();
    let object = compiler.compile(&(PREAMBLE.to_owned() + &source), true, folder.path());
    let mut predicted = Vec::new();
    with_structs(&object, |abi, index, aggregate| {
        let shape = abi.shape(aggregate).unwrap_or_else(|e| panic!("{e}"));
        predicted.extend(predict(&structs[index], index, &shape, aggregate));
    });
    let again = predicted
        .iter()
        .map(|prediction| declare(prediction.index, &prediction.text));
    let source = PREAMBLE.to_owned() + &again.collect::<String>();
    let object = compiler.compile(&source, true, folder.path());
    let mut wrong = Vec::new();
    with_structs(&object, |_, index, compiled| {
        let prediction = predicted.iter().find(|candidate| candidate.index == index);
        let prediction = prediction.expect("what was predicted was compiled");
        let (engine, compiler) = (places(&prediction.aggregate), places(compiled));
        if engine != compiler {
            wrong.push(format!(
                "{}engine {engine:?}\ncompiler {compiler:?}",
                prediction.text
            ));
        }
    });
    prop_assert!(wrong.is_empty(), "{}", wrong[0]);
    Ok(predicted.len())
}

fn check_if_installed(command: &str, target: TargetAbi) {
    let compiler = compiler(command, target);
    let aligned = target != TargetAbi::ARM;
    let to_see = any_struct(true).prop_filter("all is seen", |definition| {
        let fields = definition
            .fields
            .iter()
            .all(|field| field.is_plain_to_see(aligned));
        fields && (aligned || definition.attributes.aligned.is_none())
    });
    let config = Config {
        cases: 1,
        ..Config::default()
    };
    let rng = super::random::rng();
    let mut runner = TestRunner::new_with_rng(config, rng);
    let mut structs = Vec::new();
    for _ in 0..400 {
        let tree = to_see.new_tree(&mut runner).expect("most are to be seen");
        structs.push(proptest::strategy::ValueTree::current(&tree));
    }
    match check(&structs, &compiler) {
        Ok(count) => assert!(count > 200, "only {count} were compared"),
        Err(e) => panic!("{e}"),
    }
}

on_every_gcc!(check_if_installed);
