//! Files with types: kernels, programs, modules and their separate debug files.

use std::path::{Path, PathBuf};

use relayout_files::{DebugFile, DebugPlaces, DebuginfodClient};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_messages::UserError;

use crate::profile_cache::named_debug_file;

/// Environment variable with the folders of debug files, instead of `/usr/lib/debug`.
const FOLDERS_VARIABLE: &str = "RELAYOUT_DEBUG_PATH";
/// Missing files that notices name one by one.
const MISSING_SHOWN_MAX: usize = 3;

/// Opens the file, or the debug file that belongs to it, and calls `then` with its types.
///
/// `base` is the base of split BTF, for a module that is not the running kernel's. `notify`
/// receives a sentence for each file whose types are missing.
///
/// # Errors
/// The file cannot be read or has no types; and those of `then`.
pub fn with_types<T, E: From<UserError>>(
    path: &Path,
    format: DebugInfoFormat,
    base: Option<&Path>,
    notify: &dyn Fn(&str),
    then: impl FnOnce(&TypeCatalog<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let files = DebugFileAndBase::open(path, base)?;
    let catalog = files.catalog(format)?;
    notify_of_missing(path, &catalog, notify);
    notify_of_languages(&[(path, &catalog)], notify);
    then(&catalog)
}

/// Opens two files as [`with_types`] does, in parallel.
///
/// # Errors
/// Those of [`with_types`].
pub fn with_both_types<T, E: From<UserError>>(
    first: &Path,
    second: &Path,
    format: DebugInfoFormat,
    notify: &dyn Fn(&str),
    then: impl FnOnce(&TypeCatalog<'_>, &TypeCatalog<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let first_file = DebugFileAndBase::open(first, None)?;
    let second_file = DebugFileAndBase::open(second, None)?;
    let (first_types, second_types) = rayon::join(
        || first_file.catalog(format),
        || second_file.catalog(format),
    );
    let (first_types, second_types) = (first_types?, second_types?);
    notify_of_missing(first, &first_types, notify);
    notify_of_missing(second, &second_types, notify);
    notify_of_languages(&[(first, &first_types), (second, &second_types)], notify);
    then(&first_types, &second_types)
}

/// Returns the names of the types in a file, or in the debug file of a profile; none if they cannot be read.
pub fn type_names_of(path: &Path) -> Vec<String> {
    let file = match path.is_dir() {
        true => named_debug_file(path),
        false => Some(path.to_owned()),
    };
    let Some(file) = file else {
        return Vec::new();
    };
    let names = |catalog: &TypeCatalog<'_>| {
        let names = catalog.type_names().into_iter();
        Ok::<_, UserError>(names.map(str::to_owned).collect())
    };
    with_types(&file, DebugInfoFormat::Any, None, &|_| {}, names).unwrap_or_default()
}

/// Returns the places that are searched for debug files.
///
/// # Errors
/// Servers are to be asked, and there is none, or no program that asks it.
pub fn debug_places() -> Result<DebugPlaces, UserError> {
    let folders = match std::env::var_os(FOLDERS_VARIABLE) {
        Some(paths) => std::env::split_paths(&paths).collect(),
        None => DebugPlaces::default().folders,
    };
    let client = DebuginfodClient::from_environment()?;
    Ok(DebugPlaces { folders, client })
}

/// Returns the message of an error in a file with types.
pub(crate) fn unreadable_types(path: &Path) -> String {
    format!("cannot read the types of {}", path.display())
}

/// A file and the base of its split BTF.
struct DebugFileAndBase {
    path: PathBuf,
    file: DebugFile,
    base: Option<DebugFile>,
}

impl DebugFileAndBase {
    fn open(path: &Path, base: Option<&Path>) -> Result<Self, UserError> {
        let map =
            relayout_files::map_file(path).map_err(UserError::wrap(unreadable_types(path)))?;
        let file = DebugFile::find(path, map, debug_places()?)
            .map_err(UserError::wrap(unreadable_types(path)))?;
        let base = base
            .map(Path::to_owned)
            .or_else(|| kernel_types_beside(path));
        Ok(Self {
            path: path.to_owned(),
            file,
            base: base.as_deref().map(DebugFile::open).transpose()?,
        })
    }

    fn catalog(&self, format: DebugInfoFormat) -> Result<TypeCatalog<'_>, UserError> {
        self.file
            .catalog(format, self.base.as_ref())
            .map_err(UserError::wrap(unreadable_types(&self.path)))
    }
}

/// Returns the kernel's types, which lie beside those of its modules.
fn kernel_types_beside(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let base = folder.join("vmlinux");
    (folder.ends_with("sys/kernel/btf") && base != path).then_some(base)
}

fn notify_of_missing(path: &Path, catalog: &TypeCatalog<'_>, notify: &dyn Fn(&str)) {
    let missing = catalog.missing_companions();
    for missing_file in missing.iter().take(MISSING_SHOWN_MAX) {
        notify(&format!("{}: {missing_file}", path.display()));
    }
    let unnamed = missing.len().saturating_sub(MISSING_SHOWN_MAX);
    if unnamed > 0 {
        notify(&format!(
            "{}: {unnamed} more files are missing",
            path.display()
        ));
    }
}

/// Notifies of units in languages that are not supported, once for all files that have them.
fn notify_of_languages(files: &[(&Path, &TypeCatalog<'_>)], notify: &dyn Fn(&str)) {
    let mut described: Vec<String> = Vec::new();
    for (path, catalog) in files {
        let languages = catalog.unsupported_languages();
        let counts: Vec<String> = { languages.iter() }
            .map(|found| format!("{} of {}", count_units(found.units), found.language))
            .collect();
        if !counts.is_empty() {
            described.push(format!("{} has {}", path.display(), counts.join(", ")));
        }
    }
    if !described.is_empty() {
        notify(&format!(
            "{}; relayout reads C, C++, Rust and Go: what it prints of other languages may lack what their compilers add",
            described.join("; ")
        ));
    }
}

fn count_units(units: u64) -> String {
    match units {
        1 => "1 unit".to_owned(),
        units => format!("{units} units"),
    }
}
