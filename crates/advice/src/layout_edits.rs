//! Layouts given as edits of today's: `a:after:b`, `x=64`.

use std::ops::Range;

use relayout_layout::abi::{PaddingMember, StructLayout, StructShape};
use relayout_messages::UserError;
use relayout_search::UserLayout;
use relayout_search::order::MemberOrder;

use super::gathered::no_member;

/// Largest padding in bytes; a larger one is a slip of the pen.
const PADDING_MAX: u64 = 1 << 20;
/// Largest alignment in bytes.
const ALIGNMENT_MAX: u64 = 4096;

/// Position of a moved member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MovePosition {
    /// First in the struct.
    First,
    /// Directly behind this member.
    After(String),
    /// Directly in front of this member.
    Before(String),
}

/// Move of a member, written `a:after:b`, `a:before:b` or `a:first`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberMove {
    /// Member.
    pub member: String,
    /// Its new position.
    pub to: MovePosition,
}

impl MemberMove {
    /// Parses a move.
    ///
    /// # Errors
    /// The text has another form; the sentence says which are known.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let is_named = parts.iter().all(|part| !part.is_empty());
        let (member, to) = match parts[..] {
            [member, "first"] if is_named => (member, MovePosition::First),
            [member, "after", anchor] if is_named => {
                (member, MovePosition::After(anchor.to_owned()))
            }
            [member, "before", anchor] if is_named => {
                (member, MovePosition::Before(anchor.to_owned()))
            }
            _ => {
                return Err(
                    "write MEMBER:after:MEMBER, MEMBER:before:MEMBER or MEMBER:first".into(),
                );
            }
        };
        Ok(Self {
            member: member.to_owned(),
            to,
        })
    }
}

/// A member with a number of bytes, written `x=64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberBytes {
    /// Member.
    pub member: String,
    /// Bytes.
    pub bytes: u64,
}

impl MemberBytes {
    /// Parses the alignment of a member.
    ///
    /// # Errors
    /// The text has another form, or the number is no power of two up to 4096.
    pub fn parse_alignment(text: &str) -> Result<Self, String> {
        let needed = "write MEMBER=BYTES with a power of two up to 4096, as in lock=64";
        Self::parse(text)
            .filter(|align| align.bytes.is_power_of_two() && align.bytes <= ALIGNMENT_MAX)
            .ok_or_else(|| needed.to_owned())
    }

    /// Parses the padding in front of a member.
    ///
    /// # Errors
    /// The text has another form, or the number is 0 or above 1 MB.
    pub fn parse_padding(text: &str) -> Result<Self, String> {
        let needed = "write MEMBER=BYTES with a number from 1 to 1048576, as in lock=40";
        Self::parse(text)
            .filter(|padding| (1..=PADDING_MAX).contains(&padding.bytes))
            .ok_or_else(|| needed.to_owned())
    }

    fn parse(text: &str) -> Option<Self> {
        let (member, bytes) = text.split_once('=')?;
        let (member, bytes) = (member.trim(), bytes.trim().parse().ok()?);
        (!member.is_empty()).then(|| Self {
            member: member.to_owned(),
            bytes,
        })
    }
}

/// Edits of today's layout, which give one layout: first the moves in their order, then the
/// alignments, then the paddings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutEdits {
    /// Moves.
    pub moves: Vec<MemberMove>,
    /// Alignments in bytes.
    pub alignments: Vec<MemberBytes>,
    /// Bytes of padding in front of members.
    pub paddings: Vec<MemberBytes>,
    /// Members that code compares before it stores to them.
    pub checks: Vec<String>,
}

impl LayoutEdits {
    /// Returns true without any edit.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
            && self.alignments.is_empty()
            && self.paddings.is_empty()
            && self.checks.is_empty()
    }

    /// Returns the bytes of the compared members in the recorded layout `current`.
    ///
    /// # Errors
    /// The struct has no such member.
    pub fn checked_bytes(
        &self,
        shape: &StructShape,
        current: &StructLayout,
    ) -> Result<Vec<Range<u32>>, UserError> {
        let atoms = self.checks.iter().map(|member| find_atom(shape, member));
        let atoms: Vec<usize> = atoms.collect::<Result<_, _>>()?;
        Ok(member_bytes(atoms, shape, current))
    }

    /// Returns today's layout with the edits.
    ///
    /// # Errors
    /// The struct has no such member.
    pub fn apply(&self, shape: &StructShape) -> Result<UserLayout, UserError> {
        let mut order = MemberOrder::from_arrangement(shape.current_arrangement());
        for member_move in &self.moves {
            move_member(&mut order.arrangement.order, member_move, shape)?;
        }
        for alignment in &self.alignments {
            let atom = find_atom(shape, &alignment.member)?;
            order.arrangement.align[atom] = alignment.bytes;
        }
        for padding in &self.paddings {
            let atom = find_atom(shape, &padding.member)?;
            let mut places = order.arrangement.order.iter();
            let position = places.position(|other| *other == atom).unwrap_or(0);
            order.pads.push(PaddingMember {
                position,
                size: padding.bytes,
                align: 1,
            });
        }
        order.pads.sort_by_key(|pad| pad.position);
        Ok(UserLayout {
            name: "given".to_owned(),
            order,
        })
    }
}

/// Returns the bytes of members in a layout, each once.
pub(super) fn member_bytes(
    atoms: impl IntoIterator<Item = usize>,
    shape: &StructShape,
    layout: &StructLayout,
) -> Vec<Range<u32>> {
    let mut bytes: Vec<Range<u32>> = { atoms.into_iter() }
        .filter_map(|atom| {
            let start = layout.places.get(atom)?.offset;
            let end = start.checked_add(shape.atoms.get(atom)?.size)?;
            Some(u32::try_from(start).ok()?..u32::try_from(end).ok()?)
        })
        .collect();
    bytes.sort_unstable_by_key(|bytes| bytes.start);
    bytes.dedup();
    bytes
}

fn move_member(
    order: &mut Vec<usize>,
    member_move: &MemberMove,
    shape: &StructShape,
) -> Result<(), UserError> {
    let atom = find_atom(shape, &member_move.member)?;
    let anchor = match &member_move.to {
        MovePosition::First => None,
        MovePosition::After(anchor) | MovePosition::Before(anchor) => {
            Some(find_atom(shape, anchor)?)
        }
    };
    if anchor == Some(atom) {
        return Ok(());
    }
    order.retain(|other| *other != atom);
    let anchor_place = anchor.and_then(|anchor| order.iter().position(|other| *other == anchor));
    let place = match (&member_move.to, anchor_place) {
        (MovePosition::After(_), Some(place)) => place + 1,
        (MovePosition::Before(_), Some(place)) => place,
        _ => 0,
    };
    order.insert(place, atom);
    // A flexible array stays last.
    order.sort_by_key(|atom| shape.atoms[*atom].flexible);
    Ok(())
}

/// Start of the name of a pointer to virtual functions in debug information.
const VTABLE_POINTER: &str = "_vptr";

fn find_atom(shape: &StructShape, member: &str) -> Result<usize, UserError> {
    let mut atoms = shape.atoms.iter();
    let found = atoms.position(|atom| atom.is_called(member));
    if found.is_none() && member.starts_with(VTABLE_POINTER) {
        return Err(UserError::input(format!(
            "struct {}: the compiler places '{member}', no order of members moves it",
            shape.name
        )));
    }
    found.ok_or_else(|| no_member(&shape.name, member, shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_parsed() {
        let parsed = MemberMove::parse("a:after:b").unwrap();
        assert_eq!(parsed.member, "a");
        assert_eq!(parsed.to, MovePosition::After("b".to_owned()));
        let before = MemberMove::parse("a : before : b").unwrap();
        assert_eq!(before.to, MovePosition::Before("b".to_owned()));
        assert_eq!(
            MemberMove::parse("a:first").unwrap().to,
            MovePosition::First
        );
        for wrong in [
            "",
            "a",
            "a:b",
            "a:after",
            "a:after:",
            ":after:b",
            "a:behind:b",
            "a:after:b:c",
        ] {
            assert!(MemberMove::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bytes_are_parsed_within_limits() {
        let alignment = MemberBytes::parse_alignment("lock=64").unwrap();
        assert_eq!((alignment.member.as_str(), alignment.bytes), ("lock", 64));
        for wrong in [
            "lock",
            "lock=",
            "=64",
            "lock=63",
            "lock=8192",
            "lock=-1",
            "lock=0",
        ] {
            assert!(MemberBytes::parse_alignment(wrong).is_err(), "{wrong}");
        }
        assert!(MemberBytes::parse_padding("lock=40").is_ok());
        assert!(MemberBytes::parse_padding("lock=0").is_err());
        assert!(MemberBytes::parse_padding("lock=9999999").is_err());
    }
}
