//! Outcome of a check.

use relayout_layout::{MemberSpan, SourceLine};

use crate::{ConfigPosition, Date, PushingChange, RuleId};

/// Result of a check of several files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckOutcome {
    /// Number of evaluated assertions. Each assertion counts once for each type and file.
    pub checked: u64,
    /// Assertions that do not hold and are not waived.
    pub violations: Vec<Violation>,
    /// Assertions that do not hold and are waived.
    pub waived: Vec<WaivedViolation>,
    /// Other messages for the user.
    pub warnings: Vec<CheckWarning>,
}

/// Assertion that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Name of the type with its scope, or the pattern if no type matches.
    pub type_name: String,
    /// Name or pattern of the type in the rule.
    pub rule_type: String,
    /// Path of the misplaced member; empty if the violation is about the type.
    pub member: String,
    /// Kind of the rule.
    pub rule: RuleId,
    /// Expected layout, in words.
    pub expected: String,
    /// Actual layout, in words.
    pub found: String,
    /// Members that the assertion names, with their positions.
    pub members: Vec<SeenMember>,
    /// Changes that moved the members, nearest to the start of the type first. Empty if no earlier
    /// layout is known.
    pub pushed_by: Vec<PushingChange>,
    /// Members between two members that must share a cache line.
    pub between: Vec<String>,
    /// Declaration of the member, or of the type.
    pub decl: Option<SourceLine>,
    /// Reason for the assertion, from the configuration.
    pub reason: Option<String>,
    /// Path of the checked file.
    pub file: String,
    /// Names of the configurations in force for the file.
    pub configurations: Vec<String>,
    /// Position of the assertion in the configuration.
    pub at: ConfigPosition,
    /// Expired waiver for this violation.
    pub expired: Option<ExpiredWaiver>,
}

/// Member and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenMember {
    /// Path and bytes of the member, those of a bit-field that it has bits in.
    pub span: MemberSpan,
    /// Cache line of the member's first byte, counted from 0.
    pub line: u64,
}

/// Violation that a waiver accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct WaivedViolation {
    /// Accepted violation.
    pub violation: Violation,
    /// Reason for the waiver.
    pub reason: String,
    /// Last day of the waiver.
    pub expires: Date,
    /// Position of the waiver in the configuration.
    pub at: ConfigPosition,
}

/// Waiver whose last day has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiredWaiver {
    /// Last day of the waiver.
    pub expires: Date,
    /// Reason for the waiver.
    pub reason: String,
    /// Position of the waiver in the configuration.
    pub at: ConfigPosition,
}

/// Problem that is no violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckWarning {
    /// Position in the configuration; `None` for a problem of a file.
    pub at: Option<ConfigPosition>,
    /// Description of the problem, and of the next step.
    pub message: String,
}
