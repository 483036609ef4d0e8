//! One error for all crates that reach outside: files, recording, compiling, measuring and probing.

use relayout_files::{ErrorCategory, FileError, InterruptFlag};

/// Error of one of the crates that reach outside.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A file could not be used, or something is not installed.
    #[error(transparent)]
    Files(#[from] relayout_files::Error),
    /// The recording failed.
    #[error(transparent)]
    Record(#[from] relayout_record::Error),
    /// A unit could not be compiled.
    #[error(transparent)]
    Compile(#[from] relayout_toolchain::compile::Error),
    /// A kernel could not be built.
    #[error(transparent)]
    KernelBuild(#[from] relayout_toolchain::kernel_build::Error),
    /// A program could not be measured.
    #[error(transparent)]
    Measure(#[from] relayout_measure::Error),
    /// The machine could not be measured, or its machine file cannot be used.
    #[error(transparent)]
    Probe(#[from] relayout_probe::Error),
    /// A setting is out of its range.
    #[error("{setting} is {found}; {allowed}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// Its value.
        found: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// The user stopped the step.
    #[error("interrupted")]
    Interrupted,
}

/// Implements `From` for errors of the crates below, which become the inside of a variant.
macro_rules! from_through {
    ($error:ty, $variant:ident: $($source:ty),+ $(,)?) => {
        $(impl From<$source> for $error {
            fn from(error: $source) -> Self {
                Self::$variant(error.into())
            }
        })+
    };
}
pub(crate) use from_through;

from_through!(HostError, Files: FileError);

impl HostError {
    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::Files(error) => error.category(),
            Self::Record(error) => error.category(),
            Self::Compile(error) => error.category(),
            Self::KernelBuild(error) => error.category(),
            Self::Measure(error) => error.category(),
            Self::Probe(error) => error.category(),
            Self::Setting { .. } => ErrorCategory::Input,
            Self::Interrupted => ErrorCategory::Interrupted,
        }
    }

    /// Returns the category of an error of one of these crates; `None` for other errors.
    pub fn category_of(error: &(dyn std::error::Error + 'static)) -> Option<ErrorCategory> {
        let boxed = error.downcast_ref::<Box<Self>>();
        let categories = [
            boxed.map(|error| error.category()),
            error.downcast_ref().map(Self::category),
            error.downcast_ref().map(relayout_files::Error::category),
            error.downcast_ref().map(relayout_record::Error::category),
            error
                .downcast_ref()
                .map(relayout_toolchain::compile::Error::category),
            error
                .downcast_ref()
                .map(relayout_toolchain::kernel_build::Error::category),
            error.downcast_ref().map(relayout_measure::Error::category),
            error.downcast_ref().map(relayout_probe::Error::category),
        ];
        categories.into_iter().flatten().next()
    }
}

/// Reports an interrupt instead of the failure of a child process, which Ctrl-C reaches too.
pub(crate) fn or_interrupted<T>(
    result: Result<T, HostError>,
    interrupt: InterruptFlag,
) -> Result<T, HostError> {
    match result {
        Err(_) if interrupt.is_set() => Err(HostError::Interrupted),
        result => result,
    }
}
