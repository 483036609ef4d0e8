//! Who pushed a member away from where it was.

mod level;

use std::fmt;

use relayout_layout::{TypeArena, TypeId};

use crate::known::{KnownMember, KnownType};
use crate::members::{self, MatchedMember};
use level::{once_each, pushes_among_siblings};

/// A change that moved what comes after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushingChange {
    /// Path of the member that changed.
    pub member: String,
    /// What happened to it.
    pub kind: MemberChangeKind,
    /// By how many bits it moved what was asked about, together with those named directly before it
    /// with 0; negative towards the start.
    pub bits: i64,
}

/// What happened to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberChangeKind {
    /// It was not there before.
    Added {
        /// Its size in bits.
        size_bits: u64,
    },
    /// It is gone.
    Removed {
        /// What its size was, in bits.
        size_bits: u64,
    },
    /// Its size is another.
    Resized {
        /// In bits, before.
        from_bits: u64,
        /// In bits, now.
        to_bits: u64,
    },
    /// It stands at another place among the members.
    Moved {
        /// Before, in bits from the start of the type.
        from_bit: u64,
        /// Now.
        to_bit: u64,
    },
    /// It begins further from, or closer to, the member before it, though none of the above
    /// happened between them: another alignment, or a hole.
    Realigned,
}

impl fmt::Display for PushingChange {
    /// `write_protect_seq, which is new (4 bytes)`
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

/// `4 bytes`, `3 bits`.
pub(crate) fn size_text(bits: u64) -> String {
    let (number, unit) = match bits % 8 {
        0 => (bits / 8, "byte"),
        _ => (bits, "bit"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// Why the member at `path` is not where `old` has it; empty where it is there, or where `old` does
/// not know it.
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

/// Why the type is larger or smaller than `old` has it.
pub(crate) fn explain_size(types: &TypeArena, id: TypeId, old: &KnownType) -> Vec<PushingChange> {
    let outer: MatchedMember = members::whole_type(id);
    let now = members::direct_members(types, &outer);
    let mut now: Vec<KnownMember> = now.iter().map(KnownMember::from_match).collect();
    let mut before: Vec<KnownMember> = old.directly_in("").cloned().collect();
    // The end counts as one more member.
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

/// No member's path.
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
