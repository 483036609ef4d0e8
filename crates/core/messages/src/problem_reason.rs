//! A problem together with its remedy.

use std::fmt;

/// Reason of an error, and its remedy where it has one. The text is `problem; remedy`.
///
/// ```
/// use relayout_messages::ProblemReason;
///
/// let reason = ProblemReason::new("'|' is for a shell").with_remedy("--shell runs commands by one");
/// assert_eq!(reason.to_string(), "'|' is for a shell; --shell runs commands by one");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemReason {
    /// Problem.
    pub problem: String,
    /// Remedy; `None` if the problem says all.
    pub remedy: Option<String>,
}

impl ProblemReason {
    /// Makes a reason without a remedy.
    pub fn new(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            remedy: None,
        }
    }

    /// Takes a sentence apart that ends with `; ` and this remedy. One that does not is the problem as it is, for
    /// example where the output of a program follows.
    ///
    /// ```
    /// use relayout_messages::ProblemReason;
    ///
    /// let reason = ProblemReason::from_sentence("no `b`; did you mean `a`?".into(), Some("did you mean `a`?".into()));
    /// assert_eq!(reason.problem, "no `b`");
    /// ```
    pub fn from_sentence(sentence: String, remedy: Option<String>) -> Self {
        let problem = remedy
            .as_ref()
            .and_then(|remedy| sentence.strip_suffix(remedy.as_str())?.strip_suffix("; "));
        match problem {
            Some(problem) => Self {
                problem: problem.to_owned(),
                remedy,
            },
            None => Self::new(sentence),
        }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

impl From<&str> for ProblemReason {
    fn from(problem: &str) -> Self {
        Self::new(problem)
    }
}

impl From<String> for ProblemReason {
    fn from(problem: String) -> Self {
        Self::new(problem)
    }
}

impl fmt::Display for ProblemReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}
