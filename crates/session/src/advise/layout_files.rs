//! Layout files, and the layout on standard input.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use relayout_advice::{LayoutFile, is_standard_input};
use relayout_contend::strip_type_tag;
use relayout_files::cannot;
use relayout_messages::UserError;

/// Reads files with layouts of the struct `type_name`; `-` is standard input.
///
/// # Errors
/// A file cannot be read, or is neither a list of members nor a definition of the struct.
pub fn read_layout_files(type_name: &str, files: &[PathBuf]) -> Result<Vec<LayoutFile>, UserError> {
    let tag = strip_type_tag(type_name);
    let read = |path: &PathBuf| {
        let bytes = read_file_or_input(path).map_err(cannot("read", path))?;
        LayoutFile::parse(path, bytes, tag)
    };
    files.iter().map(read).collect()
}

fn read_file_or_input(path: &Path) -> std::io::Result<Vec<u8>> {
    if !is_standard_input(path) {
        return relayout_files::read_regular(path);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
