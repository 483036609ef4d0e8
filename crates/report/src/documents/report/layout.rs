//! Layout of what a finding is about.

use relayout_session::{SubjectLayout, SubjectMember};
use schemars::JsonSchema;
use serde::Serialize;

/// Layout of a type or variable that findings are about.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SubjectLayoutDocument<'a> {
    /// As in `findings[].type`.
    #[serde(rename = "type")]
    type_name: &'a str,
    /// As in `findings[].variable`.
    variable: Option<&'a str>,
    /// Bytes of an object.
    size: u64,
    /// Members in the order of their declaration, at most 2,000.
    members: Vec<SubjectMemberDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct SubjectMemberDocument<'a> {
    /// Path of the member.
    name: &'a str,
    /// Offset in bytes from the start of the outermost type.
    offset: u64,
    /// Size in bytes.
    size: u64,
}

pub(crate) fn subject_layout_document(layout: &SubjectLayout) -> SubjectLayoutDocument<'_> {
    SubjectLayoutDocument {
        type_name: layout.subject.type_name(),
        variable: layout.subject.variable(),
        size: layout.size,
        members: layout.members.iter().map(member_document).collect(),
    }
}

fn member_document(member: &SubjectMember) -> SubjectMemberDocument<'_> {
    SubjectMemberDocument {
        name: &member.name,
        offset: member.offset,
        size: member.size,
    }
}
