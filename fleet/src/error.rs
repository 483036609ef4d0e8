//! Errors of data sets, and their exit codes.

use std::io;
use std::path::PathBuf;

use datafusion::error::DataFusionError;
use relayout_session::compare::CompareError;

use crate::tables::FORMAT_VERSION;

/// Data sets that cannot be read, written or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The address of a data set is none.
    #[error("{address}: {reason}; give a folder, or an address such as s3://bucket/folder")]
    Address {
        /// Address as given.
        address: String,
        /// Reason.
        reason: String,
    },
    /// There is no data set at the address.
    #[error("{0} is no data set; `relayout fleet add {0} PROFILE...` makes one")]
    NoDataSet(String),
    /// The folder holds files, but none of a data set.
    #[error("{address} holds other files ({example}) and is no data set; give a new folder")]
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
        "{address} has format {found}, and this program reads formats up to {FORMAT_VERSION}; use the relayout that \
         wrote it, or a newer one"
    )]
    NewerFormat {
        /// Address of the data set.
        address: String,
        /// Its format.
        found: u32,
    },
    /// A list of the files of a profile is damaged.
    #[error("{path} is damaged: {reason}; remove it and add its profiles again")]
    DamagedEntry {
        /// Path in the data set.
        path: String,
        /// Reason.
        reason: String,
    },
    /// A file of rows is not as it was written.
    #[error(
        "{path} is damaged: {reason}; `relayout fleet forget` with --entry {entry} --yes removes its {recordings} \
         recordings, and `relayout fleet add` adds their profiles again"
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
    #[error("{}", query_words(.0))]
    Query(Box<DataFusionError>),
    /// The cluster does not answer.
    #[error(
        "the cluster at {url} failed: {reason}; its scheduler and executors have logs, and `ballista-scheduler` starts one"
    )]
    Cluster {
        /// Its address.
        url: String,
        /// Reason.
        reason: String,
    },
    /// There is no profile at a path.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// A profile cannot be read.
    #[error("{}", path.display())]
    Profile {
        /// Profile.
        path: PathBuf,
        /// Cause.
        source: Box<relayout_session::Error>,
    },
    /// A layout file has no layout of the type.
    #[error(transparent)]
    Layout(Box<relayout_session::Error>),
    /// Rows cannot be written as a file.
    #[error("cannot write rows")]
    Rows(#[from] arrow::error::ArrowError),
    /// The data set has nothing of a name.
    #[error(
        "no recording has transfers on a member, type or variable {name}, or in a function of that name{suggestion}"
    )]
    UnknownName {
        /// Name as given.
        name: String,
        /// Similar names, as the end of the sentence.
        suggestion: String,
    },
    /// A name means several members.
    #[error("{name} is one of {candidates}; give one of them")]
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
    Usage(String),
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

/// Returns what a query failed with, in words for who wrote it.
fn query_words(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(reason) => {
            format!("the query needs more memory: {reason}; allow more with --memory")
        }
        root => root.strip_backtrace(),
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
}

/// Returns an error with its causes in one line.
pub fn chain_text(error: &dyn std::error::Error) -> String {
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
