//! A profile with its debug files and the objects that they name together.

use std::path::{Path, PathBuf};

use relayout_advice::{LINE_BYTES_DEFAULT, ResolvedProfile};
use relayout_messages::{RecordingProgress, UserError};
use relayout_profile::Profile;
use relayout_resolve::DebugImages;

use crate::debug_images::with_debug_images;
use crate::resolution_cache::resolve_with_cache;

/// Environment variable with the memory in GB that the rows of a profile may take.
const MEMORY_VARIABLE: &str = "RELAYOUT_PROFILE_GB";

/// Reads the profile and its debug files, resolves it, and calls `then` with the result.
///
/// `debug` are files to use instead of those that the profile names.
///
/// # Errors
/// A profile or debug file cannot be read, or they do not belong together; and those of `then`.
pub fn with_resolved_profile<T, E: From<UserError>>(
    profile: &Path,
    debug: &[PathBuf],
    progress: &dyn RecordingProgress,
    then: impl FnOnce(&ResolvedProfile<'_>, &DebugImages<'_, '_>) -> Result<T, E>,
) -> Result<T, E> {
    with_verified_profile(profile, debug, progress, |_| Ok(()), then)
}

/// Reads and resolves a profile as [`with_resolved_profile`] does, and calls `verify` with the debug files
/// before the objects are resolved, which may take seconds: to reject other input that does not fit
/// them.
///
/// # Errors
/// Those of [`with_resolved_profile`] and of `verify`.
pub fn with_verified_profile<T, E: From<UserError>>(
    profile: &Path,
    debug: &[PathBuf],
    progress: &dyn RecordingProgress,
    verify: impl FnOnce(&DebugImages<'_, '_>) -> Result<(), E>,
    then: impl FnOnce(&ResolvedProfile<'_>, &DebugImages<'_, '_>) -> Result<T, E>,
) -> Result<T, E> {
    let profile = read_profile(profile, progress)?;
    resolve_read_profile(&profile, debug, progress, verify, then)
}

/// Reads the debug files of a profile, resolves it, and calls `verify` before that and `then` with the result.
///
/// # Errors
/// A debug file cannot be read or is of another build; and those of `verify` and `then`.
pub fn resolve_read_profile<T, E: From<UserError>>(
    profile: &Profile,
    debug: &[PathBuf],
    progress: &dyn RecordingProgress,
    verify: impl FnOnce(&DebugImages<'_, '_>) -> Result<(), E>,
    then: impl FnOnce(&ResolvedProfile<'_>, &DebugImages<'_, '_>) -> Result<T, E>,
) -> Result<T, E> {
    progress.step("reading the debug file");
    with_debug_images(debug, profile, progress, |images| {
        verify(images)?;
        progress.step("naming the recorded objects");
        let resolution = resolve_with_cache(profile, images).map_err(UserError::from)?;
        let line_bytes = match profile.meta.line_bytes {
            0 => LINE_BYTES_DEFAULT,
            bytes => bytes,
        };
        let resolved = ResolvedProfile {
            profile,
            resolution: &resolution,
            line_bytes,
            progress,
        };
        then(&resolved, images)
    })
}

/// Reads a profile whose rows take no more memory than the format or the user allows.
///
/// # Errors
/// The profile cannot be read, which an error says that names it.
pub fn read_profile(path: &Path, progress: &dyn RecordingProgress) -> Result<Profile, UserError> {
    progress.step("reading the profile");
    let Some(allowed) = std::env::var_os(MEMORY_VARIABLE) else {
        return Ok(relayout_profile::read(path)?);
    };
    let gigabytes = allowed
        .to_str()
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|gigabytes| *gigabytes > 0.0)
        .ok_or_else(|| {
            UserError::input(format!(
                "{MEMORY_VARIABLE} is '{}': a number of GB above 0 is needed, as in {MEMORY_VARIABLE}=8",
                allowed.display()
            ))
        })?;
    Ok(relayout_profile::read_within(
        path,
        (gigabytes * 1e9) as u64,
    )?)
}
