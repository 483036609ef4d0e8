//! Why a kernel could not be built.

use std::path::PathBuf;

use relayout_files::{DISTRIBUTION, FileError, KERNEL_SOURCE_PACKAGE, install_command};
use relayout_messages::{ErrorCategory, UserFacingError};

/// Why a kernel could not be built. Each names the file or program and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file that a build runs could have been changed by others.
    #[error(transparent)]
    Files(#[from] relayout_files::Error),
    /// The folder is not the source of a kernel.
    #[error(
        "{} is not the top of a Linux source tree: {why}; {}",
        path.display(),
        distribution_source()
    )]
    NotSource {
        /// The folder.
        path: PathBuf,
        /// The missing file, or the defect.
        why: String,
    },
    /// The source was built in place, and no other folder can be built from it then.
    #[error(
        "{} was configured or built in place ({what} is there), and kbuild then refuses to build it elsewhere; \
         {CLEAN_SOURCE}",
        path.display()
    )]
    BuiltInPlace {
        /// The source.
        path: PathBuf,
        /// The file that shows it.
        what: String,
    },
    /// Programs or headers that building needs.
    #[error(
        "building a kernel needs {}; {}",
        missing.join(", "),
        install_missing(missing)
    )]
    Needs {
        /// The missing programs and headers.
        missing: Vec<&'static str>,
    },
    /// No compiler for an architecture.
    #[error(
        "there is no compiler for ARCH={arch}{}",
        match &compilers[..] {
            [] => ": relayout knows none".to_owned(),
            [first, ..] => format!(" ({}); {}", compilers.join(" or "), install_compiler(first)),
        }
    )]
    NoCompiler {
        /// Architecture as the source names it.
        arch: String,
        /// Programs that were looked for.
        compilers: Vec<String>,
    },
    /// The file system has too little space.
    #[error(
        "{} has {free_mib} MiB free, and building a kernel there takes about {needed_mib}; {FREE_SPACE}",
        path.display()
    )]
    Space {
        /// The folder.
        path: PathBuf,
        /// MiB that are free.
        free_mib: u64,
        /// MiB that it takes.
        needed_mib: u64,
    },
    /// The configuration lacks options that booting and recording need.
    #[error(
        "this source does not take {} of the configuration, which booting or recording rests on; {SET_OPTIONS}",
        options.join(", ")
    )]
    Options {
        /// The options, as `CONFIG_SMP=y`.
        options: Vec<String>,
    },
    /// `make` failed.
    #[error("cannot build {what}: {how}; its log is {}{}", log.display(), relayout_measure::output_below(output))]
    Make {
        /// `the kernel with the patch`
        what: String,
        /// The end of `make`.
        how: String,
        /// The errors among its last lines.
        output: String,
        /// Path of the whole output.
        log: PathBuf,
    },
    /// The patch does not apply, or git is missing.
    #[error(transparent)]
    Measure(relayout_measure::Error),
    /// Stopped by the user.
    #[error("interrupted")]
    Interrupted,
    /// The patch changes nothing.
    #[error("{} changes no file", patch.display())]
    EmptyPatch {
        /// The patch.
        patch: PathBuf,
    },
}

/// Remedies, each at the end of a message.
const CLEAN_SOURCE: &str =
    "run `make mrproper` in a copy of it, or give a clean one (`git worktree add`)";
const FREE_SPACE: &str = "free some, or name another folder with $RELAYOUT_CACHE";
const SET_OPTIONS: &str = "set what they depend on with --kconfig";

fn distribution_source() -> String {
    format!(
        "{DISTRIBUTION}'s is unpacked from /usr/src/{KERNEL_SOURCE_PACKAGE}.tar.xz (package \
         {KERNEL_SOURCE_PACKAGE})"
    )
}

fn install_missing(missing: &[&'static str]) -> String {
    format!("install: {}", install_command(missing.iter().copied()))
}

fn install_compiler(compiler: &str) -> String {
    format!("install it: {}", install_command([compiler]))
}

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Files(error) => error.remedy(),
            Self::Measure(error) => error.remedy(),
            Self::NotSource { .. } => Some(distribution_source()),
            Self::BuiltInPlace { .. } => Some(CLEAN_SOURCE.to_owned()),
            Self::Needs { missing } => Some(install_missing(missing)),
            Self::NoCompiler { compilers, .. } => {
                compilers.first().map(|first| install_compiler(first))
            }
            Self::Space { .. } => Some(FREE_SPACE.to_owned()),
            Self::Options { .. } => Some(SET_OPTIONS.to_owned()),
            _ => None,
        }
    }

    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::Needs { .. } | Self::NoCompiler { .. } | Self::Space { .. } => {
                ErrorCategory::Environment
            }
            Self::Make { .. } => ErrorCategory::Guest,
            Self::Measure(error) => error.category(),
            Self::Files(error) => error.category(),
            Self::Interrupted => ErrorCategory::Interrupted,
            _ => ErrorCategory::Input,
        }
    }
}

impl UserFacingError for Error {
    fn user_remedy(&self) -> Option<String> {
        self.remedy()
    }

    fn user_category(&self) -> ErrorCategory {
        self.category()
    }
}
