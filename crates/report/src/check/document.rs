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
    schema: &'static str,
    config: String,
    checked: u64,
    violations: Vec<ViolationDocument<'a>>,
    waived: Vec<ViolationDocument<'a>>,
    warnings: Vec<WarningDocument<'a>>,
}

impl Document for CheckDocument<'_> {
    const SCHEMA: &'static str = "relayout/check/1";
}

#[derive(Serialize, JsonSchema)]
struct ViolationDocument<'a> {
    #[serde(rename = "type")]
    type_name: &'a str,
    /// Null where the rule is about the type.
    member: Option<&'a str>,
    rule: &'static str,
    expected: &'a str,
    found: &'a str,
    /// Members that moved it, nearest to the start first.
    pushed_by: Vec<&'a str>,
    file: &'a str,
    configurations: &'a [String],
    members: Vec<SeenMemberDocument<'a>>,
    pushes: Vec<PushingChangeDocument<'a>>,
    between: &'a [String],
    declared: Option<DeclarationDocument<'a>>,
    reason: Option<&'a str>,
    config_line: u32,
    config_column: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiver_expired: Option<ExpiredWaiverDocument<'a>>,
    /// The waiver, among the waived violations.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiver: Option<WaiverDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct SeenMemberDocument<'a> {
    name: &'a str,
    offset: u64,
    size: u64,
    line: u64,
}

#[derive(Serialize, JsonSchema)]
struct PushingChangeDocument<'a> {
    member: &'a str,
    how: &'static str,
    pushed_bits: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_size_bits: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_size_bits: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_offset: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct DeclarationDocument<'a> {
    file: &'a str,
    line: u32,
}

#[derive(Serialize, JsonSchema)]
struct ExpiredWaiverDocument<'a> {
    expires: String,
    reason: &'a str,
    config_line: u32,
}

#[derive(Serialize, JsonSchema)]
struct WaiverDocument<'a> {
    reason: &'a str,
    expires: String,
    config_line: u32,
}

#[derive(Serialize, JsonSchema)]
struct WarningDocument<'a> {
    message: &'a str,
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
