//! Errors of a check of a file.

use relayout_messages::UserFacingError;

use crate::ConfigPosition;

/// Error that prevents a verdict on a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller names a configuration that does not exist.
    #[error(
        "the configuration file has no configuration `{name}`{}",
        after_semicolon(close_remedy(close))
    )]
    UnknownConfiguration {
        /// Requested name.
        name: String,
        /// Existing name that is most similar.
        close: Option<String>,
    },
    /// The caller names a configuration whose conditions the file does not meet.
    #[error("{file} is not of configuration `{name}`: that needs {needs}")]
    NotOfConfiguration {
        /// Path of the file.
        file: String,
        /// Name of the configuration.
        name: String,
        /// Condition that is not met.
        needs: String,
    },
    /// A condition of a section cannot be evaluated.
    #[error(
        "whether the rules at {at} apply to {file} cannot be told: they need {needs}, and {unknown}"
    )]
    Unknown {
        /// Path of the file.
        file: String,
        /// Position of the section or configuration.
        at: ConfigPosition,
        /// Condition in the syntax of the configuration.
        needs: String,
        /// Missing fact, and the way to supply it.
        unknown: &'static str,
    },
    /// Two configurations in force disagree on the cache line size.
    #[error(
        "{file} is of configurations `{first}` and `{second}`, which give different sizes of a cache line; {SIZE_IN_SECTION}"
    )]
    LineSizes {
        /// Path of the file.
        file: String,
        /// Name of the first configuration.
        first: String,
        /// Name of the second configuration.
        second: String,
    },
    /// The pattern matches too many members.
    #[error("`{pattern}` matches more than {most} members of {type_name}; {NAME_CLOSELY}")]
    TooManyMembers {
        /// Name of the type.
        type_name: String,
        /// Pattern of the member.
        pattern: String,
        /// Maximum number of members.
        most: usize,
    },
    /// The file has no type that the rules name, and refers to a file that cannot be read.
    #[error("cannot tell if {file} has a type {pattern}: {missing}")]
    MissingTypes {
        /// Path of the file.
        file: String,
        /// Name or pattern of the type.
        pattern: String,
        /// Sentence about the file that it refers to.
        missing: String,
        /// Remedy, at the end of the sentence.
        remedy: Option<String>,
    },
    /// The debug information contradicts itself.
    #[error("cannot read the types of {file}")]
    Layout {
        /// Path of the file.
        file: String,
        /// Cause of the error.
        #[source]
        source: relayout_layout::Error,
    },
}

/// Remedies, each at the end of a message.
const SIZE_IN_SECTION: &str = "give one in the section";
const NAME_CLOSELY: &str = "name them more closely";

fn close_remedy(close: &Option<String>) -> Option<String> {
    close
        .as_ref()
        .map(|close| format!("did you mean `{close}`?"))
}

fn after_semicolon(remedy: Option<String>) -> String {
    remedy.map_or(String::new(), |remedy| format!("; {remedy}"))
}

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message or of its source.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::UnknownConfiguration { close, .. } => close_remedy(close),
            Self::LineSizes { .. } => Some(SIZE_IN_SECTION.to_owned()),
            Self::TooManyMembers { .. } => Some(NAME_CLOSELY.to_owned()),
            Self::MissingTypes { remedy, .. } => remedy.clone(),
            Self::Layout { source, .. } => source.remedy(),
            Self::NotOfConfiguration { .. } | Self::Unknown { .. } => None,
        }
    }
}

impl UserFacingError for Error {
    fn user_remedy(&self) -> Option<String> {
        self.remedy()
    }
}
