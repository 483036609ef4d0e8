//! Resolution with the evidence that earlier commands collected from the same debug files.

use relayout_files::CachedFiles;
use relayout_profile::Profile;
use relayout_resolve::{DebugImages, Error, KeptEvidence, Options, Resolution, resolve_with};

/// Environment variable with functions of the program that pass requests for memory on, by commas.
const ALLOCATORS_VARIABLE: &str = "RELAYOUT_ALLOCATORS";

/// Returns the functions that the user calls allocators.
pub(crate) fn allocators_by_user() -> Vec<String> {
    let names = std::env::var(ALLOCATORS_VARIABLE).unwrap_or_default();
    let names = names.split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Resolves `profile` with cached evidence, and caches new evidence.
///
/// # Errors
/// Those of [`resolve_with`].
pub fn resolve_with_cache(
    profile: &Profile,
    images: &DebugImages<'_, '_>,
) -> Result<Resolution, Error> {
    let cache = CachedFiles::locate();
    let mut evidence = cache.as_ref().and_then(|cache| {
        let fresh = KeptEvidence::new(images, &profile.meta.machine)?;
        let bytes = cache.read(&fresh.file_name());
        // Damaged evidence, and evidence about other files, counts as missing.
        Some(
            bytes
                .and_then(|bytes| fresh.clone().decode(&bytes).ok())
                .unwrap_or(fresh),
        )
    });
    let options = Options {
        allocators: allocators_by_user(),
        ..Options::default()
    };
    let resolution = resolve_with(profile, images, options, evidence.as_mut())?;
    if let (Some(cache), Some(evidence)) = (cache, evidence)
        && evidence.is_changed()
    {
        cache.write(&evidence.file_name(), &evidence.encode());
    }
    Ok(resolution)
}
