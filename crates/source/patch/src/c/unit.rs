//! Statements that move together, found by the names of members.

use crate::body::{BodyStatement, BracedBody, IfBranch};
use crate::declarator::StatementKind;
use crate::find::{StatementPath, StructDefinition};
use crate::lex::TokenIndex;
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Statements `first..=last` of the body that `bodies` leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MovedUnit {
    pub bodies: Vec<usize>,
    pub first: usize,
    pub last: usize,
}

impl MovedUnit {
    /// Path of its first statement.
    pub fn path(&self) -> StatementPath {
        StatementPath {
            bodies: self.bodies.clone(),
            statement: self.first,
        }
    }

    /// The `#if` branches around all of the statements.
    pub fn branches<'a>(&self, body: &'a BracedBody) -> &'a [IfBranch] {
        let statements = &body.statements[self.first..=self.last];
        let first = &statements[0].branches;
        let shared = |statement: &BodyStatement| shared_branches(first, &statement.branches);
        let level = statements.iter().map(shared).min().unwrap_or(0);
        &first[..level]
    }

    /// First and last token, with the whole `#if` groups around the statements beyond `level`
    /// branches.
    pub fn token_range(&self, body: &BracedBody, level: usize) -> (TokenIndex, TokenIndex) {
        let (first, last) = (&body.statements[self.first], &body.statements[self.last]);
        let group =
            |statement: &BodyStatement| statement.branches.get(level).map(|&(group, _)| group);
        (
            group(first).map_or(first.first, |group| body.groups[group].start),
            group(last).map_or(last.last, |group| body.groups[group].end),
        )
    }

    fn contains(&self, index: usize) -> bool {
        (self.first..=self.last).contains(&index)
    }
}

/// Number of branches that two statements share.
pub(crate) fn shared_branches(a: &[IfBranch], b: &[IfBranch]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Finds the statements that declare `members`, and nothing else. An anonymous struct or union
/// that they are all of stands for them, if `anchor` (`None`: the front) is outside of it.
pub(crate) fn find_unit(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    members: &[String],
    anchor: Option<&StatementPath>,
) -> Result<MovedUnit, EditRefusal> {
    let (mut paths, mut unknown) = (Vec::new(), Vec::new());
    for member in members {
        let mut found = match definition.find_members(file, member) {
            Ok(found) => found,
            Err(refusal) => {
                unknown.push(refusal);
                continue;
            }
        };
        if let [first, second, ..] = found.as_slice()
            && !are_exclusive(definition, &found)
        {
            return Err(EditRefusal::MemberTwice {
                member: member.clone(),
                first: file.place(definition.statement(first).first),
                second: file.place(definition.statement(second).first),
            });
        }
        paths.append(&mut found);
    }
    let named_members = NamedMembers {
        file,
        definition,
        members,
        unknown_count: unknown.len(),
    };
    // A macro may give a member another name than the text has: `#define rcu_head callback_head`.
    // In an anonymous struct or union that is named otherwise, it must be the one left over.
    let in_anonymous = paths.first().is_some_and(|path| !path.bodies.is_empty());
    if let Some(refusal) = unknown.into_iter().next().filter(|_| !in_anonymous) {
        return Err(refusal);
    }
    let depth = paths
        .iter()
        .skip(1)
        .fold(paths[0].bodies.len(), |depth, path| {
            depth.min(shared_steps(&path.bodies, &paths[0].bodies))
        });
    let depth = named_members.lifted_depth(depth, &paths[0], anchor);
    let indexes: Vec<usize> = paths
        .iter()
        .map(|path| path.bodies.get(depth).copied().unwrap_or(path.statement))
        .collect();
    for path in &paths {
        named_members.require_whole_containers(path, depth)?;
    }
    let mut unit = MovedUnit {
        bodies: paths[0].bodies[..depth].to_vec(),
        first: indexes.iter().copied().min().unwrap_or(0),
        last: indexes.iter().copied().max().unwrap_or(0),
    };
    let body = named_members.body(&unit);
    named_members.extend_to_bitfield_run(body, &mut unit)?;
    named_members.require_nothing_between(body, &unit, &indexes)?;
    named_members.require_whole_groups(body, &unit)?;
    for statement in &body.statements[unit.first..=unit.last] {
        named_members.require_movable(statement)?;
    }
    if named_members.in_union(&unit) {
        return Err(EditRefusal::InUnion {
            name: members[0].clone(),
            place: file.place(body.statements[unit.first].first),
        });
    }
    Ok(unit)
}

fn shared_steps(a: &[usize], b: &[usize]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Returns true if the declarations of one name stand in different branches of one `#if`.
fn are_exclusive(definition: &StructDefinition, paths: &[StatementPath]) -> bool {
    let branches = |path: &StatementPath| definition.statement(path).branches.clone();
    paths.iter().enumerate().all(|(index, path)| {
        paths[index + 1..].iter().all(|other| {
            let (own, theirs) = (branches(path), branches(other));
            let level = shared_branches(&own, &theirs);
            path.bodies == other.bodies
                && matches!((own.get(level), theirs.get(level)), (Some(a), Some(b)) if a.0 == b.0)
        })
    })
}

struct NamedMembers<'a> {
    file: &'a TokenizedFile<'a>,
    definition: &'a StructDefinition,
    members: &'a [String],
    /// Number of named members that the text does not have.
    unknown_count: usize,
}

impl NamedMembers<'_> {
    fn body(&self, unit: &MovedUnit) -> &BracedBody {
        self.definition.body_of(&unit.path())
    }

    fn in_union(&self, unit: &MovedUnit) -> bool {
        self.definition.is_in_union(&unit.path())
    }

    fn names_statement(&self, statement: &BodyStatement) -> bool {
        let own = |name: &String| self.members.iter().any(|member| last_name(member) == name);
        statement.names.iter().any(own) || statement.group_name.iter().any(own)
    }

    /// Returns true if all members of the body that every configuration has are named, except for
    /// as many as the text does not have.
    fn covers_body(&self, body: &BracedBody) -> bool {
        self.count_not_named(body) <= self.unknown_count
    }

    fn count_not_named(&self, body: &BracedBody) -> usize {
        let count = |statement: &BodyStatement| match statement.body.as_deref() {
            _ if !statement.branches.is_empty() || self.names_statement(statement) => 0,
            Some(inner) if statement.names.is_empty() => self.count_not_named(inner),
            _ => 1,
        };
        body.statements.iter().map(count).sum()
    }

    /// Depth of the body in which the unit moves: outside of anonymous structs and unions that it
    /// is all of, up to the anchor's body.
    fn lifted_depth(
        &self,
        mut depth: usize,
        path: &StatementPath,
        anchor: Option<&StatementPath>,
    ) -> usize {
        let floor = anchor.map_or(0, |anchor| shared_steps(&path.bodies, &anchor.bodies));
        while depth > floor {
            let container = StatementPath {
                bodies: path.bodies[..depth - 1].to_vec(),
                statement: path.bodies[depth - 1],
            };
            let statement = self.definition.statement(&container);
            let covers_all = statement
                .body
                .as_deref()
                .is_some_and(|body| self.covers_body(body));
            if !statement.names.is_empty() || !covers_all {
                break;
            }
            depth -= 1;
        }
        depth
    }

    /// Refuses to move anonymous structs and unions of which not all is named.
    fn require_whole_containers(
        &self,
        path: &StatementPath,
        depth: usize,
    ) -> Result<(), EditRefusal> {
        for level in depth..path.bodies.len() {
            let container = self.definition.statement(&StatementPath {
                bodies: path.bodies[..level].to_vec(),
                statement: path.bodies[level],
            });
            let covers_all = container
                .body
                .as_deref()
                .is_some_and(|body| self.covers_body(body));
            if !container.names.is_empty() || !covers_all {
                return Err(EditRefusal::NestedStruct {
                    member: self.members[0].clone(),
                    place: self.file.place(container.first),
                });
            }
        }
        Ok(())
    }

    /// Extends the unit to the whole run of bitfields that it begins or ends in.
    fn extend_to_bitfield_run(
        &self,
        body: &BracedBody,
        unit: &mut MovedUnit,
    ) -> Result<(), EditRefusal> {
        let bitfield_at = |index: usize| {
            body.statements
                .get(index)
                .filter(|statement| statement.kind == StatementKind::Bitfield)
        };
        let require_named = |statement: &BodyStatement| {
            if statement.names.is_empty()
                || !statement.branches.is_empty()
                || self.names_statement(statement)
            {
                return Ok(());
            }
            Err(EditRefusal::BitfieldRun {
                member: self.members[0].clone(),
                place: self.file.place(body.statements[unit.first].first),
            })
        };
        let (mut first, mut last) = (unit.first, unit.last);
        while bitfield_at(first).is_some()
            && let Some(statement) = first.checked_sub(1).and_then(bitfield_at)
        {
            require_named(statement)?;
            first -= 1;
        }
        while bitfield_at(last).is_some()
            && let Some(statement) = bitfield_at(last + 1)
        {
            require_named(statement)?;
            last += 1;
        }
        (unit.first, unit.last) = (first, last);
        Ok(())
    }

    /// Refuses members with others between them that every configuration has.
    fn require_nothing_between(
        &self,
        body: &BracedBody,
        unit: &MovedUnit,
        named: &[usize],
    ) -> Result<(), EditRefusal> {
        let level = unit.branches(body).len();
        for index in unit.first..=unit.last {
            let statement = &body.statements[index];
            let unnamed = statement.kind == StatementKind::Bitfield && statement.names.is_empty();
            let is_named = named.contains(&index) || self.names_statement(statement) || unnamed;
            if !is_named && statement.branches.len() == level {
                return Err(EditRefusal::NotTogether {
                    member: self.members[0].clone(),
                    place: self.file.place(statement.first),
                });
            }
        }
        Ok(())
    }

    /// Refuses to move a part of an `#if` group.
    fn require_whole_groups(&self, body: &BracedBody, unit: &MovedUnit) -> Result<(), EditRefusal> {
        let level = unit.branches(body).len();
        for statement in &body.statements[unit.first..=unit.last] {
            let Some(&(group, _)) = statement.branches.get(level) else {
                continue;
            };
            let outside = |(index, other): (usize, &BodyStatement)| {
                let inside = other
                    .branches
                    .get(level)
                    .is_some_and(|&(other_group, _)| other_group == group);
                inside && !unit.contains(index)
            };
            if body.statements.iter().enumerate().any(outside) {
                return Err(EditRefusal::ConditionalGroup {
                    member: self.members[0].clone(),
                    place: self.file.place(body.groups[group].start),
                });
            }
        }
        Ok(())
    }

    fn require_movable(&self, statement: &BodyStatement) -> Result<(), EditRefusal> {
        let (member, place) = (self.members[0].clone(), self.file.place(statement.first));
        match statement.kind {
            StatementKind::Macro | StatementKind::NotUnderstood | StatementKind::Border => {
                Err(EditRefusal::MacroMember { member, place })
            }
            StatementKind::Flexible => Err(EditRefusal::FlexibleArray { member, place }),
            _ => Ok(()),
        }
    }
}

/// The member's own name: the last part of its path.
pub(crate) fn last_name(member: &str) -> &str {
    member.rsplit('.').next().unwrap_or(member)
}

/// Path of the last member that a statement declares, in the body of `member`.
pub(crate) fn last_name_in(statement: &BodyStatement, member: &str) -> Option<String> {
    let prefix = &member[..member.len() - last_name(member).len()];
    edge_name(statement, true).map(|name| format!("{prefix}{name}"))
}

/// First or last name of a statement: its own, or a name inside of an anonymous struct.
pub(crate) fn edge_name(statement: &BodyStatement, last: bool) -> Option<String> {
    let own = statement.group_name.as_ref().or(match last {
        true => statement.names.last(),
        false => statement.names.first(),
    });
    own.cloned()
        .or_else(|| edge_name_inside(statement.body.as_deref()?, last))
}

fn edge_name_inside(body: &BracedBody, last: bool) -> Option<String> {
    match last {
        true => edge_name(body.statements.last()?, true),
        false => edge_name(body.statements.first()?, false),
    }
}
