//! Layouts of what findings are about.

use std::borrow::Cow;
use std::collections::BTreeSet;

use relayout_advice::ResolvedProfile;
use relayout_contend::{Finding, FindingSubject};
use relayout_layout::abi::AbiEngine;
use relayout_layout::{Aggregate, Member, MemberSpan, TypeArena};

use crate::declarations::find_object;

/// Members of a type that are listed: a class may have more than anybody looks at.
const MEMBERS_MAX: usize = 2000;

/// Layout of what a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectLayout {
    /// Type or variable.
    pub subject: FindingSubject,
    /// Bytes of an object.
    pub size: u64,
    /// Members in the order of their declaration, those of anonymous structs and unions among them. The
    /// path is the name: that of the class for a base class, and those of its members for an anonymous union.
    pub members: Vec<MemberSpan>,
}

/// Returns the layouts of the structs and classes that `findings` are about, each once.
pub fn read_subject_layouts(
    resolved: &ResolvedProfile<'_>,
    findings: &[&Finding],
) -> Vec<SubjectLayout> {
    let subjects: BTreeSet<&FindingSubject> =
        findings.iter().map(|finding| &finding.subject).collect();
    { subjects.into_iter() }
        .filter_map(|subject| subject_layout(resolved, subject))
        .collect()
}

fn subject_layout(
    resolved: &ResolvedProfile<'_>,
    subject: &FindingSubject,
) -> Option<SubjectLayout> {
    let types = resolved.resolution.types();
    let object = find_object(resolved, subject)?;
    let aggregate = types.aggregate(types.strip_typedefs(object.ty))?;
    let aggregate = match AbiEngine::new(types).flatten_anonymous(aggregate) {
        Some(flattened) => Cow::Owned(flattened),
        None => Cow::Borrowed(aggregate),
    };
    let members = aggregate.members.iter().take(MEMBERS_MAX);
    Some(SubjectLayout {
        subject: subject.clone(),
        size: aggregate.size,
        members: members
            .map(|member| subject_member(types, member))
            .collect(),
    })
}

/// Returns the members of an anonymous union: `d_lru | d_wait`.
fn choices(class: &Aggregate) -> String {
    let names: Vec<&str> = { class.members.iter() }
        .filter_map(|member| member.name.as_deref())
        .collect();
    names.join(" | ")
}

fn subject_member(types: &TypeArena, member: &Member) -> MemberSpan {
    let class = types.aggregate(types.strip_typedefs(member.ty));
    let class_name = class.map(|class| class.name.clone().unwrap_or_else(|| choices(class)));
    MemberSpan {
        path: member.name.clone().or(class_name).unwrap_or_default(),
        offset: member.offset,
        size: types.size_of(member.ty).unwrap_or(0),
    }
}
