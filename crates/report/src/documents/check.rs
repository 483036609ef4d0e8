//! `relayout/check/1`: the outcome of a check for scripts. Offsets and sizes are in bytes.

use std::path::Path;

use relayout_check::{
    CheckOutcome, CheckWarning, ExpiredWaiver, MemberChangeKind, PushingChange, SeenMember,
    Violation, WaivedViolation,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Document;

/// The document of `check --json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckDocument {
    /// Name and version of this document.
    pub(crate) schema: String,
    /// File of the rules.
    pub(crate) config: String,
    /// Number of rules that were checked.
    pub(crate) checked: u64,
    /// Rules that do not hold.
    pub(crate) violations: Vec<ViolationDocument>,
    /// Rules that do not hold and need not, by a waiver.
    pub(crate) waived: Vec<ViolationDocument>,
    /// What is wrong with the rules themselves.
    pub(crate) warnings: Vec<WarningDocument>,
}

impl Document for CheckDocument {
    const SCHEMA: &'static str = "relayout/check/1";
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ViolationDocument {
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// Null where the rule is about the type.
    pub(crate) member: Option<String>,
    /// Key of the rule.
    pub(crate) rule: String,
    /// What the rule asks for, in words.
    pub(crate) expected: String,
    /// What was found, in words.
    pub(crate) found: String,
    /// Members that moved it, nearest to the start first.
    pub(crate) pushed_by: Vec<String>,
    /// File with the type that was checked.
    pub(crate) file: String,
    /// Configurations of the rules that the file is of.
    pub(crate) configurations: Vec<String>,
    /// Members that the rule is about, where they were found.
    pub(crate) members: Vec<SeenMemberDocument>,
    /// Changes that moved a member, compared with the baseline.
    pub(crate) pushes: Vec<PushingChangeDocument>,
    /// Members between those that should be together.
    pub(crate) between: Vec<String>,
    /// Declaration of the member or type; null if unknown.
    pub(crate) declared: Option<DeclarationDocument>,
    /// Reason that the rule gives; null without one.
    pub(crate) reason: Option<String>,
    /// 1-based line in the rules.
    pub(crate) config_line: u32,
    /// 1-based column in the rules.
    pub(crate) config_column: u32,
    /// Waiver that no longer holds; null without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiver_expired: Option<ExpiredWaiverDocument>,
    /// The waiver, among the waived violations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiver: Option<WaiverDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SeenMemberDocument {
    /// Path of the member.
    pub(crate) name: String,
    /// Offset in bytes from the start of the outermost type.
    pub(crate) offset: u64,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Cache line, from 0 at the start of the type.
    pub(crate) line: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PushingChangeDocument {
    /// Path of the member.
    pub(crate) member: String,
    /// What happened to the member: `added`, `grew`, and the like.
    pub(crate) how: String,
    /// The change in words: `write_protect_seq, which is new (4 bytes)`.
    #[serde(default)]
    pub(crate) words: String,
    /// Distance by which it pushed, in bits; negative towards the start.
    pub(crate) pushed_bits: i64,
    /// Size in bits in the baseline; null where it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old_size_bits: Option<u64>,
    /// Size in bits now; null where it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new_size_bits: Option<u64>,
    /// Offset in bytes in the baseline; null where it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old_offset: Option<u64>,
    /// Offset in bytes now; null where it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new_offset: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DeclarationDocument {
    /// Source file, as the debug information names it.
    pub(crate) file: String,
    /// 1-based line in `file`.
    pub(crate) line: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExpiredWaiverDocument {
    /// Day after which the waiver no longer holds: 2027-01-31.
    pub(crate) expires: String,
    /// Reason, in words.
    pub(crate) reason: String,
    /// 1-based line in the rules.
    pub(crate) config_line: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WaiverDocument {
    /// Reason, in words.
    pub(crate) reason: String,
    /// Day after which the waiver no longer holds: 2027-01-31.
    pub(crate) expires: String,
    /// 1-based line in the rules.
    pub(crate) config_line: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WarningDocument {
    /// Sentence.
    pub(crate) message: String,
    /// 1-based line in the rules; null for what is wrong with a file.
    pub(crate) config_line: Option<u32>,
    /// 1-based column in the rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config_column: Option<u32>,
}

impl ViolationDocument {
    /// Returns the type, with the member that the rule is about: `mm_struct.mmap_lock.owner`.
    pub(crate) fn subject(&self) -> String {
        match &self.member {
            Some(member) => format!("{}.{member}", self.type_name),
            None => self.type_name.clone(),
        }
    }
}

/// Makes the document of an outcome. `config` is the file of the rules.
pub fn check_document(outcome: &CheckOutcome, config: &Path) -> CheckDocument {
    let violations = outcome.violations.iter();
    CheckDocument {
        schema: CheckDocument::SCHEMA.to_owned(),
        config: config.display().to_string(),
        checked: outcome.checked,
        violations: violations.map(violation_document).collect(),
        waived: outcome.waived.iter().map(waived_document).collect(),
        warnings: outcome.warnings.iter().map(warning_document).collect(),
    }
}

fn violation_document(violation: &Violation) -> ViolationDocument {
    let pushes = violation.pushed_by.iter();
    ViolationDocument {
        type_name: violation.type_name.clone(),
        member: Some(violation.member.clone()).filter(|member| !member.is_empty()),
        rule: violation.rule.as_str().to_owned(),
        expected: violation.expected.clone(),
        found: violation.found.clone(),
        pushed_by: pushes.clone().map(|push| push.member.clone()).collect(),
        file: violation.file.clone(),
        configurations: violation.configurations.clone(),
        members: violation.members.iter().map(seen_document).collect(),
        pushes: pushes.map(push_document).collect(),
        between: violation.between.clone(),
        declared: violation.decl.as_ref().map(|decl| DeclarationDocument {
            file: decl.file.clone(),
            line: decl.line,
        }),
        reason: violation.reason.clone(),
        config_line: violation.at.line,
        config_column: violation.at.column,
        waiver_expired: violation.expired.as_ref().map(expired_document),
        waiver: None,
    }
}

fn expired_document(expired: &ExpiredWaiver) -> ExpiredWaiverDocument {
    ExpiredWaiverDocument {
        expires: expired.expires.to_string(),
        reason: expired.reason.clone(),
        config_line: expired.at.line,
    }
}

fn seen_document(member: &SeenMember) -> SeenMemberDocument {
    SeenMemberDocument {
        name: member.span.path.clone(),
        offset: member.span.offset,
        size: member.span.size,
        line: member.line,
    }
}

fn push_document(push: &PushingChange) -> PushingChangeDocument {
    let (how, sizes, offsets) = match push.kind {
        MemberChangeKind::Added { size_bits } => ("added", [None, Some(size_bits)], [None; 2]),
        MemberChangeKind::Removed { size_bits } => ("removed", [Some(size_bits), None], [None; 2]),
        MemberChangeKind::Resized { from_bits, to_bits } => {
            ("resized", [Some(from_bits), Some(to_bits)], [None; 2])
        }
        MemberChangeKind::Moved { from_bit, to_bit } => {
            let offsets = [from_bit, to_bit].map(|bit| Some(bit / 8));
            ("moved", [None; 2], offsets)
        }
        MemberChangeKind::Realigned => ("realigned", [None; 2], [None; 2]),
    };
    PushingChangeDocument {
        member: push.member.clone(),
        how: how.to_owned(),
        words: push.to_string(),
        pushed_bits: push.bits,
        old_size_bits: sizes[0],
        new_size_bits: sizes[1],
        old_offset: offsets[0],
        new_offset: offsets[1],
    }
}

fn waived_document(waived: &WaivedViolation) -> ViolationDocument {
    ViolationDocument {
        waiver: Some(WaiverDocument {
            reason: waived.reason.clone(),
            expires: waived.expires.to_string(),
            config_line: waived.at.line,
        }),
        ..violation_document(&waived.violation)
    }
}

fn warning_document(warning: &CheckWarning) -> WarningDocument {
    WarningDocument {
        message: warning.message.clone(),
        config_line: warning.at.map(|at| at.line),
        config_column: warning.at.map(|at| at.column),
    }
}
