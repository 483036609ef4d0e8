//! Layout of what a finding is about.

use relayout_layout::MemberSpan;
use relayout_session::SubjectLayout;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Layout of a type or variable that findings are about.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SubjectLayoutDocument {
    /// As in `findings[].type`.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// As in `findings[].variable`.
    pub(crate) variable: Option<String>,
    /// Bytes of an object.
    pub(crate) size: u64,
    /// Members in the order of their declaration, at most 2,000.
    pub(crate) members: Vec<SubjectMemberDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SubjectMemberDocument {
    /// Path of the member.
    pub(crate) name: String,
    /// Offset in bytes from the start of the outermost type.
    pub(crate) offset: u64,
    /// Size in bytes.
    pub(crate) size: u64,
}

pub(crate) fn subject_layout_document(layout: &SubjectLayout) -> SubjectLayoutDocument {
    SubjectLayoutDocument {
        type_name: layout.subject.type_name().to_owned(),
        variable: layout.subject.variable().map(str::to_owned),
        size: layout.size,
        members: layout.members.iter().map(member_document).collect(),
    }
}

fn member_document(member: &MemberSpan) -> SubjectMemberDocument {
    SubjectMemberDocument {
        name: member.path.clone(),
        offset: member.offset,
        size: member.size,
    }
}
