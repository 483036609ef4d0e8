//! Errors of an experiment.

use std::path::PathBuf;

use relayout_files::{DISTRIBUTION, setup_command};
use relayout_verify::extract::ExtractError;
use relayout_verify::runs::RunsError;

use crate::host_error::from_through;

/// Programs or kernels that cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// Neither two commands nor a patch were given.
    #[error(
        "there is nothing to compare; give --before CMD and --after CMD, or --patch FILE, --build CMD \
         and --bench CMD"
    )]
    NothingToCompare,
    /// Saved starts cannot be used.
    #[error("cannot use {}", path.display())]
    Load {
        /// File.
        path: PathBuf,
        /// Cause.
        source: RunsError,
    },
    /// Starts cannot be written as JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A side cannot be built.
    #[error("cannot build '{side}'")]
    Build {
        /// Name of the side.
        side: &'static str,
        /// Cause.
        source: Box<crate::HostError>,
    },
    /// A start gave no number of a metric.
    #[error("'{command}' ({side})")]
    Metric {
        /// Command.
        command: String,
        /// Name of the side.
        side: &'static str,
        /// Cause.
        source: ExtractError,
    },
    /// The workloads, where `list` was asked for.
    #[error("the workloads are {0}")]
    Workloads(String),
    /// No folder exists for built kernels.
    #[error("there is no folder for what is built: set RELAYOUT_CACHE, XDG_CACHE_HOME or HOME")]
    NoCacheFolder,
    /// No source of a kernel is known.
    #[error(
        "say where the kernel's source is: --source DIR, or run {} to fetch {DISTRIBUTION}'s",
        setup_command()
    )]
    NoKernelSource,
    /// The types of the kernels cannot be compared.
    #[error("cannot compare the types of the two kernels")]
    CompareTypes(#[source] relayout_layout::Error),
    /// The kernel has no struct of the name.
    #[error("the kernel has no struct {name}{suggestion}")]
    NoStruct {
        /// Name.
        name: String,
        /// Sentence with similar names, or nothing.
        suggestion: String,
    },
    /// A kernel does not boot, or its recording failed.
    #[error("the kernel {patched} the patch, {setting}")]
    Boot {
        /// `without` or `with`.
        patched: &'static str,
        /// Workload and number of CPUs.
        setting: String,
        /// Cause.
        source: Box<crate::HostError>,
    },
    /// A profile or debug file failed.
    #[error("{0}")]
    Session(#[from] crate::Error),
    /// Debug information is malformed.
    #[error("{0}")]
    Layout(#[from] relayout_layout::Error),
    /// A process, file or setting failed.
    #[error("{0}")]
    Host(#[from] crate::HostError),
}

from_through!(
    VerifyError, Host: relayout_files::Error,
    relayout_files::FileError,
    relayout_measure::Error,
    relayout_record::Error,
    relayout_toolchain::kernel_build::Error,
);

#[cfg(test)]
mod tests {
    use relayout_files::ErrorCategory;

    use super::*;

    #[test]
    fn a_failed_boot_is_the_guests() {
        let why = "panicked".to_owned();
        let failed = relayout_record::Error::Guest {
            why,
            console: Vec::new(),
        };
        let error = VerifyError::Boot {
            patched: "with",
            setting: "mmap1, 2 CPUs".to_owned(),
            source: Box::new(failed.into()),
        };
        let cause = std::error::Error::source(&error).expect("it has a cause");
        let category = crate::HostError::category_of(cause);
        assert_eq!(category, Some(ErrorCategory::Guest));
    }
}
