//! One call that walks through everything this crate does with a file, for fuzzing.

use crate::abi::Abi;
use crate::abi::emit::{Emitter, Language};
use crate::btf::{Btf, BtfId, BtfTypes};
use crate::dwarf::{DwarfFile, DwarfTypes, SectionStore};
use crate::pahole::{self, Options};
use crate::{TypeId, Types};

/// Types looked at in one file.
const TYPES_MAX: usize = 512;

/// Reads the bytes as DWARF and as BTF, and asks every question about the types found. Whatever
/// the bytes are, it returns: fuzz targets and damage tests call it.
pub fn check_bytes(bytes: &[u8]) {
    let store = SectionStore::default();
    if let Ok(file) = DwarfFile::parse_in(bytes, &store) {
        check_dwarf(&file);
    }
    if let Ok(btf) = Btf::parse(bytes) {
        check_btf(&btf);
    }
}

fn check_btf(btf: &Btf<'_>) {
    let mut types = BtfTypes::new(btf);
    btf.definitions().count();
    for id in 0..TYPES_MAX as u32 {
        let Ok(id) = types.load(BtfId(id)) else {
            continue;
        };
        if let Ok(id) = types.complete(id) {
            check_type(types.types(), id);
        }
    }
}

fn check_dwarf(file: &DwarfFile<'_>) {
    let mut types = DwarfTypes::new(file);
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
            check_type(types.types(), id);
        }
    }
}

fn check_type(types: &Types, id: TypeId) {
    let size = types.size_of(id).unwrap_or(0);
    types.align_of(id);
    types.name_of(id);
    let abi = Abi::new(types);
    abi.size_of(id);
    abi.align_of(id);
    for offset in [0, 1, size / 2, size.saturating_sub(1), size, u64::MAX] {
        types.member_at(id, offset, 8);
    }
    check_abi(&abi, types, id);
    pahole::render(types, id, &Options::default());
    pahole::gaps(types, id);
}

/// What can be taken apart goes together again, in its own order and in another.
fn check_abi(abi: &Abi<'_>, types: &Types, id: TypeId) {
    let Some(aggregate) = types.aggregate(id) else {
        return;
    };
    let Ok(shape) = abi.shape(aggregate) else {
        return;
    };
    let mut arrangement = shape.current();
    let layout = shape.lay_out(&arrangement);
    assert_eq!(layout.size, aggregate.size, "{:?}", aggregate.name);
    shape.apply(aggregate, &arrangement, &layout);
    arrangement.order.reverse();
    shape.lay_out(&arrangement);
    let mut emitter = Emitter::new(abi, Language::C, "x");
    emitter.define("s", aggregate, &shape, &arrangement).ok();
}
