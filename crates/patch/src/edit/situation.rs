//! What a move is about: what moves, in which body, and the statement beside which it goes.

use super::conditional::middle_of;
use super::gap::{anchor, item_behind};
use super::move_members::Move;
use super::neighbours::last_name_in;
use super::unit::{Unit, common, unit};
use crate::body::{Body, Branch, Item};
use crate::change::Position;
use crate::declarator::What;
use crate::find::{Definition, File, ItemPath};
use crate::refusal::Refusal;

/// What moves, and what it goes beside.
pub(crate) struct Situation<'a> {
    /// The body in which it moves.
    pub body: &'a Body,
    pub unit: Unit,
    /// The statement beside which it goes; `None`: to one of the ends.
    pub anchor: Option<usize>,
    pub to: Position,
}

impl<'a> Situation<'a> {
    pub fn new(
        file: &File<'_>,
        definition: &'a Definition,
        asked: Move<'_>,
    ) -> Result<Self, Refusal> {
        let path = match asked.to.anchor() {
            None => None,
            Some(name) => Some(anchor_path(file, definition, name, asked.to)?),
        };
        let unit = unit(file, definition, asked.members, path.as_ref())?;
        let (at, member) = (path.as_ref(), &asked.members[0]);
        let anchor = anchor(file, definition, &unit.bodies, at, asked.to, member)?;
        let body = definition.body_of(&unit.path());
        let mut at = Situation {
            body,
            unit,
            anchor,
            to: asked.to.clone(),
        };
        if let Some((anchor, to)) = at.in_own_group(member) {
            (at.anchor, at.to) = (Some(anchor), to);
        }
        Ok(at)
    }

    /// A place right beside the `#if` group that it stands in with others, as one inside of that.
    fn in_own_group(&self, member: &str) -> Option<(usize, Position)> {
        let level = common(self.own_branches(), self.their_branches());
        let &[(group, _)] = &self.own_branches()[level..] else {
            return None;
        };
        let of = |item: &Item| item.branches.get(level).map(|&(group, _)| group);
        let inside = |item: &Item| of(item) == Some(group);
        let items = &self.body.items;
        let first = items.iter().position(inside)?;
        let last = items.iter().rposition(inside)?;
        let moves = |index| (self.unit.first..=self.unit.last).contains(&index);
        let middle = |anchor| middle_of(self.body, anchor, &self.to, level, moves).next();
        if (first, last) == (self.unit.first, self.unit.last)
            || !self.body.groups[group].elses.is_empty()
            || self.anchor.and_then(middle).is_some()
        {
            return None;
        }
        let name = |index: usize| last_name_in(&items[index], member);
        match item_behind(self.body, self.anchor, &self.to, level) {
            at if at == first => Some((first, Position::Before(name(first)?))),
            at if at == last + 1 => Some((last, Position::After(name(last)?))),
            _ => None,
        }
    }

    /// The branches that all that moves stands in.
    pub fn own_branches(&self) -> &'a [Branch] {
        self.unit.branches(self.body)
    }

    /// The branches of what it goes beside.
    pub fn their_branches(&self) -> &'a [Branch] {
        self.anchor
            .map_or(&[], |anchor| &self.body.items[anchor].branches)
    }
}

/// The declaration that is stood behind (the last) or before (the first).
pub(crate) fn anchor_path(
    file: &File<'_>,
    definition: &Definition,
    name: &str,
    to: &Position,
) -> Result<ItemPath, Refusal> {
    let mut found = definition.members(file, name)?;
    let path = match to.is_before() {
        true => found.swap_remove(0),
        false => found.swap_remove(found.len() - 1),
    };
    let item = definition.item(&path);
    let (member, place) = (name.to_owned(), file.place(item.first));
    // Of borders, only the marks of groups have a name.
    match item.what {
        What::Macro | What::Unsure => Err(Refusal::MacroMember { member, place }),
        What::Flexible if matches!(to, Position::After(_)) => {
            Err(Refusal::FlexibleArray { member, place })
        }
        _ => Ok(path),
    }
}
