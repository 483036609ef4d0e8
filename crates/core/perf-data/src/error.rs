//! Errors in a `perf.data` file.

/// Reason why a file gives no memory samples.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not the magic number.
    #[error("not a perf.data file: it begins with {found}, not with PERFILE2")]
    NotPerfData {
        /// Its first bytes, as they are.
        found: String,
    },
    /// Written before Linux 3.2.
    #[error("a perf.data file of version 1, as perf wrote before Linux 3.2: record it again")]
    Version1,
    /// It ends inside of what describes the rest.
    #[error("the file ends inside of its {part} (offset {offset}); {RECORD_AGAIN}")]
    Truncated {
        /// The part.
        part: &'static str,
        /// Offset of the part.
        offset: u64,
    },
    /// A section that the file is too small for.
    #[error("the {part} should be {bytes} bytes at offset {offset}, but the file has {file_bytes}")]
    OutsideFile {
        /// The section.
        part: &'static str,
        /// Its offset.
        offset: u64,
        /// Its size.
        bytes: u64,
        /// The file's.
        file_bytes: u64,
    },
    /// A size that nothing of the kind has.
    #[error("the size of {part} at offset {offset} is {bytes}, which cannot be")]
    Size {
        /// Of what.
        part: &'static str,
        /// Offset in the file.
        offset: u64,
        /// The size.
        bytes: u64,
    },
    /// No event is described.
    #[error("the file describes no event; {RECORD_AGAIN}")]
    NoEvents,
    /// Samples that could be of several events, in several forms.
    #[error("the file has {events} events whose samples cannot be told apart; {SAMPLE_IDENTIFIER}")]
    Ambiguous {
        /// Number of events.
        events: usize,
    },
    /// Compressed records cannot be read.
    #[error("compressed records cannot be read: {problem}; {INJECT_PLAIN}")]
    Compressed {
        /// Error of the decompressor.
        problem: String,
    },
    /// Arm SPE's packets have not been made samples.
    #[error(
        "the file holds {bytes} bytes of undecoded trace and no memory samples. Make samples of it \
         first: perf inject --itrace=M -i FILE -o SAMPLES"
    )]
    Undecoded {
        /// Bytes of trace.
        bytes: u64,
    },
    /// Events that do not sample memory.
    #[error(
        "no sample says what it did to which address: the events are {events}. Record with `perf mem \
         record` or `perf c2c record`"
    )]
    NotMemory {
        /// Their names.
        events: String,
    },
    /// It ends before its first memory sample.
    #[error(
        "the file ends too early ({}), before its first memory sample; {LET_PERF_END}",
        describe_cut(*.file_bytes, *.named_bytes)
    )]
    CutOff {
        /// Bytes of the file.
        file_bytes: u64,
        /// Bytes that it should have up to the end of its records; `None` if it has these, or is
        /// what perf wrote to a pipe, and its last record is cut.
        named_bytes: Option<u64>,
    },
    /// No sample at all.
    #[error("the file has no samples; {LONG_ENOUGH}")]
    Empty,
}

/// Remedies, each at the end of a message.
const RECORD_AGAIN: &str = "was perf cut off? record it again";
const SAMPLE_IDENTIFIER: &str = "record with `perf record --sample-identifier`";
const INJECT_PLAIN: &str = "`perf inject -i FILE -o PLAIN` writes them plain";
const LET_PERF_END: &str = "copy it again, or record it again and let perf come to its end";
const LONG_ENOUGH: &str = "did the program run long enough?";

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Truncated { .. } | Self::NoEvents => Some(RECORD_AGAIN),
            Self::Ambiguous { .. } => Some(SAMPLE_IDENTIFIER),
            Self::Compressed { .. } => Some(INJECT_PLAIN),
            Self::CutOff { .. } => Some(LET_PERF_END),
            Self::Empty => Some(LONG_ENOUGH),
            _ => None,
        }
    }
}

fn describe_cut(file_bytes: u64, named_bytes: Option<u64>) -> String {
    match named_bytes {
        Some(named) => format!("{file_bytes} of {named} bytes that its header names"),
        None => format!("after {file_bytes} bytes, inside of a record"),
    }
}
