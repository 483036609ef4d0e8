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
    #[error("no memory sample of process {pid}; {}", other_processes(others))]
    NoProcess {
        /// The process.
        pid: u32,
        /// Those that have samples, in words.
        others: String,
    },
    /// More than a profile can number.
    #[error("{count} {what}, more than the {max} that a profile can number; {CHOOSE_PROCESS}")]
    TooMany {
        /// The numbered things.
        what: &'static str,
        /// Number found.
        count: usize,
        /// Maximum number.
        max: usize,
    },
}

/// Remedy, at the end of a message.
const CHOOSE_PROCESS: &str = "choose with --pid";

fn other_processes(others: &str) -> String {
    format!("there are some of {others}")
}

impl ImportError {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::NoProcess { others, .. } => Some(other_processes(others)),
            Self::TooMany { .. } => Some(CHOOSE_PROCESS.to_owned()),
            Self::OnlyKernel { .. } | Self::NoKernel { .. } => None,
        }
    }
}
