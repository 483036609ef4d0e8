//! Who moved the members that nobody meant to move.
//!
//! A member that kept its place among the others moves by as much as the one before it, unless
//! something happened in between: a member was added or removed there, the one before has another
//! size, or a hole had room. Where the distance changes, that something is the pusher, and all
//! members after it are pushed by it.

use super::detail::{Cause, MemberMove};
use super::room::Room;
use super::shape::{Field, Shape};

/// Members before a member that are looked at for the one that it follows; more stand between them
/// only inside unions of very many alternatives.
const LOOK_BACK_MAX: usize = 256;

/// Pushers of one push that are named.
const PUSHERS_MAX: usize = 16;

/// Pushes whose pushers are looked for; a type with more is made up.
const PUSHES_MAX: usize = 4096;

/// A cause that moved a stretch of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The members to blame; several stand side by side. Empty if only the alignment of what was
    /// moved explains it.
    pub by: Vec<Pusher>,
    /// How far it moved what comes after it, in bits; negative towards the start.
    pub bits: i64,
    /// The push before it, which moved the same members too: index in `Detail::pushes`.
    pub on_top_of: Option<usize>,
}

/// A member that moved others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pusher {
    /// Index in `Detail::members`.
    pub member: usize,
    /// How.
    pub deed: Deed,
}

/// What a pusher did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It was added.
    Came,
    /// It was removed.
    Left,
    /// It was moved here.
    MovedIn,
    /// It was moved from here.
    MovedOut,
    /// It has another size.
    Resized,
}

/// Where a kept member was and is, in bits, and what pushed it.
#[derive(Clone, Copy)]
struct Kept {
    member: usize,
    old: (u64, u64),
    new: (u64, u64),
    push: Option<usize>,
}

impl Kept {
    fn delta(&self) -> i64 {
        signed(self.new.0).saturating_sub(signed(self.old.0))
    }

    /// Bits that it grew by.
    fn growth(&self) -> i64 {
        let size = |(start, end)| signed(end).saturating_sub(signed(start));
        size(self.new).saturating_sub(size(self.old))
    }
}

/// Marks the kept members that moved with what pushed them; returns the pushes.
pub(super) fn explain(old: &Shape, new: &Shape, members: &mut [MemberMove]) -> Vec<Push> {
    let mut pushes: Vec<Push> = Vec::new();
    let mut kept: Vec<Kept> = Vec::new();
    for index in 0..members.len() {
        let MemberMove {
            old: Some(was),
            new: Some(is),
            cause: Cause::Stayed,
            ..
        } = members[index]
        else {
            continue;
        };
        let mut here = Kept {
            member: index,
            old: extent(&old.fields[was]),
            new: extent(&new.fields[is]),
            push: None,
        };
        let (far, others) = before(&kept, &here);
        let base = far.map_or(0, |far| far.delta());
        let inherited = far.and_then(|far| far.push);
        here.push = match here.delta() {
            0 => None,
            delta if delta == base => inherited,
            delta => {
                let bits = delta.saturating_sub(base);
                let by = if pushes.len() < PUSHES_MAX {
                    pushers(members, (old, new), &others, index, bits)
                } else {
                    Vec::new()
                };
                let push = Push {
                    by,
                    bits,
                    on_top_of: inherited,
                };
                // Alternatives of a union are all pushed by what is before it.
                if pushes.last() != Some(&push) {
                    pushes.push(push);
                }
                Some(pushes.len() - 1)
            }
        };
        if let Some(push) = here.push {
            members[index].cause = Cause::Pushed(push);
        }
        kept.push(here);
    }
    pushes
}

fn extent(field: &Field) -> (u64, u64) {
    (field.start_bits(), field.end_bits())
}

fn signed(bits: u64) -> i64 {
    i64::try_from(bits).unwrap_or(i64::MAX)
}

/// The kept member that `here` follows in the new shape, and those that it follows in either: in a
/// union another alternative may have reached further before.
fn before(kept: &[Kept], here: &Kept) -> (Option<Kept>, Vec<Kept>) {
    let apart = |other: &&Kept| other.old.1 <= here.old.0 && other.new.1 <= here.new.0;
    let earlier = || kept.iter().rev().take(LOOK_BACK_MAX).filter(apart);
    // Of equals the nearest.
    let furthest = |end: fn(&Kept) -> u64| {
        let mut best: Option<&Kept> = None;
        for other in earlier() {
            if best.is_none_or(|best| end(other) > end(best)) {
                best = Some(other);
            }
        }
        best.copied()
    };
    let in_new = furthest(|other| other.new.1);
    let in_old = furthest(|other| other.old.1);
    let mut all: Vec<Kept> = in_new.into_iter().collect();
    all.extend(in_old.filter(|other| all.iter().all(|known| known.member != other.member)));
    (in_new, all)
}

/// What happened between the members that `here` follows and itself, in the direction of `bits`.
fn pushers(
    members: &[MemberMove],
    (old, new): (&Shape, &Shape),
    follows: &[Kept],
    here: usize,
    bits: i64,
) -> Vec<Pusher> {
    let was_room = |index: usize| {
        matches!(
            members[index].room,
            Some(Room::Gap { .. } | Room::Union { .. })
        )
    };
    let resized = || {
        let same_way = |kept: &&Kept| kept.growth().signum() == bits.signum();
        let kept = follows.iter().filter(same_way);
        kept.map(|kept| (kept.member, Deed::Resized))
    };
    let start = follows.iter().map(|kept| kept.member + 1).min();
    let between = start.unwrap_or(0)..here;
    let grows = bits > 0;
    let inside = || {
        between.clone().filter_map(|index| {
            let deed = match (members[index].cause, grows) {
                (Cause::Added, true) => Deed::Came,
                (Cause::Removed, false) => Deed::Left,
                (Cause::Reordered, true) => Deed::MovedIn,
                _ => return None,
            };
            Some((index, deed))
        })
    };
    // What was moved away stands elsewhere now; it was between the two in the old order.
    let was = |index: usize| members[index].old;
    let from = follows.iter().filter_map(|kept| was(kept.member)).min();
    let left = || {
        members.iter().enumerate().filter_map(|(index, member)| {
            let moved = !grows && member.cause == Cause::Reordered;
            let between = member.old > from && member.old < was(here);
            (moved && between).then_some((index, Deed::MovedOut))
        })
    };
    let takes_room = |index: usize| {
        let member = &members[index];
        let field = match (member.new, member.old) {
            (Some(at), _) => &new.fields[at],
            (None, Some(at)) => &old.fields[at],
            (None, None) => return false,
        };
        field.size_bits() > 0
    };
    let all = || resized().chain(inside()).chain(left());
    // What found room where nothing was pushed nobody, unless nobody else is there to blame.
    let found: Vec<Pusher> = all()
        .filter(|(index, _)| takes_room(*index) && !was_room(*index))
        .take(PUSHERS_MAX)
        .map(|(member, deed)| Pusher { member, deed })
        .collect();
    if !found.is_empty() {
        return found;
    }
    all()
        .filter(|(index, _)| takes_room(*index))
        .take(PUSHERS_MAX)
        .map(|(member, deed)| Pusher { member, deed })
        .collect()
}
