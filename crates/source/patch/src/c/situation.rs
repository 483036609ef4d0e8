//! Statements and target of a move: the moved statements, their body, and the statement beside
//! the target.

use super::conditional::entered_depths;
use super::gap::{anchor_statement, statement_behind};
use super::unit::{MovedUnit, find_unit, last_name_in, shared_branches};
use crate::body::{BodyStatement, BracedBody, IfBranch};
use crate::change::{MemberPosition, MoveRequest};
use crate::declarator::StatementKind;
use crate::find::{StatementPath, StructDefinition};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// The moved statements and the statement beside the target.
pub(crate) struct MoveSituation<'a> {
    /// Body in which the statements move.
    pub body: &'a BracedBody,
    pub unit: MovedUnit,
    /// Statement beside the target; `None`: the target is an end of the body.
    pub anchor: Option<usize>,
    pub to: MemberPosition,
}

impl<'a> MoveSituation<'a> {
    pub fn new(
        file: &TokenizedFile<'_>,
        definition: &'a StructDefinition,
        request: MoveRequest<'_>,
    ) -> Result<Self, EditRefusal> {
        let path = match request.to.anchor() {
            None => None,
            Some(name) => Some(anchor_path(file, definition, name, request.to)?),
        };
        let unit = find_unit(file, definition, request.members, path.as_ref())?;
        let (at, member) = (path.as_ref(), &request.members[0]);
        let anchor = anchor_statement(file, definition, &unit.bodies, at, request.to, member)?;
        let body = definition.body_of(&unit.path());
        let mut situation = MoveSituation {
            body,
            unit,
            anchor,
            to: request.to.clone(),
        };
        if let Some((anchor, to)) = situation.place_in_own_group(member) {
            (situation.anchor, situation.to) = (Some(anchor), to);
        }
        Ok(situation)
    }

    /// Position inside of the `#if` group that the unit shares with others, for a target right
    /// beside that group.
    fn place_in_own_group(&self, member: &str) -> Option<(usize, MemberPosition)> {
        let level = shared_branches(self.own_branches(), self.their_branches());
        let &[(group, _)] = &self.own_branches()[level..] else {
            return None;
        };
        let group_of =
            |statement: &BodyStatement| statement.branches.get(level).map(|&(group, _)| group);
        let inside = |statement: &BodyStatement| group_of(statement) == Some(group);
        let statements = &self.body.statements;
        let first = statements.iter().position(inside)?;
        let last = statements.iter().rposition(inside)?;
        let moves = |index| (self.unit.first..=self.unit.last).contains(&index);
        let middle = |anchor| entered_depths(self.body, anchor, &self.to, level, moves).next();
        if (first, last) == (self.unit.first, self.unit.last)
            || !self.body.groups[group].else_directives.is_empty()
            || self.anchor.and_then(middle).is_some()
        {
            return None;
        }
        let name = |index: usize| last_name_in(&statements[index], member);
        match statement_behind(self.body, self.anchor, &self.to, level) {
            at if at == first => Some((first, MemberPosition::Before(name(first)?))),
            at if at == last + 1 => Some((last, MemberPosition::After(name(last)?))),
            _ => None,
        }
    }

    /// Branches around all moved statements.
    pub fn own_branches(&self) -> &'a [IfBranch] {
        self.unit.branches(self.body)
    }

    /// Branches around the statement beside the target.
    pub fn their_branches(&self) -> &'a [IfBranch] {
        self.anchor
            .map_or(&[], |anchor| &self.body.statements[anchor].branches)
    }
}

/// Path of the declaration beside the target: the last of that name for a target behind it, else
/// the first.
pub(crate) fn anchor_path(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    name: &str,
    to: &MemberPosition,
) -> Result<StatementPath, EditRefusal> {
    let mut found = definition.find_members(file, name)?;
    let path = match to.is_before() {
        true => found.swap_remove(0),
        false => found.swap_remove(found.len() - 1),
    };
    let statement = definition.statement(&path);
    let (member, place) = (name.to_owned(), file.place(statement.first));
    // Of borders, only the marks of groups have a name.
    match statement.kind {
        StatementKind::Macro | StatementKind::NotUnderstood => {
            Err(EditRefusal::MacroMember { member, place })
        }
        StatementKind::Flexible if matches!(to, MemberPosition::After(_)) => {
            Err(EditRefusal::FlexibleArray { member, place })
        }
        _ => Ok(path),
    }
}
