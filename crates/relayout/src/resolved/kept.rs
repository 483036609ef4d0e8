//! What earlier commands found out about the same debug files.

use relayout_host::CachedFiles;
use relayout_profile::Profile;
use relayout_resolve::{DebugImages, Error, KeptEvidence, Options, Resolution, resolve_with};

/// Resolves with what was kept, and keeps what is found out.
///
/// # Errors
/// As [`resolve_with`].
pub fn resolve_with_cache(
    profile: &Profile,
    images: &DebugImages<'_, '_>,
) -> Result<Resolution, Error> {
    let cache_files = CachedFiles::locate();
    let mut kept = cache_files.as_ref().and_then(|files| {
        let fresh = KeptEvidence::new(images, &profile.meta.machine)?;
        let known = files.read(&fresh.file_name());
        // What is damaged or not about these files is as good as not there.
        let known = known.and_then(|bytes| fresh.clone().decode(&bytes).ok());
        Some(known.unwrap_or(fresh))
    });
    let resolution = resolve_with(profile, images, Options::default(), kept.as_mut())?;
    if let (Some(files), Some(kept)) = (cache_files, kept)
        && kept.is_changed()
    {
        files.write(&kept.file_name(), &kept.encode());
    }
    Ok(resolution)
}
