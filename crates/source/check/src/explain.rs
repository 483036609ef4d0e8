//! Explanation of a moved member: the changes that pushed it.

mod level;

use std::fmt;

use relayout_layout::{TypeArena, TypeId};

use crate::known::{KnownMember, KnownType};
use crate::members::{self, MatchedMember};
use level::{once_each, pushes_among_siblings};

/// Change of a member that moved later members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushingChange {
    /// Path of the changed member.
    pub member: String,
    /// Kind of the change.
    pub kind: MemberChangeKind,
    /// Distance in bits by which the change moved the member in question; negative towards the
    /// start. Changes with 0 bits directly before this change share the distance.
    pub bits: i64,
}

/// Kind of a change to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberChangeKind {
    /// The member is new.
    Added {
        /// Size of the member in bits.
        size_bits: u64,
    },
    /// The member no longer exists.
    Removed {
        /// Earlier size of the member in bits.
        size_bits: u64,
    },
    /// The size of the member changed.
    Resized {
        /// Earlier size in bits.
        from_bits: u64,
        /// Current size in bits.
        to_bits: u64,
    },
    /// The member moved to another place in the order of members.
    Moved {
        /// Earlier offset in bits from the start of the type.
        from_bit: u64,
        /// Current offset in bits from the start of the type.
        to_bit: u64,
    },
    /// The distance to the previous member changed, without another change between the two members.
    /// The cause is another alignment or a hole.
    Realigned,
}

impl fmt::Display for PushingChange {
    /// Formats the change: `write_protect_seq, which is new (4 bytes)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, ", self.member)?;
        match self.kind {
            MemberChangeKind::Added { size_bits } => {
                write!(f, "which is new ({})", size_text(size_bits))
            }
            MemberChangeKind::Removed { size_bits } => {
                write!(f, "which is gone ({})", size_text(size_bits))
            }
            MemberChangeKind::Resized { from_bits, to_bits } => {
                let verb = if to_bits > from_bits {
                    "grew"
                } else {
                    "shrank"
                };
                write!(
                    f,
                    "which {verb} from {} to {}",
                    size_text(from_bits),
                    size_text(to_bits)
                )
            }
            MemberChangeKind::Moved { from_bit, to_bit } => {
                write!(f, "which moved from {} to {}", from_bit / 8, to_bit / 8)
            }
            MemberChangeKind::Realigned => {
                f.write_str("which is aligned otherwise, or has another hole before it")
            }
        }
    }
}

/// Formats a size: `4 bytes`, `3 bits`.
pub(crate) fn size_text(bits: u64) -> String {
    let (number, unit) = match bits % 8 {
        0 => (bits / 8, "byte"),
        _ => (bits, "bit"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// Returns the changes that moved the member at `path` away from its position in `old`. The list is
/// empty if the member did not move, or if `old` does not contain the member.
pub(crate) fn explain_member(
    types: &TypeArena,
    id: TypeId,
    old: &KnownType,
    path: &str,
) -> Vec<PushingChange> {
    let mut pushes = Vec::new();
    let mut outer = members::whole_type(id);
    while outer.path != path {
        let children = members::direct_members(types, &outer);
        let Some(next) = children
            .iter()
            .position(|child| is_or_holds(&child.path, path))
        else {
            break;
        };
        let now: Vec<KnownMember> = children.iter().map(KnownMember::from_match).collect();
        let before: Vec<KnownMember> = old.directly_in(&outer.path).cloned().collect();
        let old_start = old.member(&outer.path).map_or(0, |member| member.first_bit);
        let (now, before) = (
            relative(&now, outer.first_bit),
            relative(&before, old_start),
        );
        pushes.extend(pushes_among_siblings(&now, &before, &now[next].path));
        outer = children[next].clone();
        if path[outer.path.len()..].starts_with('[') {
            break;
        }
    }
    once_each(pushes)
}

/// Returns the changes that made the type larger or smaller than in `old`.
pub(crate) fn explain_size(types: &TypeArena, id: TypeId, old: &KnownType) -> Vec<PushingChange> {
    let outer: MatchedMember = members::whole_type(id);
    let now = members::direct_members(types, &outer);
    let mut now: Vec<KnownMember> = now.iter().map(KnownMember::from_match).collect();
    let mut before: Vec<KnownMember> = old.directly_in("").cloned().collect();
    // The end of the type counts as one more member.
    let end = |size: u64| KnownMember {
        path: END.to_owned(),
        first_bit: size.saturating_mul(8),
        size_bits: 0,
    };
    now.push(end(types.size_of(id).unwrap_or(0)));
    before.push(end(old.size));
    let mut pushes = pushes_among_siblings(&now, &before, END);
    pushes.retain(|push| push.member != END);
    pushes
}

/// Path that no member has.
const END: &str = "";

fn is_or_holds(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn relative(members: &[KnownMember], start_bit: u64) -> Vec<KnownMember> {
    let moved = |member: &KnownMember| KnownMember {
        first_bit: member.first_bit.saturating_sub(start_bit),
        ..member.clone()
    };
    members.iter().map(moved).collect()
}
