use relayout_diff::{DiffSide, TypeDiffDetail, compare_sides};
use relayout_layout::ElfIdentity;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_layout::links::DebugLinks;
use relayout_pahole_text as pahole;

use super::check::judge_all;
use super::split;
use super::types::use_type;

/// Names looked for, and types compared, in one input.
const TYPES_USED_MAX: usize = 50;
/// Files up to this length are checked against rules.
const JUDGED_BYTES_MAX: usize = 16 << 10;

/// Any file, as `show` reads it: all types, and some by their names.
pub fn catalog(data: &[u8]) {
    let _ = DebugLinks::read(data);
    for format in [DebugInfoFormat::Any, DebugInfoFormat::Btf] {
        let store = SectionStore::default();
        let Ok(catalog) = TypeCatalog::parse(data, &store, format) else {
            continue;
        };
        use_catalog(&catalog, data);
    }
}

fn use_catalog(catalog: &TypeCatalog<'_>, data: &[u8]) {
    let known = catalog.knows_alignments();
    let options = pahole::Options {
        alignments_known: known,
        ..pahole::Options::default()
    };
    let aggregates = catalog.aggregates();
    // All but a few are only printed.
    let _ = catalog.map_loaded(&aggregates, |types, id, _| {
        pahole::render(types, id, &options).map(|text| text.len())
    });
    let few = &aggregates[..aggregates.len().min(TYPES_USED_MAX)];
    let _ = catalog.map_loaded(few, |types, id, _| use_type(types, id, data, known));
    // A rule for all members compares each with each.
    if data.len() <= JUDGED_BYTES_MAX {
        judge_all(catalog, data);
    }
    for name in catalog.type_names().into_iter().take(TYPES_USED_MAX) {
        let found = catalog.find_definitions(name);
        let _ = catalog.load(&found[..found.len().min(TYPES_USED_MAX)]);
    }
}

/// Two files, as `diff` compares them.
pub fn diff(data: &[u8]) {
    let files: [Vec<u8>; 2] = split(data);
    let stores = [SectionStore::default(), SectionStore::default()];
    let parse = |at: usize| {
        ElfIdentity::parse(&files[at]);
        TypeCatalog::parse(&files[at], &stores[at], DebugInfoFormat::Any)
    };
    let (Ok(old), Ok(new)) = (parse(0), parse(1)) else {
        return;
    };
    for loads_all in [true, false] {
        let (mut before, mut after) = (DiffSide::new(&old), DiffSide::new(&new));
        for side in [&mut before, &mut after] {
            if loads_all {
                let _ = side.load_all();
            } else if let Some(name) = side.catalog().type_names().first() {
                let _ = side.load_name(name, |_| true);
            }
        }
        let Ok((diff, _)) = compare_sides(before, after) else {
            continue;
        };
        for (index, type_change) in diff.types.iter().enumerate().take(TYPES_USED_MAX) {
            diff.affected_holders(index);
            diff.origins(index);
            let Some((old, new)) = diff.both_layouts(type_change) else {
                continue;
            };
            let detail = TypeDiffDetail::compare(old, new, 64);
            for moved in &detail.members {
                detail.pushes_of(moved);
            }
        }
    }
}
