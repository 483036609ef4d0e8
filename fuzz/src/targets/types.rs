use std::sync::OnceLock;

use relayout_layout::abi::{Abi, Shape};
use relayout_layout::btf::{Btf, BtfTypes};
use relayout_layout::dwarf::{DwarfFile, DwarfTypes, SectionStore};
use relayout_layout::pahole::{self, Options};
use relayout_layout::{TypeId, Types};
use relayout_search::order;

use crate::seeds;

/// Types looked at in one input.
const TYPES_MAX: usize = 200;

/// An ELF file with DWARF: its index, and all types, loaded, printed and laid out again.
pub fn dwarf(data: &[u8]) {
    let store = SectionStore::default();
    let Ok(file) = DwarfFile::parse_in(data, &store) else {
        return;
    };
    file.build_id();
    for symbol in file.symbols().iter().take(TYPES_MAX) {
        file.bytes_at(symbol.address, symbol.size.min(1 << 16) as usize);
    }
    let mut types = DwarfTypes::new(&file);
    let names: Vec<&str> = file
        .type_names()
        .map(|(name, _)| name)
        .take(TYPES_MAX)
        .collect();
    for name in names {
        for die in file.distinct_types(name) {
            if let Ok(id) = types.load(die) {
                use_type(types.types(), id);
            }
        }
    }
}

/// BTF: all types, printed and laid out again.
pub fn btf(data: &[u8]) {
    let Ok(btf) = Btf::parse(data) else { return };
    let mut types = BtfTypes::new(&btf);
    for (_, id, _) in btf.definitions().take(TYPES_MAX) {
        if let Ok(id) = types.load(id) {
            use_type(types.types(), id);
        }
    }
}

fn use_type(types: &Types, id: TypeId) {
    pahole::render(types, id, &Options::default());
    types.size_of(id);
    types.name_of(id);
    let Some(aggregate) = types.aggregate(id) else {
        return;
    };
    if let Ok(shape) = Abi::new(types).shape(aggregate) {
        shape.lay_out(&shape.current());
    }
}

/// A member order for a struct with everything in it.
pub fn layout_order(data: &[u8]) {
    let shape = shape();
    let Ok(arrangement) = order::parse(&String::from_utf8_lossy(data), shape) else {
        return;
    };
    let layout = shape.lay_out(&arrangement);
    assert!(
        layout.size >= shape.lay_out(&shape.current()).size / 4,
        "bytes were lost"
    );
}

/// The struct that [`layout_order`] orders.
pub fn shape() -> &'static Shape {
    static SHAPE: OnceLock<Shape> = OnceLock::new();
    SHAPE.get_or_init(|| shape_of("everything"))
}

fn shape_of(name: &str) -> Shape {
    let program = seeds::program();
    let store = SectionStore::default();
    let file = DwarfFile::parse_in(&program, &store).expect("the compiler's own file");
    let mut types = DwarfTypes::new(&file);
    let id = types
        .load(file.find_types(name)[0])
        .expect("the compiler's own type");
    let aggregate = types.types().aggregate(id).expect("a struct");
    Abi::new(types.types())
        .shape(aggregate)
        .expect("a plain struct")
}
