//! Fields of Rust structs: their order where it is the layout's, and the type's alignment.
//!
//! Only `#[repr(C)]` lays fields out in the order of the text; elsewhere the compiler orders them as
//! it likes, and what can be changed is the type's alignment. A field has none of its own: that
//! takes a type around it.
//!
//! The order of fields is also the order in which they are dropped and in which `derive` compares
//! them: a move is refused where a comparison or a hash is derived.

mod item;
mod lex;

use crate::change::{Alignment, Change, Position};
use crate::edit::Spacing;
use crate::edit::spacing::{blank_lines_above, blank_lines_below, closes_body, opens_body};
use crate::lines::{line_start, newline, next_line};
use crate::refusal::{Place, Refusal};
use item::{Field, Item};

/// Makes `changes` to the struct, as [`edit_struct`](crate::edit_struct) does for C.
pub(crate) fn edit(
    file_name: &str,
    source: &str,
    name: &str,
    line_hint: Option<u32>,
    changes: &[Change],
) -> Result<String, Refusal> {
    let mut text = source.to_owned();
    for change in changes {
        let item = Item::find(file_name, &text, name, line_hint)?;
        let new = one(&item, change)?;
        let read_back = Item::find(file_name, &new, name, line_hint);
        let sorted = |item: &Item<'_>| {
            let mut names: Vec<String> = item.fields.iter().map(|f| f.name.clone()).collect();
            names.sort();
            names
        };
        if read_back.is_ok_and(|read| sorted(&read) != sorted(&item)) {
            return Err(Refusal::NotAsIntended {
                name: name.to_owned(),
                place: item.place(),
            });
        }
        text = new;
    }
    Ok(text)
}

/// The names of its fields, in the order of the text.
pub(crate) fn order(file_name: &str, source: &str, name: &str) -> Result<Vec<String>, Refusal> {
    let item = Item::find(file_name, source, name, None)?;
    Ok(item.fields.into_iter().map(|field| field.name).collect())
}

/// The move that gives `source` back, as [`inverse`](crate::inverse) does for C.
pub(crate) fn inverse(
    file_name: &str,
    source: &str,
    name: &str,
    line_hint: Option<u32>,
    change: &Change,
) -> Result<Change, Refusal> {
    let item = Item::find(file_name, source, name, line_hint)?;
    let Change::MoveMembers { members, to, .. } = change else {
        return Err(Refusal::NoInverse);
    };
    let new = one(&item, change)?;
    let (first, last) = run(&item, members)?;
    let (start, end) = (item.fields[first].start, item.fields[last].end);
    let target = match to {
        Position::First => next_line(source, item.open),
        Position::Last => item.fields.last().map_or(item.open, |last| last.end),
        Position::After(anchor) => item.field(anchor)?.end,
        Position::Before(anchor) | Position::Below(anchor) => item.field(anchor)?.start,
    };
    let lines = |at| (blank_lines_above(source, at), blank_lines_below(source, at));
    let spacing = Spacing {
        above: lines(start).0,
        below: lines(end).1,
        left: lines(target).0 + lines(target).1,
    };
    let before = first.checked_sub(1).map(|at| item.fields[at].name.clone());
    let behind = item.fields.get(last + 1).map(|field| field.name.clone());
    let places = [
        before.map_or(Position::First, Position::After),
        behind.map_or(Position::First, Position::Before),
    ];
    let back = places.into_iter().map(|to| Change::MoveMembers {
        members: members.clone(),
        to,
        spacing: Some(spacing),
        reason: None,
    });
    let new_item = Item::find(file_name, &new, name, line_hint)?;
    back.into_iter()
        .find(|back| one(&new_item, back).as_deref() == Ok(source))
        .ok_or(Refusal::NoInverse)
}

fn one(item: &Item<'_>, change: &Change) -> Result<String, Refusal> {
    match change {
        Change::MoveMembers {
            members,
            to,
            spacing,
            reason,
        } => move_fields(item, members, to, *spacing, reason.as_deref()),
        Change::AlignType { alignment, reason } => align(item, alignment, reason.as_deref()),
        Change::RemoveAlignment { member: None } => unalign(item),
        Change::AlignMember { member, .. }
        | Change::RemoveAlignment {
            member: Some(member),
        } => {
            let field = item.field(member)?;
            Err(item.refused(
                field.own,
                "a field has no alignment of its own: align its type, or wrap it in one that is aligned, such as crossbeam_utils::CachePadded",
            ))
        }
        Change::Join { text } => Err(Refusal::NotJoined {
            text: text.clone(),
            place: item.place_of(item.open),
        }),
        Change::JoinGroups { .. } => Err(item.refused(
            item.open,
            "conditions stand at each field: there are no groups of them to join",
        )),
        Change::AddPadding { .. } | Change::RemovePadding { .. } => Err(item.refused(
            item.open,
            "every place that builds the struct would have to name a padding field: align instead",
        )),
    }
}

fn move_fields(
    item: &Item<'_>,
    members: &[String],
    to: &Position,
    spacing: Option<Spacing>,
    reason: Option<&str>,
) -> Result<String, Refusal> {
    if !item.has_repr("C") {
        return Err(item.refused(
            item.open,
            "without #[repr(C)] the compiler orders the fields itself: align the type, or add #[repr(C)] first",
        ));
    }
    if item.has_repr("packed") {
        return Err(Refusal::Packed {
            name: item.name.clone(),
            place: item.place(),
        });
    }
    if let Some(derived) = item.derives(&["PartialOrd", "Ord", "Hash"]) {
        return Err(item.refused(
            item.open,
            match derived {
                "Hash" => "a hash is derived, which is made of the fields in their order",
                _ => "an order is derived, which compares the fields in their order",
            },
        ));
    }
    let (first, last) = run(item, members)?;
    let anchor = match to.anchor() {
        None => None,
        Some(name) => Some(item.index(name)?),
    };
    if let (Position::Below(_), Some(at)) = (to, anchor) {
        return Err(item.refused(
            item.fields[at].own,
            "comments and attributes above a field belong to it: name a place above them",
        ));
    }
    let gap = match (to, anchor) {
        (Position::Last, _) => item.fields.len(),
        (Position::Before(_), Some(at)) => at,
        (_, Some(at)) => at + 1,
        _ => 0,
    };
    let stays = (first..=last + 1).contains(&gap);
    let inside = anchor.is_some_and(|at| (first..=last).contains(&at));
    if inside || (stays && spacing.is_none()) {
        return Err(Refusal::NothingToDo {
            member: members[0].clone(),
            place: item.place_of(item.fields[first].own),
        });
    }
    let ends = item.fields.iter().all(|field| field.comma);
    let source = match ends {
        true => item.source.to_owned(),
        // What moves to the end needs one, and what came to be last may keep it.
        false => item.with_last_comma(),
    };
    let shift = source.len() - item.source.len();
    let fields = &item.fields;
    let end_of =
        |index: usize| fields[index].end + if index + 1 == fields.len() { shift } else { 0 };
    let (start, end) = (fields[first].start, end_of(last));
    let target = match to {
        Position::First => next_line(&source, item.open),
        Position::Before(_) | Position::Below(_) => fields[gap].start,
        Position::Last | Position::After(_) => end_of(gap - 1),
    };
    splice(
        &source,
        item,
        (start, fields[first].own, end),
        target,
        spacing,
        reason,
    )
}

/// First and last of fields that stand together.
fn run(item: &Item<'_>, members: &[String]) -> Result<(usize, usize), Refusal> {
    let indexes: Result<Vec<usize>, Refusal> =
        members.iter().map(|member| item.index(member)).collect();
    let indexes = indexes?;
    let (Some(&first), Some(&last)) = (indexes.iter().min(), indexes.iter().max()) else {
        return Err(Refusal::NoMembers);
    };
    match (first..=last).find(|index| !indexes.contains(index)) {
        None => Ok((first, last)),
        Some(between) => Err(Refusal::NotTogether {
            member: members[0].clone(),
            place: item.place_of(item.fields[between].own),
        }),
    }
}

/// Puts the lines `start..end`, whose first field begins at `own`, where `target` is.
fn splice(
    source: &str,
    item: &Item<'_>,
    (start, own, end): (usize, usize, usize),
    target: usize,
    spacing: Option<Spacing>,
    reason: Option<&str>,
) -> Result<String, Refusal> {
    let own_blank = (
        blank_lines_above(source, start),
        blank_lines_below(source, end),
    );
    let gap_blank = (
        blank_lines_above(source, target),
        blank_lines_below(source, target),
    );
    let up = |at: usize, lines| (0..lines).fold(at, |at, _| line_start(source, at - 1));
    let down = |at: usize, lines| (0..lines).fold(at, |at, _| next_line(source, at));
    let (cut_start, cut_end) = (up(start, own_blank.0), down(end, own_blank.1));
    let (gap_start, gap_end) = (up(target, gap_blank.0), down(target, gap_blank.1));
    let at_edge = opens_body(source, cut_start) || closes_body(source, cut_end);
    let edges = (opens_body(source, gap_start), closes_body(source, gap_end));
    let paragraph = start < own && own_blank.0 > 0;
    let spacing = spacing.unwrap_or_else(|| {
        Spacing::by_style(own_blank, at_edge, gap_blank, (paragraph, false), edges)
    });
    let eol = newline(source);
    let mut lines = String::new();
    if let Some(reason) = reason {
        let line = line_start(source, start);
        let white = source[line..].len() - source[line..].trim_start_matches([' ', '\t']).len();
        let indent = &source[line..line + white];
        if reason.contains(['\n', '\r']) {
            return Err(Refusal::BadReason {
                name: item.name.clone(),
            });
        }
        lines = format!("{indent}// {}{eol}", reason.trim());
    }
    let (above, below) = (eol.repeat(spacing.above), eol.repeat(spacing.below));
    let text = [&above, &lines, &source[start..end], &below].concat();
    let left = eol.repeat(spacing.left);
    Ok(if target >= cut_start && target <= cut_end {
        [&source[..cut_start], &text, &source[cut_end..]].concat()
    } else if gap_start < cut_start {
        [
            &source[..gap_start],
            &text,
            &source[gap_end..cut_start],
            &left,
            &source[cut_end..],
        ]
        .concat()
    } else {
        [
            &source[..cut_start],
            &left,
            &source[cut_end..gap_start],
            &text,
            &source[gap_end..],
        ]
        .concat()
    })
}

/// The text with `align(N)` in a `#[repr]` of the type.
fn align(item: &Item<'_>, alignment: &Alignment, reason: Option<&str>) -> Result<String, Refusal> {
    let bytes = match alignment {
        Alignment::Bytes(bytes) if bytes.is_power_of_two() => *bytes,
        Alignment::Bytes(bytes) => return Err(Refusal::BadAlignment { bytes: *bytes }),
        Alignment::Macro(name) => {
            return Err(Refusal::UnknownMacro {
                file: item.file.to_owned(),
                name: name.clone(),
            });
        }
    };
    if item.has_repr("align") {
        return Err(Refusal::AlreadyAligned {
            name: item.name.clone(),
            place: item.place(),
        });
    }
    if item.has_repr("packed") || item.has_repr("transparent") {
        return Err(item.refused(item.open, "a packed or transparent type takes no alignment"));
    }
    let source = item.source;
    let eol = newline(source);
    let (at, text) = match item.repr_end() {
        Some(close) => (close, format!(", align({bytes})")),
        None => (
            item.head,
            format!("#[repr(align({bytes}))]{eol}{}", item.indent()),
        ),
    };
    let mut new = [&source[..at], &text, &source[at..]].concat();
    if let Some(reason) = reason {
        if reason.contains(['\n', '\r']) {
            return Err(Refusal::BadReason {
                name: item.name.clone(),
            });
        }
        let line = line_start(source, item.repr_start().unwrap_or(item.head));
        new.insert_str(line, &format!("{}// {}{eol}", item.indent(), reason.trim()));
    }
    Ok(new)
}

/// The text without `align(N)`.
fn unalign(item: &Item<'_>) -> Result<String, Refusal> {
    let Some((start, end)) = item.align_range() else {
        return Err(Refusal::NotAligned {
            name: item.name.clone(),
            place: item.place(),
        });
    };
    Ok([&item.source[..start], &item.source[end..]].concat())
}

impl Item<'_> {
    fn index(&self, member: &str) -> Result<usize, Refusal> {
        let found = self.fields.iter().position(|field| field.name == member);
        found.ok_or_else(|| Refusal::MemberNotFound {
            name: self.name.clone(),
            member: member.to_owned(),
            place: self.place(),
        })
    }

    fn field(&self, member: &str) -> Result<&Field, Refusal> {
        self.index(member).map(|index| &self.fields[index])
    }

    fn refused(&self, at: usize, why: &'static str) -> Refusal {
        Refusal::Rust {
            name: self.name.clone(),
            why,
            place: self.place_of(at),
        }
    }

    fn place_of(&self, at: usize) -> Place {
        Place {
            file: self.file.to_owned(),
            line: crate::lines::line_number(self.source, at),
        }
    }

    fn place(&self) -> Place {
        self.place_of(self.head)
    }
}
