//! Repeated string instructions of recorded programs (`rep movs`), whose accesses no code announces.
//!
//! Compilers announce loads and stores before they choose instructions, so the runtime does not see
//! what inline assembly, or code built without `relayout cc`, does by a string instruction.

use std::collections::BTreeSet;
use std::path::Path;

use relayout_files::map_file;
use relayout_layout::dwarf::DwarfFile;
use relayout_profile::program::COMPILED_IN_COLLECTOR;
use relayout_profile::{ProfileMeta, UnseenStringCode};
use relayout_resolve::insn::x86::count_repeated_strings;
use relayout_resolve::readable_name;

/// Start of the names of the entry points that instrumented code calls.
const ENTRY_POINTS: &str = "__tsan_";

/// Finds such instructions in the recorded modules that have instrumented code, by module and
/// address. `None` unless the recorded code announces its accesses itself.
pub(super) fn find_unseen_strings(meta: &ProfileMeta) -> Option<Vec<UnseenStringCode>> {
    if !meta.collector.starts_with(COMPILED_IN_COLLECTOR) {
        return None;
    }
    let modules = meta.runs.iter().flat_map(|run| &run.modules);
    let paths: BTreeSet<&str> = modules.map(|module| &*module.path).collect();
    Some(paths.into_iter().flat_map(scan_module).collect())
}

/// Files that are gone, and names that are no files, such as `[vdso]`, have none.
fn scan_module(path: &str) -> Vec<UnseenStringCode> {
    let Ok(bytes) = map_file(Path::new(path)) else {
        return Vec::new();
    };
    let Ok(elf) = DwarfFile::symbols_only(&bytes) else {
        return Vec::new();
    };
    let is_instrumented = { elf.imports().iter() }.any(|i| i.name.starts_with(ENTRY_POINTS));
    if !is_instrumented {
        return Vec::new();
    }
    let functions = elf.symbols().iter().filter(|symbol| symbol.is_function());
    let mut scanned_to = 0;
    functions
        .filter_map(|symbol| {
            // A function may have several names.
            let end = symbol.address.saturating_add(symbol.size);
            if end <= scanned_to {
                return None;
            }
            scanned_to = end;
            let code = elf.bytes_at(symbol.address, usize::try_from(symbol.size).ok()?)?;
            let instructions = count_repeated_strings(code);
            (instructions > 0).then(|| UnseenStringCode {
                module: path.to_owned(),
                function: readable_name(symbol.name.into()),
                instructions,
            })
        })
        .collect()
}
