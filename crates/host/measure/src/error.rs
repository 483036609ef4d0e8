//! Why a program could not be measured.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use relayout_files::{FileError, signal_name};
use relayout_messages::{ErrorCategory, ProblemReason, UserFacingError};

/// Why a program could not be measured. Each names the command or file and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The text is no command.
    #[error("'{text}' is not a command: {why}")]
    Words {
        /// The text, as given.
        text: String,
        /// The defect.
        why: ProblemReason,
    },
    /// The program could not be started.
    #[error("cannot run '{program}'{}", within(dir))]
    Start {
        /// The program.
        program: String,
        /// The folder that it should run in, if not the current one.
        dir: Option<PathBuf>,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Git or another program that is needed cannot be run.
    #[error(transparent)]
    Files(#[from] relayout_files::Error),
    /// The program failed.
    #[error("'{command}' {how}{}", output_below(output))]
    Failed {
        /// The command.
        command: String,
        /// Its end: `ended with exit code 1`.
        how: String,
        /// Its exit code; `None` if a signal killed it.
        exit_code: Option<i32>,
        /// The last lines that it wrote.
        output: String,
    },
    /// The program did not end in time.
    #[error(
        "'{command}' did not end within {limit_s} s and was killed; {ALLOW_MORE_TIME}{}",
        output_below(output)
    )]
    TimeLimit {
        /// The command.
        command: String,
        /// Seconds that it was allowed.
        limit_s: f64,
        /// The last lines that it wrote.
        output: String,
    },
    /// The program reported each time that it was disturbed.
    #[error(
        "'{command}' said {times} times in a row, by exit code {code}, that it was disturbed: try again when \
         the machine is quieter, or with --fifo"
    )]
    Disturbed {
        /// The command.
        command: String,
        /// Number of starts.
        times: usize,
        /// Its exit code.
        code: u8,
    },
    /// The program wrote more than is looked at.
    #[error("'{command}' wrote more than {limit_mib} MiB; {WRITE_LESS}")]
    TooMuchOutput {
        /// The command.
        command: String,
        /// MiB that are read.
        limit_mib: u64,
    },
    /// No permission for SCHED_FIFO.
    #[error(
        "--fifo needs permission for SCHED_FIFO: run as root, give relayout CAP_SYS_NICE, or raise \
         RLIMIT_RTPRIO (ulimit -r 1)"
    )]
    Fifo {
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// No list of CPUs, or one of which some cannot be used.
    #[error("'{text}' is not a list of CPUs that can be used here: {why}")]
    Cpus {
        /// The text, as given.
        text: String,
        /// The defect.
        why: String,
    },
    /// The patch does not apply.
    #[error("{} does not apply to {}{}", patch.display(), source_dir.display(), output_below(output))]
    Patch {
        /// The patch.
        patch: PathBuf,
        /// The source that it was tried on.
        source_dir: PathBuf,
        /// Git's message.
        output: String,
    },
    /// Stopped by the user.
    #[error("interrupted")]
    Interrupted,
}

/// Remedies, each at the end of a message.
const ALLOW_MORE_TIME: &str = "--time-limit allows more";
const WRITE_LESS: &str = "let it write less";

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message. Behind the remedy of
    /// [`TimeLimit`](Self::TimeLimit) stands what the program wrote.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Files(error) => error.remedy(),
            Self::Words { why, .. } => why.remedy.clone(),
            Self::TooMuchOutput { .. } => Some(WRITE_LESS.to_owned()),
            _ => None,
        }
    }

    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::Failed { .. } | Self::TimeLimit { .. } | Self::TooMuchOutput { .. } => {
                ErrorCategory::Guest
            }
            Self::Fifo { .. } | Self::Disturbed { .. } => ErrorCategory::Environment,
            Self::Interrupted => ErrorCategory::Interrupted,
            Self::Files(error) => error.category(),
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

/// Describes how a program ended.
pub(super) fn describe_exit(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(127), _) => "ended with exit code 127 (a shell's 'command not found')".to_owned(),
        (Some(code), _) => format!("ended with exit code {code}"),
        (_, Some(signal)) => match signal_name(signal) {
            Some(name) => format!("was killed by signal {signal} ({name})"),
            None => format!("was killed by signal {signal}"),
        },
        _ => format!("ended with {status}"),
    }
}

fn within(dir: &Option<PathBuf>) -> String {
    match dir {
        Some(dir) => format!(" in {}", dir.display()),
        None => String::new(),
    }
}

/// Formats a program's output as the end of a message.
pub fn output_below(output: &str) -> String {
    match output.trim_end() {
        "" => "; it wrote nothing".to_owned(),
        output => format!(":\n  {}", output.replace('\n', "\n  ")),
    }
}
