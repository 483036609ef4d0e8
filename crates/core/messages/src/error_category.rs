//! Kinds of errors, by who has to act.

/// Kinds of error, by who has to act. The command maps each to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCategory {
    /// The input cannot be used.
    Input,
    /// The environment lacks something.
    Environment,
    /// The recorded or measured program failed.
    Guest,
    /// The user stopped the command.
    Interrupted,
}
