use std::sync::OnceLock;

use relayout_layout::abi::{AbiEngine, StructShape, TargetAbi, emit};
use relayout_layout::btf::{BtfFile, BtfTypeLoader};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::{
    CompanionFiles, DwarfFile, DwarfTypeLoader, SectionStore, SplitUnit, SupplementaryLink,
};
use relayout_layout::{ElfIdentity, TypeArena, TypeId, TypePattern};
use relayout_pahole_text::{self as pahole, Options};
use relayout_search::order;

use super::split;
use crate::seeds;

/// Longest text of an expanded type in bytes. With the product's limit, a few nested types would take
/// most of the time of fuzzing.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Types looked at in one input.
const TYPES_MAX: usize = 200;

/// An ELF file with DWARF: its index, and all types, loaded, printed and laid out again.
pub fn dwarf(data: &[u8]) {
    ElfIdentity::parse(data);
    let store = SectionStore::default();
    if let Ok(file) = DwarfFile::parse_with_store(data, &store) {
        use_file(&file, data);
    }
    find_by_name(data);
}

/// Looks for types as the commands do, also in functions, and by arguments of templates.
fn find_by_name(data: &[u8]) {
    let store = SectionStore::default();
    let Ok(catalog) = TypeCatalog::parse(data, &store, DebugInfoFormat::Any) else {
        return;
    };
    let names = catalog.type_names();
    let names = names.iter().take(TYPES_MAX).copied();
    for name in names.chain(["no::such", "none<int>", "*<*>"]) {
        let Ok(pattern) = TypePattern::parse(name) else {
            continue;
        };
        for entry in catalog.find_matching(&pattern).iter().take(TYPES_MAX) {
            catalog.scope_of(entry);
        }
    }
    for found in catalog.unsupported_languages() {
        found.language.to_string();
    }
}

/// A file with DWARF, and what `dwz` moved out of it, a package and a `.dwo` file.
pub fn companions(data: &[u8]) {
    let files: [Vec<u8>; 4] = split(data);
    let others = FuzzedCompanions {
        supplementary: &files[1],
        package: &files[2],
        split: &files[3],
    };
    let store = SectionStore::default();
    if let Ok(file) = DwarfFile::parse_with_companions(&files[0], &store, &others) {
        for missing in file.missing_companions() {
            missing.to_string();
        }
        use_file(&file, &files[0]);
    }
}

struct FuzzedCompanions<'d> {
    supplementary: &'d [u8],
    package: &'d [u8],
    split: &'d [u8],
}

impl CompanionFiles for FuzzedCompanions<'_> {
    fn supplementary(&self, _: &SupplementaryLink) -> Option<&[u8]> {
        Some(self.supplementary)
    }

    fn package(&self) -> Option<&[u8]> {
        Some(self.package).filter(|bytes| !bytes.is_empty())
    }

    fn split_units(&self, wanted: &[SplitUnit]) -> Vec<Option<&[u8]>> {
        vec![Some(self.split); wanted.len()]
    }
}

pub(super) fn use_file(file: &DwarfFile<'_>, data: &[u8]) {
    file.build_id();
    for symbol in file.symbols().iter().take(TYPES_MAX) {
        file.bytes_at(symbol.address, symbol.size.min(1 << 16) as usize);
    }
    file.functions();
    let mut types = DwarfTypeLoader::new(file);
    let variables = file.globals().iter().chain(file.static_locals());
    for global in variables.take(TYPES_MAX) {
        if let Ok(id) = types.load(global.type_die) {
            let _ = types.complete(id);
        }
    }
    let names: Vec<&str> = file
        .type_names()
        .map(|(name, _)| name)
        .take(TYPES_MAX)
        .collect();
    for name in names {
        for die in file.distinct_types(name).into_iter().take(TYPES_MAX) {
            if let Ok(id) = types.load(die) {
                use_type(types.types(), id, data, true);
            }
        }
    }
}

/// BTF: all types, printed and laid out again.
pub fn btf(data: &[u8]) {
    if let Ok(btf) = BtfFile::parse(data) {
        use_btf(&btf, data);
    }
}

/// The BTF of a kernel, and that of a module.
pub fn btf_split(data: &[u8]) {
    let [base, own, distilled] = split(data);
    let parsed = match distilled.is_empty() {
        true => BtfFile::parse_split(&own, &base),
        false => BtfFile::parse_distilled(&own, &distilled, &base),
    };
    if let Ok(btf) = parsed {
        use_btf(&btf, &own);
    }
}

fn use_btf(btf: &BtfFile<'_>, data: &[u8]) {
    let mut types = BtfTypeLoader::new(btf);
    for (name, id, _) in btf.definitions().take(TYPES_MAX) {
        btf.find_types(name);
        if let Ok(id) = types.load(id) {
            use_type(types.types(), id, data, false);
        }
    }
}

/// Asks everything that can be asked of a type, as the commands do.
pub(super) fn use_type(types: &TypeArena, id: TypeId, data: &[u8], alignments_known: bool) {
    for (expand, hex) in [(false, false), (true, true)] {
        let options = Options {
            expand,
            hex,
            alignments_known,
            text_bytes_max: TEXT_BYTES_MAX,
            ..Options::default()
        };
        pahole::render(types, id, &options);
    }
    types.gaps(id);
    types.name_of(id);
    types.align_of(id);
    let size = types.size_of(id).unwrap_or(0);
    for offset in [0, 1, size / 2, size.saturating_sub(1), size, u64::MAX] {
        types.member_at(id, offset, 8);
    }
    let Some(aggregate) = types.aggregate(id) else {
        return;
    };
    let target = TargetAbi::from_elf(data).unwrap_or(TargetAbi::X86_64);
    let abi = AbiEngine::for_target(types, target).alignments_recorded(alignments_known);
    abi.align_of(id);
    let Ok(shape) = abi.shape(aggregate) else {
        return;
    };
    shape.attributes();
    let current = shape.current_arrangement();
    shape.lay_out(&current);
    for language in [emit::EmitLanguage::C, emit::EmitLanguage::Cxx] {
        let mut emitter = emit::StructEmitter::new(&abi, language, "s");
        let _ = emitter.define_struct("s", aggregate, &shape, &current);
    }
}

/// A member order for a struct with everything in it.
pub fn layout_order(data: &[u8]) {
    let shape = shape();
    let Ok(order) = order::parse(&String::from_utf8_lossy(data), shape) else {
        return;
    };
    let layout = shape.lay_out(&order.arrangement);
    assert!(
        layout.size >= shape.lay_out(&shape.current_arrangement()).size / 4,
        "bytes were lost"
    );
}

/// The struct that [`layout_order`] orders.
pub fn shape() -> &'static StructShape {
    static SHAPE: OnceLock<StructShape> = OnceLock::new();
    SHAPE.get_or_init(|| shape_of("everything"))
}

fn shape_of(name: &str) -> StructShape {
    let program = seeds::program();
    let store = SectionStore::default();
    let file = DwarfFile::parse_with_store(&program, &store).expect("the compiler's own file");
    let mut types = DwarfTypeLoader::new(&file);
    let id = types
        .load(file.find_types(name)[0])
        .expect("the compiler's own type");
    let aggregate = types.types().aggregate(id).expect("a struct");
    AbiEngine::new(types.types())
        .shape(aggregate)
        .expect("a plain struct")
}
