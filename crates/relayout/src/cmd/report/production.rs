//! `--production`: where variables are in the build that is used.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;
use relayout_contend::Findings;
use relayout_host::DebugFile;
use relayout_layout::dwarf::DwarfFile;
use relayout_report::ProductionBuild;

use crate::catalog;

/// Looks up the variables of `findings` in the program at `path`, by its debug information or, without
/// any, its symbols.
///
/// # Errors
/// It cannot be read, or has neither.
pub(super) fn read_production(path: &Path, findings: &Findings) -> anyhow::Result<ProductionBuild> {
    let cannot_read = || format!("cannot read the variables of {}", path.display());
    let map = relayout_host::map_file(path).with_context(cannot_read)?;
    let file = DebugFile::find_or_keep(path, map, catalog::debug_folders());
    let debug = file.dwarf_with_code().or_else(|_| file.symbols());
    let extents_by_name = read_variable_extents(&debug.with_context(cannot_read)?);
    let variables = findings.findings.iter();
    let variables = variables.filter_map(|finding| finding.subject.variable());
    let mut variables = variables.peekable();
    if extents_by_name.is_empty() {
        anyhow::bail!(
            "{} has no symbols; give the program before it was stripped",
            path.display()
        );
    }
    if variables.peek().is_some() && !variables.any(|name| extents_by_name.contains_key(name)) {
        eprintln!(
            "relayout: {} has none of the variables that were recorded: is it a build of the recorded program?",
            path.display()
        );
    }
    Ok(ProductionBuild::new(findings, |name| {
        extents_by_name.get(name).copied().flatten()
    }))
}

/// Addresses and sizes of variables in bytes, by name; `None` of names that several variables have: which
/// of them is meant is not known.
fn read_variable_extents(file: &DwarfFile<'_>) -> HashMap<String, Option<(u64, u64)>> {
    let symbols = file.symbols().iter().filter(|symbol| symbol.is_object());
    let sizes: HashMap<u64, u64> = symbols.clone().map(|s| (s.address, s.size)).collect();
    let declared = { file.globals().iter().chain(file.static_locals()) }
        .map(|global| (global.name, global.address));
    let mut found: HashMap<String, Option<(u64, u64)>> = HashMap::new();
    for (name, address) in declared.chain(symbols.map(|s| (s.name, s.address))) {
        let extent = (address, sizes.get(&address).copied().unwrap_or(1));
        let known = found.entry(name.to_owned()).or_insert(Some(extent));
        if *known != Some(extent) {
            *known = None;
        }
    }
    found
}
