//! Errors of data sets, and their exit codes.

use std::io;
use std::path::PathBuf;

use datafusion::error::DataFusionError;
use relayout_messages::{ProblemReason, UserError};

use crate::tables::FORMAT_VERSION;

/// Data sets that cannot be read, written or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The address of a data set is none.
    #[error("{address}: {reason}; {GIVE_ADDRESS}")]
    Address {
        /// Address as given.
        address: String,
        /// Reason.
        reason: String,
    },
    /// There is no data set at the address.
    #[error("{0} is no data set; {remedy}", remedy = make_data_set(.0))]
    NoDataSet(String),
    /// The folder holds files, but none of a data set.
    #[error("{address} holds other files ({example}) and is no data set; {NEW_FOLDER}")]
    Occupied {
        /// Address of the data set.
        address: String,
        /// One of its files.
        example: String,
    },
    /// The mark is another tool's, or damaged.
    #[error("{address}/fleet.json is no mark of a data set of relayout: {reason}")]
    OtherMark {
        /// Address of the data set.
        address: String,
        /// Reason.
        reason: String,
    },
    /// A newer version of relayout wrote the data set.
    #[error(
        "{address} has format {found}, and this program reads formats up to {FORMAT_VERSION}; \
         {NEWER_RELAYOUT}"
    )]
    NewerFormat {
        /// Address of the data set.
        address: String,
        /// Its format.
        found: u32,
    },
    /// A list of the files of a profile is damaged.
    #[error("{path} is damaged: {reason}; {ADD_AGAIN}")]
    DamagedEntry {
        /// Path in the data set.
        path: String,
        /// Reason.
        reason: String,
    },
    /// A file of rows is not as it was written.
    #[error(
        "{path} is damaged: {reason}; {}",
        forget_entry(entry, *.recordings)
    )]
    DamagedFile {
        /// Path in the data set.
        path: String,
        /// Reason.
        reason: String,
        /// Entry that the file belongs to.
        entry: String,
        /// Recordings of the entry.
        recordings: usize,
    },
    /// The store failed.
    #[error("cannot {action} {path}")]
    Store {
        /// What was tried: `read`.
        action: &'static str,
        /// Path in the data set.
        path: String,
        /// Cause.
        source: object_store::Error,
    },
    /// A query failed.
    #[error("{}", query_reason(.0))]
    Query(Box<DataFusionError>),
    /// The cluster does not answer.
    #[error("the cluster at {url} failed: {reason}; {CLUSTER_LOGS}")]
    Cluster {
        /// Its address.
        url: String,
        /// Reason.
        reason: String,
    },
    /// A profile, or a layout file, cannot be used.
    #[error(transparent)]
    User(#[from] UserError),
    /// Rows cannot be written as a file.
    #[error("cannot write rows")]
    Rows(#[from] arrow::error::ArrowError),
    /// A name means several members.
    #[error("{name} is one of {candidates}; {GIVE_ONE}")]
    AmbiguousName {
        /// Name as given.
        name: String,
        /// Full names.
        candidates: String,
    },
    /// No recording can be replayed.
    #[error("no recording of {type_name} can be replayed: {reason}")]
    NothingReplayed {
        /// Type.
        type_name: String,
        /// Reason of the first.
        reason: String,
    },
    /// A file beside the data set cannot be used.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// File.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Options that do not go together.
    #[error("{0}")]
    Usage(ProblemReason),
    /// The user stopped the command.
    #[error("interrupted")]
    Interrupted,
}

impl From<DataFusionError> for FleetError {
    fn from(error: DataFusionError) -> Self {
        Self::Query(Box::new(error))
    }
}

impl From<parquet::errors::ParquetError> for FleetError {
    fn from(error: parquet::errors::ParquetError) -> Self {
        Self::Rows(error.into())
    }
}

/// Remedies, each at the end of a message.
const GIVE_ADDRESS: &str = "give a folder, or an address such as s3://bucket/folder";
const NEW_FOLDER: &str = "give a new folder";
const NEWER_RELAYOUT: &str = "use the relayout that wrote it, or a newer one";
const ADD_AGAIN: &str = "remove it and add its profiles again";
const CLUSTER_LOGS: &str =
    "its scheduler and executors have logs, and `ballista-scheduler` starts one";
const GIVE_ONE: &str = "give one of them";

fn make_data_set(address: &str) -> String {
    format!("`relayout fleet add {address} PROFILE...` makes one")
}

fn forget_entry(entry: &str, recordings: usize) -> String {
    format!(
        "`relayout fleet forget` with --entry {entry} --yes removes its {recordings} recordings, and `relayout fleet \
         add` adds their profiles again"
    )
}

/// Returns the reason why a query failed, in words for its author.
fn query_reason(error: &DataFusionError) -> ProblemReason {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(reason) => {
            ProblemReason::new(format!("the query needs more memory: {reason}"))
                .with_remedy("allow more with --memory")
        }
        root => ProblemReason::new(root.strip_backtrace()),
    }
}

impl FleetError {
    /// Returns the exit code of the command that ends with this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted => 130,
            Self::Store { .. } | Self::Cluster { .. } | Self::File { .. } => 3,
            _ => 2,
        }
    }

    /// Returns the error with its causes in one line.
    pub fn full_text(&self) -> String {
        chain_text(self)
    }

    /// Returns the error with its causes, and the remedy by itself.
    pub fn full_reason(&self) -> ProblemReason {
        if let Self::User(error) = self {
            return ProblemReason {
                problem: error.chain_message(),
                remedy: error.chain_remedy(),
            };
        }
        ProblemReason::from_sentence(self.full_text(), self.remedy())
    }

    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::Address { .. } => GIVE_ADDRESS,
            Self::NoDataSet(address) => return Some(make_data_set(address)),
            Self::Occupied { .. } => NEW_FOLDER,
            Self::NewerFormat { .. } => NEWER_RELAYOUT,
            Self::DamagedEntry { .. } => ADD_AGAIN,
            Self::DamagedFile {
                entry, recordings, ..
            } => return Some(forget_entry(entry, *recordings)),
            Self::Query(error) => return query_reason(error).remedy,
            Self::Cluster { .. } => CLUSTER_LOGS,
            Self::AmbiguousName { .. } => GIVE_ONE,
            Self::Usage(reason) => return reason.remedy.clone(),
            _ => return None,
        };
        Some(remedy.to_owned())
    }
}

/// Returns an error with its causes in one line.
fn chain_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    text
}
