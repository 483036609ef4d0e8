//! What came of a check.

use relayout_layout::SourceLine;

use crate::{ConfigPosition, Date, PushingChange, RuleId};

/// What came of checking some files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckOutcome {
    /// Assertions that were looked at: each counts once for each type and file.
    pub checked: u64,
    /// Those that do not hold and are not waived.
    pub violations: Vec<Violation>,
    /// Those that do not hold and are waived.
    pub waived: Vec<WaivedViolation>,
    /// What the user should know besides.
    pub warnings: Vec<CheckWarning>,
}

/// An assertion that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The type, with its scope; the pattern where no type matches it.
    pub type_name: String,
    /// The member that is not where it should be, by its path; empty where the type is meant.
    pub member: String,
    /// What kind of assertion.
    pub rule: RuleId,
    /// What should be, in words.
    pub expected: String,
    /// What is.
    pub found: String,
    /// The members that the assertion is about, where they are.
    pub members: Vec<SeenMember>,
    /// Who moved them, nearest to the start first; empty where nothing is known of an earlier
    /// layout.
    pub pushed_by: Vec<PushingChange>,
    /// Members that lie between two which should be on one line: these hold them apart.
    pub between: Vec<String>,
    /// Where the member, or else the type, is declared.
    pub decl: Option<SourceLine>,
    /// Why it is asserted, as the configuration says.
    pub reason: Option<String>,
    /// The checked file.
    pub file: String,
    /// The names of the configurations that are in force for it.
    pub configurations: Vec<String>,
    /// Where it is asserted.
    pub at: ConfigPosition,
    /// The waiver that no longer counts.
    pub expired: Option<ExpiredWaiver>,
}

/// A member and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenMember {
    /// Its path from the type.
    pub path: String,
    /// Offset of its first byte.
    pub offset: u64,
    /// Bytes that it has bits in; 0 where not known.
    pub bytes: u64,
    /// The line that its first byte lies on, counted from 0.
    pub line: u64,
}

/// A violation that is accepted for now.
#[derive(Clone, Debug, PartialEq)]
pub struct WaivedViolation {
    /// What is accepted.
    pub violation: Violation,
    /// Why.
    pub reason: String,
    /// The last day on which it is.
    pub expires: Date,
    /// Where the waiver is in the text.
    pub at: ConfigPosition,
}

/// A waiver that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiredWaiver {
    /// The last day on which it counted.
    pub expires: Date,
    /// Why it was given.
    pub reason: String,
    /// Where it is in the text.
    pub at: ConfigPosition,
}

/// Something that is no violation, but not right either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckWarning {
    /// Where it is in the text of the configuration; `None` where it is about a file.
    pub at: Option<ConfigPosition>,
    /// What it is, and what to do.
    pub message: String,
}
