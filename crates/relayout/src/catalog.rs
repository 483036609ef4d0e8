//! Opens the files that `show`, `diff` and `check` read types from.

use std::path::Path;

use anyhow::Context;
use relayout_layout::catalog::{Catalog, Format};
use relayout_layout::dwarf::SectionStore;

/// Opens the file and calls `then` with its types.
///
/// # Errors
/// A file that cannot be read or has no types, and those of `then`.
pub fn with<T>(
    path: &Path,
    format: Format,
    then: impl FnOnce(&Catalog<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let cannot = || format!("cannot read the types of {}", path.display());
    let bytes = relayout_host::map_file(path).with_context(cannot)?;
    let store = SectionStore::default();
    let catalog = Catalog::parse_in(&bytes, &store, format).with_context(cannot)?;
    then(&catalog)
}
