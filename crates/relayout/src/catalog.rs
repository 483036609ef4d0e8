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

/// The same for two files, which are read at the same time.
///
/// # Errors
/// As [`with`].
pub fn with_two<T>(
    first: &Path,
    second: &Path,
    format: Format,
    then: impl FnOnce(&Catalog<'_>, &Catalog<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let cannot = |path: &Path| format!("cannot read the types of {}", path.display());
    let map = |path: &Path| relayout_host::map_file(path).with_context(|| cannot(path));
    let bytes = (map(first)?, map(second)?);
    let stores = (SectionStore::default(), SectionStore::default());
    let (one, other) = rayon::join(
        || Catalog::parse_in(&bytes.0, &stores.0, format).with_context(|| cannot(first)),
        || Catalog::parse_in(&bytes.1, &stores.1, format).with_context(|| cannot(second)),
    );
    then(&one?, &other?)
}
