//! Errors of resolving a profile.

use relayout_messages::UserFacingError;

/// Mismatch of a profile and its debug file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The profile was recorded on an unknown machine.
    #[error(
        "the profile was recorded on {0:?}, but relayout reads only code of x86_64 and aarch64"
    )]
    Machine(String),
    /// The debug file describes another build.
    #[error(
        "the profile was recorded on build {profile}, the debug file is of build {debug}; \
         {RECORDED_BUILD}"
    )]
    BuildId {
        /// Build id of the profile, in lower-case hexadecimal.
        profile: String,
        /// Build id of the debug file, in lower-case hexadecimal.
        debug: String,
    },
    /// A row names a site that is not in the table of sites.
    #[error("a row names site {site}, but the profile has {sites} sites")]
    Site {
        /// Index of the site.
        site: relayout_profile::SiteId,
        /// Length of the table.
        sites: usize,
    },
}

/// Remedy, at the end of a message.
const RECORDED_BUILD: &str = "give the debug file of the recorded build";

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<&'static str> {
        matches!(self, Self::BuildId { .. }).then_some(RECORDED_BUILD)
    }
}

impl UserFacingError for Error {
    fn user_remedy(&self) -> Option<String> {
        self.remedy().map(str::to_owned)
    }
}
