//! Opens the files that `show`, `diff` and `check` read types from.

use std::path::{Path, PathBuf};

use anyhow::Context;
use relayout_host::{DebugFile, DebugFolders};
use relayout_layout::catalog::{Catalog, Format};

/// Names folders to look for debug files in, instead of `/usr/lib/debug`.
const FOLDERS: &str = "RELAYOUT_DEBUG_PATH";
/// Missing files that are named one by one.
const MISSING_SHOWN: usize = 3;

/// Opens the file, or the debug file that goes with it, and calls `then` with its types. `base` is
/// what split BTF is based on, for a module that is not the running kernel's.
///
/// # Errors
/// A file that cannot be read or has no types, and those of `then`.
pub fn with_base<T>(
    path: &Path,
    format: Format,
    base: Option<&Path>,
    then: impl FnOnce(&Catalog<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let files = Files::open(path, base)?;
    let catalog = files.catalog(format)?;
    warn(path, &catalog);
    then(&catalog)
}

/// The same for two files, which are read at the same time.
///
/// # Errors
/// As [`with_base`].
pub fn with_two<T>(
    first: &Path,
    second: &Path,
    format: Format,
    then: impl FnOnce(&Catalog<'_>, &Catalog<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let files = (Files::open(first, None)?, Files::open(second, None)?);
    let (one, other) = rayon::join(|| files.0.catalog(format), || files.1.catalog(format));
    let (one, other) = (one?, other?);
    warn(first, &one);
    warn(second, &other);
    then(&one, &other)
}

/// Where to look for debug files.
pub fn folders() -> DebugFolders {
    match std::env::var_os(FOLDERS) {
        Some(paths) => DebugFolders(std::env::split_paths(&paths).collect()),
        None => DebugFolders::default(),
    }
}

/// A file and what its BTF is based on.
struct Files {
    path: PathBuf,
    file: DebugFile,
    base: Option<DebugFile>,
}

impl Files {
    fn open(path: &Path, base: Option<&Path>) -> anyhow::Result<Self> {
        let map = relayout_host::map_file(path).with_context(|| cannot(path))?;
        let file = DebugFile::find(path, map, folders()).with_context(|| cannot(path))?;
        let base = base.map(Path::to_owned).or_else(|| base_of(path));
        Ok(Self {
            path: path.to_owned(),
            file,
            base: base.as_deref().map(DebugFile::open).transpose()?,
        })
    }

    fn catalog(&self, format: Format) -> anyhow::Result<Catalog<'_>> {
        let catalog = self.file.catalog(format, self.base.as_ref());
        catalog.with_context(|| cannot(&self.path))
    }
}

fn cannot(path: &Path) -> String {
    format!("cannot read the types of {}", path.display())
}

/// The kernel's own types are beside those of its modules.
fn base_of(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let base = folder.join("vmlinux");
    (folder.ends_with("sys/kernel/btf") && base != path).then_some(base)
}

/// Says which types are left out.
fn warn(path: &Path, catalog: &Catalog<'_>) {
    let missing = catalog.missing();
    for what in missing.iter().take(MISSING_SHOWN) {
        eprintln!("relayout: {}: {what}", path.display());
    }
    let more = missing.len().saturating_sub(MISSING_SHOWN);
    if more > 0 {
        eprintln!(
            "relayout: {}: {more} more files are missing",
            path.display()
        );
    }
}
