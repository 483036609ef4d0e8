//! What was recorded of a type, what relies on its layout, and what was not scored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Accesses of one kind to one member.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MemberAccessesDocument {
    /// Member.
    pub member: String,
    /// `read` or `write`.
    pub access: String,
    /// Number of accesses.
    pub count: u64,
    /// Number of CPUs or threads.
    pub contexts: usize,
    /// Functions with the most accesses.
    pub functions: Vec<FunctionDocument>,
}

/// A function and the number of its accesses.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FunctionDocument {
    /// Function.
    pub function: String,
    /// Number of accesses.
    pub count: u64,
}

/// Transfers with all objects at one offset in a line.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PhaseDocument {
    /// Offset of the objects in a line, in bytes.
    pub offset: u32,
    /// Transfers.
    pub transfers: u64,
}

/// Reason for which a gain may not hold.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DoubtDocument {
    /// `few-transfers`, `busy-host` and others: docs/search.md lists them.
    pub kind: String,
    /// The reason as a sentence.
    pub sentence: String,
}

/// Code that relies on the order of members.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OrderFactDocument {
    /// `range`, `assertion`, `offset-limit`, `first-member`, `initializer`, `undecided` and others.
    pub kind: String,
    /// Source file, below the top of the tree.
    pub file: String,
    /// Source line.
    pub line: u32,
    /// Reliance in words.
    pub sentence: String,
    /// The source line.
    pub text: String,
}

impl OrderFactDocument {
    /// Kind of a use of which the file does not show whether the struct is this one.
    pub(crate) const UNDECIDED: &str = "undecided";
}

/// Numbers of candidates that were not replayed, by reason.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutDocument {
    /// They bring members together whose accesses were not all recorded.
    pub unrecorded: usize,
    /// They move a pinned member.
    pub kept: usize,
    /// They move a member into a cache line group or out of one.
    pub grouped: usize,
    /// Names of the cache line groups.
    #[serde(default)]
    pub groups: Vec<String>,
    /// They break a rule about the order that other code makes, as a border of a range of members.
    pub order: usize,
    /// The budget of replayed accesses was used up.
    pub budget: usize,
    /// Pairs of moves beyond the limit.
    pub two_moves: usize,
    /// Scored in the recorded build only.
    pub builds: usize,
}

/// Lower bound of the transfers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BoundDocument {
    /// Fewest transfers that any layout can have.
    pub transfers: u64,
    /// Distance of the best candidate from the bound, as a fraction.
    pub gap: f64,
    /// Fewest transfers of a candidate.
    #[serde(default)]
    pub fewest: u64,
}

/// Result of compiling the patch in one configuration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CompileDocument {
    /// Architecture and configuration.
    pub configuration: String,
    /// `as-scored`, `good`, `not-judged` or `bad`.
    pub verdict: String,
    /// The result as a sentence without a period.
    #[serde(default)]
    pub sentence: String,
    /// Source files that were compiled.
    pub units: Vec<String>,
    /// Reason.
    pub why: Option<String>,
}
