//! Call of everything that this crate does with a file.

use relayout_layout::abi::AbiEngine;
use relayout_layout::abi::emit::{EmitLanguage, StructEmitter};
use relayout_layout::btf::{BtfFile, BtfId, BtfTypeLoader};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::{DwarfFile, DwarfTypeLoader, SectionStore};
use relayout_layout::{TypeArena, TypeId, TypePattern};

/// Most types that are visited in one file.
const TYPES_MAX: usize = 512;

/// Reads the bytes as DWARF and as BTF, and calls every function on the types. Returns for any
/// bytes.
pub fn exercise_readers(bytes: &[u8]) {
    let store = SectionStore::default();
    if let Ok(file) = DwarfFile::parse_with_store(bytes, &store) {
        exercise_dwarf(&file);
    }
    if let Ok(btf) = BtfFile::parse(bytes) {
        exercise_btf(&btf);
    }
    exercise_names(bytes);
}

/// Looks for types by name, also in functions.
fn exercise_names(bytes: &[u8]) {
    let store = SectionStore::default();
    let Ok(catalog) = TypeCatalog::parse(bytes, &store, DebugInfoFormat::Any) else {
        return;
    };
    let names = catalog.type_names();
    let names = names.iter().take(TYPES_MAX).copied();
    for name in names.chain(["no::such", "none<int>", "Pool<Red>", "*<*>"]) {
        let Ok(pattern) = TypePattern::parse(name) else {
            continue;
        };
        for entry in catalog.find_matching(&pattern).iter().take(TYPES_MAX) {
            catalog.scope_of(entry);
        }
    }
}

fn exercise_btf(btf: &BtfFile<'_>) {
    let mut types = BtfTypeLoader::new(btf);
    btf.definitions().count();
    for id in 0..TYPES_MAX as u32 {
        let Ok(id) = types.load(BtfId(id)) else {
            continue;
        };
        if let Ok(id) = types.complete(id) {
            exercise_type(types.types(), id);
        }
    }
}

fn exercise_dwarf(file: &DwarfFile<'_>) {
    let mut types = DwarfTypeLoader::new(file);
    let definitions = file.type_names().flat_map(|(_, definitions)| definitions);
    let dies = definitions.map(|definition| definition.die);
    let variables = file
        .globals()
        .iter()
        .chain(file.static_locals())
        .map(|global| global.type_die);
    for die in dies.chain(variables).take(TYPES_MAX) {
        let Ok(id) = types.load(die) else { continue };
        if let Ok(id) = types.complete(id) {
            exercise_type(types.types(), id);
        }
    }
}

fn exercise_type(types: &TypeArena, id: TypeId) {
    let size = types.size_of(id).unwrap_or(0);
    types.align_of(id);
    types.name_of(id);
    let abi = AbiEngine::new(types);
    abi.size_of(id);
    abi.align_of(id);
    for offset in [0, 1, size / 2, size.saturating_sub(1), size, u64::MAX] {
        types.member_at(id, offset, 8);
    }
    exercise_abi(&abi, types, id);
    types.gaps(id);
}

/// Splits a struct into atoms, and lays it out in its own order and in another.
fn exercise_abi(abi: &AbiEngine<'_>, types: &TypeArena, id: TypeId) {
    let Some(aggregate) = types.aggregate(id) else {
        return;
    };
    let Ok(shape) = abi.shape(aggregate) else {
        return;
    };
    let mut arrangement = shape.current_arrangement();
    let layout = shape.lay_out(&arrangement);
    assert_eq!(layout.size, aggregate.size, "{:?}", aggregate.name);
    shape.apply_arrangement(aggregate, &arrangement, &layout);
    arrangement.order.reverse();
    shape.lay_out(&arrangement);
    let mut emitter = StructEmitter::new(abi, EmitLanguage::C, "x");
    emitter
        .define_struct("s", aggregate, &shape, &arrangement)
        .ok();
}
