//! What a check found as JSON, schema `relayout/check/1`. Offsets and sizes in bytes.

use std::path::Path;

use relayout_check::{
    CheckOutcome, CheckWarning, MemberChangeKind, PushingChange, SeenMember, Violation,
    WaivedViolation,
};
use serde_json::{Value, json};

/// The whole document. `config` is where the rules are.
pub(super) fn render(outcome: &CheckOutcome, config: &Path) -> serde_json::Result<String> {
    let document = json!({
        "schema": "relayout/check/1",
        "config": config.display().to_string(),
        "checked": outcome.checked,
        "violations": outcome.violations.iter().map(violation_json).collect::<Vec<Value>>(),
        "waived": outcome.waived.iter().map(waived_json).collect::<Vec<Value>>(),
        "warnings": outcome.warnings.iter().map(warning_json).collect::<Vec<Value>>(),
    });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn violation_json(violation: &Violation) -> Value {
    let pushed_by = violation.pushed_by.iter();
    let mut document = json!({
        "type": violation.type_name,
        "member": member_or_null(&violation.member),
        "rule": violation.rule.as_str(),
        "expected": violation.expected,
        "found": violation.found,
        "pushed_by": pushed_by.map(|push| push.member.as_str()).collect::<Vec<&str>>(),
        "file": violation.file,
        "configurations": violation.configurations,
        "members": violation.members.iter().map(seen_json).collect::<Vec<Value>>(),
        "pushes": violation.pushed_by.iter().map(push_json).collect::<Vec<Value>>(),
        "between": violation.between,
        "declared": violation.decl.as_ref().map(|decl| json!({ "file": decl.file, "line": decl.line })),
        "reason": violation.reason,
        "config_line": violation.at.line,
        "config_column": violation.at.column,
    });
    if let Some(expired) = &violation.expired {
        document["waiver_expired"] = json!({
            "expires": expired.expires.to_string(),
            "reason": expired.reason,
            "config_line": expired.at.line,
        });
    }
    document
}

fn member_or_null(member: &str) -> Value {
    match member {
        "" => Value::Null,
        member => json!(member),
    }
}

fn seen_json(seen: &SeenMember) -> Value {
    json!({ "name": seen.path, "offset": seen.offset, "size": seen.bytes, "line": seen.line })
}

fn push_json(push: &PushingChange) -> Value {
    let (how, before_bits, after_bits) = match push.kind {
        MemberChangeKind::Added { size_bits } => ("added", None, Some(size_bits)),
        MemberChangeKind::Removed { size_bits } => ("removed", Some(size_bits), None),
        MemberChangeKind::Resized { from_bits, to_bits } => {
            ("resized", Some(from_bits), Some(to_bits))
        }
        MemberChangeKind::Moved { .. } => ("moved", None, None),
        MemberChangeKind::Realigned => ("realigned", None, None),
    };
    let mut document = json!({ "member": push.member, "how": how, "pushed_bits": push.bits });
    if let Some(bits) = before_bits {
        document["old_size_bits"] = json!(bits);
    }
    if let Some(bits) = after_bits {
        document["new_size_bits"] = json!(bits);
    }
    if let MemberChangeKind::Moved { from_bit, to_bit } = push.kind {
        document["old_offset"] = json!(from_bit / 8);
        document["new_offset"] = json!(to_bit / 8);
    }
    document
}

fn waived_json(waived: &WaivedViolation) -> Value {
    let mut document = violation_json(&waived.violation);
    document["waiver"] = json!({
        "reason": waived.reason,
        "expires": waived.expires.to_string(),
        "config_line": waived.at.line,
    });
    document
}

fn warning_json(warning: &CheckWarning) -> Value {
    json!({
        "message": warning.message,
        "config_line": warning.at.map(|at| at.line),
    })
}
