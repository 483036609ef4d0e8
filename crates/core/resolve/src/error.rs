//! Why a profile cannot be resolved.

/// What is wrong with the pair of profile and debug file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Code of another machine.
    #[error("the profile was recorded on {0:?}; code of x86_64 and aarch64 is understood")]
    Machine(String),
    /// The debug file describes another build.
    #[error(
        "the profile was recorded on build {profile}, the debug file is of build {debug}; \
         give the debug file of the recorded build"
    )]
    BuildId {
        /// Of the profile, lower-case hex.
        profile: String,
        /// Of the debug file, lower-case hex.
        debug: String,
    },
    /// A row names a site that is not in the table.
    #[error("a row names site {site}, but the profile has {sites} sites")]
    Site {
        /// The index.
        site: u32,
        /// Length of the table.
        sites: usize,
    },
}
