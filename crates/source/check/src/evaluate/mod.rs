//! Evaluation of the rules for one type.

mod apart;
mod recorded;
mod single;
mod together;
mod words;

use relayout_layout::abi::AbiEngine;
use relayout_layout::{MemberSpan, SourceLine, TypeArena, TypeId};

use crate::explain;
use crate::known::KnownType;
use crate::members::{self, MatchedMember, TooManyMatches};
use crate::{Error, LayoutAssertion, LayoutRule, MemberPattern, PushingChange, RuleId, SeenMember};

pub(crate) use recorded::judge_recorded;

/// Type under evaluation.
#[derive(Clone, Copy)]
pub(crate) struct RuleSubject<'a> {
    pub types: &'a TypeArena,
    pub abi: &'a AbiEngine<'a>,
    pub id: TypeId,
    pub name: &'a str,
    pub decl: Option<&'a SourceLine>,
    pub line_bytes: u64,
    /// True if the debug information tells which types have a declared alignment.
    pub alignments_known: bool,
    /// Earlier layout of the type, if known.
    pub known: Option<&'a KnownType>,
}

/// Violation of a rule, without the parts that are common to all assertions of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RuleBreach {
    /// Violated rule; `None` means the asserted rule.
    pub rule: Option<RuleId>,
    pub member: String,
    pub expected: String,
    pub found: String,
    pub members: Vec<SeenMember>,
    pub pushed_by: Vec<PushingChange>,
    pub between: Vec<String>,
    pub decl: Option<SourceLine>,
}

/// Evaluates an assertion and returns its breaches. [`recorded`] evaluates the rule `as_recorded`.
pub(crate) fn judge_assertion(
    subject: &RuleSubject<'_>,
    assertion: &LayoutAssertion,
    optional: bool,
) -> Result<Vec<RuleBreach>, Error> {
    let rule = &assertion.rule;
    let mut groups: Vec<Vec<MatchedMember>> = Vec::new();
    let mut breaches = Vec::new();
    for pattern in rule.members() {
        let found = matching_places(subject, pattern)?;
        if found.is_empty() && !optional {
            breaches.push(missing_member(subject, pattern.as_str()));
        }
        groups.push(found);
    }
    if rule.is_apart() && breaches.is_empty() {
        let was_found: Vec<bool> = groups.iter().map(|group| !group.is_empty()).collect();
        members::leave_to_one_group(rule.members(), &mut groups);
        let emptied = rule
            .members()
            .iter()
            .zip(&groups)
            .zip(was_found)
            .filter(|((_, group), was_found)| *was_found && group.is_empty());
        breaches.extend(emptied.map(|((pattern, _), _)| claimed_members(subject, pattern)));
    }
    if !breaches.is_empty() {
        return Ok(breaches);
    }
    let all_places = || groups.concat();
    let each = |judge: &dyn Fn(&MatchedMember) -> Option<RuleBreach>| {
        all_places().iter().filter_map(judge).collect()
    };
    Ok(match rule {
        LayoutRule::SizeMax(bytes) => single::judge_size_max(subject, *bytes)
            .into_iter()
            .collect(),
        LayoutRule::Size(bytes) => single::judge_size(subject, *bytes).into_iter().collect(),
        LayoutRule::Align(bytes) => single::judge_align(subject, *bytes).into_iter().collect(),
        LayoutRule::At { offset, .. } => {
            each(&|place| single::judge_offset(subject, place, *offset))
        }
        LayoutRule::Aligned { bytes, .. } => {
            each(&|place| single::judge_aligned(subject, place, *bytes))
        }
        LayoutRule::NoStraddle(_) => each(&|place| single::judge_straddle(subject, place)),
        LayoutRule::SameLine(_) => together::judge_same_line(subject, &all_places())
            .into_iter()
            .collect(),
        LayoutRule::WithinLine(_) => together::judge_within_line(subject, &all_places())
            .into_iter()
            .collect(),
        LayoutRule::DifferentLines(_) => apart::judge_apart(subject, &groups, 1),
        LayoutRule::DifferentPairs(_) => apart::judge_apart(subject, &groups, 2),
        LayoutRule::AsRecorded(_) => Vec::new(),
    })
}

fn matching_places(
    subject: &RuleSubject<'_>,
    pattern: &MemberPattern,
) -> Result<Vec<MatchedMember>, Error> {
    let found = members::find_members(subject.types, subject.id, pattern);
    found.map_err(|TooManyMatches| Error::TooManyMembers {
        type_name: subject.name.to_owned(),
        pattern: pattern.as_str().to_owned(),
        most: members::MEMBERS_MAX,
    })
}

/// Creates the breach for a member that does not exist.
fn missing_member(subject: &RuleSubject<'_>, path: &str) -> RuleBreach {
    // An outer component of the path may exist.
    let mut outer = members::whole_type(subject.id);
    let mut names = Vec::new();
    loop {
        let children = members::direct_members(subject.types, &outer);
        let on_the_way = |child: &&MatchedMember| {
            let rest = path.strip_prefix(child.path.as_str());
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        names.extend(children.iter().map(|child| child.path.clone()));
        match children.iter().find(on_the_way) {
            Some(child) => outer = child.clone(),
            None => break,
        }
    }
    let close = relayout_layout::suggestions::similar_names(names.iter().map(String::as_str), path);
    RuleBreach {
        rule: Some(RuleId::Exists),
        member: path.to_owned(),
        expected: format!("a member {path}"),
        found: match &close[..] {
            [] => "none".to_owned(),
            close => format!("none; close: {}", close.join(", ")),
        },
        decl: subject.decl.cloned(),
        ..RuleBreach::default()
    }
}

/// Creates the breach for a glob whose matches all belong to other entries of its group: it would
/// assert nothing.
fn claimed_members(subject: &RuleSubject<'_>, pattern: &MemberPattern) -> RuleBreach {
    RuleBreach {
        rule: Some(RuleId::Exists),
        member: pattern.as_str().to_owned(),
        expected: format!("a member {pattern} that no other entry of the group names"),
        found: "none".to_owned(),
        decl: subject.decl.cloned(),
        ..RuleBreach::default()
    }
}

impl RuleSubject<'_> {
    fn seen_member(&self, place: &MatchedMember) -> SeenMember {
        SeenMember {
            span: MemberSpan {
                path: place.path.clone(),
                offset: place.offset(),
                size: place.bytes(),
            },
            line: place.offset() / self.line_bytes,
        }
    }

    /// Creates the breach for a member, with the changes that pushed the member there.
    fn breach_at(&self, place: &MatchedMember, expected: String, found: String) -> RuleBreach {
        RuleBreach {
            member: place.path.clone(),
            expected,
            found,
            members: vec![self.seen_member(place)],
            pushed_by: self.pushes_of(&place.path),
            decl: place.decl.as_ref().or(self.decl).cloned(),
            ..RuleBreach::default()
        }
    }

    /// Creates the breach for the positions of several members. `at` is the misplaced member.
    fn breach_of_group(
        &self,
        places: &[&MatchedMember],
        culprit: &MatchedMember,
        expected: String,
    ) -> RuleBreach {
        let mut pushed_by: Vec<PushingChange> = Vec::new();
        for place in places {
            for push in self.pushes_of(&place.path) {
                if !pushed_by.iter().any(|known| known.member == push.member) {
                    pushed_by.push(push);
                }
            }
        }
        RuleBreach {
            members: places.iter().map(|place| self.seen_member(place)).collect(),
            pushed_by,
            ..self.breach_at(
                culprit,
                expected,
                words::describe_places(places, self.line_bytes),
            )
        }
    }

    fn pushes_of(&self, path: &str) -> Vec<PushingChange> {
        let known = self.known.into_iter();
        known
            .flat_map(|known| explain::explain_member(self.types, self.id, known, path))
            .collect()
    }
}
