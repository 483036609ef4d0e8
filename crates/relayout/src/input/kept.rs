//! What earlier commands found out about the same debug files.

use relayout_host::KeptFiles;
use relayout_profile::Profile;
use relayout_resolve::{Error, Images, Kept, Options, Resolution, resolve_with};

/// Resolves with what was kept, and keeps what is found out.
///
/// # Errors
/// As [`resolve_with`].
pub fn resolve(profile: &Profile, images: &Images<'_, '_>) -> Result<Resolution, Error> {
    let files = KeptFiles::locate();
    let mut kept = files.as_ref().and_then(|files| {
        let new = Kept::new(images, &profile.meta.machine)?;
        let known = files.read(&new.file_name());
        // What is damaged or not about these files is as good as not there.
        let known = known.and_then(|bytes| new.clone().decode(&bytes).ok());
        Some(known.unwrap_or(new))
    });
    let resolution = resolve_with(profile, images, Options::default(), kept.as_mut())?;
    if let (Some(files), Some(kept)) = (files, kept)
        && kept.is_changed()
    {
        files.write(&kept.file_name(), &kept.encode());
    }
    Ok(resolution)
}
