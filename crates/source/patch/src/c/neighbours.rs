//! Current positions of a unit, as targets of a move.

use super::move_members::spacing_before;
use super::unit::{edge_name, find_unit, last_name};
use crate::change::{MemberPosition, MoveRequest, SourceChange};
use crate::find::StructDefinition;
use crate::spacing::MoveSpacing;
use crate::tokenized::TokenizedFile;

/// Largest number of blank lines to try behind a declaration that a member returns to.
const BLANK_MAX: usize = 2;

/// Candidates for the inverse of the requested move, of a definition like `old` in a text in
/// which no declaration is left to split.
pub(crate) fn moves_back(
    file: &TokenizedFile<'_>,
    old: &StructDefinition,
    request: MoveRequest<'_>,
    comments_stay: bool,
) -> Vec<SourceChange> {
    let Ok(definition) = file.find_same_definition(old) else {
        return Vec::new();
    };
    let Ok(spacing) = spacing_before(file, &definition, request, comments_stay) else {
        return Vec::new();
    };
    let to = |to: MemberPosition, spacing: MoveSpacing| SourceChange::MoveMembers {
        members: request.members.to_vec(),
        to,
        spacing: Some(spacing),
        reason: None,
    };
    let places = current_positions(file, &definition, request.members);
    // A comment above the first of several stays above the others; it goes behind those, to be
    // joined.
    let behind = match comments_stay {
        true => { places.iter() }
            .find_map(|place| match place {
                MemberPosition::Before(next) => Some(next.clone()),
                _ => None,
            })
            .into_iter()
            .flat_map(|next| {
                (0..=BLANK_MAX).map(move |below| {
                    (
                        MemberPosition::After(next.clone()),
                        MoveSpacing {
                            above: 0,
                            below,
                            ..spacing
                        },
                    )
                })
            })
            .collect(),
        false => Vec::new(),
    };
    let places = places.into_iter().map(|place| (place, spacing));
    places
        .chain(behind)
        .map(|(place, spacing)| to(place, spacing))
        .collect()
}

/// Positions of `members`: behind the member before them, before the member behind them, or an
/// end.
fn current_positions(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    members: &[String],
) -> Vec<MemberPosition> {
    let Ok(unit) = find_unit(file, definition, members, None) else {
        return Vec::new();
    };
    let body = definition.body_of(&unit.path());
    let own = last_name(&members[0]);
    let prefix = &members[0][..members[0].len() - own.len()];
    let before = unit
        .first
        .checked_sub(1)
        .map(|index| &body.statements[index]);
    let after = before.and_then(|statement| edge_name(statement, true));
    let next = body.statements.get(unit.last + 1);
    let next = next.and_then(|statement| edge_name(statement, false));
    let mut found = Vec::new();
    found.extend(after.map(|name| MemberPosition::After(format!("{prefix}{name}"))));
    let next = next.map(|name| format!("{prefix}{name}"));
    found.extend(next.clone().map(MemberPosition::Before));
    found.extend(next.map(MemberPosition::Below));
    if unit.first == 0 {
        found.push(MemberPosition::First);
    }
    if unit.last + 1 == body.statements.len() {
        found.push(MemberPosition::Last);
    }
    found
}
