//! Resolved profiles, with progress on standard error.

use std::path::{Path, PathBuf};

use relayout_advice::ResolvedProfile;
use relayout_messages::UserError;
use relayout_resolve::DebugImages;

use crate::progress::TerminalProgress;

/// Reads and resolves a profile as [`relayout_session::with_verified_profile`] does.
///
/// # Errors
/// Those of [`relayout_session::with_verified_profile`].
pub fn with_verified_profile<T>(
    profile: &Path,
    debug: &[PathBuf],
    verify: impl FnOnce(&DebugImages<'_, '_>) -> Result<(), UserError>,
    then: impl FnOnce(&ResolvedProfile<'_>, &DebugImages<'_, '_>) -> Result<T, UserError>,
) -> Result<T, UserError> {
    let progress = TerminalProgress::when_slow();
    progress.finish_after(relayout_session::with_verified_profile(
        profile, debug, &progress, verify, then,
    ))
}
