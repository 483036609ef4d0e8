//! Reasons why samples give no profile.

/// Reason why samples give no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// All are the kernel's.
    #[error(
        "all {samples} memory samples are of kernel addresses: record as a user who may see the \
         program's (perf mem record -U), or import them with --kernel"
    )]
    OnlyKernel {
        /// Number found.
        samples: u64,
    },
    /// None is the kernel's.
    #[error("none of the {samples} memory samples is of a kernel address: leave out --kernel")]
    NoKernel {
        /// Number found.
        samples: u64,
    },
    /// The process asked for has none.
    #[error("no memory sample of process {pid}; there are some of {others}")]
    NoProcess {
        /// The process.
        pid: u32,
        /// Those that have samples, in words.
        others: String,
    },
    /// More than a profile can number.
    #[error("{count} {what}, more than the {max} that a profile can number; choose with --pid")]
    TooMany {
        /// The numbered things.
        what: &'static str,
        /// Number found.
        count: usize,
        /// Maximum number.
        max: usize,
    },
}
