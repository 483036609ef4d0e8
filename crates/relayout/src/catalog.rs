//! Types of files, with notices about missing types on standard error.

use std::path::Path;

use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};

/// Opens a file as [`relayout_session::with_types`] does.
///
/// # Errors
/// Those of [`relayout_session::with_types`].
pub fn with_types<T>(
    path: &Path,
    format: DebugInfoFormat,
    base: Option<&Path>,
    then: impl FnOnce(&TypeCatalog<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    relayout_session::with_types(path, format, base, &print_notice, then)
}

/// Opens two files as [`relayout_session::with_both_types`] does.
///
/// # Errors
/// Those of [`relayout_session::with_both_types`].
pub fn with_both_types<T>(
    first: &Path,
    second: &Path,
    format: DebugInfoFormat,
    then: impl FnOnce(&TypeCatalog<'_>, &TypeCatalog<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    relayout_session::with_both_types(first, second, format, &print_notice, then)
}

fn print_notice(text: &str) {
    eprintln!("relayout: {text}");
}
