//! `relayout/check/1`: the outcome of a check for scripts. Offsets and sizes are in bytes.

use std::path::Path;

use relayout_check::{
    CheckOutcome, CheckWarning, ExpiredWaiver, MemberChangeKind, PushingChange, SeenMember,
    Violation, WaivedViolation,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Document;

/// The document of `check --json`.
#[derive(Serialize, JsonSchema)]
pub struct CheckDocument<'a> {
    /// Name and version of this document.
    schema: &'static str,
    /// File of the rules.
    config: String,
    /// Number of rules that were checked.
    checked: u64,
    /// Rules that do not hold.
    violations: Vec<ViolationDocument<'a>>,
    /// Rules that do not hold and need not, by a waiver.
    waived: Vec<ViolationDocument<'a>>,
    /// What is wrong with the rules themselves.
    warnings: Vec<WarningDocument<'a>>,
}

impl Document for CheckDocument<'_> {
    const SCHEMA: &'static str = "relayout/check/1";
}

#[derive(Serialize, JsonSchema)]
struct ViolationDocument<'a> {
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    type_name: &'a str,
    /// Null where the rule is about the type.
    member: Option<&'a str>,
    /// Key of the rule.
    rule: &'static str,
    /// What the rule asks for, in words.
    expected: &'a str,
    /// What was found, in words.
    found: &'a str,
    /// Members that moved it, nearest to the start first.
    pushed_by: Vec<&'a str>,
    /// File with the type that was checked.
    file: &'a str,
    /// Configurations of the rules that the file is of.
    configurations: &'a [String],
    /// Members that the rule is about, where they were found.
    members: Vec<SeenMemberDocument<'a>>,
    /// Changes that moved a member, compared with the baseline.
    pushes: Vec<PushingChangeDocument<'a>>,
    /// Members between those that should be together.
    between: &'a [String],
    /// Declaration of the member or type; null if unknown.
    declared: Option<DeclarationDocument<'a>>,
    /// Reason that the rule gives; null without one.
    reason: Option<&'a str>,
    /// 1-based line in the rules.
    config_line: u32,
    /// 1-based column in the rules.
    config_column: u32,
    /// Waiver that no longer holds; null without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiver_expired: Option<ExpiredWaiverDocument<'a>>,
    /// The waiver, among the waived violations.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiver: Option<WaiverDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct SeenMemberDocument<'a> {
    /// Path of the member.
    name: &'a str,
    /// Offset in bytes from the start of the outermost type.
    offset: u64,
    /// Size in bytes.
    size: u64,
    /// Cache line, from 0 at the start of the type.
    line: u64,
}

#[derive(Serialize, JsonSchema)]
struct PushingChangeDocument<'a> {
    /// Path of the member.
    member: &'a str,
    /// What happened to the member: `added`, `grew`, and the like.
    how: &'static str,
    /// Distance by which it pushed, in bits; negative towards the start.
    pushed_bits: i64,
    /// Size in bits in the baseline; null where it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_size_bits: Option<u64>,
    /// Size in bits now; null where it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_size_bits: Option<u64>,
    /// Offset in bytes in the baseline; null where it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_offset: Option<u64>,
    /// Offset in bytes now; null where it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_offset: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct DeclarationDocument<'a> {
    /// Source file, as the debug information names it.
    file: &'a str,
    /// 1-based line in `file`.
    line: u32,
}

#[derive(Serialize, JsonSchema)]
struct ExpiredWaiverDocument<'a> {
    /// Day after which the waiver no longer holds: 2027-01-31.
    expires: String,
    /// Reason, in words.
    reason: &'a str,
    /// 1-based line in the rules.
    config_line: u32,
}

#[derive(Serialize, JsonSchema)]
struct WaiverDocument<'a> {
    /// Reason, in words.
    reason: &'a str,
    /// Day after which the waiver no longer holds: 2027-01-31.
    expires: String,
    /// 1-based line in the rules.
    config_line: u32,
}

#[derive(Serialize, JsonSchema)]
struct WarningDocument<'a> {
    /// Sentence.
    message: &'a str,
    /// 1-based line in the rules.
    config_line: Option<u32>,
}

/// Makes the document of an outcome. `config` is the file of the rules.
pub fn check_document<'a>(outcome: &'a CheckOutcome, config: &Path) -> CheckDocument<'a> {
    let violations = outcome.violations.iter();
    CheckDocument {
        schema: CheckDocument::SCHEMA,
        config: config.display().to_string(),
        checked: outcome.checked,
        violations: violations.map(violation_document).collect(),
        waived: outcome.waived.iter().map(waived_document).collect(),
        warnings: outcome.warnings.iter().map(warning_document).collect(),
    }
}

fn violation_document(violation: &Violation) -> ViolationDocument<'_> {
    let pushes = violation.pushed_by.iter();
    ViolationDocument {
        type_name: &violation.type_name,
        member: Some(violation.member.as_str()).filter(|member| !member.is_empty()),
        rule: violation.rule.as_str(),
        expected: &violation.expected,
        found: &violation.found,
        pushed_by: pushes.clone().map(|push| push.member.as_str()).collect(),
        file: &violation.file,
        configurations: &violation.configurations,
        members: violation.members.iter().map(seen_document).collect(),
        pushes: pushes.map(push_document).collect(),
        between: &violation.between,
        declared: violation.decl.as_ref().map(|decl| DeclarationDocument {
            file: &decl.file,
            line: decl.line,
        }),
        reason: violation.reason.as_deref(),
        config_line: violation.at.line,
        config_column: violation.at.column,
        waiver_expired: violation.expired.as_ref().map(expired_document),
        waiver: None,
    }
}

fn expired_document(expired: &ExpiredWaiver) -> ExpiredWaiverDocument<'_> {
    ExpiredWaiverDocument {
        expires: expired.expires.to_string(),
        reason: &expired.reason,
        config_line: expired.at.line,
    }
}

fn seen_document(member: &SeenMember) -> SeenMemberDocument<'_> {
    SeenMemberDocument {
        name: &member.path,
        offset: member.offset,
        size: member.bytes,
        line: member.line,
    }
}

fn push_document(push: &PushingChange) -> PushingChangeDocument<'_> {
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
        member: &push.member,
        how,
        pushed_bits: push.bits,
        old_size_bits: sizes[0],
        new_size_bits: sizes[1],
        old_offset: offsets[0],
        new_offset: offsets[1],
    }
}

fn waived_document(waived: &WaivedViolation) -> ViolationDocument<'_> {
    ViolationDocument {
        waiver: Some(WaiverDocument {
            reason: &waived.reason,
            expires: waived.expires.to_string(),
            config_line: waived.at.line,
        }),
        ..violation_document(&waived.violation)
    }
}

fn warning_document(warning: &CheckWarning) -> WarningDocument<'_> {
    WarningDocument {
        message: &warning.message,
        config_line: warning.at.map(|at| at.line),
    }
}
