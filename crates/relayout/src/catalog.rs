//! Opens the files that `show`, `diff` and `check` read types from.

use std::path::{Path, PathBuf};

use anyhow::Context;
use relayout_host::{DebugFile, DebugFolders};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};

/// Names folders to look for debug files in, instead of `/usr/lib/debug`.
const FOLDERS_VARIABLE: &str = "RELAYOUT_DEBUG_PATH";
/// Missing files that are named one by one.
const MISSING_SHOWN_MAX: usize = 3;

/// Opens the file, or the debug file that goes with it, and calls `then` with its types. `base` is
/// what split BTF is based on, for a module that is not the running kernel's.
///
/// # Errors
/// A file that cannot be read or has no types, and those of `then`.
pub fn with_types<T>(
    path: &Path,
    format: DebugInfoFormat,
    base: Option<&Path>,
    then: impl FnOnce(&TypeCatalog<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let files = DebugFileAndBase::open(path, base)?;
    let catalog = files.catalog(format)?;
    warn_of_missing(path, &catalog);
    then(&catalog)
}

/// The same for two files, which are read at the same time.
///
/// # Errors
/// As [`with_base`].
pub fn with_both_types<T>(
    first: &Path,
    second: &Path,
    format: DebugInfoFormat,
    then: impl FnOnce(&TypeCatalog<'_>, &TypeCatalog<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let files = (
        DebugFileAndBase::open(first, None)?,
        DebugFileAndBase::open(second, None)?,
    );
    let (first_types, second_types) =
        rayon::join(|| files.0.catalog(format), || files.1.catalog(format));
    let (first_types, second_types) = (first_types?, second_types?);
    warn_of_missing(first, &first_types);
    warn_of_missing(second, &second_types);
    then(&first_types, &second_types)
}

/// Where to look for debug files.
pub fn debug_folders() -> DebugFolders {
    match std::env::var_os(FOLDERS_VARIABLE) {
        Some(paths) => DebugFolders(std::env::split_paths(&paths).collect()),
        None => DebugFolders::default(),
    }
}

/// A file and what its BTF is based on.
struct DebugFileAndBase {
    path: PathBuf,
    file: DebugFile,
    base: Option<DebugFile>,
}

impl DebugFileAndBase {
    fn open(path: &Path, base: Option<&Path>) -> anyhow::Result<Self> {
        let map = relayout_host::map_file(path).with_context(|| cannot_read_types(path))?;
        let file =
            DebugFile::find(path, map, debug_folders()).with_context(|| cannot_read_types(path))?;
        let base = base
            .map(Path::to_owned)
            .or_else(|| kernel_types_beside(path));
        Ok(Self {
            path: path.to_owned(),
            file,
            base: base.as_deref().map(DebugFile::open).transpose()?,
        })
    }

    fn catalog(&self, format: DebugInfoFormat) -> anyhow::Result<TypeCatalog<'_>> {
        let catalog = self.file.catalog(format, self.base.as_ref());
        catalog.with_context(|| cannot_read_types(&self.path))
    }
}

fn cannot_read_types(path: &Path) -> String {
    format!("cannot read the types of {}", path.display())
}

/// The kernel's own types are beside those of its modules.
fn kernel_types_beside(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let base = folder.join("vmlinux");
    (folder.ends_with("sys/kernel/btf") && base != path).then_some(base)
}

/// Says which types are left out.
fn warn_of_missing(path: &Path, catalog: &TypeCatalog<'_>) {
    let missing = catalog.missing_companions();
    for missing_file in missing.iter().take(MISSING_SHOWN_MAX) {
        eprintln!("relayout: {}: {missing_file}", path.display());
    }
    let unnamed = missing.len().saturating_sub(MISSING_SHOWN_MAX);
    if unnamed > 0 {
        eprintln!(
            "relayout: {}: {unnamed} more files are missing",
            path.display()
        );
    }
}
