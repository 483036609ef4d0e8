//! Why a file could not be checked.

use crate::ConfigPosition;

/// Nothing can be said of a file: not that it holds, not that it does not.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller names a configuration that the file does not have.
    #[error("the configuration file has no configuration `{name}`{}", hint(close))]
    UnknownConfiguration {
        /// What was asked for.
        name: String,
        /// The nearest name.
        close: Option<String>,
    },
    /// The caller says that a file is of a configuration whose conditions it does not meet.
    #[error("{file} is not of configuration `{name}`: that needs {needs}")]
    NotOfConfiguration {
        /// The file.
        file: String,
        /// The configuration.
        name: String,
        /// The condition that is not met.
        needs: String,
    },
    /// Whether a section applies cannot be told.
    #[error(
        "whether the rules at {at} apply to {file} cannot be told: they need {needs}, and {unknown}"
    )]
    Unknown {
        /// The file.
        file: String,
        /// The section or configuration.
        at: ConfigPosition,
        /// The condition.
        needs: String,
        /// What is not known, and how to make it known.
        unknown: &'static str,
    },
    /// Two configurations in force disagree.
    #[error(
        "{file} is of configurations `{first}` and `{second}`, which give different sizes of a cache line; give one in the section"
    )]
    LineSizes {
        /// The file.
        file: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A member's pattern matches absurdly many members.
    #[error("`{pattern}` matches more than {most} members of {type_name}; name them more closely")]
    TooManyMembers {
        /// The type.
        type_name: String,
        /// The pattern.
        pattern: String,
        /// How many are looked at.
        most: usize,
    },
    /// The debug information contradicts itself.
    #[error("cannot read the types of {file}")]
    Layout {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: relayout_layout::Error,
    },
}

fn hint(close: &Option<String>) -> String {
    match close {
        Some(close) => format!("; did you mean `{close}`?"),
        None => String::new(),
    }
}
