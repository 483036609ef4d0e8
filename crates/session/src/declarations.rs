//! Source lines that declare the members of findings.

use std::collections::BTreeMap;

use relayout_contend::{Finding, FindingSubject};
use relayout_layout::SourceLine;
use relayout_resolve::ResolvedObject;

use relayout_advice::ResolvedProfile;

/// Source lines that declare the members of findings, by the offset of the member in its subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberDeclarations(BTreeMap<(FindingSubject, i64), SourceLine>);

impl MemberDeclarations {
    /// Reads the lines of all members of `findings` from the debug information.
    pub fn read(resolved: &ResolvedProfile<'_>, findings: &[&Finding]) -> Self {
        let mut objects: BTreeMap<&FindingSubject, Option<&ResolvedObject>> = BTreeMap::new();
        let mut lines = BTreeMap::new();
        for finding in findings {
            let subject = &finding.subject;
            let object = objects
                .entry(subject)
                .or_insert_with(|| find_object(resolved, subject));
            let Some(object) = object else { continue };
            for member in &finding.members {
                let Ok(offset) = u64::try_from(member.offset) else {
                    continue;
                };
                let types = resolved.resolution.types();
                if let Some(line) = types.declaration_at(object.ty, offset) {
                    lines.insert((subject.clone(), member.offset), line.clone());
                }
            }
        }
        Self(lines)
    }

    /// Returns the line that declares the member of `subject` at `offset` bytes.
    pub fn line_of(&self, subject: &FindingSubject, offset: i64) -> Option<&SourceLine> {
        self.0.get(&(subject.clone(), offset))
    }
}

impl FromIterator<((FindingSubject, i64), SourceLine)> for MemberDeclarations {
    fn from_iter<I: IntoIterator<Item = ((FindingSubject, i64), SourceLine)>>(lines: I) -> Self {
        Self(lines.into_iter().collect())
    }
}

/// Returns an object of the subject; `None` for scalars, which have no members.
pub(crate) fn find_object<'r>(
    resolved: &ResolvedProfile<'r>,
    subject: &FindingSubject,
) -> Option<&'r ResolvedObject> {
    let is_subject = |object: &&ResolvedObject| match (subject, object.variable()) {
        (FindingSubject::Type { name }, None) => object.type_name == *name,
        (FindingSubject::Variable { name, .. }, Some(variable)) => variable == name,
        _ => false,
    };
    resolved.resolution.objects().iter().find(is_subject)
}
