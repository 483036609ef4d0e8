//! Whether the rules hold for one type.

mod apart;
mod recorded;
mod single;
mod together;
mod words;

use relayout_layout::abi::Abi;
use relayout_layout::{SourceLine, TypeId, Types};

use crate::explain;
use crate::known::KnownType;
use crate::members::{self, Place, TooMany};
use crate::{Assertion, Error, MemberPattern, Push, Rule, RuleId, Seen};

pub(crate) use recorded::recorded;

/// The type that is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub types: &'a Types,
    pub abi: &'a Abi<'a>,
    pub id: TypeId,
    pub name: &'a str,
    pub decl: Option<&'a SourceLine>,
    pub line_bytes: u64,
    /// The debug information says which types are aligned by declaration.
    pub alignments_known: bool,
    /// Where its members were before, if that is known.
    pub known: Option<&'a KnownType>,
}

/// What is wrong, without what holds for all assertions of the same rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Broken {
    /// `None`: of the rule that was asserted.
    pub rule: Option<RuleId>,
    pub member: String,
    pub expected: String,
    pub found: String,
    pub members: Vec<Seen>,
    pub pushed_by: Vec<Push>,
    pub between: Vec<String>,
    pub decl: Option<SourceLine>,
}

/// Looks whether an assertion holds; what is wrong, if it does not. A rule on as-recorded layouts is
/// not judged here.
pub(crate) fn assertion(
    subject: &Subject<'_>,
    assertion: &Assertion,
    optional: bool,
) -> Result<Vec<Broken>, Error> {
    let rule = &assertion.rule;
    let mut groups: Vec<Vec<Place>> = Vec::new();
    let mut broken = Vec::new();
    for pattern in rule.members() {
        let found = places(subject, pattern)?;
        if found.is_empty() && !optional {
            broken.push(missing(subject, pattern.as_str()));
        }
        groups.push(found);
    }
    if !broken.is_empty() {
        return Ok(broken);
    }
    let all = || groups.concat();
    let each = |judge: &dyn Fn(&Place) -> Option<Broken>| all().iter().filter_map(judge).collect();
    Ok(match rule {
        Rule::SizeMax(bytes) => single::size_max(subject, *bytes).into_iter().collect(),
        Rule::Size(bytes) => single::size(subject, *bytes).into_iter().collect(),
        Rule::Align(bytes) => single::align(subject, *bytes).into_iter().collect(),
        Rule::At { offset, .. } => each(&|place| single::at(subject, place, *offset)),
        Rule::Aligned { bytes, .. } => each(&|place| single::aligned(subject, place, *bytes)),
        Rule::NoStraddle(_) => each(&|place| single::no_straddle(subject, place)),
        Rule::SameLine(_) => together::same_line(subject, &all()).into_iter().collect(),
        Rule::WithinLine(_) => together::within_line(subject, &all()).into_iter().collect(),
        Rule::DifferentLines(_) => apart::apart(subject, &groups, 1),
        Rule::DifferentPairs(_) => apart::apart(subject, &groups, 2),
        Rule::AsRecorded(_) => Vec::new(),
    })
}

fn places(subject: &Subject<'_>, pattern: &MemberPattern) -> Result<Vec<Place>, Error> {
    let found = members::find(subject.types, subject.id, pattern);
    found.map_err(|TooMany| Error::TooManyMembers {
        type_name: subject.name.to_owned(),
        pattern: pattern.as_str().to_owned(),
        most: members::MEMBERS_MAX,
    })
}

/// A member that is not there.
fn missing(subject: &Subject<'_>, path: &str) -> Broken {
    // What it should be in may be there.
    let mut outer = members::start(subject.id);
    let mut names = Vec::new();
    loop {
        let children = members::children(subject.types, &outer);
        let on_the_way = |child: &&Place| {
            let rest = path.strip_prefix(child.path.as_str());
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        names.extend(children.iter().map(|child| child.path.clone()));
        match children.iter().find(on_the_way) {
            Some(child) => outer = child.clone(),
            None => break,
        }
    }
    let close = relayout_layout::close::names(names.iter().map(String::as_str), path);
    Broken {
        rule: Some(RuleId::Exists),
        member: path.to_owned(),
        expected: format!("a member {path}"),
        found: match &close[..] {
            [] => "none".to_owned(),
            close => format!("none; close: {}", close.join(", ")),
        },
        decl: subject.decl.cloned(),
        ..Broken::default()
    }
}

impl Subject<'_> {
    fn seen(&self, place: &Place) -> Seen {
        Seen {
            path: place.path.clone(),
            offset: place.offset(),
            bytes: place.bytes(),
            line: place.offset() / self.line_bytes,
        }
    }

    /// What is wrong with a place, with who pushed it there.
    fn broken(&self, place: &Place, expected: String, found: String) -> Broken {
        Broken {
            member: place.path.clone(),
            expected,
            found,
            members: vec![self.seen(place)],
            pushed_by: self.pushed(&place.path),
            decl: place.decl.as_ref().or(self.decl).cloned(),
            ..Broken::default()
        }
    }

    /// What is wrong with where several members are; `at` is the one that is off.
    fn broken_group(&self, places: &[&Place], at: &Place, expected: String) -> Broken {
        let mut pushed_by: Vec<Push> = Vec::new();
        for place in places {
            for push in self.pushed(&place.path) {
                if !pushed_by.iter().any(|one| one.member == push.member) {
                    pushed_by.push(push);
                }
            }
        }
        Broken {
            members: places.iter().map(|place| self.seen(place)).collect(),
            pushed_by,
            ..self.broken(at, expected, words::places(places, self.line_bytes))
        }
    }

    fn pushed(&self, path: &str) -> Vec<Push> {
        let known = self.known.into_iter();
        known
            .flat_map(|known| explain::member(self.types, self.id, known, path))
            .collect()
    }
}
