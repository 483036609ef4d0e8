//! Identity of kept evidence: the files, the machine, and the version of this library.

use std::fmt::Write as _;

use gimli::Section as _;
use relayout_layout::dwarf::DwarfFile;

use crate::images::DebugImages;

/// Hash of the sources of this library and of the reader of debug information, made by `build.rs`.
const RULES: &str = env!("RELAYOUT_RESOLVE_RULES");

/// Returns the identity of all files, one line each; `None` if a file has no build id.
pub(super) fn files_identity(images: &DebugImages<'_, '_>, machine: &str) -> Option<String> {
    let mut words = format!(
        "relayout-resolve {} {RULES} {machine}\n",
        env!("CARGO_PKG_VERSION")
    );
    for file in images.files() {
        write_file_identity(file, &mut words)?;
    }
    Some(words)
}

/// Writes the line of one file. The build id names the code. The amount of debug information tells
/// whether it has changed: it may have been stripped, compressed by `dwz` or split off, and parts
/// may be missing.
fn write_file_identity(file: &DwarfFile<'_>, words: &mut String) -> Option<()> {
    let build_id = file.build_id_text().filter(|id| !id.is_empty())?;
    let dwarf = file.dwarf();
    write!(
        words,
        "{build_id} units {} info {} abbreviations {} symbols {} missing {}",
        file.unit_count(),
        dwarf.debug_info.reader().len(),
        dwarf.debug_abbrev.reader().len(),
        file.symbols().len(),
        file.missing_companions().len(),
    )
    .ok()?;
    for missing in file.missing_companions() {
        write!(words, " {missing:?}").ok()?;
    }
    words.push('\n');
    Some(())
}
