//! Files of a source tree that may have constructors of a class.

use std::path::Path;

use rayon::prelude::*;
use relayout_files::{c_source_files, read_regular};
use relayout_patch::SourceText;

use super::super::rust_sources::source_name;

/// Bytes of a file that is read: larger ones are generated tables.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Returns the files below `source`, other than `definition`, that have `::Class`. There are
/// none of a struct in C.
pub fn constructor_files(source: &Path, class: &str, definition: &str) -> Vec<SourceText> {
    let tag = source_name(class);
    let scope = format!("::{tag}");
    if tag.is_empty() || definition.ends_with(".c") || definition.ends_with(".rs") {
        return Vec::new();
    }
    let finder = memchr::memmem::Finder::new(scope.as_bytes());
    let has_constructor = |path: &Path| -> Option<SourceText> {
        let relative = path.strip_prefix(source).unwrap_or(path);
        let relative = relative.to_string_lossy().into_owned();
        if relative == definition || std::fs::metadata(path).ok()?.len() > FILE_BYTES_MAX {
            return None;
        }
        let bytes = read_regular(path).ok()?;
        finder.find(&bytes)?;
        // Whoever changes the file opens it again, and refuses one in another encoding.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some(SourceText {
            file: relative,
            text,
        })
    };
    let paths = c_source_files(source);
    let files = paths.par_iter().filter_map(|path| has_constructor(path));
    files.collect()
}
