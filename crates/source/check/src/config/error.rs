//! Errors in a configuration.

use std::fmt;

use crate::ConfigPosition;

/// Error for an unusable configuration, with the list of all problems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Problems in the order of the text; never empty.
    pub problems: Vec<ConfigProblem>,
}

/// One problem and its position in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Position of the problem in the text.
    pub at: ConfigPosition,
    /// Description of the problem, without a full stop.
    pub message: String,
    /// Description of the correction, if the problem does not say it.
    pub remedy: Option<String>,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}: {}", problem.at, problem)?;
        }
        Ok(())
    }
}
