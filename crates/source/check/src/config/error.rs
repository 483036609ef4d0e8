//! What can be wrong with a configuration.

use std::fmt;

use crate::ConfigPosition;

/// A configuration that cannot be used, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// In the order of the text; never empty.
    pub problems: Vec<ConfigProblem>,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where it is in the text.
    pub at: ConfigPosition,
    /// What it is and what to write instead, without a full stop.
    pub message: String,
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}: {}", problem.at, problem.message)?;
        }
        Ok(())
    }
}
